package linux

import (
	"bytes"
	"encoding/binary"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/volnode/volnode/hal"
)

// rawServer answers each request with what script writes: what no gRPC server would send, too.
type rawServer struct {
	fr     *http2.Framer
	block  bytes.Buffer
	coder  *hpack.Encoder
	script func(s *rawServer, stream uint32)
}

// serveRaw serves connections at a socket.
func serveRaw(t *testing.T, script func(s *rawServer, stream uint32)) *Host {
	t.Helper()
	h, root := startHost(t)
	socket := filepath.Join(root, "csi.sock")
	l := listen(t, socket)
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer conn.Close()
				(&rawServer{script: script}).serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		served.Wait()
	})
	t.Cleanup(func() { h.drivers.Disconnect("d") })
	_, err := h.drivers.Connect(hal.Call{Deadline: h.runtime.Now().Add(time.Minute)}, "d", socket, hal.PeerEvents{})
	require.NoError(t, err)
	return h
}

func (s *rawServer) serve(conn net.Conn) {
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := conn.Read(preface); err != nil {
		return
	}
	s.fr, s.coder = http2.NewFramer(conn, conn), hpack.NewEncoder(&s.block)
	_ = s.fr.WriteSettings()
	for {
		f, err := s.fr.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = s.fr.WriteSettingsAck()
			}
		case *http2.PingFrame:
			_ = s.fr.WritePing(true, f.Data)
		case *http2.DataFrame:
			if f.StreamEnded() {
				s.script(s, f.StreamID)
			}
		}
	}
}

// head writes a header block: pairs of names and values.
func (s *rawServer) head(stream uint32, end bool, pairs ...string) {
	b := s.encode(pairs...)
	_ = s.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: b, EndStream: end, EndHeaders: true})
}

func (s *rawServer) encode(pairs ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = s.coder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return bytes.Clone(s.block.Bytes())
}

// message writes a gRPC message.
func (s *rawServer) message(stream uint32, compressed byte, body []byte) {
	p := binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(body)))
	_ = s.fr.WriteData(stream, false, append(p, body...))
}

var grpcHead = []string{":status", "200", "content-type", "application/grpc"}

func with(pairs ...string) []string { return append(append([]string{}, grpcHead...), pairs...) }

// What the server itself said, and what gRPC made of it: the first is an answer, the second is none.
func TestAnswersThatTheServerSent(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(s *rawServer, stream uint32)
		code   hal.Code
		detail string
		sent   bool
	}{
		{"trailers only", func(s *rawServer, id uint32) {
			s.head(id, true, with("grpc-status", "2", "grpc-message", "target is busy")...)
		}, hal.CodeUnknown, "target is busy", true},
		{"headers, then trailers", func(s *rawServer, id uint32) {
			s.head(id, false, grpcHead...)
			s.head(id, true, "grpc-status", "13", "grpc-message", "50%25 done%21")
		}, hal.CodeInternal, "50% done!", true},
		{"padded, with priority, in two frames", func(s *rawServer, id uint32) {
			b := s.encode(with("grpc-status", "2", "grpc-message", "in parts")...)
			_ = s.fr.WriteHeaders(http2.HeadersFrameParam{
				StreamID: id, BlockFragment: b[:3], EndStream: true, PadLength: 7,
				Priority: http2.PriorityParam{Weight: 3},
			})
			_ = s.fr.WriteContinuation(id, true, b[3:])
		}, hal.CodeUnknown, "in parts", true},
		{"a code that nobody knows", func(s *rawServer, id uint32) {
			s.head(id, true, with("grpc-status", "77")...)
		}, hal.Code(77), "", true},
		{"no status", func(s *rawServer, id uint32) {
			s.head(id, true, grpcHead...)
		}, hal.CodeUnknown, "", false},
		{"no status, and a text", func(s *rawServer, id uint32) {
			s.head(id, true, with("grpc-message", "target is busy")...)
		}, hal.CodeUnknown, "target is busy", false},
		{"no status after headers", func(s *rawServer, id uint32) {
			s.head(id, false, grpcHead...)
			s.head(id, true, "x-other", "1")
		}, hal.CodeUnknown, "", false},
		{"a status that is no number", func(s *rawServer, id uint32) {
			s.head(id, true, with("grpc-status", "two", "grpc-message", "target is busy")...)
		}, hal.CodeUnknown, "malformed grpc-status", false},
		{"an HTTP error", func(s *rawServer, id uint32) {
			s.head(id, true, ":status", "503", "content-type", "text/html")
		}, hal.CodeUnavailable, "503", false},
		{"an HTTP error that gRPC has no code for", func(s *rawServer, id uint32) {
			s.head(id, false, ":status", "500", "content-type", "text/html")
			_ = s.fr.WriteData(id, true, []byte("<html>"))
		}, hal.CodeUnknown, "500", false},
		{"the stream is reset", func(s *rawServer, id uint32) {
			_ = s.fr.WriteRSTStream(id, http2.ErrCodeInternal)
		}, hal.CodeInternal, "RST_STREAM", false},
		{"refused", func(s *rawServer, id uint32) {
			s.head(id, false, grpcHead...)
			_ = s.fr.WriteRSTStream(id, http2.ErrCodeCancel)
		}, hal.CodeCanceled, "", false},
		{"a message that is no message", func(s *rawServer, id uint32) {
			s.head(id, false, grpcHead...)
			s.message(id, 0, []byte{0xff, 0xff, 0xff})
			s.head(id, true, "grpc-status", "0")
		}, hal.CodeInternal, "unmarshal", false},
		{"a message that is too large", func(s *rawServer, id uint32) {
			s.head(id, false, grpcHead...)
			_ = s.fr.WriteData(id, false, []byte{0, 0x7f, 0, 0, 0})
			s.head(id, true, "grpc-status", "0")
		}, hal.CodeResourceExhausted, "larger than max", false},
		{"a compression that nobody knows", func(s *rawServer, id uint32) {
			s.head(id, false, with("grpc-encoding", "zip-it")...)
			s.message(id, 1, []byte("?"))
			s.head(id, true, "grpc-status", "0")
		}, hal.CodeInternal, "zip-it", false},
		{"OK without a message", func(s *rawServer, id uint32) {
			s.head(id, true, with("grpc-status", "0")...)
		}, hal.CodeInternal, "cardinality", false},
		{"headers that are too large", func(s *rawServer, id uint32) {
			var pairs []string
			for _, c := range "abcdefghijklmnopqrstuvwxyz" {
				pairs = append(pairs, "x-"+string(c), strings.Repeat(string(c), 1<<10))
			}
			s.head(id, true, with(append(pairs, "grpc-status", "2", "grpc-message", "busy")...)...)
		}, hal.CodeUnavailable, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serveRaw(t, c.script)
			e := requireHALError(t, stage(h, hal.Call{Deadline: h.runtime.Now().Add(time.Minute)}, "v"))
			require.Equal(t, c.code.String(), e.Code.String(), e)
			require.Contains(t, e.Detail, c.detail)
			want := hal.ReplyNone
			if c.sent {
				want = hal.ReplyStatus
			}
			require.Equal(t, want, e.Reply, e)
			require.Equal(t, hal.Unknown, e.Outcome)
		})
	}
}

// The header table of a connection goes on from answer to answer, and each status serves one call.
func TestAnswersOfOneConnection(t *testing.T) {
	answers := 0
	h := serveRaw(t, func(s *rawServer, id uint32) {
		answers++
		if answers == 3 {
			s.head(id, true, with("grpc-message", "target is busy")...)
			return
		}
		s.head(id, true, with("grpc-status", "2", "grpc-message", "target is busy")...)
	})
	for i := range 5 {
		e := requireHALError(t, stage(h, hal.Call{Deadline: h.runtime.Now().Add(time.Minute)}, "v"))
		require.Equal(t, hal.CodeUnknown, e.Code)
		require.Equal(t, i != 2, e.Reply == hal.ReplyStatus, "answer %d", i+1)
	}
}

// A status that is too large is not understood, and nothing that comes behind it: the next call has a connection of
// its own.
func TestAStatusThatIsTooLargeIsTheLastOfItsConnection(t *testing.T) {
	var answers atomic.Int32
	h := serveRaw(t, func(s *rawServer, id uint32) {
		if answers.Add(1) != 2 {
			s.head(id, true, with("grpc-status", "13", "grpc-message", "code")...)
			return
		}
		const most = 16 << 10 // of a frame
		rest := s.encode(with("grpc-status", "13", "grpc-message", strings.Repeat("x", 2*mostBlock))...)
		_ = s.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: rest[:most], EndStream: true})
		for rest = rest[most:]; len(rest) > 0; rest = rest[min(most, len(rest)):] {
			_ = s.fr.WriteContinuation(id, len(rest) <= most, rest[:min(most, len(rest))])
		}
	})
	for i := range 4 {
		e := requireHALError(t, stage(h, hal.Call{Deadline: h.runtime.Now().Add(time.Minute)}, "v"))
		require.Equal(t, hal.CodeInternal, e.Code)
		require.Equal(t, i != 1, e.Reply == hal.ReplyStatus, "answer %d", i+1)
	}
}

// Statuses of calls that were given up do not pile up.
func TestTrailersAreBounded(t *testing.T) {
	said := newTrailers()
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	s := &rawServer{fr: fr}
	s.coder = hpack.NewEncoder(&s.block)
	for range mostSaid + 10 {
		s.head(1, true, with("grpc-status", "2")...)
	}
	for _, c := range b.Bytes() {
		said.read([]byte{c}) // in whatever pieces
	}
	require.Len(t, said.said, mostSaid)
	require.True(t, said.take(2, ""))
	require.False(t, said.take(2, "other"))
	said.read([]byte{0xff, 0xff, 0xff, byte(http2.FrameHeaders), 0, 0, 0, 0, 1})
	require.True(t, said.isLost.Load())
}
