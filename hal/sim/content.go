package sim

import (
	"bytes"
	"slices"

	"github.com/volnode/volnode/hal"
)

const (
	sectorSize = 512
	chunkSize  = 1024 // most files are small
	pageSize   = 4096
)

// content is the bytes of a file, sparse, with what it takes to undo the writes that are not durable.
type content struct {
	size   int64
	chunks []*[chunkSize]byte // nil is zeros
	undo   []sectorUndo       // in the order of the writes
}

// sectorUndo is one sector before one write to it.
type sectorUndo struct {
	sector int64
	at     hal.Instant
	// grows is the number of the metadata change without which the sector is not part of the file; 0 for an overwrite.
	grows uint64
	// lost: a failed fsync dropped the write from memory; no later fsync makes it durable.
	lost bool
	old  [sectorSize]byte
}

func (c *content) chunk(i int64) *[chunkSize]byte {
	if more := int(i) + 1 - len(c.chunks); more > 0 {
		c.chunks = append(c.chunks, make([]*[chunkSize]byte, more)...)
	}
	if c.chunks[i] == nil {
		c.chunks[i] = new([chunkSize]byte)
	}
	return c.chunks[i]
}

func (c *content) sector(s int64) []byte {
	off := s * sectorSize
	return c.chunk(off / chunkSize)[off%chunkSize:][:sectorSize]
}

// write puts data at offset, noting what was there.
func (c *content) write(offset int64, data []byte, at hal.Instant, grows uint64, logged bool) {
	if len(data) == 0 {
		return
	}
	end := offset + int64(len(data))
	if logged {
		c.undo = slices.Grow(c.undo, int((end-1)/sectorSize-offset/sectorSize)+1)
	}
	for s := offset / sectorSize; s*sectorSize < end; s++ {
		sector := c.sector(s)
		if logged {
			u := sectorUndo{sector: s, at: at, grows: grows}
			copy(u.old[:], sector)
			c.undo = append(c.undo, u)
		}
		begin := max(offset, s*sectorSize)
		copy(sector[begin-s*sectorSize:], data[begin-offset:min(end, (s+1)*sectorSize)-offset])
	}
}

// read returns all bytes.
func (c *content) read() []byte {
	b := make([]byte, c.size)
	for i, chunk := range c.chunks {
		if begin := int64(i) * chunkSize; chunk != nil && begin < c.size {
			copy(b[begin:], chunk[:])
		}
	}
	return b
}

// has says whether text, which has no zeros, is in the file.
func (c *content) has(text []byte) bool {
	var window []byte // the bytes so far that text may begin in, and a chunk
	for i, chunk := range c.chunks {
		if chunk == nil {
			window = window[:0]
			continue
		}
		window = append(window, chunk[:max(0, min(chunkSize, c.size-int64(i)*chunkSize))]...)
		if bytes.Contains(window, text) {
			return true
		}
		window = append(window[:0], window[max(0, len(window)-len(text)+1):]...)
	}
	return false
}

// durable forgets the undo of writes that fsync made durable. What an earlier failed fsync lost stays lost, unless written again since.
func (c *content) durable() {
	kept := c.undo[:0]
	for i, u := range c.undo {
		if !u.lost {
			continue
		}
		again := false
		for _, later := range c.undo[i+1:] {
			again = again || later.sector == u.sector && !later.lost
		}
		if !again {
			kept = append(kept, u)
		}
	}
	c.undo = kept
}

// drop is a failed fsync: what was not durable is gone, at once or, while it stays in memory, at the next power cut.
func (c *content) drop(atOnce bool) {
	if atOnce {
		for i := len(c.undo) - 1; i >= 0; i-- {
			copy(c.sector(c.undo[i].sector), c.undo[i].old[:])
		}
		c.undo = nil
		return
	}
	for i := range c.undo {
		c.undo[i].lost = true
	}
}

func (c *content) hash() uint64 {
	h := uint64(c.size)
	for i, chunk := range c.chunks {
		if chunk != nil && *chunk != ([chunkSize]byte{}) {
			h = fold(h ^ uint64(i) ^ hashString(string(chunk[:])))
		}
	}
	return h
}
