package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// MinSize is the least size of a generation's file, in bytes.
const MinSize = 8 << 10

// ErrSize: the size is out of range.
var ErrSize = errors.New("the size of a journal is from 8 KiB to 256 MiB")

const (
	namePrefix  = "journal."
	nameSpare   = namePrefix + "spare"
	nameDamaged = namePrefix + "damaged"
	fileMode    = 0o600
	dirMode     = 0o700
)

// Journal is the owner's side of the journal: which records there are, and what comes next. All its methods are the
// owner's, and none blocks but Append; what blocks is in [Batch.Write], for a task. One batch is under way at a
// time.
type Journal struct {
	dir    string
	size   int64 // of the next file
	least  int64 // as configured
	most   int64 // what it may grow to
	ledger ledger

	live       int64  // size of the file of the present generation
	generation uint64 // the highest number that a file may have
	boot       uint64 // the present one, see bootOf
	end        int64  // where the next frame goes
	sum        uint32 // the checksum of what is before it
	seq        uint64 // number of the last batch of this generation
	synced     uint64 // number of the last that is durable

	broken     error // why the present generation is not written any more; nil if it is
	spare      bool  // the spare is there, of spareSize, and was never written
	spareSize  int64
	spareError error    // why there is no spare
	growError  error    // why it is not larger; nil if it is, or need not be
	growAgain  int      // batches until that is tried again
	isPressed  bool     // lines wait until it is larger
	isInVain   bool     // the last batch was to make it larger for them, and could not
	stale      []string // names to remove once another generation is durable
	aside      []string // names to keep as journal.damaged then

	buffer  []byte
	batch   Batch
	pending bool // batch is with a task
}

// Stats is what there is to say of a journal.
type Stats struct {
	Records    int
	Bytes      int64 // what the live records and the rooms they reserve may come to take
	Capacity   int64 // how much of Bytes there can be
	Size       int64 // of a file
	Generation uint64
	// Why says what the journal can't do at present and why, "" if it can all. It mends itself with the next batch,
	// an empty one included: whoever has none to write writes an empty one from time to time.
	Why string
}

// capacityOf is what all records may come to take in a file of that size: a quarter stays for lines, and for what
// was not foreseen.
func capacityOf(size int64) int64 {
	return size - size/4 - headerSize - int64(frameSize(binary.MaxVarintLen64))
}

// Stats returns the state of j.
func (j *Journal) Stats() Stats {
	s := Stats{
		Records: len(j.ledger.entries), Bytes: j.ledger.used,
		Capacity: capacityOf(j.size), Size: j.size, Generation: j.generation,
	}
	switch {
	case j.broken != nil:
		s.Why = fmt.Sprintf("not writable; volnode starts no operation: %v; %s", j.broken,
			hal.DiskAdvice(j.dir, j.broken))
	case !j.spare:
		s.Why = "volnode sets up no further volume: " + j.closed()
	}
	return s
}

func (j *Journal) closed() string {
	if j.spareError == nil {
		return "the journal has no spare file"
	}
	return fmt.Sprintf("the journal has no spare file: %v; %s", j.spareError, hal.DiskAdvice(j.dir, j.spareError))
}

// Refusal says why Admit refuses lines: the journal's own room is taken, or the disk does not give it a file.
func (j *Journal) Refusal() string {
	if !j.spare {
		return j.closed()
	}
	taken := fmt.Sprintf("the journal is full: %d of %d bytes are used", j.ledger.used,
		capacityOf(j.size))
	if j.growError != nil {
		return fmt.Sprintf("%s, and it cannot grow: %v; %s", taken, j.growError, hal.DiskAdvice(j.dir, j.growError))
	}
	return taken + ", which is the maximum; volnode sets up the volume once other records are gone; remove pods"
}

// Admit returns the keys of those lines that are refused: first records for which there is no room, where
// no ladder below has any left. Lines count in their order. A line that replaces or drops a record, and the first
// line of a teardown, is never refused.
func (j *Journal) Admit(lines []core.Line) []hal.Key {
	return j.ledger.refused(lines, capacityOf(j.size), j.spare)
}

// Prepare is [Journal.Take] if there is room for all lines. On a [*RoomError] nothing has changed.
func (j *Journal) Prepare(lines []core.Line) (*Batch, error) {
	if refused := j.Admit(lines); len(refused) > 0 {
		return nil, &RoomError{Keys: refused, Why: j.Refusal()}
	}
	return j.Take(lines), nil
}

// Take makes lines, none of which [Journal.Admit] refuses, part of the journal in memory and returns the batch that
// writes them. It panics if the batch before was not completed. The lines may be changed after it returns; the batch is
// valid until it is completed.
func (j *Journal) Take(lines []core.Line) *Batch {
	if j.pending {
		panic(fmt.Sprintf("journal: a batch of %d lines before the batch under way was completed", len(lines)))
	}
	sync := j.enter(lines)
	j.pending = true
	j.batch = Batch{
		dir: j.dir, size: j.size, spare: j.spare, spareSize: j.spareSize, spareError: j.spareError,
		stale: j.stale, aside: j.aside, sync: sync, grow: j.grows(), least: max(j.least, fits(j.ledger.used)),
	}
	if j.broken != nil || j.end+int64(len(j.buffer)) > j.live {
		j.generation++
		j.batch.generation = j.generation
		j.batch.image = j.snapshot()
		j.batch.need = j.size
		if n := int64(len(j.batch.image)); n > j.size-j.size/8 {
			// Records have outgrown what was kept for them. Space for a larger file is not sure to be there, but
			// nothing is given up.
			j.batch.need = n + n/2
		}
		appendHeader(j.batch.image[:0], header{generation: j.generation, boot: j.boot, size: j.batch.need})
		return &j.batch
	}
	j.batch.generation, j.batch.offset, j.batch.data = j.generation, j.end, j.buffer
	return &j.batch
}

// fits is the least power of two that is the size of a file with room for so many bytes of records.
func fits(used int64) int64 {
	size := int64(MinSize)
	for size < MaxSize && capacityOf(size) < used {
		size *= 2
	}
	return size
}

// growRetry is after how many batches a journal that could not grow tries it again, if no lines wait for that.
const growRetry = 64

// MayGrow lets j make its files larger as it fills, up to a size of most bytes.
func (j *Journal) MayGrow(most int64) { j.most = most }

// grows returns the size that the spare should have beyond what it has, 0 if it is large enough: records may come to
// take half of it.
func (j *Journal) grows() int64 {
	size := j.size
	if j.isPressed {
		size = min(2*size, j.most)
	}
	for size < j.most && j.ledger.used > capacityOf(size)/2 {
		size = min(2*size, j.most)
	}
	if size == j.size {
		return 0
	}
	if j.growAgain > 0 && !j.isPressed {
		j.growAgain--
		return 0
	}
	return size
}

// Press has the next batch make room for lines that Admit refuses. It reports false where that can't be: the journal is
// as large as it may be, or the last batch could not make it larger.
func (j *Journal) Press() bool {
	j.isPressed = j.spare && j.size < j.most && !j.isInVain
	return j.isPressed
}

// enter applies the lines to the ledger and leaves their frame in buffer. It reports whether they are to be durable.
func (j *Journal) enter(lines []core.Line) (sync bool) {
	j.buffer = j.buffer[:0]
	if len(lines) == 0 {
		return false
	}
	b := appendHead(j.buffer, kindBatch, j.seq+1, j.synced)
	for i := range lines {
		l := &lines[i]
		sync = sync || l.Sync
		if l.Drop {
			b = appendDrop(b, l)
			j.ledger.drop(l.Key)
			continue
		}
		if l.Key != l.Record.Rung.Key {
			panic(fmt.Sprintf("journal: line of %s has the record of %s", l.Key, l.Record.Rung.Key))
		}
		b = appendPut(b, l)
		at := len(b)
		b = appendRecord(b, &l.Record)
		j.ledger.put(&l.Record, len(b)-at, int64(l.Room))
	}
	j.buffer = sealFrame(b, 0, sealOf(j.generation))
	return sync
}

// snapshot is the content of a file that holds all live records, as generation, behind room for its header.
func (j *Journal) snapshot() []byte {
	keys, size := slices.Sorted(maps.Keys(j.ledger.entries)), headerSize+frameSize(binary.MaxVarintLen64)
	for _, key := range keys {
		size += frameSize(binary.MaxVarintLen64 + int(j.ledger.entries[key].size))
	}
	b, of := make([]byte, headerSize, size), sealOf(j.generation) // the header follows
	for _, key := range keys {
		e := j.ledger.entries[key]
		at := len(b)
		b = appendHead(b, kindRecord, 0, 0)
		b = binary.AppendUvarint(b, uint64(e.room()))
		r := e.record(key)
		b = appendRecord(b, &r)
		b = sealFrame(b, at, of)
	}
	at := len(b)
	b = appendHead(b, kindEnd, 0, 0)
	b = binary.AppendUvarint(b, uint64(len(j.ledger.entries)))
	return sealFrame(b, at, of)
}

// Complete takes back a batch that was written. After an error its lines are in the journal's memory and go with the
// next batch; until one succeeds nothing of them may be acted on.
func (j *Journal) Complete(b *Batch) error {
	if b != &j.batch || !j.pending {
		panic("journal: completed a batch that is not under way")
	}
	j.pending = false
	j.spare, j.spareSize, j.spareError = b.spare, b.spareSize, b.spareError
	j.stale, j.aside = b.stale, b.aside
	j.size, j.isPressed, j.isInVain = b.size, false, j.isPressed && b.growError != nil
	if b.grow > 0 {
		if j.growError = b.growError; b.growError != nil {
			j.growAgain = growRetry
		}
	}
	switch {
	case b.err != nil:
		j.broken = b.err
		if b.image != nil {
			j.stale = append(j.stale, nameOf(b.generation))
		}
		return fmt.Errorf("journal: lines not written: %w", b.err)
	case b.image != nil:
		j.broken = nil
		// The next generation makes this one stale.
		j.stale = append(j.stale, nameOf(b.generation))
		j.live, j.end, j.seq, j.synced, j.sum = b.need, int64(len(b.image)), 0, 0, checksumOf(b.image)
	case len(b.data) > 0:
		j.end += int64(len(b.data))
		j.sum = crc32.Update(j.sum, castagnoli, b.data)
		j.seq++
		if b.sync {
			j.synced = j.seq
		}
	}
	return nil
}

// File is the file of the present generation.
func (j *Journal) File() string { return j.path(nameOf(j.generation)) }

// Lose says that the file of the present generation is gone: the next batch writes all records to another one. No batch
// is under way.
func (j *Journal) Lose(err error) {
	if j.pending {
		panic("journal: lost while a batch is under way")
	}
	j.broken, j.spare, j.spareError = err, false, err
}

// Append writes lines: Prepare, Write and Settle in one. It blocks; for a caller that is owner and task in one.
func (j *Journal) Append(h *hal.Host, c hal.Call, lines []core.Line) error {
	b, err := j.Prepare(lines)
	if err != nil {
		return err
	}
	b.Write(h, c)
	return j.Complete(b)
}

func nameOf(generation uint64) string { return namePrefix + strconv.FormatUint(generation, 10) }

// generationOf is the inverse of nameOf.
func generationOf(name string) (uint64, bool) {
	if len(name) <= len(namePrefix) || name[:len(namePrefix)] != namePrefix {
		return 0, false
	}
	n, err := strconv.ParseUint(name[len(namePrefix):], 10, 64)
	return n, err == nil && n < math.MaxUint64/2 && nameOf(n) == name
}

func (j *Journal) path(name string) string { return j.dir + "/" + name }
