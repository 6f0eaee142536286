package linux

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// gitUser is the user, and the group, that git runs as. No distribution gives the number to anybody (systemd.io,
// "Users, Groups, UIDs and GIDs on systemd Systems"), so no file and no process of the node is its own.
const gitUser = 65533

// sandbox is where a program runs that somebody else feeds: as a user without any right, in a mount namespace that
// shows the root filesystem of the node read-only, without the filesystems that are mounted on it, and the one
// directory that it may write to; in a PID namespace of its own, so that all that it has started ends with it. It has
// the network of the node. No volume of the node is mounted there, so none stays in use for it.
type sandbox struct {
	volume *os.File
	room   headroom

	work  chan func()
	ended chan struct{}
}

// Where the sandbox has its own things.
const (
	boxTmpfs  = "/run"
	boxVolume = "/run/volume"
)

// shown are the directories of the node that may be filesystems of their own, or have such within.
var shown = []string{
	"bin", "dev", "etc", "gnu/store", "lib", "lib32", "lib64", "libx32", "nix/store", "opt", "sbin", "usr",
}

// newSandbox makes one around a directory, in a thread of its own. That is not the first one, whose mounts are those of
// /proc/self: the first one of a helper child is taken.
func newSandbox(volume *os.File) (*sandbox, error) {
	room, err := newHeadroom(int(volume.Fd()))
	if err != nil {
		return nil, err
	}
	b := &sandbox{volume: volume, room: room, work: make(chan func()), ended: make(chan struct{})}
	made := make(chan error)
	go func() {
		// The thread is not given back: it ends here. What it starts dies with it.
		runtime.LockOSThread()
		defer close(b.ended)
		err := enterSandbox(volume)
		made <- err
		if err != nil {
			return
		}
		for f := range b.work {
			f()
		}
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("a place for git to run in: %w", err)
	}
	return b, nil
}

func (b *sandbox) close() {
	close(b.work)
	<-b.ended
}

// enterSandbox moves the calling thread into a sandbox: see [sandbox].
func enterSandbox(volume *os.File) error {
	const copied = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC
	resolver := resolverDir()
	writable, err := unix.OpenTree(int(volume.Fd()), "", copied|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(writable)
	if err := limitMount(writable, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|unix.MOUNT_ATTR_NOEXEC); err != nil {
		return err
	}
	if err := unix.Unshare(unix.CLONE_NEWNS | unix.CLONE_FS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	root, err := unix.OpenTree(unix.AT_FDCWD, "/", copied)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	names := -1
	if resolver != "" {
		if names, err = unix.OpenTree(unix.AT_FDCWD, resolver, copied); err != nil {
			return err
		}
		defer unix.Close(names)
		if err := limitMount(names, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	// The volume's directory is a name that this namespace can do without.
	if err := unix.MoveMount(root, "", unix.AT_FDCWD, volume.Name(), unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	for _, dir := range shown {
		if err := show(root, dir); err != nil {
			return fmt.Errorf("/%s: %w", dir, err)
		}
	}
	if err := limitMount(root, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID); err != nil {
		return err
	}
	if err := turnRoot(root); err != nil {
		return err
	}
	if err := unix.Mount("sandbox", boxTmpfs, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		"mode=0755,size=64k"); err != nil {
		return fmt.Errorf("%s: %w", boxTmpfs, err)
	}
	if names >= 0 {
		if err := os.MkdirAll(resolver, 0o755); err != nil {
			return err
		}
		if err := unix.MoveMount(names, "", unix.AT_FDCWD, resolver, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return fmt.Errorf("%s: %w", resolver, err)
		}
	}
	if err := os.Mkdir(boxVolume, 0o755); err != nil {
		return err
	}
	if err := unix.MoveMount(writable, "", unix.AT_FDCWD, boxVolume, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return err
	}
	if err := unix.Mount("", boxTmpfs, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|
		unix.MS_NOEXEC, ""); err != nil {
		return err
	}
	return errors.Join(unix.Chdir(boxVolume), dropRights())
}

// show copies the mounts at and below a directory of the node, unless it is a link or is not there.
func show(root int, dir string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(root, dir, &st, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, syscall.ENOENT) {
		return nil
	} else if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, "/"+dir, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.MoveMount(fd, "", root, dir, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

func limitMount(fd int, attrs uint64) error {
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attrs})
}

// turnRoot makes a mount the root directory, and lets go of all others (pivot_root(2), "pivot_root(".", ".")").
func turnRoot(root int) error {
	if err := unix.Fchdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}

// dropRights: what the thread starts can come to no right by a program's file, nor by what it inherits.
func dropRights() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for capability := uintptr(0); capability <= unix.CAP_LAST_CAP; capability++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0); err != nil && !errors.Is(err, syscall.EINVAL) {
			return err
		}
	}
	return nil
}

// resolverDir is the directory below /run that /etc/resolv.conf leads to, "" if it leads to none there.
func resolverDir() string {
	to, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return ""
	}
	if dir := filepath.Dir(to); strings.HasPrefix(dir, boxTmpfs+"/") {
		return dir
	}
	return ""
}

// Bounds of what a program in a sandbox does to the disk.
const (
	largeFile = 16 << 30        // bytes that a file may have
	lookEvery = time.Second / 4 // how often the disk is looked at
)

// run runs a program in the directory of the sandbox, until it has taken as long as it may, or fills the disk. It
// returns the beginning of what it says, and its exit status. An error means that it did not end by itself.
func (b *sandbox) run(program string, args, env []string, most time.Duration) (said string, code int, err error) {
	fd, err := unix.MemfdCreate(program, unix.MFD_CLOEXEC)
	if err != nil {
		return "", 0, err
	}
	into := os.NewFile(uintptr(fd), program)
	defer into.Close()
	cmd := &exec.Cmd{
		Path: program, Args: append([]string{program}, args...), Env: env, Stdout: into, Stderr: into,
		SysProcAttr: &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: gitUser, Gid: gitUser, Groups: []uint32{}},
			Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS,
			Pdeathsig:  syscall.SIGKILL,
		},
	}
	started, waited := make(chan error, 1), make(chan error, 1)
	b.work <- func() {
		err := limitFiles()
		if err == nil {
			err = cmd.Start()
		}
		if started <- err; err == nil {
			waited <- cmd.Wait()
		}
	}
	if err := <-started; err != nil {
		return "", 0, err
	}
	err = b.watch(cmd, waited, most)
	output := make([]byte, mostOutput)
	read, _ := into.ReadAt(output, 0) // what is missing is not told
	if exited, is := errors.AsType[*exec.ExitError](err); is && exited.ExitCode() > 0 {
		return string(output[:read]), exited.ExitCode(), nil
	}
	if exited, is := errors.AsType[*exec.ExitError](err); is {
		err = because(syscall.EIO, program+" was killed: "+exited.Error()+" "+string(output[:min(read, mostTold)]))
	}
	return string(output[:read]), 0, err
}

// limitFiles bounds the files of this process and of what it starts. A helper child does nothing else.
func limitFiles() error {
	return errors.Join(
		unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: largeFile, Max: largeFile}),
		unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}),
	)
}

// watch waits for the end of a program, and kills it if it goes too far.
func (b *sandbox) watch(cmd *exec.Cmd, waited <-chan error, most time.Duration) error {
	over, look := time.NewTimer(most), time.NewTicker(lookEvery)
	defer over.Stop()
	defer look.Stop()
	for why := error(nil); ; {
		select {
		case err := <-waited:
			if why != nil {
				return why
			}
			return err
		case <-over.C:
			why = because(syscall.ETIMEDOUT, fmt.Sprintf("the server has not sent all within %s", most))
		case <-look.C:
			if !b.room.isUsedUp() {
				continue
			}
			why = because(syscall.ENOSPC, fullDisk)
		}
		_ = cmd.Process.Kill() // its end is waited for
	}
}
