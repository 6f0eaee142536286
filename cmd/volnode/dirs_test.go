package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// volnode says what stands in the place of the manifest directory, and what to do; no pod counts as deleted.
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

// volnode says what stands in the place of one of its directories, and what to do.
func TestWhatIsNoDirectoryOfTheRootIsTold(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	r.remove("web.yaml")
	r.must("wait", "all", "--for=gone")
	r.stop(syscall.SIGTERM)
	for _, name := range []string{
		"volnode", "volnode/journal", "pods", "plugins", "plugins/kubernetes.io", "plugins/kubernetes.io/csi",
	} {
		at := filepath.Join(r.root(), name)
		require.NoError(t, os.MkdirAll(at, 0o750))
		require.NoError(t, os.Rename(at, at+".away"))
		for what, put := range map[string]func() error{
			"file":    func() error { return os.WriteFile(at, nil, 0o600) },
			"symlink": func() error { return os.Symlink(at+".away", at) },
		} {
			require.NoError(t, put())
			r.start()
			want := at + " is a " + what + ", not a directory; volnode waits, and volumes stay as they are"
			r.until(want)
			require.Contains(t, r.must("status"), want)
			require.NoError(t, os.Remove(at))
			r.stop(syscall.SIGTERM)
		}
		require.NoError(t, os.Rename(at+".away", at))
	}
	r.start()
	r.must("wait", "all", "--for=gone")
}
