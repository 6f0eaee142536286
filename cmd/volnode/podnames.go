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

// podNames listens in on the cluster's stream: which pods the names stand for. The engine knows pods by uid, people by
// name, and a name may be asked for before its pod is there or after it was removed.
type podNames struct {
	hal.Cluster

	mu      sync.Mutex             // the owner takes it, so nobody holds it for more than a look-up
	pods    map[string]*podName    // by namespace/name
	names   map[core.PodUID]string // of all pods in pods, those that were removed included
	removed map[string]bool        // the names that have removed pods
	events  int                    // of pods, so far
	synced  bool                   // all sources have named their pods
	changed chan struct{}          // closed at each change
}

// podName is the pod that a name refers to.
type podName struct {
	uid  core.PodUID   // "" if no source names it
	left []core.PodUID // pods that had the name and were removed, the latest last
	at   int           // the event that changed it last
}

// maxLeft bounds the removed pods that are remembered by one name.
const maxLeft = 16

func newPodNames(c hal.Cluster) *podNames {
	return &podNames{
		Cluster: c, pods: map[string]*podName{}, names: map[core.PodUID]string{}, removed: map[string]bool{},
		changed: make(chan struct{}),
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
	switch e := e.(type) {
	case hal.Changed:
		p.rename(e)
	case hal.Synced:
		p.synced = true
	default:
		return
	}
	p.tell()
}

// rename takes in one difference. A pod that is there is not left of another name: one that was renamed lives on under
// its new one.
func (p *podNames) rename(e hal.Changed) {
	p.events++
	for _, object := range e.Removed {
		if pod, ok := object.(*corev1.Pod); ok {
			n, uid := p.named(pod), core.PodUID(pod.UID)
			if n.uid == uid {
				n.uid = ""
			}
			p.leave(n, uid, nameText(pod))
		}
	}
	for _, object := range e.Applied {
		pod, ok := object.(*corev1.Pod)
		if !ok {
			continue
		}
		n, uid := p.named(pod), core.PodUID(pod.UID)
		if n.uid != "" && n.uid != uid {
			p.leave(n, n.uid, nameText(pod))
		}
		n.uid = uid
		if home := p.pods[p.names[uid]]; home != nil {
			home.left = slices.DeleteFunc(home.left, func(u core.PodUID) bool { return u == uid })
		}
		p.names[uid] = nameText(pod)
	}
}

func nameText(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// named is the pod that a name refers to, changed by the event under way.
func (p *podNames) named(pod *corev1.Pod) *podName {
	name := nameText(pod)
	n := p.pods[name]
	if n == nil {
		n = &podName{}
		p.pods[name] = n
	}
	n.at = p.events
	return n
}

// leave remembers a pod that had a name and was removed.
func (p *podNames) leave(n *podName, uid core.PodUID, name string) {
	n.left = append(slices.DeleteFunc(n.left, func(u core.PodUID) bool { return u == uid }), uid)
	if len(n.left) > maxLeft {
		p.forget(n.left[0], name)
		n.left = n.left[1:]
	}
	if _, known := p.names[uid]; !known {
		p.names[uid] = name
	}
	p.removed[name] = true
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

// lookup returns the pod that a name refers to, and a channel that is closed when that may have changed.
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

// prune forgets the removed pods of which nothing is left. known was learnt after the event numbered since: what
// changed later is kept.
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

// untilSynced waits until all sources are synced: an unknown name is then one that no source names.
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

// while returns a context that ends with ctx, or when the name refers to another pod than uid.
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
