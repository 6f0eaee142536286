package journal

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// errMalformed: bytes with a good checksum that are no encoding of anything. Only a writer with a defect makes them.
var errMalformed = errors.New("malformed")

// reader takes values off a payload. After the first thing that does not parse it is bad, and yields zero values.
type reader struct {
	s   string // one copy of the payload; the strings of the values are parts of it
	bad bool
}

func (r *reader) fail() {
	r.s, r.bad = "", true
}

func (r *reader) byte() byte {
	if r.s == "" {
		r.fail()
		return 0
	}
	c := r.s[0]
	r.s = r.s[1:]
	return c
}

func (r *reader) uvarint() uint64 {
	var v uint64
	for shift := 0; shift < 7*binary.MaxVarintLen64; shift += 7 {
		c := r.byte()
		if shift == 63 && c > 1 {
			break
		}
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail()
	return 0
}

func (r *reader) varint() int64 {
	u := r.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// enum takes a byte that is at most last.
func (r *reader) enum(last byte) byte {
	c := r.byte()
	if c > last {
		r.fail()
		return 0
	}
	return c
}

// count takes the number of elements that follow, each of which takes at least size bytes.
func (r *reader) count(size int) int {
	n := r.uvarint()
	if n > uint64(len(r.s)/size) {
		r.fail()
		return 0
	}
	return int(n)
}

func text[S ~string](r *reader) S {
	n := r.count(1)
	s := r.s[:n]
	r.s = r.s[n:]
	return S(s)
}

// list takes a counted list. An empty one is nil.
func list[E any](r *reader, size int, take func(*reader) E) []E {
	n := r.count(size)
	if n == 0 {
		return nil
	}
	out := make([]E, n)
	for i := range out {
		out[i] = take(r)
	}
	return out
}

func takeFact(r *reader) core.Fact {
	return core.Fact{Name: text[string](r), Value: text[string](r)}
}

func takeParam(r *reader) core.Param {
	return core.Param{
		Name: text[string](r), Value: text[string](r), OnChange: core.OnChange(r.enum(byte(core.OnChangeVoid))),
	}
}

func takeFoundation(r *reader) core.Foundation {
	return core.Foundation{Key: text[hal.Key](r), Fingerprint: text[string](r)}
}

func takeRung(r *reader) core.Rung {
	return core.Rung{
		Key:       text[hal.Key](r),
		Kind:      text[core.Kind](r),
		Pod:       text[core.PodUID](r),
		Below:     list(r, 1, text[hal.Key]),
		Need:      int16(r.varint()),
		Want:      list(r, 3, takeParam),
		Volume:    text[string](r),
		Actor:     text[string](r),
		Exclusive: text[string](r),
		Limits: core.Limits{
			SetUp:      time.Duration(r.varint()),
			TearDown:   time.Duration(r.varint()),
			LateWindow: time.Duration(r.varint()),
		},
	}
}

func takeRecord(r *reader) core.Record {
	flags := r.enum(flagIntent | flagActsAfterReply | flagMayBeUsed | flagAnswered | flagRefused)
	phase := core.Phase(r.enum(byte(core.Lingering)))
	record := core.Record{
		Rung:          takeRung(r),
		Phase:         phase,
		Boot:          text[hal.BootID](r),
		Facts:         list(r, 2, takeFact),
		Fingerprint:   text[string](r),
		Seen:          text[string](r),
		Generation:    list(r, 2, takeFoundation),
		SetUpUntil:    hal.Instant(r.varint()),
		TearDownUntil: hal.Instant(r.varint()),
		Seq:           r.uvarint(),
		MayBeUsed:     flags&flagMayBeUsed != 0,
		Refused:       flags&flagRefused != 0,
	}
	if flags&flagAnswered != 0 {
		record.AnsweredSetUp, record.AnsweredTearDown = hal.Instant(r.varint()), hal.Instant(r.varint())
	}
	record.Rung.Intent = flags&flagIntent != 0
	record.Rung.Limits.ActsAfterReply = flags&flagActsAfterReply != 0
	return record
}

func takeRoom(r *reader) int {
	room := r.uvarint()
	if room > MaxSize {
		r.fail()
		return 0
	}
	return int(room)
}

func takeLine(r *reader) core.Line {
	flags := r.enum(flagDrop | flagSync)
	l := core.Line{Drop: flags&flagDrop != 0, Sync: flags&flagSync != 0}
	if l.Drop {
		l.Key = text[hal.Key](r)
		return l
	}
	l.Room = takeRoom(r)
	l.Record = takeRecord(r)
	l.Key = l.Record.Rung.Key
	return l
}

// decodeBatch reads the payload of a batch, all its lines or none, and appends them to lines.
func decodeBatch(lines []core.Line, payload []byte) ([]core.Line, error) {
	r := reader{s: string(payload)}
	for r.s != "" {
		lines = append(lines, takeLine(&r))
	}
	if r.bad {
		return nil, errMalformed
	}
	return lines, nil
}

// decodeRecord reads the payload of a record of a snapshot, and the room that its ladder reserves.
func decodeRecord(payload []byte) (core.Record, int, error) {
	r := reader{s: string(payload)}
	room := takeRoom(&r)
	record := takeRecord(&r)
	if r.bad || r.s != "" {
		return core.Record{}, 0, errMalformed
	}
	return record, room, nil
}

// decodeCount reads the payload of the end of a snapshot.
func decodeCount(payload []byte) (int, error) {
	r := reader{s: string(payload)}
	n := r.uvarint()
	if r.bad || r.s != "" || n > MaxSize {
		return 0, errMalformed
	}
	return int(n), nil
}
