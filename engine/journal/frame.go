package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"hash/fnv"

	"github.com/volnode/volnode/hal"
)

// Version is the version of the format that this package writes, and the newest that it reads.
const Version = 1

const (
	headerMagic = "\xffvolnj\xfe\n"
	headerSize  = 64

	// The magic of a frame has bytes that UTF-8 has not, so that no text inside a record reads as the start of a
	// frame.
	frameMagic   = "\xffvj\xfe"
	frameTrailer = "\xa5\xa5\xa5\xa5"
	frameHead    = 32
	frameAlign   = 8

	// MaxSize bounds what is read of a file, and so what is ever written.
	MaxSize = 256 << 20
	// sectorSize is the least that a disk writes as a whole.
	sectorSize = 512
)

type frameKind uint32

const (
	kindRecord frameKind = 1 + iota // one record of the snapshot
	kindEnd                         // the end of the snapshot: how many records it has
	kindBatch                       // the lines of one batch
)

// frame is one frame as read.
type frame struct {
	at          int
	kind        frameKind
	seq, synced uint64
	payload     []byte
}

// castagnoli is the table of crc32c (RFC 3720, appendix B.4).
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frameSize is how long a frame with a payload of that many bytes is.
func frameSize(payload int) int {
	return (frameHead + payload + len(frameTrailer) + frameAlign - 1) / frameAlign * frameAlign
}

// seal is the checksum of a generation's number, from which the checksums of its frames go on.
type seal uint32

func sealOf(generation uint64) seal {
	return seal(checksumOf(binary.LittleEndian.AppendUint64(nil, generation)))
}

func (s seal) checksum(b []byte) uint32 { return crc32.Update(uint32(s), castagnoli, b) }

// appendHead begins a frame; the payload is appended next, then [sealFrame] is called with the offset at which the
// head began.
func appendHead(b []byte, kind frameKind, seq, synced uint64) []byte {
	b = append(b, frameMagic...)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(kind))
	b = binary.LittleEndian.AppendUint64(b, seq)
	return binary.LittleEndian.AppendUint64(b, synced)
}

// sealFrame ends the frame that begins at b[at:].
func sealFrame(b []byte, at int, of seal) []byte {
	payload := len(b) - at - frameHead
	for pad := frameSize(payload) - frameHead - payload - len(frameTrailer); pad > 0; pad-- {
		b = append(b, 0)
	}
	b = append(b, frameTrailer...)
	f := b[at:]
	binary.LittleEndian.PutUint32(f[8:], uint32(payload))
	binary.LittleEndian.PutUint32(f[4:], of.checksum(f[8:]))
	return b
}

// parseFrame reads the frame that begins at image[at:], and its size; false if none with a good checksum does.
func parseFrame(image []byte, at int, of seal) (frame, int, bool) {
	b := image[at:]
	if len(b) < frameSize(0) || string(b[:4]) != frameMagic {
		return frame{}, 0, false
	}
	payload := binary.LittleEndian.Uint32(b[8:])
	if payload > MaxSize {
		return frame{}, 0, false
	}
	size := frameSize(int(payload))
	if size > len(b) || binary.LittleEndian.Uint32(b[4:]) != of.checksum(b[8:size]) {
		return frame{}, 0, false
	}
	return frame{
		at:      at,
		kind:    frameKind(binary.LittleEndian.Uint32(b[12:])),
		seq:     binary.LittleEndian.Uint64(b[16:]),
		synced:  binary.LittleEndian.Uint64(b[24:]),
		payload: b[frameHead : frameHead+int(payload)],
	}, size, true
}

// header is what a generation says of itself. An older volnode left boot and size zero, and reads a header with them.
type header struct {
	version    uint32
	generation uint64
	boot       uint64 // see bootOf; 0 if it is not known
	size       int64  // the file is never shorter
}

// bootOf is a hash of a boot's name, never 0.
func bootOf(id hal.BootID) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash never fails
	return max(h.Sum64(), 1)
}

func appendHeader(b []byte, h header) []byte {
	at := len(b)
	b = append(b, headerMagic...)
	b = binary.LittleEndian.AppendUint32(b, Version)
	b = append(b, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, h.generation)
	b = binary.LittleEndian.AppendUint64(b, h.boot)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.size))
	for len(b) < at+headerSize-4 {
		b = append(b, 0)
	}
	return binary.LittleEndian.AppendUint32(b, checksumOf(b[at:]))
}

// errNoHeader: the first bytes are no header of ours.
var errNoHeader = errors.New("the header is damaged")

func parseHeader(image []byte) (header, error) {
	if len(image) < headerSize || string(image[:len(headerMagic)]) != headerMagic ||
		binary.LittleEndian.Uint32(image[headerSize-4:]) != checksumOf(image[:headerSize-4]) {
		return header{}, errNoHeader
	}
	return header{
		version:    binary.LittleEndian.Uint32(image[8:]),
		generation: binary.LittleEndian.Uint64(image[16:]),
		boot:       binary.LittleEndian.Uint64(image[24:]),
		size:       int64(binary.LittleEndian.Uint64(image[32:])),
	}, nil
}

func checksumOf(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }
