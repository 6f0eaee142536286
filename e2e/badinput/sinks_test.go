package badinput

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/host"
)

// Nobody reads standard error, the trace goes to a FIFO without a reader, and 1,500 connections to the metrics say
// nothing, where 1,024 files may be open. Pods come and go, and SIGTERM ends volnode.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	h := host.New(t)
	h.StartDriver("--volume=vol-1=dir", "--volume=vol-2=dir")
	h.Settings.Metrics = "127.0.0.1:19812"
	for _, name := range []string{"volnode.1.log", "trace.1.jsonl"} {
		require.NoError(t, unix.Mkfifo(filepath.Join(h.Output, name), 0o600))
	}
	log, err := os.OpenFile(filepath.Join(h.Output, "volnode.1.log"), os.O_RDWR, 0) // never read
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = log.Close()
		_ = os.RemoveAll(h.Output) // what is shown after a failure are files
	})
	_, err = unix.FcntlInt(log.Fd(), unix.F_SETPIPE_SZ, 4096)
	require.NoError(t, err)

	n := settled(h)
	few := unix.Rlimit{Cur: 1024, Max: 1024}
	require.NoError(t, unix.Prlimit(n.agent.Pid(), unix.RLIMIT_NOFILE, &few, nil))
	for range 1500 {
		c, err := net.Dial("tcp", h.Settings.Metrics)
		require.NoError(t, err)
		defer c.Close()
	}
	h.Apply("more.yaml", host.ClaimAndVolume("more", "vol-2", ""))
	for i := range 8 {
		name := fmt.Sprintf("pod-%d", i)
		uid := fmt.Sprintf("ca11ab1e-0000-4000-8000-0000000001%02d", i)
		h.Apply(name+".yaml", host.Pod(name, uid, "more", host.Claim("more"), "scratch", "emptyDir: {medium: Memory}"))
		h.Wait("pod/default/"+name, "ready")
		h.Remove(name + ".yaml")
		h.Wait("pod/default/"+name, "gone")
	}
	require.Contains(t, h.Ask("/readyz?verbose"), "[!]log: a write has taken ")
	require.Contains(t, h.Ask("/healthz"), "ok")
	n.unharmed()

	start := time.Now()
	require.NoError(t, n.agent.Terminate())
	require.Zero(t, n.agent.Exit())
	require.Less(t, time.Since(start), 5*time.Second)
	n.agent = h.Start()
	h.Wait(web, "ready")
	n.unharmed()
	n.ends()
}
