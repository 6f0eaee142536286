package sim

import (
	"bytes"
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
	outages []*outage   // of the present watch
	listed  hal.Instant // when all objects that the present watch found have been told
	renames bool        // a uid may have gone from one name to another
}

// clusterObject is one object of one source, by its versions.
type clusterObject struct {
	source hal.Source
	name   string // kind, namespace and name
	now    any    // nil once deleted
	last   any    // the version before, nil if there is none; after a deletion the last content

	// Of the present watcher:
	as     any         // what it was told last, or is about to be; nil for nothing, or that it is gone
	left   any         // what it was told last to be gone
	ends   []ending    // that are under way
	told   hal.Instant // when the last notice arrives
	shown  hal.Instant // when the last one arrives that it is there
	said   uint32      // notices so far
	merged uint32      // the notices up to this one bring newest
	newest any
}

// ending is the notice that an object is gone, which arrives at an instant.
type ending struct {
	is hal.Identity
	at hal.Instant
}

type clusterSecret struct {
	name string
	data map[string]string
}

var siteManifest = newSite("cluster.manifest")

var callSecret = newCallSite("cluster.secret", hal.ClassRPC, false)

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
	case *storagev1.VolumeAttachment:
		return "attachment " + o.Name
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

// Apply makes or changes objects of the cluster, which are not changed afterwards. The agent hears of each a drawn time
// later.
func (w *World) Apply(objects ...any) {
	source := w.config.Source
	w.addSource(source)
	for _, o := range objects {
		name := ObjectName(o)
		c := w.object(source, name)
		if c == nil {
			c = &clusterObject{source: source, name: name}
			w.cluster.objects = append(w.cluster.objects, c)
		}
		if c.now != nil && !isSame(c.now, o) { // another one of that name: the first must have been deleted
			c.last, c.now = c.now, nil
			w.event("cluster.deleted", name)
			w.tellObject(c)
		}
		c.last, c.now = c.now, o
		w.event("cluster.applied", name)
		w.tellObject(c)
	}
}

// Replace makes one edit of the cluster: the former objects go, others come, and a pod that comes with the uid of one
// that goes is renamed.
func (w *World) Replace(former, others []any) {
	w.addSource(w.config.Source)
	w.cluster.renames = true
	var changed []*clusterObject
	for _, o := range former {
		if c := w.object(w.config.Source, ObjectName(o)); c != nil && c.now != nil {
			c.last, c.now = c.now, nil
			w.event("cluster.deleted", c.name)
			changed = append(changed, c)
		}
	}
	for _, o := range others {
		name := ObjectName(o)
		c := w.object(w.config.Source, name)
		if c == nil {
			c = &clusterObject{source: w.config.Source, name: name}
			w.cluster.objects = append(w.cluster.objects, c)
		}
		if c.now != nil {
			c.last = c.now
		}
		c.now = o
		w.event("cluster.applied", name)
		if !slices.Contains(changed, c) {
			changed = append(changed, c)
		}
	}
	for _, c := range changed {
		if c.as != c.now {
			w.tellObject(c)
		}
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

// WriteManifest makes a file of objects, as WriteFile does; who writes it may be half done for a while.
func (w *World) WriteManifest(path string, data []byte) {
	if !w.happens(ManifestTorn, siteManifest, path) {
		w.WriteFile(path, data)
		return
	}
	torn := append(slices.Clone(data[:len(data)/2]), tornEnd...)
	w.WriteFile(path, torn)
	w.torn++
	w.finishesManifest(path, torn, data, w.time(siteManifest, path, time.Second, outageMost))
}

// finishesManifest has the rest of a manifest written in a while; not before the directory is there again, if something
// is in its place.
func (w *World) finishesManifest(path string, torn, data []byte, in time.Duration) {
	w.sched.at(w.sched.now.Add(in), siteManifest.hash, nil, func() {
		dir := path[:lastSlash(path)]
		kind, _ := w.Exists(dir)
		if stack := w.MountsAt(dir); kind != hal.TypeDirectory || len(stack) > 0 &&
			w.IsForeign(stack[len(stack)-1].ID) {
			w.finishesManifest(path, torn, data, time.Minute)
			return
		}
		w.torn--
		if bytes.Equal(w.ReadFile(path), torn) { // nobody has written it or removed it since
			w.WriteFile(path, data)
		}
	})
}

// CoverDirectory mounts an empty filesystem over a directory that the agent watches, as somebody on the node would;
// UncoverDirectory unmounts it.
func (w *World) CoverDirectory(path string) syscall.Errno {
	errno := w.MountForeign(path)
	w.contentChanged(path + "/")
	return errno
}

// UncoverDirectory ends CoverDirectory.
func (w *World) UncoverDirectory(path string) {
	if stack := w.MountsAt(path); len(stack) > 0 && w.IsForeign(stack[len(stack)-1].ID) {
		_ = w.UnmountTop(path) // nobody keeps it busy
		w.contentChanged(path + "/")
	}
}

// IsTorn says whether somebody is half done with writing a manifest.
func (w *World) IsTorn() bool { return w.torn > 0 }

// tornEnd makes half a manifest one that can't be read: otherwise the half might be another pod.
const tornEnd = "\n\t{"

// PutSecret makes or changes a secret.
func (w *World) PutSecret(namespace, name string, data map[string]string) {
	w.DeleteSecret(namespace, name)
	w.cluster.secrets = append(w.cluster.secrets, clusterSecret{namespace + "/" + name, data})
}

// Secret is the data of a secret; nil if there is none. It is not to be changed.
func (w *World) Secret(name string) map[string]string {
	for _, s := range w.cluster.secrets {
		if s.name == name {
			return s.data
		}
	}
	return nil
}

// DeleteSecret takes a secret away.
func (w *World) DeleteSecret(namespace, name string) {
	w.cluster.secrets = slices.DeleteFunc(w.cluster.secrets,
		func(s clusterSecret) bool { return s.name == namespace+"/"+name })
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
