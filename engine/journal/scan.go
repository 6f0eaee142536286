package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Damage is a part of a journal's file that says nothing any more. What it said is not known: a rung may be up
// without a record.
type Damage struct {
	File   string
	Offset int64
	What   string // a sentence, without the place
}

func (d Damage) String() string { return fmt.Sprintf("%s at offset %d: %s", d.File, d.Offset, d.What) }

// hole is a run of bytes that are no frame.
type hole struct {
	start, end int
	last       uint64 // number of the last batch before it
	snapshot   bool   // part of the snapshot may have was there
	lines      bool   // lines may have was there
	tail       bool   // no frame follows
}

// scanned is what an image holds.
type scanned struct {
	frames []frame
	holes  []hole
	whole  bool // the snapshot is there to its end, and nothing is missing in it
}

// scan finds all frames of an image. Of a frame only the checksum was looked at.
func scan(image []byte, generation uint64) scanned {
	var s scanned
	of := sealOf(generation)
	records, last, ended := 0, uint64(0), false
	for at := headerSize; at < len(image); {
		f, size, ok := parseFrame(image, at, of)
		if ok && f.fits(last, ended) {
			s.frames = append(s.frames, f)
			at += size
			switch f.kind {
			case kindRecord:
				records++
			case kindEnd:
				count, err := decodeCount(f.payload)
				ended, s.whole = true, err == nil && count == records && len(s.holes) == 0
			case kindBatch:
				last = f.seq
				// A batch behind a hole in which the end of the snapshot was lost.
				ended = true
			}
			continue
		}
		h := hole{start: at, last: last, snapshot: !ended}
		at = nextFrame(image, at+frameAlign, of)
		h.end, h.tail = at, at >= len(image)
		if h.tail {
			h.end = h.start + written(image[h.start:])
		}
		// More of the snapshot behind it: then it was part of the snapshot and nothing else.
		h.lines = ended || h.tail || frameKind(binary.LittleEndian.Uint32(image[at+12:])) == kindBatch
		if h.end > h.start || h.snapshot {
			s.holes = append(s.holes, h)
		}
	}
	return s
}

// written returns how long b is without the zeros at its end.
func written(b []byte) int {
	n := len(b)
	for zeros := [sectorSize]byte{}; n >= sectorSize && [sectorSize]byte(b[n-sectorSize:n]) == zeros; {
		n -= sectorSize
	}
	for n >= 8 && binary.LittleEndian.Uint64(b[n-8:]) == 0 {
		n -= 8
	}
	for n > 0 && b[n-1] == 0 {
		n--
	}
	return n
}

// fits reports whether a writer could have put the frame behind the batch numbered last.
func (f frame) fits(last uint64, ended bool) bool {
	switch f.kind {
	case kindRecord, kindEnd:
		return !ended
	case kindBatch:
		return f.seq > last
	}
	return false
}

// nextFrame returns the offset of the first frame at or after from, or the length of the image.
func nextFrame(image []byte, from int, of seal) int {
	for from < len(image) {
		i := bytes.Index(image[from:], []byte(frameMagic))
		if i < 0 {
			break
		}
		at := from + i
		if at%frameAlign == 0 {
			if _, _, ok := parseFrame(image, at, of); ok {
				return at
			}
		}
		from = at + 1
	}
	return len(image)
}

// torn reports whether the bytes of a hole show a write that was cut short: a sector of it is zeros still, or its end
// is, by the length that its head tells. One byte of the trailer may be wrong, so that damage to the trailer, or to the
// length, does not look like a write cut short.
func torn(image []byte, h hole) bool {
	end := min((h.end+frameAlign-1)/frameAlign*frameAlign, len(image))
	good := 0
	for i := range frameTrailer {
		if p := end - len(frameTrailer) + i; p >= h.start && image[p] == frameTrailer[i] {
			good++
		}
	}
	if b := image[h.start:h.end]; good < len(frameTrailer)-1 && bytes.HasPrefix(b, []byte(frameMagic)) {
		if len(b) < frameHead {
			return true
		}
		payload := binary.LittleEndian.Uint32(b[8:])
		if payload <= MaxSize && h.start+frameSize(int(payload)) > h.end { // else nobody has written that length
			return true
		}
	}
	for at := h.start; at < end; {
		next := min((at/sectorSize+1)*sectorSize, end)
		if written(image[at:next]) == 0 {
			return true
		}
		at = next
	}
	return false
}

// damages tells which holes are damage, and the offset of the last in which lines were lost, 0 if none were.
// isThisBoot: no power cut has come since the file was begun, so that only the last write may be cut short, by the end
// of whoever wrote it.
func (s scanned) damages(file string, image []byte, isThisBoot bool) (out []Damage, lost int) {
	var synced uint64
	ended := false
	for _, f := range s.frames {
		synced = max(synced, f.synced)
		ended = ended || f.kind == kindEnd
	}
	for _, h := range s.holes {
		what := ""
		switch {
		case h.snapshot:
			what = "cannot read part of the snapshot"
		case h.last < synced || isThisBoot && !h.tail:
			what = "cannot read lines that were durable"
		case !torn(image, h):
			what = "cannot read lines that were written whole"
		default:
			continue
		}
		out = append(out, Damage{file, int64(h.start), fmt.Sprintf("%s (%d bytes)", what, h.end-h.start)})
		if h.lines {
			lost = h.start
		}
	}
	if !ended && len(out) == 0 {
		out = append(out, Damage{file, int64(len(image)), "the snapshot has no end"})
		lost = len(image)
	}
	return out, lost
}

// content is the records of a journal, by key, with the room that their ladders reserve.
type content map[hal.Key]*kept

type kept struct {
	record   core.Record
	room     int
	doubtful bool // a later line of it may be lost
}

// put does what a line that is no drop does. A replaced record keeps the room of its first line.
func (c content) put(record *core.Record, room int) {
	if k := c[record.Rung.Key]; k != nil {
		k.record, k.doubtful = *record, false
		return
	}
	c[record.Rung.Key] = &kept{record: *record, room: room}
}

// doubt marks all records: something is lost that may have changed each of them.
func (c content) doubt() {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		c[key].doubtful = true
	}
}

// apply does what a frame says: all of it, or nothing if it does not parse. memory is for its lines, and may be used
// again.
func (c content) apply(f frame, memory *[]core.Line) error {
	switch f.kind {
	case kindRecord:
		record, room, err := decodeRecord(f.payload)
		if err != nil {
			return err
		}
		c.put(&record, room)
	case kindBatch:
		lines, err := decodeBatch((*memory)[:0], f.payload)
		if err != nil {
			return err
		}
		*memory = lines
		for i := range lines {
			l := &lines[i]
			if l.Drop {
				delete(c, l.Key)
			} else {
				c.put(&l.Record, l.Room)
			}
		}
	case kindEnd:
	}
	return nil
}
