package sim

import (
	"maps"
	"slices"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/hal"
)

// clusterTruth is what the cluster says, and what the agent has been told of it.
type clusterTruth struct {
	objects []*clusterObject // in the order of their making
	sources []hal.Source     // that the agent waits for
	holding []hal.Source     // that never say Synced until ReleaseSynced
	secrets []clusterSecret
	trouble []hal.Trouble
	watch   func(hal.ClusterEvent)
	watcher *incarnation
}

// clusterObject is one object of one source, by its versions.
type clusterObject struct {
	source hal.Source
	name   string // kind, namespace and name
	now    any    // nil once deleted
	last   any    // the version before, nil if there is none; after a deletion the last content
	told   hal.Instant
	known  bool // the present watcher has been told of it, or will be
}

type clusterSecret struct {
	name string
	data map[string]string
}

const (
	objectMost     = 500 * time.Millisecond
	objectLateMost = 5 * time.Minute
)

var (
	siteObject = newSite("cluster.object")
	siteSynced = newSite("cluster.synced")
	callSecret = newCallSite("cluster.secret", hal.ClassRPC, false)
)

// ObjectName names an object: kind, namespace and name.
func ObjectName(o any) string {
	switch o := o.(type) {
	case *corev1.Pod:
		return "pod " + o.Namespace + "/" + o.Name
	case *corev1.PersistentVolume:
		return "pv " + o.Name
	case *corev1.PersistentVolumeClaim:
		return "pvc " + o.Namespace + "/" + o.Name
	case *storagev1.CSIDriver:
		return "csidriver " + o.Name
	}
	panic("sim: not an object of the cluster")
}

func (w *World) object(source hal.Source, name string) *clusterObject {
	for _, o := range w.cluster.objects {
		if o.source == source && o.name == name {
			return o
		}
	}
	return nil
}

// Apply makes or changes objects of the cluster, which are not changed afterwards. The agent hears of each a drawn time later.
func (w *World) Apply(objects ...any) { w.ApplyFrom(w.config.Source, objects...) }

// ApplyFrom is Apply for a source other than the world's own.
func (w *World) ApplyFrom(source hal.Source, objects ...any) {
	w.addSource(source)
	for _, o := range objects {
		name := ObjectName(o)
		c := w.object(source, name)
		if c == nil {
			c = &clusterObject{source: source, name: name}
			w.cluster.objects = append(w.cluster.objects, c)
		}
		c.last, c.now = c.now, o
		w.event("cluster.applied", name)
		w.tellObject(c)
	}
}

// Delete takes objects, of this kind, namespace and name, out of the cluster.
func (w *World) Delete(objects ...any) {
	for _, o := range objects {
		c := w.object(w.config.Source, ObjectName(o))
		if c == nil || c.now == nil {
			continue
		}
		c.last, c.now = c.now, nil
		w.event("cluster.deleted", c.name)
		w.tellObject(c)
	}
}

// PutSecret makes or changes a secret.
func (w *World) PutSecret(namespace, name string, data map[string]string) {
	w.DeleteSecret(namespace, name)
	w.cluster.secrets = append(w.cluster.secrets, clusterSecret{namespace + "/" + name, data})
}

// DeleteSecret takes a secret away.
func (w *World) DeleteSecret(namespace, name string) {
	w.cluster.secrets = slices.DeleteFunc(w.cluster.secrets, func(s clusterSecret) bool { return s.name == namespace+"/"+name })
}

// HoldSynced keeps a source from saying Synced, in this life of the agent and later ones, until ReleaseSynced.
func (w *World) HoldSynced(source hal.Source) {
	w.addSource(source)
	w.cluster.holding = append(w.cluster.holding, source)
}

// ReleaseSynced ends HoldSynced.
func (w *World) ReleaseSynced(source hal.Source) {
	w.cluster.holding = slices.DeleteFunc(w.cluster.holding, func(s hal.Source) bool { return s == source })
	if inc := w.cluster.watcher; inc != nil && !inc.dead {
		w.sayIn(inc, 0, hal.Synced{Source: source})
	}
}

// SetTrouble says that a source has a problem; Problem "" ends it.
func (w *World) SetTrouble(t hal.Trouble) {
	w.cluster.trouble = slices.DeleteFunc(w.cluster.trouble, func(k hal.Trouble) bool {
		return k.Source == t.Source && k.Where == t.Where
	})
	if t.Problem != "" {
		w.cluster.trouble = append(w.cluster.trouble, t)
	}
	if inc := w.cluster.watcher; inc != nil && !inc.dead {
		w.sayIn(inc, w.time(siteObject, t.Where, fastest, objectMost), t)
	}
}

func (w *World) addSource(s hal.Source) {
	if !slices.Contains(w.cluster.sources, s) {
		w.cluster.sources = append(w.cluster.sources, s)
	}
}

// sayIn delivers an event to the watcher.
func (w *World) sayIn(inc *incarnation, wait time.Duration, e hal.ClusterEvent) {
	h := &host{w, inc}
	f := w.cluster.watch
	w.sched.at(w.sched.now.Add(wait), siteObject.hash, inc, func() { h.post(func() { f(e) }) })
}

// tellObject delivers the present state of an object, and returns when the first notice of it arrives. One object's
// states arrive in their order; those of different objects in any.
func (w *World) tellObject(c *clusterObject) hal.Instant {
	inc := w.cluster.watcher
	if inc == nil || inc.dead || c.now == nil && !c.known {
		return 0
	}
	c.known = true
	wait := w.time(siteObject, c.name, fastest, objectMost)
	if w.happens(ObjectLate, siteObject, c.name) {
		wait = w.time(siteObject, c.name, time.Second, objectLateMost)
	}
	at := max(w.sched.now.Add(wait), c.told+1)
	first := at
	if c.last != nil && c.now != nil && w.happens(ObjectStale, siteObject, c.name) {
		w.sayIn(inc, at.Sub(w.sched.now), hal.Applied{Source: c.source, Object: c.last})
		at = at.Add(w.time(siteObject, c.name, fastest, objectMost))
	}
	var e hal.ClusterEvent = hal.Applied{Source: c.source, Object: c.now}
	if c.now == nil {
		e = hal.Deleted{Source: c.source, Object: c.last}
	}
	w.sayIn(inc, at.Sub(w.sched.now), e)
	if w.happens(ObjectRepeated, siteObject, c.name) {
		at = at.Add(w.time(siteObject, c.name, fastest, objectMost))
		w.sayIn(inc, at.Sub(w.sched.now), e)
	}
	c.told = at
	return first
}

type hostCluster struct{ *host }

// Watch tells of all objects that exist, then, once all were told, Synced for each source.
func (h hostCluster) Watch(f func(hal.ClusterEvent)) {
	w := h.w
	if h.inc.dead {
		return
	}
	w.cluster.watch, w.cluster.watcher = f, h.inc
	w.addSource(w.config.Source)
	last := w.sched.now
	for _, c := range w.cluster.objects {
		c.told, c.known = w.sched.now, false
		if c.now == nil && c.last != nil && w.happens(ObjectStale, siteObject, c.name) {
			c.known, c.told = true, w.sched.now+1 // the list is old: the deletion comes after it
			w.sayIn(h.inc, 1, hal.Applied{Source: c.source, Object: c.last})
		}
		if c.now != nil || c.known {
			last = max(last, w.tellObject(c))
		}
	}
	for _, t := range w.cluster.trouble {
		w.sayIn(h.inc, w.time(siteObject, t.Where, fastest, objectMost), t)
	}
	for _, s := range w.cluster.sources {
		wait := last.Sub(w.sched.now) + w.time(siteSynced, string(s), fastest, objectMost)
		if w.happens(SyncedLate, siteSynced, string(s)) {
			wait += w.time(siteSynced, string(s), time.Second, objectLateMost)
		}
		if !slices.Contains(w.cluster.holding, s) {
			w.sayIn(h.inc, wait, hal.Synced{Source: s})
		}
	}
}

func (h hostCluster) Secret(c hal.Call, namespace, name string) (hal.Secret, error) {
	k := h.enter(callSecret, namespace+"/"+name, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return hal.Secret{}, k.done(errno)
	}
	for _, s := range h.w.cluster.secrets {
		if s.name == k.subject.name {
			return hal.NewSecret(maps.Clone(s.data)), k.done(0)
		}
	}
	return hal.Secret{}, k.done(syscall.ENOENT)
}
