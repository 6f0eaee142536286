package sim_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/sim"
)

const root = "/var/lib/volnode"

func benign(t *testing.T, c sim.Config) *sim.World {
	t.Helper()
	w := sim.New(c)
	t.Cleanup(w.Close)
	return w
}

func wantErrno(t *testing.T, want syscall.Errno, err error) {
	t.Helper()
	require.Error(t, err)
	require.Truef(t, hal.Is(err, want), "want %v, got %v", want, err)
}

func TestTreeAnswersLikeTheKernel(t *testing.T) {
	w := benign(t, sim.Config{})
	h := w.Host()
	c := hal.Call{}
	require.NoError(t, w.Symlink("/etc", root+"/link"))
	w.WriteFile("/outside/x", []byte("x"))
	w.Do(func() {
		tree := h.Tree
		require.NoError(t, tree.Mkdir(c, root+"/a", 0o750))
		wantErrno(t, syscall.EEXIST, tree.Mkdir(c, root+"/a", 0o750))
		wantErrno(t, syscall.ENOENT, tree.Mkdir(c, root+"/b/c", 0o750))
		require.NoError(t, tree.Mkdir(c, root+"/a/b", 0o700))
		wantErrno(t, syscall.ENOTEMPTY, tree.Remove(c, root+"/a"))
		wantErrno(t, syscall.ELOOP, tree.Mkdir(c, root+"/link/b", 0o700))
		wantErrno(t, syscall.EXDEV, tree.Mkdir(c, "/outside/b", 0o700))
		_, err := tree.List(c, root+"/link")
		wantErrno(t, syscall.ENOTDIR, err)
		require.NoError(t, h.Files.Write(c, root+"/f", []byte("hello"), 0o600))
		wantErrno(t, syscall.ENOTDIR, tree.Mkdir(c, root+"/f/x", 0o700))
		_, err = h.Files.Read(c, root+"/f", 4)
		wantErrno(t, syscall.EFBIG, err)
		data, err := h.Files.Read(c, root+"/f", 5)
		require.NoError(t, err)
		require.Equal(t, "hello", string(data))
		_, err = h.Files.Read(c, root+"/a", 5)
		wantErrno(t, syscall.EISDIR, err)
		info, err := tree.Stat(c, root+"/link")
		require.NoError(t, err)
		require.Equal(t, hal.TypeSymlink, info.Type)
		require.NoError(t, tree.Rename(c, root+"/f", root+"/a/g"))
		wantErrno(t, syscall.EINVAL, tree.Rename(c, root+"/a", root+"/a/b/c"))
		wantErrno(t, syscall.ENOTDIR, tree.Rename(c, root+"/a", root+"/link"))
		entries, err := tree.List(c, root+"/a")
		require.NoError(t, err)
		require.Equal(t, []hal.Entry{{Name: "b", Type: hal.TypeDirectory}, {Name: "g", Type: hal.TypeFile}}, entries)
		for range 2 {
			more, err := tree.RemoveTree(c, root+"/a", 100)
			require.NoError(t, err)
			require.False(t, more)
		}
		_, err = tree.Stat(c, root+"/a")
		wantErrno(t, syscall.ENOENT, err)
	})
}

func TestFilledDirectoriesGoStepByStep(t *testing.T) {
	w := benign(t, sim.Config{})
	h := w.Host()
	w.MakeDir(root + "/d/e")
	require.Zero(t, w.Fill(root+"/d/e", 1_000_000))
	w.Do(func() {
		wantErrno(t, syscall.ENOTEMPTY, h.Tree.Remove(hal.Call{}, root+"/d/e"))
		steps := 0
		for more := true; more; steps++ {
			var err error
			more, err = h.Tree.RemoveTree(hal.Call{}, root+"/d", 300_000)
			require.NoError(t, err)
		}
		require.Equal(t, 4, steps)
	})
}

func TestContractRecordedFromLinux(t *testing.T) {
	newWorld := func() haltest.World { return sim.New(sim.Config{Private: true}) }
	differences := haltest.CheckCases(newWorld)
	for i, d := range differences {
		if i < 12 {
			t.Log(d)
		}
	}
	require.Empty(t, differences)
}

func TestQuotasRecordedFromLinux(t *testing.T) {
	for _, d := range haltest.CheckQuotaCases(withQuotas) {
		t.Error(d)
	}
}

func TestSANRecordedFromLinux(t *testing.T) {
	for _, d := range haltest.CheckSANCases(func() haltest.World { return sim.New(sim.Config{Private: true}) }) {
		t.Error(d)
	}
}

func TestMultipathRecordedFromLinux(t *testing.T) {
	for _, d := range haltest.CheckMultipathCases(func() haltest.World { return sim.New(sim.Config{Private: true}) }) {
		t.Error(d)
	}
}

func TestFCRecordedFromLinux(t *testing.T) {
	for _, d := range haltest.CheckFCCases(func() haltest.World { return sim.New(sim.Config{Private: true}) }) {
		t.Error(d)
	}
}

func withQuotas() haltest.World {
	w := sim.New(sim.Config{Private: true})
	w.SetQuotas(true)
	return w
}

func TestMountTableAnswersLikeTheKernel(t *testing.T) {
	w := benign(t, sim.Config{})
	h := w.Host()
	c := hal.Call{}
	w.Do(func() {
		for _, d := range []string{"/src", "/src/sub", "/dst", "/dst2"} {
			require.NoError(t, h.Tree.Mkdir(c, root+d, 0o755))
		}
		require.NoError(t, h.Files.Write(c, root+"/file", nil, 0o600))
		bind := func(from, to string, ro bool) error {
			spec := hal.BindSpec{Source: root + from, Target: root + to}
			if ro {
				spec.Flags = []string{"ro"}
			}
			return h.Mounts.Bind(c, spec)
		}
		wantErrno(t, syscall.ENOENT, bind("/none", "/dst", false))
		wantErrno(t, syscall.ENOENT, bind("/src", "/none", false))
		wantErrno(t, syscall.EINVAL, bind("/src", "/file", false))
		require.NoError(t, bind("/src", "/dst", false))
		first, err := h.Mounts.At(c, root+"/dst")
		require.NoError(t, err)
		require.Len(t, first, 1)
		require.Equal(t, root+"/src", first[0].Root)
		require.NoError(t, bind("/src/sub", "/dst", true))
		both, err := h.Mounts.At(c, root+"/dst")
		require.NoError(t, err)
		require.Len(t, both, 2)
		require.Equal(t, first[0].ID, both[0].ID)
		require.Equal(t, both[0].ID, both[1].Parent)
		require.True(t, both[1].ReadOnly)

		wantErrno(t, syscall.EINVAL, h.Mounts.Unmount(c, root+"/dst", first[0].ID))
		wantErrno(t, syscall.EINVAL, h.Mounts.Unmount(c, root+"/dst2", first[0].ID))
		wantErrno(t, syscall.EBUSY, h.Tree.Remove(c, root+"/dst"))
		wantErrno(t, syscall.EBUSY, h.Tree.Rename(c, root+"/dst", root+"/dst3"))
		_, err = h.Tree.RemoveTree(c, root+"/dst", 100)
		wantErrno(t, syscall.EBUSY, err)
		wantErrno(t, syscall.EXDEV, h.Tree.Mkdir(c, root+"/dst/x", 0o755))
		_, err = h.Tree.List(c, root+"/dst")
		wantErrno(t, syscall.EXDEV, err)
		info, err := h.Tree.Stat(c, root+"/dst")
		require.NoError(t, err)
		require.Equal(t, hal.Info{MountPoint: true}, info)

		release, err := w.Hold(root + "/dst")
		require.NoError(t, err)
		wantErrno(t, syscall.EBUSY, h.Mounts.Unmount(c, root+"/dst", both[1].ID))
		release()
		require.NoError(t, h.Mounts.Unmount(c, root+"/dst", both[1].ID))
		require.NoError(t, h.Tree.Rename(c, root+"/dst2", root+"/dst4"))
		require.NoError(t, h.Mounts.Unmount(c, root+"/dst", first[0].ID))
		wantErrno(t, syscall.EINVAL, h.Mounts.Unmount(c, root+"/dst", first[0].ID))
		require.NoError(t, bind("/src", "/dst", false))
		again, err := h.Mounts.At(c, root+"/dst")
		require.NoError(t, err)
		require.Greater(t, again[0].ID, both[1].ID, "ids are never used again")

		err = h.Mounts.Mount(c, hal.NewMount{FSType: "tmpfs", Target: root + "/none"})
		wantErrno(t, syscall.ENOENT, err)
		require.NoError(t, h.Mounts.Mount(c, hal.NewMount{
			FSType: "tmpfs", Source: "tmpfs", Target: root + "/src", Flags: []string{"nosuid", "nodev"},
		}))
		table, err := h.Mounts.Table(c)
		require.NoError(t, err)
		require.Equal(t, []string{"nodev", "nosuid", "relatime"}, table[len(table)-1].Options)
	})
}
