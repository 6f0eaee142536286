package linux

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

// roles are what this test program does when a test starts it as another process.
var roles = map[string]func(args []string){
	"agent": agentRole, "driver": driverRole, "remover": removerRole,
	"short": shortRole, "flex": flexRole,
}

func TestMain(m *testing.M) {
	if IsHelper() {
		HelperMain()
	}
	haltest.BlockCalls()
	if role, ok := roles[os.Getenv("VOLNODE_TEST_ROLE")]; ok {
		role(os.Args[1:])
		os.Exit(0)
	}
	// /proc/self shows the mounts of the first thread. No test may get it for a sandbox, and take it elsewhere.
	runtime.LockOSThread()
	os.Exit(haltest.InPrivateMounts(m.Run))
}

// startHost returns a host whose root directory is a directory of its own, with its owner running.
func startHost(t *testing.T) (*Host, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Chmod(root, 0o755))
	return startHostAt(t, root), root
}

func startHostAt(t *testing.T, root string) *Host {
	t.Helper()
	h, err := New(Options{RootDir: root})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.Run(ctx)
	}()
	t.Cleanup(func() {
		h.Close()
		stop()
		<-done
	})
	return h
}

// patience bounds every wait of these tests; it is never waited out when they pass.
const patience = 30 * time.Second

func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	bound := time.NewTimer(patience)
	defer bound.Stop()
	select {
	case v := <-c:
		return v
	case <-bound.C:
		require.FailNow(t, "no "+what)
		panic("unreachable")
	}
}

// mountDisk mounts a tmpfs, gone at the end of the test.
func mountDisk(t *testing.T, path string) {
	t.Helper()
	haltest.NeedPrivateMounts(t)
	require.NoError(t, os.MkdirAll(path, 0o755))
	require.NoError(t, unix.Mount("test", path, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(path, unix.MNT_DETACH)) })
}

func requireHALError(t *testing.T, err error) *hal.Error {
	t.Helper()
	var e *hal.Error
	require.ErrorAs(t, err, &e)
	return e
}
