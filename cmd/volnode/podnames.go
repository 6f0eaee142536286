package main

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// podNames listens in on the cluster's stream: which pods the names stand for. The engine knows pods by uid, people by name, and a name may be asked
// for before its pod is there or after it was removed.
type podNames struct {
	hal.Cluster

	mu      sync.Mutex             // the owner takes it, so nobody holds it for more than a look-up
	pods    map[string]*podName    // by namespace/name
	names   map[core.PodUID]string // of all pods in pods, those that were removed included
	removed map[string]bool        // the names that have removed pods
	events  int                    // of pods, so far
	synced  bool                   // every name that there is has been told
	changed chan struct{}          // closed at each change
}

// podName is what a name stands for.
type podName struct {
	uid  core.PodUID   // "" if no source names it
	left []core.PodUID // pods that had the name and were removed, the latest last
	at   int           // the event that changed it last
}

// maxLeft bounds the removed pods that are remembered by one name.
const maxLeft = 16

func newPodNames(c hal.Cluster) *podNames {
	return &podNames{
		Cluster: c, pods: map[string]*podName{}, names: map[core.PodUID]string{}, removed: map[string]bool{}, changed: make(chan struct{}),
	}
}

// Watch passes each event on to the engine first, so that who is woken finds it there.
func (p *podNames) Watch(f func(hal.ClusterEvent)) {
	p.Cluster.Watch(func(e hal.ClusterEvent) {
		f(e)
		p.note(e)
	})
}

func (p *podNames) note(e hal.ClusterEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pod *corev1.Pod
	gone := false
	switch e := e.(type) {
	case hal.Applied:
		pod, _ = e.Object.(*corev1.Pod)
	case hal.Deleted:
		pod, _ = e.Object.(*corev1.Pod)
		gone = true
	case hal.Synced:
		p.synced = true
		p.tell()
	}
	if pod == nil {
		return
	}
	name, uid := pod.Namespace+"/"+pod.Name, core.PodUID(pod.UID)
	n := p.pods[name]
	if n == nil {
		n = &podName{}
		p.pods[name] = n
	}
	n.left = slices.DeleteFunc(n.left, func(u core.PodUID) bool { return u == uid })
	switch {
	case !gone:
		if n.uid != "" && n.uid != uid {
			n.left = append(n.left, n.uid)
		}
		n.uid = uid
	default:
		n.left = append(n.left, uid)
		if n.uid == uid {
			n.uid = ""
		}
	}
	for _, old := range n.left[:max(0, len(n.left)-maxLeft)] {
		p.forget(old, name)
	}
	n.left = n.left[max(0, len(n.left)-maxLeft):]
	if _, known := p.names[uid]; !gone || !known {
		p.names[uid] = name
	}
	if len(n.left) > 0 {
		p.removed[name] = true
	}
	p.events++
	n.at = p.events
	p.tell()
}

// forget is called with the lock held. A uid that another name has taken over stays that one's.
func (p *podNames) forget(uid core.PodUID, name string) {
	if p.names[uid] == name {
		delete(p.names, uid)
	}
}

// change returns a channel that is closed at the next change.
func (p *podNames) change() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// tell is called with the lock held.
func (p *podNames) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// lookup returns what a name stands for, and a channel that is closed when that may have changed.
func (p *podNames) lookup(name string) (podName, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.pods[name]
	if n == nil {
		return podName{}, p.changed
	}
	return podName{n.uid, slices.Clone(n.left), n.at}, p.changed
}

// nameOf returns the name that a pod has or had.
func (p *podNames) nameOf(uid core.PodUID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.names[uid]
}

// now returns the number of the latest event, for prune.
func (p *podNames) now() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.events
}

// prune forgets the removed pods of which nothing is left. known was learnt after the event numbered since: what changed later is kept.
func (p *podNames) prune(since int, known func(core.PodUID) bool) {
	p.mu.Lock()
	names := slices.Collect(maps.Keys(p.removed))
	p.mu.Unlock()
	for _, name := range names {
		p.pruneName(name, since, known)
	}
}

func (p *podNames) pruneName(name string, since int, known func(core.PodUID) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.pods[name]
	if n == nil || n.at > since {
		return
	}
	n.left = slices.DeleteFunc(n.left, func(uid core.PodUID) bool {
		if known(uid) {
			return false
		}
		p.forget(uid, name)
		return true
	})
	if len(n.left) > 0 {
		return
	}
	delete(p.removed, name)
	if n.uid == "" {
		delete(p.pods, name)
	}
}

// untilSynced waits until a name that stands for nothing is one that no source names.
func (p *podNames) untilSynced(ctx context.Context) error {
	for {
		p.mu.Lock()
		synced, changed := p.synced, p.changed
		p.mu.Unlock()
		if synced {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// until waits for a pod of that name, or the end of ctx.
func (p *podNames) until(ctx context.Context, name string) (core.PodUID, error) {
	for {
		n, changed := p.lookup(name)
		if n.uid != "" {
			return n.uid, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// while returns a context that ends with ctx, or when the name stands for another pod than uid.
func (p *podNames) while(ctx context.Context, name string, uid core.PodUID) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			n, changed := p.lookup(name)
			if n.uid != uid {
				cancel()
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}
