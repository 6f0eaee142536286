package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What stands in the place of the manifest directory is told, with what to do, and nobody has deleted a pod.
func TestWhatIsNoManifestDirectoryIsTold(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	at := r.path("manifests")
	require.NoError(t, os.Rename(at, at+".away"))
	for _, c := range []struct {
		put  func() error
		want string
	}{
		{func() error { return os.Symlink(at+".away", at) }, "is a symlink, not a directory"},
		{func() error { return os.WriteFile(at, nil, 0o600) }, "is a file, not a directory"},
		{func() error { return syscall.Mkfifo(at, 0o600) }, "is a FIFO, not a directory"},
	} {
		require.NoError(t, c.put())
		r.eventually(func() bool {
			return strings.Contains(r.must("sources"), at+": "+c.want+"; ")
		})
		r.must("wait", "pod/demo/web")
		require.NoError(t, os.Remove(at))
	}
	require.NoError(t, os.Rename(at+".away", at))
	r.eventually(func() bool { return strings.Contains(r.must("sources"), "all manifests are in order") })
	r.must("wait", "pod/demo/web")
}
