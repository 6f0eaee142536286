package backends

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/ocilayout"
	"github.com/volnode/volnode/hal/linux"
)

// linuxWorld is a directory of this machine, on a tmpfs of its own in a private mount namespace.
type linuxWorld struct {
	host *linux.Host
	disk string // where the tmpfs is mounted
	stop context.CancelFunc
	done chan struct{}
}

// Linux is a new world on this machine. It needs a mount namespace of its own, and panics if it can't be made.
func Linux() haltest.World {
	disk := must(os.MkdirTemp("", "volnode-conform-"))
	disk = must(filepath.EvalSymlinks(disk))
	check(unix.Mount("conform", disk, "tmpfs", 0, "mode=0755"))
	dir := filepath.Join(disk, "root")
	check(os.Mkdir(dir, 0o755))
	h := must(linux.New(linux.Options{RootDir: dir, ImageDir: filepath.Join(disk, "images")}))
	ctx, stop := context.WithCancel(context.Background())
	w := &linuxWorld{host: h, disk: disk, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		h.Run(ctx)
	}()
	return w
}

func (w *linuxWorld) Host() hal.Host { return w.host.HAL() }
func (w *linuxWorld) Dir() string    { return filepath.Join(w.disk, "root") }
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

func (w *linuxWorld) Hold(path string) (func(), error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	return func() { unix.Close(fd) }, err
}

func (w *linuxWorld) Symlink(target, path string) error { return unix.Symlink(target, path) }

// Close takes the tmpfs with everything mounted below it away.
func (w *linuxWorld) Close() {
	w.stop()
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
