package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/mount-utils"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/linux"
)

// place is a tmpfs with mounts of others on it, and two directories to bind from: one is a mount of its own, one lies
// on the tmpfs among the mounts.
type place struct {
	host   *linux.Host
	mounts hal.Mounts
	peer   mount.Interface
	target string
	own    string
	among  string
	// foreign is how many mounts of others are at the paths of ofForeign.
	foreign int
}

func newPeer() mount.Interface { return mount.New("") }

func (p *place) ofForeign(i int) string {
	return filepath.Join(filepath.Dir(p.target), strconv.Itoa(i))
}

func newPlace(b *testing.B, foreign int) (p *place, leave func()) {
	b.Helper()
	root, unmount := tmpfs(b)
	p = &place{peer: newPeer(), foreign: foreign}
	p.target, p.own, p.among = filepath.Join(root, "target"), filepath.Join(root, "own"), filepath.Join(root, "among")
	for _, dir := range []string{p.target, p.own, p.among} {
		must(b, os.Mkdir(dir, 0o755))
	}
	must(b, unix.Mount("bench", p.own, "tmpfs", 0, "mode=0755"))
	for i := range foreign {
		at := p.ofForeign(i)
		must(b, os.Mkdir(at, 0o755))
		must(b, unix.Mount(p.own, at, "", unix.MS_BIND, ""))
	}
	host, err := linux.New(linux.Options{RootDir: root})
	must(b, err)
	p.host, p.mounts = host, host.HAL().Mounts
	return p, func() {
		host.Close()
		unmount()
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

// ofOurs looks at what is there before it unmounts it, as the engine does.
func (p *place) ofOurs(b *testing.B, source string, n int) (cpu, median time.Duration) {
	spec := hal.BindSpec{Source: source, Target: p.target}
	return pairs(n, func() { must(b, p.mounts.Bind(hal.Call{}, spec)) }, func() { must(b, p.unmountsLooked(p.target)) })
}

// unmountsLooked looks at what is at a path, and unmounts it.
func (p *place) unmountsLooked(at string) error {
	stack, err := p.mounts.At(hal.Call{}, at)
	if err != nil {
		return err
	}
	return p.mounts.Unmount(hal.Call{}, at, stack[0].ID)
}

// ofPeer runs mount(8) and umount(8), as k8s.io/mount-utils does.
func (p *place) ofPeer(b *testing.B, source string, n int) (cpu, median time.Duration) {
	bind := func() { must(b, p.peer.Mount(source, p.target, "", []string{"bind"})) }
	return pairs(n, bind, func() { must(b, p.peer.Unmount(p.target)) })
}

// readings reads the whole table, by turns: the lowest tenth of the times, and the allocations.
func (p *place) readings(b *testing.B) {
	const number = 20
	var times [2][]time.Duration
	var allocated [2]uint64
	for range number {
		for i, read := range []func() error{
			func() error { _, err := p.mounts.Table(hal.Call{}); return err },
			func() error { _, err := mount.ParseMountInfo("/proc/self/mountinfo"); return err },
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			must(b, read())
			times[i] = append(times[i], time.Since(begin))
			runtime.ReadMemStats(&after)
			allocated[i] += after.Mallocs - before.Mallocs
		}
	}
	lowest := func(i int) float64 { return ms(quantile(times[i], 0.1)) }
	note("G14", "every mount verified, 10,000 in the table, p10", "ms", lowest(0), lowest(1))
	note("G14", "the same, allocations", "", float64(allocated[0])/number, float64(allocated[1])/number)
}

// unmounts takes mounts of others away, 32 at a time, as the engine may: n with ours, and a few with the peer.
func (p *place) unmounts(b *testing.B, n int) {
	next := 0
	each := func(n int, unmount func(at string) error) callCosts {
		from := next
		next += n
		return callsOf(b, n, 32, from, func(i int) error { return unmount(p.ofForeign(i)) })
	}
	theirs, ours := each(100, p.peer.Unmount), each(n, p.unmountsLooked)
	note("G16", "unmount, 32 at a time, of 5,000: wall of each", "us", 1e6/ours.rate, 1e6/theirs.rate)
	note("G16", "the same, CPU", "us", ours.cpu, theirs.cpu)
}

// notices: from an unmount by somebody else until the owner hears which path it is about. A notice that names no path,
// or another one, does not count.
func (p *place) notices(b *testing.B) {
	heard := p.hears(b)
	for range 20 { // caches and goroutines warm up
		p.unmountHeard(b, heard)
	}
	var all []time.Duration
	begun := p.host.MountsRead()
	for range 500 {
		all = append(all, p.unmountHeard(b, heard))
	}
	beside := fmt.Sprintf("beside %d foreign mounts, ", p.foreign)
	note("G15", beside+"unmounted by others -> heard, p50", "us", us(quantile(all, 0.5)))
	note("G15", beside+"unmounted by others -> heard, p99", "us", us(quantile(all, 0.99)))
	read := float64(p.host.MountsRead()-begun) / float64(len(all))
	note("G15", beside+"entries read for a mount and its unmount", "", read)
}

// hears has the host watch the mount table, and tells when the owner heard of the target.
func (p *place) hears(b *testing.B) <-chan time.Time {
	b.Helper()
	heard := make(chan time.Time, 1024)
	owning, release := context.WithCancel(context.Background())
	b.Cleanup(release)
	go p.host.Run(owning)
	begun := make(chan bool, 1024)
	p.host.HAL().Watches.MountTable(func(at []string) {
		for _, path := range at {
			if path == p.target {
				heard <- time.Now()
			}
		}
		if at == nil {
			begun <- true
		}
	})
	<-begun
	return heard
}

// unmountHeard mounts something and takes it away, as others do, and returns how long after that the owner knew.
func (p *place) unmountHeard(b *testing.B, heard <-chan time.Time) time.Duration {
	b.Helper()
	must(b, unix.Mount(p.own, p.target, "", unix.MS_BIND, ""))
	<-heard
	time.Sleep(2 * time.Millisecond) // all sleep
	begin := time.Now()
	must(b, unix.Unmount(p.target, 0))
	return (<-heard).Sub(begin)
}
