package linux

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

// removeAll repeats RemoveTree until it is done or fails.
func removeAll(t testing.TB, h *Host, path string, limit int) error {
	t.Helper()
	for range 1_000_000 {
		more, err := h.HAL().Tree.RemoveTree(hal.Call{}, path, limit)
		if !more || err != nil {
			return err
		}
	}
	t.Fatal("a deletion that does not come to its end")
	return nil
}

// deep makes a chain of directories that is far longer than a path may be, each with a file in it.
func deep(t testing.TB, top, name string, levels int) {
	t.Helper()
	require.NoError(t, os.Mkdir(top, 0o755))
	at, err := unix.Open(top, unix.O_DIRECTORY|unix.O_RDONLY, 0)
	require.NoError(t, err)
	for range levels {
		require.NoError(t, unix.Mkdirat(at, name, 0o755))
		file, err := unix.Openat(at, "f", unix.O_CREAT|unix.O_WRONLY, 0o600)
		require.NoError(t, err)
		require.NoError(t, unix.Close(file))
		next, err := unix.Openat(at, name, unix.O_DIRECTORY|unix.O_RDONLY, 0)
		require.NoError(t, err)
		require.NoError(t, unix.Close(at))
		at = next
	}
	require.NoError(t, unix.Close(at))
}

func levelsOf(full int) int {
	if testing.Short() {
		return full / 5
	}
	return full
}

func TestRemoveTreeHasNoDepth(t *testing.T) {
	h, root := startHost(t)
	for _, levels := range []int{openDirs - 1, openDirs, openDirs + 1, 300, levelsOf(5000)} {
		for _, limit := range []int{7, 1 << 16} {
			deep(t, root+"/deep", strings.Repeat("n", 255), levels)
			require.NoError(t, removeAll(t, h, root+"/deep", limit), "%d levels, %d names at a time", levels, limit)
			require.NoDirExists(t, root+"/deep")
		}
	}
}

// A filesystem that moves no directory to another one, as overlayfs with what lies in a lower layer: EXDEV.
func TestRemoveTreeGoesDeepWithoutMoving(t *testing.T) {
	h, root := startHost(t)
	deep(t, root+"/deep", "d", 1000)
	for steps := 0; ; steps++ {
		parent, name, err := h.openParent(root+"/deep", hal.Inside{})
		require.NoError(t, err)
		r := removal{path: root + "/deep", left: 1 << 16, frames: make([]frame, 0, openDirs), stays: true}
		more, err := r.run(parent, name)
		r.close()
		require.NoError(t, unix.Close(parent))
		require.NoError(t, err)
		if !more {
			require.NotZero(t, steps)
			break
		}
	}
	require.NoDirExists(t, root+"/deep")
}

// Each directory holds many, so that what lies deep is moved up from many places.
func TestRemoveTreeThatIsDeepInManyPlaces(t *testing.T) {
	h, root := startHost(t)
	require.NoError(t, os.Mkdir(root+"/bush", 0o755))
	for i := range 30 {
		deep(t, fmt.Sprintf("%s/bush/%d", root, i), "d", 100)
	}
	require.NoError(t, removeAll(t, h, root+"/bush", 50))
	require.NoDirExists(t, root+"/bush")
}

func TestRemoveTreeNeedsNeitherMemoryNorDescriptors(t *testing.T) {
	h, root := startHost(t)
	wide := 100_000
	if testing.Short() {
		wide = 10_000
	}
	require.NoError(t, os.MkdirAll(root+"/big/wide", 0o755))
	for i := range wide {
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s/big/wide/%0100d", root, i), nil, 0o600))
	}
	deep(t, root+"/big/deep", strings.Repeat("n", 255), levelsOf(5000))
	most := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for more := true; more; {
		var err error
		more, err = h.HAL().Tree.RemoveTree(hal.Call{}, root+"/big", 1000)
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		most = max(most, int(after.HeapInuse))
	}
	require.Less(t, most-int(before.HeapInuse), 8<<20, "memory in use grows with the tree")
	open, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	require.Less(t, len(open), 64, "directories stay open")
}

func TestRemoveTreeOfAllKindsOfNames(t *testing.T) {
	h, root := startHost(t)
	d := root + "/d"
	require.NoError(t, os.MkdirAll(d+"/closed/in it", 0o755))
	require.NoError(t, os.Symlink("/etc", d+"/link"))
	require.NoError(t, os.WriteFile(d+"/-rf *\n\xff", []byte("x"), 0))
	require.NoError(t, os.Link(d+"/-rf *\n\xff", d+"/twice"))
	require.NoError(t, unix.Mkfifo(d+"/fifo", 0o600))
	require.NoError(t, unix.Mknod(d+"/whiteout", unix.S_IFCHR, 0))
	require.NoError(t, unix.Mknod(d+"/socket", unix.S_IFSOCK|0o600, 0))
	require.NoError(t, os.Chmod(d+"/closed", 0))
	open, err := os.Create(d + "/open")
	require.NoError(t, err)
	defer open.Close()
	require.NoError(t, removeAll(t, h, d, 1000))
	require.NoDirExists(t, d)
	require.FileExists(t, "/etc/passwd")
}

func setFlags(t testing.TB, path string, flags uint32) {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags)); err != nil {
		t.Skip("this filesystem, or this user, has no attributes of files:", err)
	}
}

func TestRemoveTreeClearsWhatProtects(t *testing.T) {
	h, root := startHost(t)
	d := root + "/d"
	require.NoError(t, os.MkdirAll(d+"/dir/sub/low", 0o755))
	require.NoError(t, os.WriteFile(d+"/dir/sub/f", nil, 0o600))
	require.NoError(t, os.WriteFile(d+"/log", nil, 0o600))
	setFlags(t, d+"/dir/sub/f", unix.STATX_ATTR_IMMUTABLE)
	setFlags(t, d+"/log", unix.STATX_ATTR_APPEND)
	setFlags(t, d+"/dir/sub", unix.STATX_ATTR_IMMUTABLE)
	setFlags(t, d+"/dir", unix.STATX_ATTR_APPEND)
	setFlags(t, d, unix.STATX_ATTR_IMMUTABLE)
	require.NoError(t, removeAll(t, h, d, 1000))
	require.NoDirExists(t, d)

	// A file that has another name may be protected for the sake of that one.
	require.NoError(t, os.MkdirAll(d, 0o755))
	require.NoError(t, os.WriteFile(root+"/other", nil, 0o600))
	require.NoError(t, os.Link(root+"/other", d+"/f"))
	require.NoError(t, os.WriteFile(d+"/goes", nil, 0o600))
	setFlags(t, root+"/other", unix.STATX_ATTR_IMMUTABLE)
	err := removeAll(t, h, d, 1000)
	require.ErrorIs(t, err, unix.EPERM)
	require.ErrorContains(t, err, d+"/f")
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	require.NoFileExists(t, d+"/goes")
	setFlags(t, root+"/other", 0)
	require.NoError(t, removeAll(t, h, d, 1000))
}

func TestRemoveTreeStopsAtAMountInTheMiddle(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	h, root := startHost(t)
	require.NoError(t, os.MkdirAll(root+"/keep/sub", 0o755))
	require.NoError(t, os.WriteFile(root+"/keep/sub/data", []byte("precious"), 0o600))
	middle := root + "/d" + strings.Repeat("/d", 15)
	require.NoError(t, os.MkdirAll(middle+"/covered", 0o755))
	require.NoError(t, os.WriteFile(root+"/d/d/file", nil, 0o600))
	require.NoError(t, unix.Mount(root+"/keep", middle, "", unix.MS_BIND, ""))
	mounted := true
	t.Cleanup(func() {
		if mounted {
			_ = unix.Unmount(middle, unix.MNT_DETACH)
		}
	})
	err := removeAll(t, h, root+"/d", 1000)
	require.ErrorIs(t, err, unix.EBUSY)
	require.ErrorContains(t, err, "a mount is on "+middle)
	data, err := os.ReadFile(middle + "/sub/data")
	require.NoError(t, err)
	require.Equal(t, "precious", string(data))
	require.NoFileExists(t, root+"/d/d/file")
	require.NoError(t, unix.Unmount(middle, 0))
	mounted = false
	require.DirExists(t, middle+"/covered")
	require.NoError(t, removeAll(t, h, root+"/d", 1000))
	require.FileExists(t, root+"/keep/sub/data")
}

// removerRole is a program that is killed while it removes a tree.
func removerRole(args []string) {
	tree := args[0]
	h, err := New(Options{RootDir: filepath.Dir(tree)})
	if err != nil {
		panic(err)
	}
	for more := true; more; {
		if more, err = h.HAL().Tree.RemoveTree(hal.Call{}, tree, 100); err != nil {
			panic(err)
		}
		fmt.Println("a step")
	}
}

func TestRemoveTreeGoesOnAfterAKill(t *testing.T) {
	h, root := startHost(t)
	tree := root + "/tree"
	deep(t, tree, "d", 1000)
	for i := range 3000 {
		require.NoError(t, os.WriteFile(fmt.Sprintf("%s/%d", tree, i), nil, 0o600))
	}
	kills := 0
	for range 10 {
		if _, err := os.Stat(tree); err != nil {
			break
		}
		cmd := exec.Command("/proc/self/exe", tree)
		cmd.Env = append(os.Environ(), "VOLNODE_TEST_ROLE=remover")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, _ = out.Read(make([]byte, 16*(kills+1))) // after its first steps; what it reads does not matter
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // it was killed
		kills++
	}
	require.Greater(t, kills, 1)
	require.NoError(t, removeAll(t, h, tree, 1000))
	require.NoDirExists(t, tree)
}
