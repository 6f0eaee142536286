package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// crash ends the daemon by a signal, as the watchdog of systemd does (SIGABRT) or a lack of memory (SIGKILL).
func (r *rig) crash(s syscall.Signal) {
	r.t.Helper()
	require.NoError(r.t, r.daemon.cmd.Process.Signal(s))
	<-r.daemon.done
}

// runOnce is a run that has made the agent's own directory, and was stopped.
func (r *rig) runOnce() {
	r.t.Helper()
	r.start()
	r.until(`"msg":"all sources synced"`)
	status, _ := r.stop(syscall.SIGTERM)
	require.Zero(r.t, status)
}

func (r *rig) crashLog() string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.root(), "volnode", "crash.log"))
	require.NoError(r.t, err)
	return string(data)
}

func TestACrashChangesNoMountAndIsShown(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	before := r.status().Rungs[0].Fingerprint
	status, _ := r.stop(syscall.SIGTERM)
	require.Zero(t, status)
	r.start()
	require.NotContains(t, r.must("status"), "crashed", "it was stopped")

	for n, want := range []string{"crashed 1 time ", "crashed 2 times ", "crashed 3 times "} {
		r.crash(syscall.SIGABRT)
		require.Equal(t, 1, r.mountsBelow())
		require.Equal(t, n+1, strings.Count(r.crashLog(), "SIGABRT: abort"))
		r.start()
		r.must("wait", "pod/demo/web")
		require.Equal(t, before, r.status().Rungs[0].Fingerprint)
		require.NotContains(t, r.daemon.logged(), `"msg":"operation"`, "the restart makes no call")
		out := r.must("status")
		require.Contains(t, out, want)
		require.Contains(t, out, "the stack is at the end of "+r.root()+"/volnode/crash.log: report it")
		require.Equal(t, n == 2, strings.Contains(r.daemon.logged(), "volnode crashes again and again"))
		require.Equal(t, n < 2, strings.Contains(r.daemon.logged(), "the last run of volnode crashed"))
	}

	r.crash(syscall.SIGKILL)
	r.start()
	require.Contains(t, r.must("status"), "a signal such as SIGKILL, or a lack of memory, ended it")
	_, metrics := r.get(t, "/metrics")
	require.Contains(t, metrics, "\nvolnode_crashes_total 4\n")

	// What is there in place of the files is no reason not to start.
	status, _ = r.stop(syscall.SIGTERM)
	require.Zero(t, status)
	for _, name := range []string{"running", "running.new", "crash.log"} {
		path := filepath.Join(r.root(), "volnode", name)
		require.NoError(t, os.RemoveAll(path))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
	}
	r.start()
	require.NotContains(t, r.must("status"), "crashed")
	require.Contains(t, r.daemon.logged(), "cannot note that volnode runs")
	require.Contains(t, r.daemon.logged(), "crash.log is no regular file: remove it")

	// A directory can't be replaced: the stack of a crash is there all the same.
	r.crash(syscall.SIGKILL)
	for _, name := range []string{"running", "crash.log"} {
		require.NoError(t, os.RemoveAll(filepath.Join(r.root(), "volnode", name)))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(r.root(), "volnode", "running", "x"), 0o700))
	r.start()
	r.crash(syscall.SIGABRT)
	require.Contains(t, r.crashLog(), "SIGABRT: abort")
	r.start()
	status, _ = r.stop(syscall.SIGTERM)
	require.Zero(t, status)
	require.Contains(t, r.daemon.logged(), "cannot note that volnode was stopped")
}

func TestTheCrashLogIsBounded(t *testing.T) {
	r := newRig(t)
	r.runOnce()
	path := filepath.Join(r.root(), "volnode", "crash.log")
	require.NoError(t, os.WriteFile(path, make([]byte, maxCrashLog), 0o600))
	r.start()
	require.Len(t, r.crashLog(), maxCrashLog)
	r.crash(syscall.SIGABRT)
	r.start()
	require.Empty(t, r.crashLog())
	require.Contains(t, r.must("status"), "the stack is at the end of "+path+".1: report it")
}

func TestARefusedStartIsNoCrash(t *testing.T) {
	r := newRig(t)
	r.runOnce()
	require.NoError(t, os.WriteFile(filepath.Join(r.root(), "volnode", "identity"), []byte(`{"version":99}`), 0o600))
	require.Equal(t, exitConfig, r.ask(r.runArgs()...).status)
	require.NoFileExists(t, filepath.Join(r.root(), "volnode", "running"))
}
