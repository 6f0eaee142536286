package main

import (
	"net"
	"net/http"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// Most connections of each listener. What comes beyond waits in the kernel's queue.
const (
	maxControl = 256
	maxPublic  = 64
	// fileShare: all connections to one listener have at most one of so many of the files that the process may open.
	// The rest is the engine's.
	fileShare = 8
)

// capOf is how many connections a listener has: most, or less where few files may be open (getrlimit(2), RLIMIT_NOFILE;
// Go has raised the soft limit to the hard one).
func capOf(most int) int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur/fileShare >= uint64(most) {
		return most
	}
	return max(1, int(limit.Cur/fileShare))
}

// limitListener has at most cap(slots) connections at a time. A connection that comes when all slots are taken closes
// the one that is idle for longest, so that idle connections keep nobody out. While none is idle it waits.
type limitListener struct {
	net.Listener
	slots  chan struct{}
	closed chan struct{}
	once   sync.Once

	mu   sync.Mutex
	idle []net.Conn // that await a request, the longest idle first
}

func limited(l net.Listener, most int) *limitListener {
	return &limitListener{Listener: l, slots: make(chan struct{}, capOf(most)), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *limitListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case l.slots <- struct{}{}:
		return &slotConn{Conn: conn, slots: l.slots}, nil
	default:
	}
	l.closeIdle()
	select {
	case l.slots <- struct{}{}:
		return &slotConn{Conn: conn, slots: l.slots}, nil
	case <-l.closed:
		_ = conn.Close()
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (l *limitListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

func (l *limitListener) closeIdle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.idle) > 0 {
		_ = l.idle[0].Close()
		l.idle = l.idle[1:]
	}
}

// note keeps the list of idle connections. It is the server's ConnState.
func (l *limitListener) note(c net.Conn, state http.ConnState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = slices.DeleteFunc(l.idle, func(other net.Conn) bool { return other == c })
	if state == http.StateNew || state == http.StateIdle {
		l.idle = append(l.idle, c)
	}
}

// slotConn gives its slot back when it is closed.
type slotConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

func (c *slotConn) Close() error {
	c.once.Do(func() { <-c.slots })
	return c.Conn.Close()
}
