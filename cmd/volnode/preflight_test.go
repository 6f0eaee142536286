package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// refused runs volnode run with flags that it can't start with.
func (r *rig) refused(status int, want string, more ...string) {
	r.t.Helper()
	e := volnode(r.t, r.runArgs(more...)...)
	require.Equal(r.t, status, e.status, e.errOut)
	require.Contains(r.t, e.errOut, want)
}

func TestRootDirectory(t *testing.T) {
	r := newRig(t)
	t.Run("not on a shared mount", func(t *testing.T) {
		dir := r.path("plain")
		require.NoError(t, os.Mkdir(dir, 0o750))
		r.refused(exitConfig, fmt.Sprintf("mount --bind %s %[1]s && mount --make-shared %[1]s", dir), "--root-dir", dir)
	})
	t.Run("a private mount itself", func(t *testing.T) {
		dir := r.path("private")
		require.NoError(t, os.Mkdir(dir, 0o750))
		require.NoError(t, unix.Mount(dir, dir, "", unix.MS_BIND, ""))
		defer func() { require.NoError(t, unix.Unmount(dir, 0)) }()
		require.NoError(t, unix.Mount("", dir, "", unix.MS_PRIVATE, ""))
		r.refused(exitConfig, "run mount --make-shared "+dir+"\n", "--root-dir", dir)
	})
	t.Run("through a link", func(t *testing.T) {
		link := r.path("link")
		require.NoError(t, os.Symlink(r.root(), link))
		r.refused(exitConfig, link+" is a symbolic link; use "+r.root(), "--root-dir", link)
	})
	t.Run("without its parent", func(t *testing.T) {
		r.refused(exitConfig, "does not exist; run mkdir -p "+r.path("none"), "--root-dir",
			r.path("none", "root"))
	})
	t.Run("writable by others", func(t *testing.T) {
		require.NoError(t, os.Chmod(r.root(), 0o777))
		r.refused(exitConfig, "writable by users other than root (mode 0777): check its content, then chmod go-w")
		require.NoError(t, os.Chmod(r.root(), 0o777|os.ModeSticky)) // as /tmp: to change its mode breaks others
		r.refused(exitConfig, "shared with users other than root, who can write to it (mode 0777): use a "+
			"directory that only volnode uses")
		require.NoError(t, os.Chmod(r.root(), 0o750))
	})
	t.Run("somebody else's", func(t *testing.T) {
		require.NoError(t, os.Chown(r.root(), nobody, nobody))
		r.refused(exitConfig, "belongs to uid 65534, not to root")
		require.NoError(t, os.Chown(r.root(), 0, 0))
	})
	t.Run("missing is made", func(t *testing.T) {
		dir := filepath.Join(r.root(), "made")
		r.args = []string{"--root-dir", dir}
		r.start()
		info, err := os.Stat(dir)
		require.NoError(t, err)
		require.EqualValues(t, 0o750, info.Mode().Perm())
	})
}

func TestManifestDirectory(t *testing.T) {
	r := newRig(t)
	dir := r.path("manifests")
	r.refused(exitConfig, "volnode keeps all volumes", "--manifest-dir", r.path("none"))
	r.refused(exitConfig, "is not a directory", "--manifest-dir", "/etc/passwd")
	require.NoError(t, os.Chmod(dir, 0o775))
	r.refused(exitConfig, "manifest directory "+dir+": writable by users")
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.Chown(dir, nobody, 0))
	r.refused(exitConfig, "manifest directory "+dir+" belongs to uid 65534")
}

func TestMountNamespaceOfTheHost(t *testing.T) {
	r := newRig(t)
	// The tests run in a mount namespace of their own, which process 1 is not in, if it lets itself be looked at.
	r.refused(exitConfig, "--mount-namespace=own", "--mount-namespace=host")
}

func TestOneInstanceForEachRootDirectory(t *testing.T) {
	r := newRig(t)
	first := r.start()
	r.refused(exitTemporary, fmt.Sprintf("another volnode (pid %d) serves the root directory %s",
		first.cmd.Process.Pid, r.root()),
		"--socket", r.path("run", "other.sock"))
	r.must("status")
}

func TestControlSocketsPlace(t *testing.T) {
	r := newRig(t)
	t.Run("something else is there", func(t *testing.T) {
		require.NoError(t, os.WriteFile(r.socket(), nil, 0o600))
		r.refused(exitConfig, "exists and is not a socket")
		require.NoError(t, os.Remove(r.socket()))
	})
	t.Run("others may enter its directory", func(t *testing.T) {
		require.NoError(t, os.Chmod(r.path("run"), 0o755))
		r.refused(exitConfig, "name a socket in a directory of its own with --socket, or chmod 0700 "+r.path("run"))
		require.NoError(t, os.Chmod(r.path("run"), 0o755|os.ModeSticky))
		r.refused(exitConfig, "(mode 0755): name a socket in a directory of its own with --socket\n")
		require.NoError(t, os.Chmod(r.path("run"), 0o700))
	})
	t.Run("another daemon serves it", func(t *testing.T) {
		r.start()
		other := filepath.Join(r.root(), "other")
		r.refused(exitTemporary, "another process serves the socket", "--root-dir", other)
		r.must("status")
	})
}
