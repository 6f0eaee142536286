package journal

import (
	"encoding/binary"

	"github.com/volnode/volnode/engine/core"
)

// Flags of an encoded line.
const (
	flagDrop = 1 << iota
	flagSync
)

// Flags of an encoded record.
const (
	flagIntent = 1 << iota
	flagActsAfterReply
	flagMayBeUsed
	flagAnswered // the bounds of answered calls follow
	flagRefused
)

// A record of a rung grows as the rung moves: these are the sizes in bytes kept for what its first line does not know.
const (
	growFacts       = 256
	growFingerprint = 192
	growBoot        = 40
	growNumbers     = 10 * binary.MaxVarintLen64
)

func appendString[S ~string](b []byte, s S) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendFacts(b []byte, facts []core.Fact) []byte {
	b = binary.AppendUvarint(b, uint64(len(facts)))
	for i := range facts {
		b = appendString(b, facts[i].Name)
		b = appendString(b, facts[i].Value)
	}
	return b
}

func appendRung(b []byte, r *core.Rung) []byte {
	b = appendString(b, r.Key)
	b = appendString(b, r.Kind)
	b = appendString(b, r.Pod)
	b = binary.AppendUvarint(b, uint64(len(r.Below)))
	for _, key := range r.Below {
		b = appendString(b, key)
	}
	b = binary.AppendVarint(b, int64(r.Need))
	b = binary.AppendUvarint(b, uint64(len(r.Want)))
	for i := range r.Want {
		b = appendString(b, r.Want[i].Name)
		b = appendString(b, r.Want[i].Value)
		b = append(b, byte(r.Want[i].OnChange))
	}
	b = appendString(b, r.Volume)
	b = appendString(b, r.Actor)
	b = appendString(b, r.Exclusive)
	b = binary.AppendVarint(b, int64(r.Limits.SetUp))
	b = binary.AppendVarint(b, int64(r.Limits.TearDown))
	return binary.AppendVarint(b, int64(r.Limits.LateWindow))
}

// appendRecord appends r. Of Generation only Key and Fingerprint are kept.
func appendRecord(b []byte, r *core.Record) []byte {
	var flags byte
	if r.Rung.Intent {
		flags |= flagIntent
	}
	if r.Rung.Limits.ActsAfterReply {
		flags |= flagActsAfterReply
	}
	if r.MayBeUsed {
		flags |= flagMayBeUsed
	}
	if r.AnsweredSetUp|r.AnsweredTearDown != 0 {
		flags |= flagAnswered
	}
	if r.Refused {
		flags |= flagRefused
	}
	b = append(b, flags, byte(r.Phase))
	b = appendRung(b, &r.Rung)
	b = appendString(b, r.Boot)
	b = appendFacts(b, r.Facts)
	b = appendString(b, r.Fingerprint)
	b = appendString(b, r.Seen)
	b = binary.AppendUvarint(b, uint64(len(r.Generation)))
	for i := range r.Generation {
		b = appendString(b, r.Generation[i].Key)
		b = appendString(b, r.Generation[i].Fingerprint)
	}
	b = binary.AppendVarint(b, int64(r.SetUpUntil))
	b = binary.AppendVarint(b, int64(r.TearDownUntil))
	b = binary.AppendUvarint(b, r.Seq)
	if flags&flagAnswered != 0 {
		b = binary.AppendVarint(b, int64(r.AnsweredSetUp))
		b = binary.AppendVarint(b, int64(r.AnsweredTearDown))
	}
	return b
}

// appendDrop appends a line that drops a record.
func appendDrop(b []byte, l *core.Line) []byte {
	return appendString(append(b, flagDrop|syncFlag(l)), l.Key)
}

// appendPut appends what comes before the record of a line that puts one.
func appendPut(b []byte, l *core.Line) []byte {
	b = append(b, syncFlag(l))
	return binary.AppendUvarint(b, uint64(min(max(l.Room, 0), MaxSize)))
}

func syncFlag(l *core.Line) byte {
	if l.Sync {
		return flagSync
	}
	return 0
}

// worstSize is what r, of that many bytes encoded, may take in a snapshot before it goes: with both fences, a
// fingerprint and facts.
func worstSize(r *core.Record, encoded int) int64 {
	facts := 0
	for i := range r.Facts {
		facts += len(r.Facts[i].Name) + len(r.Facts[i].Value)
	}
	grow := growNumbers + max(growFacts-facts, 0)
	grow += max(growFingerprint-len(r.Fingerprint), 0) + max(growBoot-len(r.Boot), 0)
	return int64(frameSize(encoded + grow))
}

// WorstSize is how many bytes of a journal the record may take before it goes: what [core.Line].Room should keep for
// it.
func WorstSize(r core.Record) int {
	return int(worstSize(&r, len(appendRecord(make([]byte, 0, 2<<10), &r))))
}
