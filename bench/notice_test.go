package bench

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkNotice is G15: the time from an unmount by somebody else, and from his mount, until the owner hears which path it is about, beside 100 and 10,000
// foreign mounts. A notice that names no path, or another one, does not count.
func BenchmarkNotice(b *testing.B) {
	if unix.Getuid() != 0 {
		b.Skip("it mounts: run it as root, in a mount namespace of its own")
	}
	for _, foreign := range []int{100, 10_000} {
		p, leave := newPlace(b, foreign)
		heard := p.hears(b)
		for range 20 { // caches and goroutines warm up
			p.unmountHeard(b, heard)
		}
		var mounts, unmounts []time.Duration
		begun := p.host.MountsRead()
		all := take(func() int {
			for range 500 {
				mounted, unmounted := p.unmountHeard(b, heard)
				mounts, unmounts = append(mounts, mounted), append(unmounts, unmounted)
			}
			return 0
		})
		b.Logf("beside %d foreign mounts: unmount noticed p50 %v, p99 %v; mount p50 %v, p99 %v; %v CPU for both; %d entries of the table read for 1,000 changes",
			foreign, quantile(unmounts, 0.5), quantile(unmounts, 0.99), quantile(mounts, 0.5), quantile(mounts, 0.99), all.cpu/500, p.host.MountsRead()-begun)
		leave()
	}
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

// unmountHeard mounts something and takes it away, as others do, and returns how long after each the owner knew.
func (p *place) unmountHeard(b *testing.B, heard <-chan time.Time) (mounted, unmounted time.Duration) {
	b.Helper()
	time.Sleep(2 * time.Millisecond) // all sleep
	begin := time.Now()
	must(b, unix.Mount(p.own, p.target, "", unix.MS_BIND, ""))
	mounted = (<-heard).Sub(begin)
	time.Sleep(2 * time.Millisecond)
	begin = time.Now()
	must(b, unix.Unmount(p.target, 0))
	return mounted, (<-heard).Sub(begin)
}
