package bench

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/mount-utils"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/linux"
)

// place is a tmpfs with mounts of others on it, and two directories to bind from: one is a mount of its own, one lies on the
// tmpfs among the mounts.
type place struct {
	host   *linux.Host
	mounts hal.Mounts
	peer   mount.Interface
	target string
	own    string
	among  string
}

func newPlace(b *testing.B, foreign int) (p *place, leave func()) {
	b.Helper()
	root, err := filepath.EvalSymlinks(b.TempDir())
	must(b, err)
	must(b, unix.Mount("bench", root, "tmpfs", 0, "mode=0755"))
	p = &place{peer: mount.New("")}
	p.target, p.own, p.among = filepath.Join(root, "target"), filepath.Join(root, "own"), filepath.Join(root, "among")
	for _, dir := range []string{p.target, p.own, p.among} {
		must(b, os.Mkdir(dir, 0o755))
	}
	must(b, unix.Mount("bench", p.own, "tmpfs", 0, "mode=0755"))
	for i := range foreign {
		at := filepath.Join(root, strconv.Itoa(i))
		must(b, os.Mkdir(at, 0o755))
		must(b, unix.Mount(p.own, at, "", unix.MS_BIND, ""))
	}
	host, err := linux.New(linux.Options{RootDir: root})
	must(b, err)
	p.host, p.mounts = host, host.HAL().Mounts
	return p, func() {
		host.Close()
		must(b, unix.Unmount(root, unix.MNT_DETACH))
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// pairs binds and unmounts n times: the CPU time of a pair, and the median time of a bind.
func pairs(n int, bind, unmount func()) (cpu, median time.Duration) {
	var binds []time.Duration
	all := take(func() int {
		for range n {
			begin := time.Now()
			bind()
			binds = append(binds, time.Since(begin))
			unmount()
		}
		return 0
	})
	return all.cpu / time.Duration(n), quantile(binds, 0.5)
}

// ofOurs looks at what stands there before it unmounts it, as the engine does.
func (p *place) ofOurs(b *testing.B, source string, n int) (cpu, median time.Duration) {
	spec := hal.BindSpec{Source: source, Target: p.target}
	return pairs(n, func() { must(b, p.mounts.Bind(hal.Call{}, spec)) }, func() {
		stack, err := p.mounts.At(hal.Call{}, p.target)
		must(b, err)
		must(b, p.mounts.Unmount(hal.Call{}, p.target, stack[0].ID))
	})
}

// ofPeer runs mount(8) and umount(8), as k8s.io/mount-utils does.
func (p *place) ofPeer(b *testing.B, source string, n int) (cpu, median time.Duration) {
	bind := func() { must(b, p.peer.Mount(source, p.target, "", []string{"bind"})) }
	return pairs(n, bind, func() { must(b, p.peer.Unmount(p.target)) })
}
