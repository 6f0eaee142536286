package linux

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// checkedDisk is a disk with a file on its ext4, and what is to be checked of it.
func checkedDisk(t *testing.T, h hal.Host) hal.FilesystemCheck {
	t.Helper()
	device := ext4Loop(t)
	asDebugfs(t, device, "write /proc/self/status kept")
	is, err := h.Blocks.Probe(hal.Call{}, device)
	require.NoError(t, err)
	return hal.FilesystemCheck{Path: device, Device: is.Is(), FSType: "ext4", UUID: is.UUID}
}

// asDebugfs changes what is on a disk.
func asDebugfs(t *testing.T, device string, requests ...string) {
	t.Helper()
	program, err := exec.LookPath("debugfs")
	if err != nil {
		t.Skip("needs debugfs")
	}
	cmd := exec.Command(program, "-w", "-f", "-", device)
	cmd.Stdin = strings.NewReader(strings.Join(requests, "\n") + "\n")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.NotContains(t, string(out), "ead-only")
}

// What is done to a superblock, and to the filesystem.
const (
	notUnmounted = "ssv state 0"
	failed       = "ssv state 3"
	miscounted   = "sif kept links_count 7"
	rootless     = "clri <2>"
)

// content tells what is on a disk from all else.
func content(t *testing.T, device string) [32]byte {
	t.Helper()
	all, err := os.ReadFile(device)
	require.NoError(t, err)
	return sha256.Sum256(all)
}

func TestACheckMendsWhatIsNotClean(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	for name, requests := range map[string][]string{
		"it was not unmounted":                   {notUnmounted},
		"the kernel has found an error":          {failed, miscounted},
		"its journal is to be replayed":          {"feature needs_recovery"},
		"it has what a program mends by itself":  {notUnmounted, miscounted},
		"it has an orphan that nobody names now": {notUnmounted, "unlink kept"},
	} {
		t.Run(name, func(t *testing.T) {
			f := checkedDisk(t, h)
			before := content(t, f.Path)
			is, err := h.Blocks.Check(hal.Call{}, f)
			require.NoError(t, err)
			require.Zero(t, is)
			require.Equal(t, before, content(t, f.Path), "nothing is written to a clean filesystem")

			asDebugfs(t, f.Path, requests...)
			is, err = h.Blocks.Check(hal.Call{}, f)
			require.NoError(t, err)
			require.Equal(t, hal.Checked{IsMended: true}, is)
			require.NotEqual(t, before, content(t, f.Path))
			is, err = h.Blocks.Check(hal.Call{}, f)
			require.NoError(t, err)
			require.Zero(t, is, "it is clean by now")
			out, err := exec.Command("e2fsck", "-fn", f.Path).CombinedOutput()
			require.NoError(t, err, string(out))

			found, err := h.Blocks.Probe(hal.Call{}, f.Path)
			require.NoError(t, err)
			require.Equal(t, f.UUID, found.UUID)
			at := t.TempDir()
			require.NoError(t, h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: f.Path, Target: at}))
			t.Cleanup(func() { require.NoError(t, syscall.Unmount(at, 0)) })
			if !strings.Contains(strings.Join(requests, " "), "unlink") {
				require.FileExists(t, at+"/kept")
			}
			_, err = h.Blocks.Check(hal.Call{}, f)
			require.ErrorIs(t, err, syscall.EBUSY, "it is mounted")
			require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
		})
	}
}

func TestAPersonMendsTheRest(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	f := checkedDisk(t, h)
	asDebugfs(t, f.Path, notUnmounted, rootless)
	for range 2 {
		_, err := h.Blocks.Check(hal.Call{}, f)
		require.ErrorIs(t, err, syscall.EUCLEAN)
		require.Equal(t, hal.Unknown, hal.OutcomeOf(err), "a part may be mended")
		require.ErrorContains(t, err, "check "+f.Path+": structure needs cleaning: ")
		require.ErrorContains(t, err, "(exit status 4)")
		require.NotContains(t, err.Error(), ofProgram)
	}
	out, err := exec.Command("e2fsck", "-fy", f.Path).CombinedOutput()
	require.Error(t, err, string(out)) // it has mended something
	is, err := h.Blocks.Check(hal.Call{}, f)
	require.NoError(t, err)
	require.Zero(t, is)
}

// The volume's filesystem on its device is checked, and no other one.
func TestAnotherFilesystemIsNotChecked(t *testing.T) {
	host, _ := startHost(t)
	h := host.HAL()
	f := checkedDisk(t, h)
	asDebugfs(t, f.Path, notUnmounted)
	before := content(t, f.Path)
	for name, c := range map[string]struct {
		edit  func(*hal.FilesystemCheck)
		errno syscall.Errno
	}{
		"another device":     {func(f *hal.FilesystemCheck) { f.Device += "1" }, syscall.ENODEV},
		"another filesystem": {func(f *hal.FilesystemCheck) { f.UUID = ofTest }, syscall.ENODEV},
		"no device":          {func(f *hal.FilesystemCheck) { f.Path += "-none" }, syscall.ENOENT},
		"a file":             {func(f *hal.FilesystemCheck) { f.Path = "/dev/null" }, syscall.ENOTBLK},
		"mended at a mount":  {func(f *hal.FilesystemCheck) { f.FSType = "xfs" }, 0},
	} {
		other := f
		c.edit(&other)
		_, err := h.Blocks.Check(hal.Call{}, other)
		if c.errno == 0 {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorIs(t, err, c.errno, name)
		require.Equal(t, hal.NotDone, hal.OutcomeOf(err), name)
	}
	blank := blankLoop(t)
	is, err := h.Blocks.Probe(hal.Call{}, blank)
	require.NoError(t, err)
	_, err = h.Blocks.Check(hal.Call{}, hal.FilesystemCheck{Path: blank, Device: is.Is(), FSType: "ext4"})
	require.ErrorIs(t, err, syscall.ENODEV, "no filesystem has no UUID")
	require.Equal(t, before, content(t, f.Path))

	held, err := openDevice(f.Path, syscall.O_RDONLY|syscall.O_EXCL)
	require.NoError(t, err)
	_, err = h.Blocks.Check(hal.Call{}, f)
	require.ErrorIs(t, err, syscall.EBUSY)
	require.NoError(t, held.Close())

	out, err := exec.Command("blockdev", "--setro", f.Path).CombinedOutput()
	require.NoError(t, err, string(out))
	t.Cleanup(func() { _ = exec.Command("blockdev", "--setrw", f.Path).Run() }) // its number may be another test's next
	_, err = h.Blocks.Check(hal.Call{}, f)
	require.ErrorIs(t, err, syscall.EROFS)
	require.Equal(t, before, content(t, f.Path))
}

// The program is one of the node's: what it says counts for nothing, and its exit status for all.
func TestTheExitStatusOfACheckCounts(t *testing.T) {
	f := checkedDisk(t, hostOf(t))
	before := programDirs
	t.Cleanup(func() { programDirs = before })
	is, outcome, err := check(f)
	require.NoError(t, err)
	require.Equal(t, hal.Done, outcome)
	require.Zero(t, is)

	asDebugfs(t, f.Path, notUnmounted)
	programDirs = []string{t.TempDir() + "/"}
	is, outcome, err = check(f)
	require.NoError(t, err)
	require.Equal(t, hal.Done, outcome)
	require.Contains(t, is.Unchecked, "e2fsck; install e2fsprogs", "who has none goes on")

	for script, want := range map[string]struct {
		is      hal.Checked
		outcome hal.Outcome
		errno   syscall.Errno
	}{
		"echo UNEXPECTED INCONSISTENCY; exit 0": {hal.Checked{IsMended: true}, hal.Done, 0},
		"exit 1":                                {hal.Checked{IsMended: true}, hal.Done, 0},
		"exit 2":                                {hal.Checked{IsMended: true}, hal.Done, 0},
		"exit 3":                                {hal.Checked{IsMended: true}, hal.Done, 0},
		"exit 4":                                {hal.Checked{}, hal.Unknown, syscall.EUCLEAN},
		"exit 12":                               {hal.Checked{}, hal.Unknown, syscall.EUCLEAN},
		"exit 32":                               {hal.Checked{}, hal.Unknown, syscall.EINTR},
		"kill -KILL $$":                         {hal.Checked{}, hal.Unknown, syscall.EIO},
		"exit 9":                                {hal.Checked{Unchecked: "9"}, hal.Done, 0},
		"exit 16":                               {hal.Checked{Unchecked: "16"}, hal.Done, 0},
		"exit 128":                              {hal.Checked{Unchecked: "128"}, hal.Done, 0},
		"yes 'it says more and more' | head -c 300000 2>/dev/null; exit 8": {hal.Checked{Unchecked: "8"}, hal.Done, 0},
	} {
		path := filepath.Join(programDirs[0], "e2fsck")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n[ \"$*\" = '-p /proc/self/fd/3' ] || exit 77\n"+script+
			"\n"), 0o755))
		is, outcome, err := check(f)
		require.Equal(t, want.outcome, outcome, script)
		require.Less(t, len(is.Unchecked), 2*mostTold, script)
		if want.is.Unchecked != "" {
			require.Contains(t, is.Unchecked, "(exit status "+want.is.Unchecked+")", script)
			is.Unchecked = want.is.Unchecked
		}
		require.Equal(t, want.is, is, script)
		if want.errno == 0 {
			require.NoError(t, err, script)
			continue
		}
		require.ErrorIs(t, err, want.errno, script)
	}
}

func hostOf(t *testing.T) hal.Host {
	host, _ := startHost(t)
	return host.HAL()
}
