package linux

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// trailers reads what a server sends on one connection and keeps each error status that it finds there.
//
// gRPC reports the errors of a server and its own errors in one way: an answer without a grpc-status is UNKNOWN, a
// message that is too large is RESOURCE_EXHAUSTED, one with an unknown compression is UNIMPLEMENTED, the 503 of a proxy
// is UNAVAILABLE. Only what is in the bytes tells them apart. Invariant: a status is kept before gRPC reads the
// bytes that hold it, so it is here when the call returns.
type trailers struct {
	mu   sync.Mutex
	said []said // oldest first

	// Of the reader of the connection alone.
	buffer  []byte // of a frame, as far as it was read
	skip    int    // bytes of a frame that nobody needs
	block   []byte // of a header block that goes on in the next frame
	ends    bool   // the block ends its stream
	decoder *hpack.Decoder

	// isLost: the bytes are no HTTP/2 that this reader understands, so it believes nothing from now on, and no further
	// call is made on the connection.
	isLost atomic.Bool
}

// said is one error status that a server has sent.
type said struct {
	code    uint32
	message string
	details bool // the message may be in grpc-status-details-bin
}

const (
	frameHeader = 9
	mostBlock   = 1 << 20 // bytes of a header block
	mostSaid    = 1024    // statuses that no call has asked for: those of calls that were given up
	tableSize   = 4096    // of HPACK, as gRPC announces it (RFC 7541, 4.2)
)

func newTrailers() *trailers { return &trailers{decoder: hpack.NewDecoder(tableSize, nil)} }

// take reports whether the server sent this status, and forgets one of that kind: each serves one call.
func (t *trailers) take(code uint32, message string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.said, func(s said) bool { return s.code == code && (s.details || s.message == message) })
	if i >= 0 {
		t.said = slices.Delete(t.said, i, i+1)
	}
	return i >= 0
}

// read takes in the next bytes of the server.
func (t *trailers) read(p []byte) {
	for len(p) > 0 && !t.isLost.Load() {
		if t.skip > 0 {
			n := min(t.skip, len(p))
			t.skip -= n
			p = p[n:]
			continue
		}
		need := frameHeader
		if len(t.buffer) >= frameHeader {
			need += frameLength(t.buffer)
		}
		n := min(need-len(t.buffer), len(p))
		t.buffer = append(t.buffer, p[:n]...)
		p = p[n:]
		t.frame()
	}
}

func frameLength(b []byte) int { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }

// frame handles the frame in the buffer once it is there in full. Of those without headers only the length is read.
func (t *trailers) frame() {
	if len(t.buffer) < frameHeader {
		return
	}
	kind, flags, length := http2.FrameType(t.buffer[3]), http2.Flags(t.buffer[4]), frameLength(t.buffer)
	if kind != http2.FrameHeaders && kind != http2.FrameContinuation {
		t.skip, t.buffer = length, t.buffer[:0]
		return
	}
	if length > mostBlock {
		t.isLost.Store(true)
	}
	if t.isLost.Load() || len(t.buffer) < frameHeader+length {
		return
	}
	payload := t.buffer[frameHeader:]
	if kind == http2.FrameHeaders {
		t.block, t.ends = t.block[:0], flags.Has(http2.FlagHeadersEndStream)
		if payload = fragment(payload, flags); payload == nil {
			t.isLost.Store(true)
			return
		}
	}
	t.block = append(t.block, payload...)
	t.buffer = t.buffer[:0]
	if len(t.block) > mostBlock {
		t.isLost.Store(true)
	} else if flags.Has(http2.FlagHeadersEndHeaders) {
		t.headers()
	}
}

// fragment is the header block of a HEADERS frame without padding and priority (RFC 9113, 6.2); nil if it is malformed.
func fragment(p []byte, flags http2.Flags) []byte {
	padding := 0
	if flags.Has(http2.FlagHeadersPadded) {
		if len(p) == 0 {
			return nil
		}
		padding, p = int(p[0]), p[1:]
	}
	if flags.Has(http2.FlagHeadersPriority) {
		const priority = 5
		if len(p) < priority {
			return nil
		}
		p = p[priority:]
	}
	if padding > len(p) {
		return nil
	}
	return p[:len(p)-padding]
}

// headers decodes a header block, be it of no interest: the next one may refer to it.
func (t *trailers) headers() {
	fields, err := t.decoder.DecodeFull(t.block)
	if err != nil {
		t.isLost.Store(true)
		return
	}
	if !t.ends {
		return
	}
	s, isStatus := said{}, false
	for _, f := range fields {
		switch f.Name {
		case "grpc-status":
			code, err := strconv.ParseUint(f.Value, 10, 32)
			s.code, isStatus = uint32(code), err == nil
		case "grpc-message":
			s.message = unescaped(f.Value)
		case "grpc-status-details-bin":
			s.details = true
		}
	}
	if !isStatus || s.code == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said = append(t.said, s); len(t.said) > mostSaid {
		t.said = slices.Delete(t.said, 0, 1)
	}
}

// unescaped takes the percent-encoding off a grpc-message. What is not encoded as it should be stays as it is, as gRPC
// has it.
func unescaped(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(c))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
