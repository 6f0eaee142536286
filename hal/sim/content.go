package sim

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

const (
	sectorSize = 512
	pageSize   = 4096
)

// content is the bytes of a file, sparse, with what it takes to undo the writes that are not durable.
type content struct {
	size    int64
	sectors []*[sectorSize]byte // nil is zeros
	undo    []sectorUndo        // in the order of the writes
}

// sectorUndo is one sector before one write to it.
type sectorUndo struct {
	sector int64
	at     hal.Instant
	// grows is the number of the metadata change without which the sector is not part of the file; 0 for an overwrite.
	grows uint64
	// lost: a failed fsync dropped the write from memory; no later fsync makes it durable.
	lost bool
	old  *[sectorSize]byte // nil is zeros
}

// write puts data at offset, noting what was there. What is noted is not written to: a logged write makes a sector
// again.
func (c *content) write(offset int64, data []byte, at hal.Instant, grows uint64, logged bool, from *slabs) {
	if len(data) == 0 {
		return
	}
	end := offset + int64(len(data))
	first, last := offset/sectorSize, (end-1)/sectorSize
	if more := int(last) + 1 - len(c.sectors); more > 0 {
		c.sectors = append(c.sectors, make([]*[sectorSize]byte, more)...)
	}
	if logged {
		c.undo = slices.Grow(c.undo, int(last-first)+1)
	}
	for s := first; s <= last; s++ {
		sector := c.sectors[s]
		if sector == nil || logged {
			sector = from.sector()
			if old := c.sectors[s]; old != nil {
				*sector = *old
			}
		}
		if logged {
			c.undo = append(c.undo, sectorUndo{sector: s, at: at, grows: grows, old: c.sectors[s]})
		}
		c.sectors[s] = sector
		begin := max(offset, s*sectorSize)
		copy(sector[begin-s*sectorSize:], data[begin-offset:min(end, (s+1)*sectorSize)-offset])
	}
}

// read returns all bytes.
func (c *content) read() []byte {
	b := make([]byte, c.size)
	c.fill(b)
	return b
}

// fill makes b, which is as long as the file, what the file holds.
func (c *content) fill(b []byte) {
	for _, sector := range c.sectors {
		n := min(len(b), sectorSize)
		if sector == nil {
			clear(b[:n])
		} else {
			copy(b, sector[:n])
		}
		b = b[n:]
	}
	clear(b) // what was never written
}

// Buffers is memory for the sectors of files, which a world borrows until it is closed, and for the long files that an
// agent reads, which it borrows until it dies. Who comes next makes none. The zero value is empty. It is used by one
// goroutine at a time.
type Buffers struct {
	free    [][]byte
	slabs   []*slab
	keeps   bool      // coroutines as well
	workers []*worker // that were kept
}

// slab is as many sectors as are made at once.
type slab [64][sectorSize]byte

// slabs is where a world has its sectors from.
type slabs struct {
	from  *Buffers // nil for none
	taken []*slab
	used  int // of the last one
}

// sector returns a sector of zeros for the life of the world.
func (s *slabs) sector() *[sectorSize]byte {
	if len(s.taken) == 0 || s.used == len(slab{}) {
		s.taken, s.used = append(s.taken, s.borrow()), 0
	}
	sector := &s.taken[len(s.taken)-1][s.used]
	s.used++
	*sector = [sectorSize]byte{}
	return sector
}

func (s *slabs) borrow() *slab {
	if s.from == nil || len(s.from.slabs) == 0 {
		return new(slab)
	}
	last := len(s.from.slabs) - 1
	free := s.from.slabs[last]
	s.from.slabs = s.from.slabs[:last]
	return free
}

// longFile is from how many bytes on a file is read into memory that was used before: a journal is, and hardly anything
// else.
const longFile = 2 * pageSize

// buffer returns size bytes, which hold anything, for the life of the agent.
func (w *World) buffer(size int64) []byte {
	from := w.config.Buffers
	if from == nil || size < longFile {
		return make([]byte, size)
	}
	i := len(from.free) - 1 // what was used last is still in the CPU's caches
	for i >= 0 && int64(cap(from.free[i])) < size {
		i--
	}
	if i < 0 {
		from.free = from.free[:0] // too small for this world
		w.borrowed = append(w.borrowed, make([]byte, size))
		return w.borrowed[len(w.borrowed)-1]
	}
	b := from.free[i][:size]
	from.free = slices.Delete(from.free, i, i+1)
	w.borrowed = append(w.borrowed, b)
	return b
}

// keptFiles is how many long files' memory is kept: a start reads two files of its journal, and starts again if it
// can't read something else.
const keptFiles = 8

// takeBack has what a dead agent read used again: a world that crashes often reads its journal more than a hundred
// times.
func (w *World) takeBack() {
	if from := w.config.Buffers; from != nil {
		from.free = append(from.free, w.borrowed[:min(len(w.borrowed), max(keptFiles-len(from.free), 0))]...)
	}
	clear(w.borrowed)
	w.borrowed = w.borrowed[:0]
}

// returns gives back what was borrowed.
func (w *World) returns() {
	w.takeBack()
	if w.config.Buffers != nil {
		w.config.Buffers.slabs = append(w.config.Buffers.slabs, w.slabs.taken...)
	}
	w.slabs = slabs{from: w.config.Buffers}
}

// written is what the file holds, without holes.
func (c *content) written() string {
	n := 0
	for _, sector := range c.sectors {
		if sector != nil {
			n += sectorSize
		}
	}
	var b strings.Builder
	b.Grow(n)
	for i, sector := range c.sectors {
		if sector != nil {
			b.Write(sector[:max(0, min(sectorSize, c.size-int64(i)*sectorSize))])
		}
	}
	return b.String()
}

// durable forgets the undo of writes that fsync made durable. What an earlier failed fsync lost stays lost, unless
// written again since.
func (c *content) durable() {
	if !slices.ContainsFunc(c.undo, func(u sectorUndo) bool { return u.lost }) {
		c.undo = slices.Delete(c.undo, 0, len(c.undo))
		return
	}
	c.reached(func(*sectorUndo) bool { return true })
}

// reached forgets the undo of writes that are on the disk, and of those before them to the same sectors: memory had
// these too when it was written out, even what a failed fsync had lost.
func (c *content) reached(isOnDisk func(*sectorUndo) bool) {
	there, kept := map[int64]bool{}, len(c.undo)
	for i := len(c.undo) - 1; i >= 0; i-- {
		u := c.undo[i]
		if !u.lost && isOnDisk(&u) {
			there[u.sector] = true
		}
		if !there[u.sector] {
			kept--
			c.undo[kept] = u
		}
	}
	c.undo = slices.Delete(c.undo, 0, kept)
}

// lose is a failed fsync: what was not durable stays readable and is gone with the next power cut; no later fsync makes
// it durable. That is what ext4 and XFS do (fsync(2), ERRORS) as long as the pages stay in memory. That they leave it
// before the agent has read its journal again is not modelled: a record that is written and not synced outlives its
// process (engine: laws of the journal).
func (c *content) lose() {
	for i := range c.undo {
		c.undo[i].lost = true
	}
}

// revert takes back all writes that are not durable.
func (c *content) revert() {
	for i := len(c.undo) - 1; i >= 0; i-- {
		c.sectors[c.undo[i].sector] = c.undo[i].old
	}
	c.undo = nil
}

func (c *content) hash() uint64 {
	h := uint64(c.size)
	for i, sector := range c.sectors {
		if sector != nil && *sector != ([sectorSize]byte{}) {
			h = fold(h ^ uint64(i) ^ hashString(string(sector[:])))
		}
	}
	return h
}
