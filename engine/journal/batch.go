package journal

import (
	"slices"
	"strconv"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// Batch is the lines of one Take on their way to the files. From Take to Complete it belongs to the task that
// writes it.
type Batch struct {
	dir        string
	generation uint64
	sync       bool

	// Appended to the present generation.
	offset int64
	data   []byte

	// Or written as another generation, into a file of need bytes.
	image []byte
	need  int64

	size       int64 // of a spare
	least      int64 // it may have, if the disk has not more
	grow       int64 // size that it is to grow to, 0 if it need not
	growError  error
	spare      bool
	spareSize  int64
	spareError error
	stale      []string
	aside      []string

	err error
}

// Write brings the batch to the files. It blocks, and is called once, from a task. What came of it is
// [Journal.Complete]'s to say.
func (b *Batch) Write(h *hal.Host, c hal.Call) {
	switch {
	case b.image != nil:
		b.err = b.writeGeneration(h, c)
	case len(b.data) > 0:
		b.err = b.appendFrame(h, c)
	}
	if !b.spare && b.err == nil {
		b.makeSpare(h, c)
	}
	if b.grow > 0 && b.spare && b.err == nil {
		b.growSpare(h, c)
	}
}

// growSpare makes the spare larger: the next generation has that size. Where the disk has no room for it, it stays as
// it is.
func (b *Batch) growSpare(h *hal.Host, c hal.Call) {
	if b.growError = h.Files.Allocate(c, b.path(nameSpare), b.grow, fileMode); b.growError == nil {
		b.size, b.spareSize = b.grow, b.grow
	}
}

func (b *Batch) path(name string) string { return b.dir + "/" + name }

func (b *Batch) appendFrame(h *hal.Host, c hal.Call) error {
	file := b.path(nameOf(b.generation))
	if err := h.Files.WriteAt(c, file, b.offset, b.data); err != nil {
		return err
	}
	if !b.sync {
		return nil
	}
	return h.Files.Sync(c, file)
}

// writeGeneration writes the image to the spare and gives it its name. The generation before stays until that is
// durable.
func (b *Batch) writeGeneration(h *hal.Host, c hal.Call) error {
	spare := b.path(nameSpare)
	if b.spare { // somebody may have cut it short, or removed it
		info, err := h.Tree.Stat(c, spare)
		b.spare = err == nil && info.Size >= b.spareSize
	}
	if !b.spare {
		b.makeSpare(h, c)
		if !b.spare {
			return b.spareError
		}
	}
	if b.need > b.spareSize {
		if err := h.Files.Allocate(c, spare, b.need, fileMode); err != nil {
			b.spareError = err
			return err
		}
	}
	b.need = max(b.need, b.spareSize)
	// What was written once is not zeros any more, and after a failed sync not even what was written.
	b.spare = false
	b.spareError = nil
	if err := h.Files.WriteAt(c, spare, 0, b.image); err != nil {
		return err
	}
	if err := h.Files.Sync(c, spare); err != nil {
		return err
	}
	if err := h.Tree.Rename(c, spare, b.path(nameOf(b.generation))); err != nil {
		return err
	}
	if err := h.Files.Sync(c, b.dir); err != nil {
		return err
	}
	b.tidy(h, c)
	return nil
}

// tidy takes away the generations before. A name that can't be taken away stays for the next time: an older
// generation harms nobody.
func (b *Batch) tidy(h *hal.Host, c hal.Call) {
	b.aside = slices.DeleteFunc(b.aside, func(name string) bool {
		return gone(h.Tree.Rename(c, b.path(name), b.path(nameDamaged)))
	})
	b.stale = slices.DeleteFunc(b.stale, func(name string) bool {
		return gone(h.Tree.Remove(c, b.path(name)))
	})
}

func gone(err error) bool { return err == nil || hal.Is(err, syscall.ENOENT) }

// makeSpare makes a spare of zeros in place of whatever has its name.
func (b *Batch) makeSpare(h *hal.Host, c hal.Call) {
	spare := b.path(nameSpare)
	size := max(b.size, b.need)
	if err := h.Tree.Remove(c, spare); !gone(err) {
		b.spareError = err
		return
	}
	err := h.Files.Allocate(c, spare, size, fileMode)
	if hal.Is(err, syscall.ENOENT) { // somebody has removed the directory
		if err = makeDir(h, c, b.dir); err == nil {
			err = h.Files.Allocate(c, spare, size, fileMode)
		}
	}
	for err != nil && size/2 >= max(b.least, b.need) {
		size /= 2
		if err = h.Files.Allocate(c, spare, size, fileMode); err == nil {
			b.size = size
		}
	}
	if err != nil {
		b.spareError = err
		return
	}
	b.spare, b.spareSize, b.spareError = true, size, nil
}

func (b *Batch) String() string {
	if b.image != nil {
		return "all records as " + nameOf(b.generation)
	}
	return strconv.Itoa(len(b.data)) + " bytes to " + nameOf(b.generation)
}
