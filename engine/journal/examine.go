package journal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Examined is what a start makes of one file of a journal, without the numbers that only order what is written: for
// those who compare journals.
type Examined struct {
	Records []ExaminedRecord // sorted by key
	Damages []string
	Whole   bool // the snapshot is there to its end
}

// ExaminedRecord is one record of a file.
type ExaminedRecord struct {
	Record   core.Record
	Room     int
	Doubtful bool // a later line of it may be lost
}

// Generation returns the number in the name of a generation; false if it is another name.
func Generation(name string) (uint64, bool) { return generationOf(name) }

// Examine reads the file of a generation as a start in that boot does. The file has size bytes; those behind b are
// zeros. An error is a [*VersionError].
func Examine(generation uint64, b []byte, size int64, boot hal.BootID) (Examined, error) {
	im, err := parseImage("", b, size, generation, bootOf(boot))
	if err != nil {
		return Examined{}, err
	}
	found := content{}
	im.apply(found)
	e := Examined{Whole: im.whole}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		k := found[key]
		e.Records = append(e.Records, ExaminedRecord{k.record, k.room, k.doubtful})
	}
	for _, d := range im.damages {
		e.Damages = append(e.Damages, d.What)
	}
	return e, nil
}

// Print is what the present generation holds: whoever reads its file can tell whether it is still what was written.
type Print struct {
	File string
	size int64
	sum  uint32
}

// Print returns what the present generation holds. No batch is under way.
func (j *Journal) Print() Print { return Print{j.File(), j.end, j.sum} }

// Check reads the file, and returns an error if it holds something else: somebody has changed it in place. It blocks;
// the journal may be written meanwhile.
func (p Print) Check(h *hal.Host, c hal.Call) error {
	sum, chunk := uint32(0), make([]byte, min(p.size, checkChunk))
	for at := int64(0); at < p.size; {
		n, err := h.Files.ReadAt(c, p.File, at, chunk[:min(int64(len(chunk)), p.size-at)])
		if hal.Is(err, syscall.EIO) {
			return fmt.Errorf("%w: %w", ErrChanged, err)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: it ends at byte %d of %d", ErrChanged, at, p.size)
		}
		sum = crc32.Update(sum, castagnoli, chunk[:n])
		at += int64(n)
	}
	if sum != p.sum {
		return fmt.Errorf("%w: its first %d bytes have changed", ErrChanged, p.size)
	}
	return nil
}

// ErrChanged: somebody has changed a generation in place.
var ErrChanged = errors.New("the journal is not what was written")

const checkChunk = 1 << 20
