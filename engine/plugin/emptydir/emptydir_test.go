package emptydir

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

const dir = "/r/pods/u1/volumes/kubernetes.io~empty-dir/v"

func opOf(medium, size string) core.Op {
	r := rung("u1", "v", place("/r", "u1", "v"), medium, size)
	return core.Op{ID: 1, Verb: core.SetUp, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Params: r.Want}
}

func tearingDown(o core.Op, fingerprint string) core.Op {
	o.Verb, o.Fingerprint = core.TearDown, fingerprint
	return o
}

func TestUpAndDownAgainLeavesNothing(t *testing.T) {
	for _, medium := range []string{"", memory} {
		n := plugintest.New("/r/pods")
		o := opOf(medium, "")
		r := setUp(n.HAL(), o)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Equal(t, dir, core.FactOf(r.Facts, "path"))
		require.Empty(t, plugin.LostOf(r.Facts))
		require.EqualValues(t, 0o777, modeOfDirectory(medium))
		require.EqualValues(t, 0o750, n.Mode("/r/pods/u1/volumes"))
		require.Equal(t, medium == memory, len(n.World.MountsAt(dir)) == 1)
		require.Equal(t, r, setUp(n.HAL(), o), "setting up twice is setting up once")
		require.Equal(t, r.Fingerprint, inspect(n.HAL(), o).Fingerprint)
		n.Put(dir+"/a/b", hal.TypeFile)
		require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), tearingDown(o, r.Fingerprint)))
		require.Equal(t, "/r/pods directory\n", n.Tree("/r"))
		require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), tearingDown(o, "")),
			"tearing down twice is tearing down once")
	}
}

// modeOfDirectory is the permissions of the directory of an emptyDir, below what is mounted there.
func modeOfDirectory(medium string) uint32 {
	n := plugintest.New("/r/pods")
	setUp(n.HAL(), opOf(medium, ""))
	n.World.UnmountTop(dir) // if there is one
	return n.Mode(dir)
}

// A directory is given to the group of its pod by who finds it as it was made, be it by a life that has died.
func TestADirectoryIsGivenOnce(t *testing.T) {
	of := func(group string) core.Op {
		o := opOf("", "")
		o.Params = append([]core.Param{{Name: plugin.ParamFSGroup, Value: group}}, o.Params...)
		return o
	}
	n := plugintest.New("/r/pods")
	owner := func() string {
		is, there := n.World.Found(dir)
		require.True(t, there)
		return fmt.Sprintf("%d:%d %04o", is.UID, is.GID, is.Mode)
	}
	for call, is := range map[string]string{"chmod": "0:0 0777", "chown": "0:0 2777"} {
		require.Zero(t, n.World.RemoveDir("/r/pods/u1"))
		clear(n.Fail)
		n.Fail[call+" "+dir] = plugintest.Errno(call, dir, syscall.EIO)
		require.Equal(t, hal.Unknown, setUp(n.HAL(), of("2000")).Outcome)
		require.Equal(t, is, owner())
	}
	clear(n.Fail)
	require.Equal(t, hal.Done, setUp(n.HAL(), of("2000")).Outcome)
	require.Equal(t, "0:2000 2777", owner())
	require.Equal(t, hal.Done, setUp(n.HAL(), of("3000")).Outcome)
	require.Equal(t, "0:2000 2777", owner(), "it is in use")
	for _, own := range []string{"999:0 2777", "0:0 2770", "999:999 0700"} {
		var uid, gid int
		var mode uint32
		_, err := fmt.Sscanf(own, "%d:%d %o", &uid, &gid, &mode)
		require.NoError(t, err)
		require.Zero(t, n.World.Give(dir, uid, gid, mode))
		require.Equal(t, hal.Done, setUp(n.HAL(), of("2000")).Outcome)
		require.Equal(t, own, owner(), "a container has made it its own")
	}
}

func TestADirectoryThatGoesWhileItIsMadeIsNotUp(t *testing.T) {
	for name, is := range map[string]func(n *plugintest.Node){
		"removed":  func(n *plugintest.Node) { n.Fail["stat "+dir] = plugintest.Errno("stat", dir, syscall.ENOENT) },
		"replaced": func(n *plugintest.Node) { n.Put(dir, hal.TypeFile) },
	} {
		n := plugintest.New("/r/pods")
		is(n)
		require.Equal(t, hal.Unknown, setUp(n.HAL(), opOf("", "")).Outcome, name)
	}
}

// badDisk is one on which nothing in a directory can be removed.
type badDisk struct {
	hal.Tree
	dir string
}

func (d badDisk) RemoveTree(c hal.Call, at string, limit int) (more bool, err error) {
	if entries, _ := d.List(c, at); at == d.dir && len(entries) > 0 {
		return false, plugintest.Errno("unlink", at+"/"+entries[0].Name, syscall.EIO)
	}
	return d.Tree.RemoveTree(c, at, limit)
}

func TestTheDirectoryIsWholeOrGone(t *testing.T) {
	n := plugintest.New("/r/pods")
	o := opOf("", "")
	r := setUp(n.HAL(), o)
	n.Put(dir+"/a", hal.TypeFile)
	trash := op.TrashOf(dir)
	h := n.HAL()
	h.Tree = badDisk{h.Tree, trash}
	down := tearDown(h, tearingDown(o, r.Fingerprint))
	require.Equal(t, hal.Unknown, down.Outcome)
	require.False(t, down.Blocked, "an error of the disk may pass")
	require.NotContains(t, n.Tree("/r"), dir)
	require.Contains(t, n.Tree("/r"), trash+"/a")

	// The pod comes again meanwhile, and goes: neither meets the remains.
	require.Equal(t, hal.Done, setUp(n.HAL(), o).Outcome)
	require.NotContains(t, n.Tree("/r"), dir+"/a")
	require.Equal(t, hal.Done, tearDown(n.HAL(), tearingDown(o, "")).Outcome)
	require.Equal(t, "/r/pods directory\n", n.Tree("/r"))
}

func TestNothingIsDeletedBelowAMount(t *testing.T) {
	n := plugintest.New("/r/pods")
	o := opOf("", "")
	r := setUp(n.HAL(), o)
	n.Put(dir+"/a", hal.TypeFile)
	n.Mount(dir+"/nfs", "foreign")
	down := tearDown(n.HAL(), tearingDown(o, r.Fingerprint))
	require.Equal(t, hal.NotDone, down.Outcome)
	require.Contains(t, down.Reason, dir+"/nfs")
	require.Contains(t, n.Tree("/r"), dir+"/a")

	n.Fail["mounts within "+path.Dir(dir)] = plugintest.Errno("statmount", "", syscall.EIO)
	require.Zero(t, n.World.UnmountTop(dir+"/nfs"))
	require.Equal(t, hal.NotDone, tearDown(n.HAL(), tearingDown(o, r.Fingerprint)).Outcome)
	require.Contains(t, n.Tree("/r"), dir+"/a")
}

// Nothing is deleted of what a teardown has moved aside either, as long as something is mounted there.
func TestNothingMovedAsideIsDeletedBelowAMount(t *testing.T) {
	n := plugintest.New("/r/pods")
	o := opOf("", "")
	r := setUp(n.HAL(), o)
	trash := op.TrashOf(dir)
	n.Put(trash, hal.TypeDirectory)
	n.Put(trash+"/a", hal.TypeFile)
	n.Mount(trash+"/nfs", "foreign")
	down := tearDown(n.HAL(), tearingDown(o, r.Fingerprint))
	require.Equal(t, hal.NotDone, down.Outcome)
	require.True(t, down.Blocked)
	require.Contains(t, down.Reason, trash+"/nfs")
	require.Contains(t, n.Tree("/r"), trash+"/a")
}

func TestAForeignMountIsLeft(t *testing.T) {
	for _, medium := range []string{"", memory} {
		n := plugintest.New("/r/pods")
		n.Mount(dir, "foreign")
		up := setUp(n.HAL(), opOf(medium, ""))
		require.Equal(t, hal.Unknown, up.Outcome)
		require.True(t, up.Blocked)
		down := tearDown(n.HAL(), tearingDown(opOf(medium, ""), ""))
		require.Equal(t, hal.Unknown, down.Outcome)
		require.True(t, down.Blocked)
		require.Len(t, n.World.MountsAt(dir), 1)
		require.NotContains(t, strings.Join(n.Calls, "\n"), "umount")
	}
}

// remove is somebody who removes an emptyDir.
func remove(t *testing.T, n *plugintest.Node, medium string) {
	t.Helper()
	if medium == memory {
		require.Zero(t, n.World.UnmountTop(dir))
	}
	require.Zero(t, n.World.RemoveFile(dir))
}

// A directory, or a filesystem in memory, that was up and is another one has lost its data, and says so from then on.
func TestLossIsTold(t *testing.T) {
	for _, medium := range []string{"", memory} {
		n := plugintest.New("/r/pods")
		o := opOf(medium, "")
		o.Facts = setUp(n.HAL(), o).Facts
		require.Empty(t, plugin.LostOf(setUp(n.HAL(), o).Facts))
		remove(t, n, medium)
		trash := op.TrashOf(dir)
		require.NoError(t, n.HAL().Tree.Mkdir(hal.Call{}, trash, 0o700))
		require.Empty(t, plugin.LostOf(setUp(n.HAL(), o).Facts), "it is being deleted")
		remove(t, n, medium)
		n.World.RemoveFile(trash) // it is being deleted
		o.Facts = setUp(n.HAL(), o).Facts
		require.Contains(t, plugin.LostOf(o.Facts), "lost")
		require.Equal(t, o.Facts, setUp(n.HAL(), o).Facts)
		down := tearDown(n.HAL(), tearingDown(o, ""))
		require.Equal(t, hal.Done, down.Outcome, down.Reason)
	}
}

func TestMemoryEndsWithTheBoot(t *testing.T) {
	n := plugintest.New("/r/pods")
	o := opOf(memory, "")
	o.Facts = []core.Fact{{Name: plugin.FactIs, Value: "another boot mount 7"}}
	require.Empty(t, plugin.LostOf(setUp(n.HAL(), o).Facts))
}

func TestMemoryInUseStays(t *testing.T) {
	n := plugintest.New("/r/pods")
	o := opOf(memory, "65536")
	r := setUp(n.HAL(), o)
	n.Fail["umount "+dir] = plugintest.Errno("umount", dir, syscall.EBUSY)
	require.Equal(t, hal.NotDone, tearDown(n.HAL(), tearingDown(o, r.Fingerprint)).Outcome)
	require.Equal(t, r.Fingerprint, inspect(n.HAL(), o).Fingerprint)
}

// Whatever call of a teardown fails, the next teardown finishes it.
func TestATeardownThatWasCutShortGoesOn(t *testing.T) {
	for _, medium := range []string{"", memory} {
		full := plugintest.New("/r/pods")
		setUp(full.HAL(), opOf(medium, ""))
		full.Calls = nil
		tearDown(full.HAL(), tearingDown(opOf(medium, ""), ""))
		require.NotEmpty(t, full.Calls)
		for _, call := range full.Calls {
			n := plugintest.New("/r/pods")
			setUp(n.HAL(), opOf(medium, ""))
			n.Fail[call] = plugintest.Errno("any", call, syscall.EIO)
			require.NotEqual(t, hal.Done, tearDown(n.HAL(), tearingDown(opOf(medium, ""), "")).Outcome, call)
			clear(n.Fail)
			require.Equal(t, hal.Done, tearDown(n.HAL(), tearingDown(opOf(medium, ""), "")).Outcome, call)
			require.Equal(t, "/r/pods directory\n", n.Tree("/r"), call)
		}
	}
}

// oldKernel is one before 6.4: tmpfs has no option noswap.
type oldKernel struct{ hal.Mounts }

func (k oldKernel) Mount(c hal.Call, m hal.NewMount) error {
	if slices.ContainsFunc(m.Options, func(o hal.Option) bool { return o.Key == "noswap" }) {
		return plugintest.Errno("mount", m.Target, syscall.EINVAL)
	}
	return k.Mounts.Mount(c, m)
}

func TestMemoryOnAKernelWithoutNoswap(t *testing.T) {
	n := plugintest.New("/r/pods")
	h := n.HAL()
	h.Mounts = oldKernel{h.Mounts}
	r := setUp(h, opOf(memory, "65536"))
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Len(t, n.World.MountsAt(dir), 1)
}
