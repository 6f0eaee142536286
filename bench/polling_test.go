package bench

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
)

// The periods are public: volume_manager.go of kubernetes/pkg/kubelet/volumemanager.
const (
	populatorPeriod  = 100 * time.Millisecond // desiredStateOfWorldPopulatorLoopSleepPeriod
	reconcilerPeriod = 100 * time.Millisecond // reconcilerLoopSleepPeriod
	waitPeriod       = 300 * time.Millisecond // podAttachAndMountRetryInterval
)

// polling is a MODEL of a volume manager that polls. It is not the kubelet. It has the structure that is published for
// the kubelet's (its package volumemanager, v1.36; kubernetes#126049): a populator and a reconciler that pass over
// everything every 100 ms, each over a copy; waits that inspection every 300 ms, and for one pod look at the volumes
// of all; a list of pending operations that is searched from its beginning. A volume is first verified to be attached,
// and mounted in the next pass.
//
// It leaves out what else a kubelet does: calls of the API server, events, logs, directories, mounts. So it costs less.
type polling struct {
	over context.Context
	done sync.WaitGroup
	// mount is what a mount takes beside the model's own part; nil is nothing.
	mount func(pollingPair)

	mu        sync.RWMutex
	pods      map[core.PodUID]*corev1.Pod
	processed map[core.PodUID]bool

	desired struct {
		sync.RWMutex
		volumes map[string]map[core.PodUID]string // the names in spec.volumes
	}
	actual struct {
		sync.RWMutex
		volumes map[string]map[core.PodUID]*pollingMount
	}
	pending struct {
		sync.Mutex
		operations []pollingPair
	}
}

type pollingPair struct {
	volume string
	pod    core.PodUID
}

type pollingMount struct{ remount bool }

// startPolling starts the loops. They end with stop.
func startPolling() (p *polling, stop func()) {
	p = &polling{pods: map[core.PodUID]*corev1.Pod{}, processed: map[core.PodUID]bool{}}
	p.desired.volumes = map[string]map[core.PodUID]string{}
	p.actual.volumes = map[string]map[core.PodUID]*pollingMount{}
	var cancel func()
	p.over, cancel = context.WithCancel(context.Background())
	p.done.Go(func() { p.every(populatorPeriod, p.populate) })
	p.done.Go(func() { p.every(reconcilerPeriod, p.reconcile) })
	return p, func() {
		cancel()
		p.done.Wait()
	}
}

// every passes, and pauses between the end of one pass and the start of the next.
func (p *polling) every(period time.Duration, pass func()) {
	for {
		select {
		case <-p.over.Done():
			return
		case <-time.After(period):
			pass()
		}
	}
}

func (p *polling) PodAdded(pod *corev1.Pod) {
	p.mu.Lock()
	p.pods[core.PodUID(pod.UID)] = pod
	p.mu.Unlock()
}

func (p *polling) PodRemoved(uid core.PodUID) {
	p.mu.Lock()
	delete(p.pods, uid)
	p.mu.Unlock()
}

func (p *polling) reprocess(uid core.PodUID) {
	p.mu.Lock()
	p.processed[uid] = false
	p.mu.Unlock()
}

func (p *polling) populate() {
	p.mu.RLock()
	pods := make([]*corev1.Pod, 0, len(p.pods))
	for _, pod := range p.pods {
		pods = append(pods, pod)
	}
	p.mu.RUnlock()
	for _, pod := range pods {
		uid := core.PodUID(pod.UID)
		p.mu.Lock()
		isProcessed := p.processed[uid]
		p.processed[uid] = true
		p.mu.Unlock()
		if isProcessed {
			continue
		}
		for i := range pod.Spec.Volumes {
			p.desire(pollingName(pod, i), uid, pod.Spec.Volumes[i].Name)
		}
		p.markRemount(uid)
	}
	for _, x := range p.toMount() {
		p.mu.RLock()
		isWanted := p.pods[x.pod] != nil
		p.mu.RUnlock()
		if !isWanted {
			p.unwant(x)
		}
	}
}

func pollingName(pod *corev1.Pod, i int) string {
	return "kubernetes.io/empty-dir/" + string(pod.UID) + "-" + pod.Spec.Volumes[i].Name
}

func (p *polling) desire(volume string, uid core.PodUID, name string) {
	p.desired.Lock()
	defer p.desired.Unlock()
	if p.desired.volumes[volume] == nil {
		p.desired.volumes[volume] = map[core.PodUID]string{}
	}
	p.desired.volumes[volume][uid] = name
}

func (p *polling) unwant(x pollingPair) {
	p.desired.Lock()
	delete(p.desired.volumes[x.volume], x.pod)
	if len(p.desired.volumes[x.volume]) == 0 {
		delete(p.desired.volumes, x.volume)
	}
	p.desired.Unlock()
	p.mu.Lock()
	delete(p.processed, x.pod)
	p.mu.Unlock()
}

// markRemount looks at all volumes for those of one pod.
func (p *polling) markRemount(uid core.PodUID) {
	p.actual.Lock()
	defer p.actual.Unlock()
	for _, pods := range p.actual.volumes {
		if mounted := pods[uid]; mounted != nil {
			mounted.remount = false // the benchmark has no volume that wants a remount
		}
	}
}

// toMount copies all that is desired.
func (p *polling) toMount() (all []pollingPair) {
	p.desired.RLock()
	defer p.desired.RUnlock()
	for volume, pods := range p.desired.volumes {
		for uid := range pods {
			all = append(all, pollingPair{volume, uid})
		}
	}
	return all
}

// mounted copies all that is mounted.
func (p *polling) mounted() (all []pollingPair) {
	p.actual.RLock()
	defer p.actual.RUnlock()
	for volume, pods := range p.actual.volumes {
		for uid := range pods {
			all = append(all, pollingPair{volume, uid})
		}
	}
	return all
}

func (p *polling) reconcile() {
	for _, x := range p.mounted() {
		if !p.isDesired(x) {
			p.begin(x, func() { delete(p.actual.volumes[x.volume], x.pod) })
		}
	}
	for _, x := range p.toMount() {
		p.actual.RLock()
		pods, isAttached := p.actual.volumes[x.volume]
		isMounted := pods[x.pod] != nil
		p.actual.RUnlock()
		switch {
		case !isAttached:
			p.begin(x, func() { p.actual.volumes[x.volume] = map[core.PodUID]*pollingMount{} })
		case !isMounted:
			p.begin(x, func() {
				if p.mount != nil {
					p.actual.Unlock()
					p.mount(x)
					p.actual.Lock()
				}
				if pods := p.actual.volumes[x.volume]; pods != nil { // else it is verified in the next pass
					pods[x.pod] = &pollingMount{}
				}
			})
		}
	}
	for _, volume := range p.unused() {
		x := pollingPair{volume: volume}
		if !p.isDesired(x) {
			p.begin(x, func() { delete(p.actual.volumes, volume) })
		}
	}
}

// unused copies the names of the volumes that no pod has mounted.
func (p *polling) unused() (all []string) {
	p.actual.RLock()
	defer p.actual.RUnlock()
	for volume, pods := range p.actual.volumes {
		if len(pods) == 0 {
			all = append(all, volume)
		}
	}
	return all
}

// isDesired reports whether a volume is desired for a pod, or for any if the pod is "".
func (p *polling) isDesired(x pollingPair) bool {
	p.desired.RLock()
	defer p.desired.RUnlock()
	pods, isThere := p.desired.volumes[x.volume]
	_, isOfPod := pods[x.pod]
	return isThere && (isOfPod || x.pod == "")
}

// begin runs an operation on a goroutine, unless one on its volume and pod is pending. That of a whole volume, whose
// pod is "", runs alone.
func (p *polling) begin(x pollingPair, effect func()) {
	p.pending.Lock()
	defer p.pending.Unlock()
	for _, other := range p.pending.operations {
		if other.volume == x.volume && (other.pod == x.pod || other.pod == "" || x.pod == "") {
			return
		}
	}
	p.pending.operations = append(p.pending.operations, x)
	p.done.Go(func() {
		p.actual.Lock()
		effect()
		p.actual.Unlock()
		p.pending.Lock()
		defer p.pending.Unlock()
		at := slices.Index(p.pending.operations, x)
		p.pending.operations = slices.Delete(p.pending.operations, at, at+1)
	})
}

func (p *polling) WaitForAttachAndMount(ctx context.Context, uid core.PodUID) error {
	p.mu.RLock()
	volumes := len(p.pods[uid].Spec.Volumes)
	p.mu.RUnlock()
	p.reprocess(uid)
	return poll(ctx, func() bool {
		names := p.volumesOf(uid)
		p.actual.RLock()
		defer p.actual.RUnlock()
		isUnmounted := func(name string) bool { return p.actual.volumes[name][uid] == nil }
		return len(names) == volumes && !slices.ContainsFunc(names, isUnmounted)
	})
}

func (p *polling) WaitForUnmount(ctx context.Context, uid core.PodUID) error {
	p.reprocess(uid)
	return poll(ctx, func() bool { return !p.hasMounted(uid) })
}

// volumesOf looks at all desired volumes for those of one pod.
func (p *polling) volumesOf(uid core.PodUID) (names []string) {
	p.desired.RLock()
	defer p.desired.RUnlock()
	for volume, pods := range p.desired.volumes {
		if _, is := pods[uid]; is {
			names = append(names, volume)
		}
	}
	return names
}

// hasMounted looks at all volumes for one that a pod has mounted.
func (p *polling) hasMounted(uid core.PodUID) bool {
	p.actual.RLock()
	defer p.actual.RUnlock()
	for _, pods := range p.actual.volumes {
		if pods[uid] != nil {
			return true
		}
	}
	return false
}

// poll looks at once, and then every 300 ms.
func poll(ctx context.Context, is func() bool) error {
	next := time.NewTicker(waitPeriod)
	defer next.Stop()
	for !is() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-next.C:
		}
	}
	return nil
}
