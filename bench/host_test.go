package bench

import (
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/hal/memory"
)

// This file is the whole engine on this host, with the kernel's mounts and a root directory on a tmpfs, so that a
// disk's noise is in no row.

// counted counts the calls that mount.
type counted struct {
	hal.Mounts
	calls atomic.Int64
}

func (c *counted) Mount(call hal.Call, m hal.NewMount) error {
	c.calls.Add(1)
	return c.Mounts.Mount(call, m)
}

func (c *counted) Bind(call hal.Call, s hal.BindSpec) error {
	c.calls.Add(1)
	return c.Mounts.Bind(call, s)
}

// startHere starts an engine on this host, and a cluster with these objects.
func startHere(b *testing.B, root string, objects ...any) (m *engine.VolumeManager, mounts *counted, stop func()) {
	b.Helper()
	host, err := linux.New(linux.Options{RootDir: root})
	must(b, err)
	h := host.HAL()
	mounts = &counted{Mounts: h.Mounts}
	h.Mounts, h.Cluster = mounts, memory.New(nil, root, objects).HAL().Cluster
	m = engineOn(h, root)
	return m, mounts, run(b, host, m)
}

// tmpfs mounts one. What is mounted below it goes with it.
func tmpfs(b *testing.B) (root string, leave func()) {
	b.Helper()
	root, err := filepath.EvalSymlinks(b.TempDir())
	must(b, err)
	must(b, unix.Mount("bench", root, "tmpfs", 0, "mode=0755"))
	return root, func() { must(b, unix.Unmount(root, unix.MNT_DETACH)) }
}

const inMemory = corev1.StorageMediumMemory

// realLatencyRound: pods come one by one to an idle node, and each has a mount of the kernel.
func realLatencyRound(b *testing.B) {
	root, leave := tmpfs(b)
	defer leave()
	source := filepath.Join(root, "source")
	must(b, os.Mkdir(source, 0o755))
	must(b, unix.Mount("bench", source, "tmpfs", 0, "mode=0755"))
	bound := map[string]string{sourceAttribute: source}
	endpoint, stopDriver := startDriver(b, root)
	defer stopDriver()
	at := func(x pollingPair) string {
		target := filepath.Join(root, "peer", string(x.pod), strconv.Itoa(len(x.volume)))
		must(b, os.MkdirAll(target, 0o755))
		return target
	}
	peer := newPeer()
	mounted := func(x pollingPair) { must(b, peer.Mount("tmpfs", at(x), "tmpfs", nil)) }
	published := func(x pollingPair) { must(b, dialing(endpoint, publishRequest(at(x), bound))) }

	pods, objects := claims(505, bound)
	m, _, stop := startHere(b, root, objects...)
	noteLatency(b, "emptyDir in memory", m, emptyDirs(505, 1, inMemory), mounted)
	noteLatency(b, "CSI volume that its driver binds", m, pods, published)
	stop()
}

// noteLatency leaves out the first pods: by the last of them drivers are registered and caches are warm.
func noteLatency(b *testing.B, what string, m manager, pods []*corev1.Pod, mount func(pollingPair)) {
	b.Helper()
	const first = 5
	peer, stop := startPolling()
	peer.mount = mount
	theirs := latencies(b, peer, pods[:first+10], anyPhase)[first:]
	stop()
	ours := latencies(b, m, pods, func() { time.Sleep(2 * time.Millisecond) })[first:]
	note("G2", what+", accepted -> ready, p50", "us", us(quantile(ours, 0.5)), us(quantile(theirs, 0.5)))
	note("G2", what+", accepted -> ready, p99", "us", us(quantile(ours, 0.99)), us(quantile(theirs, 0.99)))
}

// rest is what a process does that has nothing to do, in a second.
type rest struct{ cpu, wakes, bytes float64 }

// restFor measures this process for a while.
func restFor(b *testing.B, window time.Duration) rest {
	debug.FreeOSMemory() // else the runtime does so, bit by bit
	time.Sleep(time.Second)
	var before, after runtime.MemStats
	var begun, ended syscall.Rusage
	runtime.ReadMemStats(&before)
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &begun))
	time.Sleep(window)
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &ended))
	runtime.ReadMemStats(&after)
	cpu := ended.Utime.Nano() + ended.Stime.Nano() - begun.Utime.Nano() - begun.Stime.Nano()
	return rest{
		cpu:   100 * float64(cpu) / float64(window),
		wakes: float64(ended.Nvcsw+ended.Nivcsw-begun.Nvcsw-begun.Nivcsw) / window.Seconds(),
		bytes: float64(after.TotalAlloc-before.TotalAlloc) / window.Seconds(),
	}
}

// beside is what r is more than a process that does nothing.
func (r rest) beside(nothing rest) rest {
	return rest{max(0, r.cpu-nothing.cpu), max(0, r.wakes-nothing.wakes), max(0, r.bytes-nothing.bytes)}
}

const restWindow = 5 * time.Second

// standingRound: 10,000 mounted volumes stand while nothing happens, over a restart, and while others unmount some of
// them; then all go.
func standingRound(b *testing.B) {
	pods := emptyDirs(5000, 2, inMemory)
	theirs := standingPeer(b, pods)
	nothing := restFor(b, restWindow)
	root, leave := tmpfs(b)
	defer leave()
	m, mounts, stop := startHere(b, root)
	up := rise(m, pods, kubeletBound)
	if n := mounts.calls.Load(); n < 10000 {
		b.Errorf("%d calls that mount were counted for 10,000 volumes", n)
	}
	note("G2", "5,000 pods x 2 emptyDirs in memory up, CPU a volume", "us", us(up.cpu)/10000)
	ours, theirs := restFor(b, restWindow).beside(nothing), theirs.beside(nothing)
	note("G6", "idle with 10,000 mounted volumes, CPU", "% of one", ours.cpu, theirs.cpu)
	note("G6", "the same, wake-ups a second", "", ours.wakes, theirs.wakes)
	note("G6", "the same, bytes allocated a second", "bytes", ours.bytes, theirs.bytes)
	long := restFor(b, time.Minute).beside(nothing)
	note("G6", "a minute of it, with its look at all places, CPU", "% of one", long.cpu)
	stop()

	objects := make([]any, len(pods))
	for i, p := range pods {
		objects[i] = p
	}
	again := take(func() int {
		m, mounts, stop = startHere(b, root, objects...)
		for _, p := range pods {
			must(b, m.WaitForAttachAndMount(b.Context(), core.PodUID(p.UID)))
		}
		return 0
	})
	defer stop()
	calls := note("G13", "the same, calls that mount", "", float64(mounts.calls.Load()))
	note("G13", "restart with 10,000 mounted volumes, CPU", "ms", ms(again.cpu))
	wall := note("G13", "restart with 10,000 mounted volumes, all ready", "ms", ms(again.wall))
	took, mounted := restartOfPeer(b, pods)
	calls.peer, wall.peer = append(calls.peer, mounted), append(wall.peer, ms(took))

	noteRepairs(b, filepath.Join(root, "pods"), pods[:200])
	down := fall(m, pods, kubeletBound)
	note("G16", "5,000 pods x 2 emptyDirs in memory down, wall a volume", "us", us(down.wall)/10000)
	note("G16", "5,000 pods x 2 emptyDirs in memory down, CPU a volume", "us", us(down.cpu)/10000)
	if up.failed+down.failed > 0 {
		b.Errorf("%d pods are not ready, %d not gone", up.failed, down.failed)
	}
}

// noteRepairs unmounts one volume after another, as others may, and waits until the engine has mounted it again.
func noteRepairs(b *testing.B, at string, pods []*corev1.Pod) {
	b.Helper()
	deviceOf := func(path string) uint64 {
		var st unix.Stat_t
		must(b, unix.Stat(path, &st))
		return st.Dev
	}
	var all []time.Duration
	for _, p := range pods {
		volume := filepath.Join(at, string(p.UID), "volumes/kubernetes.io~empty-dir", p.Spec.Volumes[0].Name)
		time.Sleep(2 * time.Millisecond) // all sleep
		begin := time.Now()
		must(b, unix.Unmount(volume, 0))
		for below := deviceOf(at); deviceOf(volume) == below; time.Sleep(20 * time.Microsecond) {
			if time.Since(begin) > time.Minute {
				b.Fatal(volume + " is not mounted again")
			}
		}
		all = append(all, time.Since(begin))
	}
	note("G15", "somebody unmounts one of 10,000 volumes -> mounted again, p50", "us", us(quantile(all, 0.5)))
	note("G15", "somebody unmounts one of 10,000 volumes -> mounted again, p99", "us", us(quantile(all, 0.99)))
}

// standingPeer is what the model does with as many.
func standingPeer(b *testing.B, pods []*corev1.Pod) rest {
	peer, stop := startPolling()
	defer stop()
	peer.hasAll(b, pods)
	return restFor(b, restWindow)
}

// restartOfPeer is how long the model takes for what stands already: as a kubelet it mounts all of it again. What a
// mount costs is left out.
func restartOfPeer(b *testing.B, pods []*corev1.Pod) (took time.Duration, mounts float64) {
	peer, stop := startPolling()
	defer stop()
	var calls atomic.Int64
	peer.mount = func(pollingPair) { calls.Add(1) }
	begin := time.Now()
	peer.hasAll(b, pods)
	return time.Since(begin), float64(calls.Load())
}

// hasAll tells of pods, and waits until they are mounted.
func (p *polling) hasAll(b *testing.B, pods []*corev1.Pod) {
	for _, pod := range pods {
		p.PodAdded(pod)
	}
	volumes := len(pods) * len(pods[0].Spec.Volumes)
	for until := time.Now().Add(time.Minute); len(p.mounted()) < volumes; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			b.Fatalf("%d of %d volumes are mounted after a minute", len(p.mounted()), volumes)
		}
	}
}

// callRound calls a driver that does nothing: one call after another, and 16 at a time.
func callRound(b *testing.B) {
	root, leave := tmpfs(b)
	defer leave()
	endpoint, stopDriver := startDriver(b, root)
	defer stopDriver()
	host, err := linux.New(linux.Options{RootDir: root})
	must(b, err)
	defer host.Close()
	_, err = host.HAL().Drivers.Connect(hal.Call{}, driverName, endpoint, hal.PeerEvents{})
	must(b, err)
	request, node := publishRequest(filepath.Join(root, "target"), nil), host.HAL().CSINode
	ours := func(int) error {
		_, err := node.Publish(hal.Call{Deadline: host.HAL().Runtime.Now().Add(time.Minute)}, driverName, request)
		return err
	}
	theirs := func(int) error { return dialing(endpoint, request) }
	const at = 16
	for range 3 {
		one, peer := callsOf(b, 2000, 1, 0, ours), callsOf(b, 300, 1, 0, theirs)
		note("G17", "CSI publish, p50", "us", one.p50, peer.p50)
		note("G17", "the same, CPU", "us", one.cpu, peer.cpu)
		note("G17", "the same, allocations", "", one.allocations, peer.allocations)
		many, peer := callsOf(b, 10000, at, 0, ours), callsOf(b, 1000, at, 0, theirs)
		note("G18", "CSI volumes published, 16 in flight", "a second", many.rate, peer.rate)
	}
}

type callCosts struct{ p50, cpu, allocations, rate float64 }

// callsOf makes n calls, so many at a time, with numbers that begin with first.
func callsOf(b *testing.B, n, at, first int, call func(int) error) callCosts {
	b.Helper()
	took, next := make([]time.Duration, n), atomic.Int64{}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all := take(func() (failed int) {
		var callers sync.WaitGroup
		for range at {
			callers.Go(func() {
				for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
					begin := time.Now()
					if err := call(first + int(i)); err != nil {
						b.Error(err)
					}
					took[i] = time.Since(begin)
				}
			})
		}
		callers.Wait()
		return 0
	})
	runtime.ReadMemStats(&after)
	return callCosts{
		p50: us(quantile(took, 0.5)), cpu: us(all.cpu) / float64(n), rate: float64(n) / all.wall.Seconds(),
		allocations: float64(after.Mallocs-before.Mallocs) / float64(n),
	}
}
