package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/engine"
)

// patience bounds every wait of a test. It is for a machine that is busy with other things.
const patience = 60 * time.Second

// rig is a root directory on a shared mount, a manifest directory, and a volnode on them.
type rig struct {
	t      *testing.T
	dir    string
	args   []string // more flags of volnode run
	env    []string
	files  int // that the daemon may open; 0: as many as the test
	daemon *daemonProcess
}

func newRig(t *testing.T) *rig {
	t.Helper()
	needRoot(t)
	r := &rig{t: t, dir: openTempDir(t)}
	for _, dir := range []string{"root", "manifests", "run"} {
		require.NoError(t, os.Mkdir(r.path(dir), 0o700))
	}
	require.NoError(t, unix.Mount(r.root(), r.root(), "", unix.MS_BIND, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(r.root(), unix.MNT_DETACH)) })
	require.NoError(t, unix.Mount("", r.root(), "", unix.MS_SHARED, ""))
	return r
}

func (r *rig) path(elements ...string) string {
	return filepath.Join(append([]string{r.dir}, elements...)...)
}
func (r *rig) root() string   { return r.path("root") }
func (r *rig) socket() string { return r.path("run", "v.sock") }

// runArgs is the command line of volnode run, later flags before earlier ones.
func (r *rig) runArgs(more ...string) []string {
	args := []string{
		"run", "--root-dir", r.root(), "--manifest-dir", r.path("manifests"), "--socket", r.socket(),
		"--mount-namespace=own", "--node-name=test-node",
		"--log-format=json", "--log-level=debug", "--trace", r.path("trace.jsonl"),
	}
	return append(append(args, r.args...), more...)
}

// daemonProcess is a volnode run.
type daemonProcess struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu      sync.Mutex
	log     strings.Builder
	changed chan struct{}
}

// start starts volnode run and waits until it serves.
func (r *rig) start(more ...string) *daemonProcess {
	r.t.Helper()
	cmd := exec.Command("/proc/self/exe", r.runArgs(more...)...)
	if r.files > 0 {
		program, err := os.Executable()
		require.NoError(r.t, err)
		limited := fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, r.files)
		cmd = exec.Command("sh", append([]string{"-c", limited, program}, r.runArgs(more...)...)...)
	}
	d := &daemonProcess{cmd: cmd, done: make(chan struct{}), changed: make(chan struct{})}
	d.cmd.Env = append(mainEnviron(), r.env...)
	log, err := d.cmd.StderrPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, d.cmd.Start())
	go func() {
		d.read(log)
		_ = d.cmd.Wait()
		close(d.done)
	}()
	r.daemon = d
	r.t.Cleanup(func() {
		_ = d.cmd.Process.Kill()
		<-d.done
		if r.t.Failed() {
			r.t.Log(d.logged())
		}
	})
	r.until(`"msg":"serving"`)
	return d
}

func (d *daemonProcess) read(log io.Reader) {
	scanner := bufio.NewScanner(log)
	for scanner.Scan() {
		d.mu.Lock()
		d.log.WriteString(scanner.Text() + "\n")
		close(d.changed)
		d.changed = make(chan struct{})
		d.mu.Unlock()
	}
}

func (d *daemonProcess) logged() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.log.String()
}

// until waits for a text in the daemon's log.
func (r *rig) until(text string) {
	r.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		r.daemon.mu.Lock()
		found, changed := strings.Contains(r.daemon.log.String(), text), r.daemon.changed
		r.daemon.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-r.daemon.done:
			r.t.Fatalf("volnode has ended before it logged %s:\n%s", text, r.daemon.logged())
		case <-timer.C:
			r.t.Fatalf("volnode does not log %s:\n%s", text, r.daemon.logged())
		}
	}
}

// stop sends a signal and returns the exit status, and how long it took.
func (r *rig) stop(s syscall.Signal) (int, time.Duration) {
	r.t.Helper()
	start := time.Now()
	require.NoError(r.t, r.daemon.cmd.Process.Signal(s))
	select {
	case <-r.daemon.done:
	case <-time.After(patience): //nolint:forbidigo // bounds a wait for the end of a process
		r.t.Fatalf("volnode does not end after %v", s)
	}
	return r.daemon.cmd.ProcessState.ExitCode(), time.Since(start)
}

// ask runs a command that asks the daemon.
func (r *rig) ask(args ...string) ended {
	r.t.Helper()
	return volnode(r.t, append(args, "--socket", r.socket())...)
}

// must is ask for a command that succeeds.
func (r *rig) must(args ...string) string {
	r.t.Helper()
	e := r.ask(args...)
	require.Zero(r.t, e.status, "volnode %q: %s", args, e.errOut)
	return e.out
}

func (r *rig) status() engine.Status {
	r.t.Helper()
	var s engine.Status
	require.NoError(r.t, json.Unmarshal([]byte(r.must("status", "-o", "json")), &s))
	return s
}

// apply writes a manifest as a tool should: under a hidden name first.
func (r *rig) apply(name, text string) {
	r.t.Helper()
	require.NoError(r.t, os.WriteFile(r.path("manifests", "."+name), []byte(text), 0o600))
	require.NoError(r.t, os.Rename(r.path("manifests", "."+name), r.path("manifests", name)))
}

func (r *rig) remove(name string) {
	r.t.Helper()
	require.NoError(r.t, os.Remove(r.path("manifests", name)))
}

// mountsBelow counts the mounts below the root directory.
// eventually waits until it is so.
func (r *rig) eventually(is func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(50 * time.Millisecond) { //nolint:forbidigo // another process
		require.False(r.t, time.Now().After(end), "it did not come to that")
	}
}

func (r *rig) mountsBelow() int {
	r.t.Helper()
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(r.t, err)
	return strings.Count(string(table), " "+r.root()+"/")
}

// memoryPod is a pod with one emptyDir in memory.
const memoryPod = `
apiVersion: v1
kind: Pod
metadata: {namespace: demo, name: web}
spec:
  containers:
  - {name: c, image: example.com/c, volumeMounts: [{name: scratch, mountPath: /scratch}]}
  volumes:
  - {name: scratch, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
`
