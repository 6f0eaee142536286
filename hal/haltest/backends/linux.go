package backends

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/gitserver"
	"github.com/volnode/volnode/hal/haltest/ocilayout"
	"github.com/volnode/volnode/hal/linux"
)

// linuxWorld is a directory of this machine, on a tmpfs of its own in a private mount namespace.
type linuxWorld struct {
	host *linux.Host
	disk string // where the tmpfs is mounted
	dir  string // the agent's root directory
	stop context.CancelFunc
	done chan struct{}

	loops []*os.File
	git   *gitserver.Server // nil before the first repository
}

// Linux is a new world on this machine. It needs a mount namespace of its own, and panics if it can't be made.
func Linux() haltest.World { return LinuxOn("") }

// LinuxOn is Linux with the agent's root directory on a filesystem of a type that has project quotas; "" is the tmpfs.
func LinuxOn(fsType string) haltest.World {
	disk := must(os.MkdirTemp("", "volnode-conform-"))
	disk = must(filepath.EvalSymlinks(disk))
	check(unix.Mount("conform", disk, "tmpfs", 0, "mode=0755"))
	dir := filepath.Join(disk, "root")
	if fsType == "" {
		check(os.Mkdir(dir, 0o755))
	} else {
		dir = filepath.Join(mountWithQuotas(disk, fsType), "root")
		check(os.Mkdir(dir, 0o755))
	}
	check(os.Mkdir(filepath.Join(disk, "flex"), 0o755))
	h := must(linux.New(linux.Options{
		RootDir: dir, ImageDir: filepath.Join(disk, "images"), FlexVolumeDir: filepath.Join(disk, "flex"),
	}))
	ctx, stop := context.WithCancel(context.Background())
	w := &linuxWorld{host: h, disk: disk, dir: dir, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		h.Run(ctx)
	}()
	return w
}

func (w *linuxWorld) Host() hal.Host { return w.host.HAL() }
func (w *linuxWorld) Dir() string    { return w.dir }
func (w *linuxWorld) Do(f func())    { f() }

// PutImage makes a layout of its own for each image.
func (w *linuxWorld) PutImage(reference string, files map[string]string) {
	check(os.RemoveAll(w.layoutOf(reference)))
	_, err := ocilayout.Put(w.layoutOf(reference), map[string]string{"org.opencontainers.image.ref.name": reference},
		ocilayout.Files(files))
	check(err)
}

func (w *linuxWorld) layoutOf(reference string) string {
	return filepath.Join(w.disk, "images", strings.ReplaceAll(reference, "/", "_"))
}

// DamageImage turns a bit of the largest part of the image.
func (w *linuxWorld) DamageImage(reference string) {
	dir := filepath.Join(w.layoutOf(reference), "blobs/sha256")
	largest, content := "", []byte{}
	for _, e := range must(os.ReadDir(dir)) {
		if b := must(os.ReadFile(filepath.Join(dir, e.Name()))); len(b) > len(content) {
			largest, content = filepath.Join(dir, e.Name()), b
		}
	}
	content[len(content)/2] ^= 1
	check(os.WriteFile(largest, content, 0o644))
}

// PutRepository commits to a repository that a server on the loopback interface has.
func (w *linuxWorld) PutRepository(name, revision string, files map[string]string) (url string) {
	if w.git == nil {
		w.git = gitserver.New(filepath.Join(w.disk, "repositories"))
	}
	return w.git.Put(name, revision, files)
}

// PutDisk attaches a loop device, which goes with its last user.
func (w *linuxWorld) PutDisk(name, holds, uuid string) string {
	file := filepath.Join(w.disk, "disk-"+name)
	check(os.WriteFile(file, nil, 0o600))
	check(os.Truncate(file, 16<<20))
	switch holds {
	case "blank":
	case "junk":
		f := must(os.OpenFile(file, os.O_WRONLY, 0))
		_, err := f.WriteAt([]byte("junk"), 1<<20-4)
		check(err)
		check(f.Close())
	default:
		out, err := exec.Command("mkfs."+holds, "-q", "-U", uuid, file).CombinedOutput()
		if err != nil {
			panic(err.Error() + ": " + string(out))
		}
	}
	device, err := loopOver(file)
	check(err)
	w.loops = append(w.loops, device)
	return device.Name()
}

// flaws are what debugfs(8) makes of a filesystem. Without a resize inode it is mounted all the same.
var flaws = map[string]string{
	"dirty": "feature needs_recovery", "mendable": "ssv state 0\nsif <11> links_count 7",
	"grave": "ssv state 0\nclri <7>",
}

// DamageDisk changes the superblock, and in one case an inode.
func (w *linuxWorld) DamageDisk(path, how string) {
	requests := flaws[how]
	if how == "dirty" && !hasJournal(path) {
		requests = "ssv state 0"
	}
	cmd := exec.Command("debugfs", "-w", "-f", "-", path)
	cmd.Stdin = strings.NewReader(requests + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		panic(err.Error() + ": " + string(out))
	}
}

// hasJournal: the superblock says so (EXT4_FEATURE_COMPAT_HAS_JOURNAL).
func hasJournal(path string) bool {
	device := must(os.Open(path))
	defer device.Close()
	var features [1]byte
	_, err := device.ReadAt(features[:], 1024+0x5c)
	check(err)
	return features[0]&4 != 0
}

// MendDisk is e2fsck(8) that asks nobody.
func (w *linuxWorld) MendDisk(path string) {
	out, err := exec.Command("e2fsck", "-fy", path).CombinedOutput()
	if code, is := errors.AsType[*exec.ExitError](err); err != nil && (!is || code.ExitCode() != 1) {
		panic(err.Error() + ": " + string(out))
	}
}

// loopOver attaches a file to a loop device.
func loopOver(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range loopTries {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, err
		}
		device, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		err = unix.IoctlLoopConfigure(int(device.Fd()), &config)
		if err == nil {
			return device, nil
		}
		_ = device.Close() // somebody was faster
		if !errors.Is(err, unix.EBUSY) {
			return nil, err
		}
	}
	return nil, unix.EBUSY
}

// loopTries bounds the races with other users of loop devices.
const loopTries = 20

func (w *linuxWorld) Hold(path string) (func(), error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return func() { unix.Close(fd) }, err
}

func (w *linuxWorld) Symlink(target, path string) error { return unix.Symlink(target, path) }

// Close takes the tmpfs with everything mounted below it away.
func (w *linuxWorld) Close() {
	w.stop()
	if w.git != nil {
		w.git.Close()
	}
	for _, device := range w.loops {
		check(device.Close())
	}
	<-w.done
	w.host.Close()
	check(unix.Unmount(w.disk, unix.MNT_DETACH))
	check(os.Remove(w.disk))
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
