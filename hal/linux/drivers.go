package linux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/volnode/volnode/hal"
)

// maxMessage bounds an answer of a driver, in bytes.
const maxMessage = 4 << 20

// drivers is hal.Drivers: one kept connection for each name.
type drivers struct {
	host *Host

	mu     sync.Mutex
	byName map[string]*driver
}

// driver is what one Connect made. It stays with one life of the driver's process: a connection that broke is made
// again only if the same process answers, since nobody could tell else whose answers the calls get.
type driver struct {
	endpoint string
	peer     hal.Peer
	lost     func() // posted by each of its connections that breaks

	gone atomic.Bool // it was replaced or forgotten
	mu   sync.Mutex  // held while a connection is made, which takes up to the deadline of a call
	conn *connection
}

// connection is one connection to a socket. It closes once it is retired and the last call on it has ended.
type connection struct {
	*grpc.ClientConn
	raw    *net.UnixConn
	peer   hal.Peer
	broken atomic.Bool // its socket failed, or was closed
	said   *trailers   // what the server has answered with

	mu      sync.Mutex
	calls   int
	retired bool
	lost    func() // called at the first failure, unless it is retired by then
}

func (d *drivers) Connect(c hal.Call, name, endpoint string, events hal.PeerEvents) (hal.Peer, error) {
	const op = "connect"
	if err := d.host.expired(c, hal.ClassRPC, op, hal.DriverOf(name)); err != nil {
		return hal.Peer{}, neverSent(op, hal.DriverOf(name), err)
	}
	ctx, cancel := d.host.until(c.Deadline)
	defer cancel()
	conn, err := dial(ctx, endpoint)
	if err != nil {
		return hal.Peer{}, neverSent(op, hal.DriverOf(name), fmt.Errorf("%s: %w", endpoint, err))
	}
	d.host.followPeer(conn.peer, events.Gone)
	dr := &driver{endpoint: endpoint, peer: conn.peer, conn: conn, lost: func() {}}
	if events.Lost != nil {
		dr.lost = func() { d.host.runtime.Post(events.Lost) }
	}
	conn.tell(dr.lost)
	d.mu.Lock()
	old := d.byName[name]
	d.byName[name] = dr
	d.mu.Unlock()
	old.retire()
	return conn.peer, nil
}

func (d *drivers) Rename(from, to string) {
	d.mu.Lock()
	dr, old := d.byName[from], d.byName[to]
	if dr != nil {
		delete(d.byName, from)
		d.byName[to] = dr
	}
	d.mu.Unlock()
	if dr != nil {
		old.retire()
	}
}

func (d *drivers) Disconnect(name string) {
	d.mu.Lock()
	old := d.byName[name]
	delete(d.byName, name)
	d.mu.Unlock()
	go old.retire() // it waits for a call that is just connecting, and the owner does not
}

func (d *drivers) close() {
	d.mu.Lock()
	all := d.byName
	d.byName = map[string]*driver{}
	d.mu.Unlock()
	for _, dr := range all {
		dr.retire()
	}
}

// retire never waits, as the owner calls it: if a connection is just being made, whoever makes it retires it.
func (dr *driver) retire() {
	if dr == nil {
		return
	}
	dr.gone.Store(true)
	if dr.mu.TryLock() {
		dr.conn.retire()
		dr.mu.Unlock()
	}
}

func (dr *driver) unlock() {
	dr.mu.Unlock()
	if dr.gone.Load() {
		dr.retire()
	}
}

// acquire returns the connection for a call to name; the caller releases it. An error means that nothing can have been
// sent. A connection that is lost is made again, until the deadline.
func (d *drivers) acquire(deadline hal.Instant, name string) (*connection, error) {
	d.mu.Lock()
	dr := d.byName[name]
	d.mu.Unlock()
	if dr == nil {
		return nil, errors.New("driver is not connected")
	}
	dr.mu.Lock()
	defer dr.unlock()
	if dr.conn.acquire() {
		return dr.conn, nil
	}
	ctx, cancel := d.host.until(deadline)
	defer cancel()
	conn, err := dial(ctx, dr.endpoint)
	if err != nil {
		return nil, fmt.Errorf("connection lost, and %s: %w", dr.endpoint, err)
	}
	if conn.peer.Instance == "" || conn.peer.Instance != dr.peer.Instance {
		conn.retire()
		const text = "connection lost; another process (pid %d) listens at %s: connect again"
		return nil, fmt.Errorf(text, conn.peer.PID, dr.endpoint)
	}
	dr.conn.retire()
	dr.conn = conn
	conn.tell(dr.lost)
	conn.acquire()
	return conn, nil
}

// tell has f called once the connection breaks, or at once if it is broken.
func (c *connection) tell(f func()) {
	c.mu.Lock()
	c.lost = f
	c.mu.Unlock()
	if c.broken.Load() {
		c.breaks()
	}
}

// breaks notes that the socket has failed or was closed.
func (c *connection) breaks() {
	c.broken.Store(true)
	c.mu.Lock()
	f := c.lost
	c.lost = nil
	if c.retired {
		f = nil
	}
	c.mu.Unlock()
	if f != nil {
		f()
	}
}

// acquire counts a call in. False if the connection is of no use for another one.
func (c *connection) acquire() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired || c.broken.Load() || c.said.isLost.Load() || c.hungUp() {
		return false
	}
	c.calls++
	return true
}

// hungUp reports whether the other side has closed. gRPC comes to know it a moment later, and a call sent in that
// moment would be one whose end is unknown.
func (c *connection) hungUp() bool {
	raw, err := c.raw.SyscallConn()
	if err != nil {
		return true
	}
	hungUp := false
	err = raw.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		hungUp = err == nil && n > 0
	})
	return hungUp || err != nil
}

func (c *connection) release() {
	c.mu.Lock()
	c.calls--
	last := c.retired && c.calls == 0
	c.mu.Unlock()
	if last {
		_ = c.Close()
	}
}

func (c *connection) retire() {
	c.mu.Lock()
	last := !c.retired && c.calls == 0
	c.retired = true
	c.mu.Unlock()
	if last {
		_ = c.Close()
	}
}

// dial connects to a socket and waits for the server's first HTTP/2 frame: a process that listens and doesn't answer
// fails here. The connection is never made again behind our back.
func dial(ctx context.Context, endpoint string) (*connection, error) {
	path, err := socketPath(endpoint)
	if err != nil {
		return nil, err
	}
	raw, err := dialSocket(ctx, path)
	if err != nil {
		return nil, err
	}
	c := &connection{raw: raw, said: newTrailers()}
	if c.peer, err = peerOf(raw); err != nil {
		_ = raw.Close()
		return nil, err
	}
	var used atomic.Bool
	c.ClientConn, err = grpc.NewClient("passthrough:///"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"), grpc.WithNoProxy(),
		grpc.WithIdleTimeout(0), grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithStatsHandler(progressHandler{}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
			if used.Swap(true) {
				return nil, errors.New("connection lost")
			}
			return &watchedConn{raw, c, c.said}, nil
		}))
	if err != nil {
		_ = raw.Close()
		return nil, err
	}
	if err := c.ready(ctx); err != nil {
		_ = c.Close()
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

func (c *connection) ready(ctx context.Context) error {
	c.Connect()
	for {
		state := c.GetState()
		if state == connectivity.Ready {
			return nil
		}
		if state == connectivity.TransientFailure || state == connectivity.Shutdown {
			return because(syscall.ECONNREFUSED, "the process there does not speak gRPC")
		}
		if !c.WaitForStateChange(ctx, state) {
			return because(syscall.ETIMEDOUT, "the process there accepts connections and does not answer")
		}
	}
}

// watchedConn tells the first failure of a connection, and what the server has answered with.
type watchedConn struct {
	net.Conn
	of   *connection
	said *trailers
}

func (w *watchedConn) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.said.read(p[:n])
	if err != nil {
		w.of.breaks()
	}
	return n, err
}

func (w *watchedConn) Close() error {
	w.of.breaks()
	return w.Conn.Close()
}

// peerOf asks who listens: SO_PEERCRED holds the ids of the process at its listen(2) (unix(7)). A process of a foreign
// pid namespace has pid 0.
func peerOf(conn *net.UnixConn) (hal.Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return hal.Peer{}, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return hal.Peer{}, err
	}
	if credErr != nil {
		return hal.Peer{}, credErr
	}
	peer := hal.Peer{PID: int(cred.Pid)}
	if peer.PID > 0 {
		if start, err := startTime(peer.PID); err == nil {
			peer.Instance = fmt.Sprintf("%d:%d", peer.PID, start)
		}
	}
	return peer, nil
}
