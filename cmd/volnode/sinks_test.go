package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal/linux"
)

// startUnread starts volnode run with its log in a pipe of one page that nobody reads, and waits until it serves. It
// returns the end to read.
func (r *rig) startUnread(more ...string) *os.File {
	r.t.Helper()
	read, write, err := os.Pipe()
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = read.Close() })
	defer write.Close()
	_, err = unix.FcntlInt(write.Fd(), unix.F_SETPIPE_SZ, 4096)
	require.NoError(r.t, err)
	d := &daemonProcess{
		cmd: exec.Command("/proc/self/exe", r.runArgs(more...)...), done: make(chan struct{}),
		changed: make(chan struct{}),
	}
	d.cmd.Env = append(mainEnviron(), r.env...)
	d.cmd.Stderr = write
	require.NoError(r.t, d.cmd.Start())
	go func() {
		_ = d.cmd.Wait()
		close(d.done)
	}()
	r.daemon = d
	r.t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.done
	})
	deadline := time.Now().Add(patience)
	for r.ask("status").status != 0 {
		require.True(r.t, time.Now().Before(deadline), "volnode does not serve")
	}
	return read
}

// churn brings pods up and takes them down: some lines of log, and many calls.
func (r *rig) churn(rounds int) {
	r.t.Helper()
	for range rounds {
		for i := range 10 {
			name := fmt.Sprintf("churn%d", i)
			r.apply(name+".yaml", strings.ReplaceAll(memoryPod, "web", name))
		}
		for i := range 10 {
			r.must("wait", fmt.Sprintf("pod/demo/churn%d", i), "--timeout=20s")
		}
		for i := range 10 {
			r.remove(fmt.Sprintf("churn%d.yaml", i))
		}
		r.must("wait", "all", "--for=gone", "--timeout=20s")
	}
}

// stopsSoon ends the daemon by SIGTERM.
func (r *rig) stopsSoon() {
	r.t.Helper()
	status, took := r.stop(syscall.SIGTERM)
	require.Zero(r.t, status)
	require.Less(r.t, took, 5*time.Second)
}

// The log goes into a pipe that nobody reads. Pods come and go, questions are answered, SIGTERM ends it; and what was
// lost is counted.
func TestNobodyReadsTheLog(t *testing.T) {
	r := newRig(t)
	read := r.startUnread()
	r.churn(3) // more than the pipe holds
	r.must("status")
	status, _ := r.get(t, "/healthz")
	require.Equal(t, 200, status)
	r.stopsSoon()
	log, err := io.ReadAll(read)
	require.NoError(t, err)
	require.Contains(t, string(log), `"msg":"serving"`)
}

// An error that nobody reads does not keep a daemon that can't start.
func TestNobodyReadsTheError(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer write.Close()
	fd := int(write.Fd())
	require.NoError(t, unix.SetNonblock(fd, true))
	for err == nil { // until it is full
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	require.NoError(t, unix.SetNonblock(fd, false))
	cmd := exec.Command("/proc/self/exe", "run", "--config", filepath.Join(t.TempDir(), "none.yaml"))
	cmd.Env, cmd.Stderr = mainEnviron(), write
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
		require.Equal(t, exitConfig, cmd.ProcessState.ExitCode())
	case <-time.After(patience): //nolint:forbidigo // bounds a wait for the end of a process
		_ = cmd.Process.Kill()
		t.Fatal("volnode does not end")
	}
}

// What the trace is written to does not take it.
func TestTheTraceIsStuck(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"fifo": func(path string) error { return unix.Mkfifo(path, 0o600) },
		"full": func(path string) error { return os.Symlink("/dev/full", path) },
		"fifo with a reader that sleeps": func(path string) error {
			if err := unix.Mkfifo(path, 0o600); err != nil {
				return err
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err == nil {
				t.Cleanup(func() { _ = f.Close() })
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			require.NoError(t, make(r.path("trace.jsonl")))
			r.start()
			r.churn(1)
			if name == "full" {
				const full = "no space left on device"
				require.Regexp(t, `trace: \d+ lines lost since the start; write .*`+full+`; volumes are not affected\n$`,
					r.must("status"))
				status, body := r.get(t, "/readyz?verbose")
				require.Equal(t, 200, status)
				require.Regexp(t, `(?m)^\[!\]trace: .*`+full, body)
				_, body = r.get(t, "/metrics")
				require.Regexp(t, `volnode_lines_dropped_total\{sink="trace"\} [1-9]`, body)
			}
			r.stopsSoon()
		})
	}
}

// A service manager that does not read its socket.
func TestTheServiceManagerDoesNotListen(t *testing.T) {
	r := newRig(t)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: r.path("run", "notify"), Net: "unixgram"})
	require.NoError(t, err)
	defer conn.Close()
	r.env = []string{"NOTIFY_SOCKET=" + r.path("run", "notify"), "WATCHDOG_USEC=2000"}
	r.start()
	r.churn(1)
	r.stopsSoon()
}

// gate is a file that takes nothing while it is shut, or fails.
type gate struct {
	open  chan error // each write takes one: nil, or why it fails
	lines []string
}

func (g *gate) Write(p []byte) (int, error) {
	if err := <-g.open; err != nil {
		return 0, err
	}
	g.lines = append(g.lines, string(p))
	return len(p), nil
}

func TestASinkNeverWaitsAndSaysWhatIsLost(t *testing.T) {
	g := &gate{open: make(chan error)}
	s := newSink("log", g, func(n uint64) []byte { return fmt.Appendf(nil, "%d lost", n) })
	write := func(line string) {
		n, err := s.Write([]byte(line))
		require.NoError(t, err)
		require.Equal(t, len(line), n)
	}
	write("first")
	for !s.isBusy() { // until its goroutine has taken that line
		time.Sleep(time.Millisecond) //nolint:forbidigo // there is no event
	}
	big := strings.Repeat("x", maxQueued/4)
	for range 10 {
		write(big) // three have room
	}
	s.flush(time.Millisecond)
	require.EqualValues(t, 7, s.state().Lost)
	for range 5 {
		g.open <- nil
	}
	write("failed")
	g.open <- errors.New("no space left on device")
	write("last")
	g.open <- nil // "1 lost"
	g.open <- nil
	s.flush(patience)
	require.Equal(t, []string{"first", big, big, big, "7 lost", "1 lost", "last"}, g.lines)
	require.Equal(t, sinkState{Name: "log", Lost: 8}, s.state())
}

// An owner that does not get on is noticed.
func TestHealthzNoticesAStalledOwner(t *testing.T) {
	needRoot(t)
	host, err := linux.New(linux.Options{RootDir: filepath.Join(openTempDir(t), "root")})
	require.NoError(t, err)
	defer host.Close()
	d := &daemon{runtime: host.HAL().Runtime}
	status := func() int {
		w := httptest.NewRecorder()
		d.healthz(w, httptest.NewRequest("GET", "/healthz", nil))
		return w.Code
	}
	start := time.Now()
	require.Equal(t, 503, status())
	ctx, cancel := d.soon(t.Context())
	defer cancel()
	require.ErrorContains(t, answers(ctx, d.runtime), "the engine did not answer within 5s")
	require.Less(t, time.Since(start), patience)
	running, stop := context.WithCancel(t.Context())
	defer stop()
	go host.Run(running)
	require.Equal(t, 200, status())
}
