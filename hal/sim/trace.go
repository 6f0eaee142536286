package sim

import (
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// Mark says what a trace record is.
type Mark uint8

// The marks, and the sign that each prints as.
const (
	MarkEvent  Mark = iota // .  something happened in the world
	MarkCall               // >  the agent calls
	MarkEffect             // *  a call had its effect
	MarkReply              // <  the agent has the answer
	MarkFault              // !  a fault was injected
)

const markSigns = ".>*<!"

// Record is one line of the trace.
type Record struct {
	ID      uint64 // from 1
	Cause   uint64 // the record that led to this one; 0 is none
	At      hal.Instant
	Run     uint32 // incarnation of the agent
	Op      hal.OpID
	Mark    Mark
	What    string // a site: "mounts.bind", or an event: "agent.killed"
	Object  string
	Outcome hal.Outcome
	Errno   syscall.Errno
	Code    hal.Code
	Fault   Fault
	hash    uint64 // of What and Object
}

// Trace is what happened, in order. Its hash covers every field of every record.
type Trace struct {
	Records []Record // only with Keep
	Keep    bool
	count   uint64
	marks   [len(markSigns)]uint64
	hash    uint64
	last    struct { // call
		op           hal.OpID
		what, object string
	}
}

// LastCall is the operation, site and object of the last call that the agent made.
func (t *Trace) LastCall() (op hal.OpID, site, object string) {
	return t.last.op, t.last.what, t.last.object
}

// Hash is the hash of all records so far.
func (t *Trace) Hash() uint64 { return t.hash }

// Len is the number of records so far.
func (t *Trace) Len() uint64 { return t.count }

// Count is the number of records with that mark so far.
func (t *Trace) Count(m Mark) uint64 { return t.marks[m] }

// add appends r and returns its id.
func (t *Trace) add(r Record) uint64 {
	t.count++
	t.marks[r.Mark]++
	if r.Mark == MarkCall {
		t.last.op, t.last.what, t.last.object = r.Op, r.What, r.Object
	}
	h := fold(t.hash ^ uint64(r.At))
	h = fold(h ^ r.hash ^ uint64(r.Op)<<40 ^ uint64(r.Run)<<24 ^ uint64(r.Mark)<<16 ^ uint64(
		r.Outcome)<<8 ^ uint64(r.Fault))
	t.hash = fold(h ^ uint64(r.Errno)<<32 ^ uint64(r.Code) ^ r.Cause<<8)
	if t.Keep {
		r.ID = t.count
		t.Records = append(t.Records, r)
	}
	return t.count
}

// AppendText appends the record as one line, without its end: number, time, run, operation, sign, what, object, result,
// fault, cause.
func (r *Record) AppendText(b []byte) []byte {
	b = strconv.AppendUint(b, r.ID, 10)
	b = append(b, ' ')
	b = appendSeconds(b, r.At)
	b = append(b, " run"...)
	b = strconv.AppendUint(b, uint64(r.Run), 10)
	b = append(b, " #"...)
	b = strconv.AppendUint(b, uint64(r.Op), 10)
	b = append(b, ' ', markSigns[r.Mark], ' ')
	b = append(b, r.What...)
	if r.Object != "" {
		b = append(b, ' ')
		b = append(b, r.Object...)
	}
	if r.Mark == MarkReply || r.Mark == MarkEffect {
		b = append(b, ' ')
		b = append(b, r.Outcome.String()...)
		if r.Errno != 0 {
			b = append(b, " errno="...)
			b = strconv.AppendUint(b, uint64(r.Errno), 10)
		}
		if r.Code != 0 {
			b = append(b, ' ')
			b = append(b, r.Code.String()...)
		}
	}
	if r.Fault != NoFault {
		b = append(b, " ["...)
		b = append(b, r.Fault.String()...)
		b = append(b, ']')
	}
	if r.Cause != 0 {
		b = append(b, " <= "...)
		b = strconv.AppendUint(b, r.Cause, 10)
	}
	return b
}

func appendSeconds(b []byte, t hal.Instant) []byte {
	b = strconv.AppendInt(b, int64(t)/1e9, 10)
	b = append(b, '.')
	frac := strconv.AppendInt(nil, int64(t)%1e9+1e9, 10)
	b = append(b, frac[1:]...)
	return append(b, 's')
}

// String prints all records that were kept.
func (t *Trace) String() string {
	var b strings.Builder
	var line []byte
	for i := range t.Records {
		line = append(t.Records[i].AppendText(line[:0]), '\n')
		b.Write(line)
	}
	return b.String()
}
