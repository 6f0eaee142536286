package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// What the contract of package haltest says of names and files is tested there; here is what only Linux has.

func TestUmaskDoesNotCount(t *testing.T) {
	h, root := startHost(t)
	defer unix.Umask(unix.Umask(0o777))
	tree, files := h.HAL().Tree, h.HAL().Files
	require.NoError(t, tree.Mkdir(hal.Call{}, root+"/d", 0o2751))
	require.NoError(t, files.Write(hal.Call{}, root+"/f", nil, 0o604))
	require.NoError(t, files.Allocate(hal.Call{}, root+"/g", 1, 0o644))
	withoutUmask(func() { require.NoError(t, unix.Mkdir(root+"/killed", 0o751)) }) // before chmod(2)
	for name, mode := range map[string]uint32{"d": 0o2751, "killed": 0o751, "f": 0o604, "g": 0o644} {
		info, err := tree.Stat(hal.Call{}, filepath.Join(root, name))
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode, name)
	}
}

func TestOpenNeverWaits(t *testing.T) {
	h, root := startHost(t)
	fifo, null := root+"/fifo", root+"/null"
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	require.NoError(t, unix.Mknod(null, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))))
	files := h.HAL().Files
	_, err := files.Read(hal.Call{}, fifo, 10)
	require.ErrorIs(t, err, unix.EINVAL)
	require.ErrorIs(t, files.Write(hal.Call{}, fifo, nil, 0o600), unix.ENXIO) // nobody reads
	_, err = files.Read(hal.Call{}, null, 10)
	require.ErrorIs(t, err, unix.EINVAL)
	entries, err := h.HAL().Tree.List(hal.Call{}, root)
	require.NoError(t, err)
	require.Equal(t, []hal.Entry{{Name: "fifo", Type: hal.TypeFIFO}, {Name: "null", Type: hal.TypeCharDevice}}, entries)
}

func TestManyNames(t *testing.T) {
	h, root := startHost(t)
	tree := h.HAL().Tree
	wide := root + "/wide"
	require.NoError(t, tree.Mkdir(hal.Call{}, wide, 0o755))
	for i := range 3000 {
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s/%04d", wide, i), nil, 0o600))
	}
	entries, err := tree.List(hal.Call{}, wide)
	require.NoError(t, err)
	require.Len(t, entries, 3000)
	require.Equal(t, "0000", entries[0].Name)
	require.Equal(t, "2999", entries[2999].Name)
}

func TestMoreDirsAreReadOnly(t *testing.T) {
	root, more := t.TempDir(), t.TempDir()
	h, err := New(Options{RootDir: root, MoreDirs: []string{more}})
	require.NoError(t, err)
	defer h.Close()
	require.NoError(t, os.WriteFile(more+"/pod.yaml", []byte("x"), 0o600))
	data, err := h.HAL().Files.Read(hal.Call{}, more+"/pod.yaml", 10)
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	_, err = h.HAL().Tree.List(hal.Call{}, more)
	require.NoError(t, err)
	require.ErrorIs(t, h.HAL().Files.Write(hal.Call{}, more+"/pod.yaml", nil, 0o600), unix.EXDEV)
	require.ErrorIs(t, h.HAL().Tree.Remove(hal.Call{}, more+"/pod.yaml"), unix.EXDEV)
	require.ErrorIs(t, h.HAL().Tree.Remove(hal.Call{}, root+"x/pod.yaml"), unix.EXDEV)
	require.ErrorIs(t, h.HAL().Tree.Remove(hal.Call{}, root+"/../x"), unix.EINVAL)
}

func TestNewRefusesALinkInTheRoot(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/real", 0o755))
	require.NoError(t, os.Symlink("real", dir+"/link"))
	_, err := New(Options{RootDir: dir + "/link/root"})
	require.ErrorContains(t, err, "symbolic link")
	require.ErrorContains(t, err, dir+"/real/root")
}

// CVE-2017-1002101, CVE-2021-25741 and their like: somebody who may write below a directory puts links where
// directories were while it is removed.
func TestRemoveTreeIsNotLedAway(t *testing.T) {
	h, root := startHost(t)
	outside := t.TempDir()
	require.NoError(t, os.MkdirAll(outside+"/keep/sub", 0o755))
	require.NoError(t, os.WriteFile(outside+"/keep/sub/file", []byte("sentinel"), 0o600))
	victim := root + "/victim"
	stop := make(chan struct{})
	var racer sync.WaitGroup
	racer.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.MkdirAll(victim+"/keep/sub", 0o755)
			_ = os.Symlink(outside+"/keep", victim+"/swap")
			_ = unix.Renameat2(unix.AT_FDCWD, victim+"/keep", unix.AT_FDCWD, victim+"/swap", unix.RENAME_EXCHANGE)
		}
	})
	for range 2000 {
		_, _ = h.HAL().Tree.RemoveTree(hal.Call{}, victim, 1000) // it may fail while others write; it may not go astray
	}
	close(stop)
	racer.Wait()
	data, err := os.ReadFile(outside + "/keep/sub/file")
	require.NoError(t, err)
	require.Equal(t, "sentinel", string(data))
}
