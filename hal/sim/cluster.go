package sim

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/hal"
)

// Cluster is what the cluster says, and what the agent has been told of it.
type Cluster struct {
	*chance
	source hal.Source                 // of what Apply makes
	post   func(*incarnation, func()) // to the owner of a life

	objects []*clusterObject // in the order of their making
	sources []hal.Source     // that the agent waits for
	holding []hal.Source     // that never say Synced until ReleaseSynced
	held    []holding        // what Secrets and ConfigMaps hold
	edits   uint64           // so many times somebody has changed what one holds
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

type holding struct {
	is   *hal.Content
	data map[string]string
}

var (
	callSecret    = newCallSite("cluster.secret", hal.ClassRPC, false)
	callConfigMap = newCallSite("cluster.configmap", hal.ClassRPC, false)
	callBundle    = newCallSite("cluster.trustbundle", hal.ClassRPC, false)
	callPod       = newCallSite("cluster.pod", hal.ClassRPC, false)
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
	case *storagev1.VolumeAttachment:
		return "attachment " + o.Name
	case *corev1.Secret:
		return "secret " + o.Namespace + "/" + o.Name
	case *corev1.ConfigMap:
		return "configmap " + o.Namespace + "/" + o.Name
	case *certificatesv1beta1.ClusterTrustBundle:
		return "trustbundle " + o.Name
	case *hal.Content:
		return strings.ToLower(o.Kind) + " " + o.Namespace + "/" + o.Name
	}
	panic("sim: not an object of the cluster")
}

func (cl *Cluster) object(source hal.Source, name string) *clusterObject {
	for _, o := range cl.objects {
		if o.source == source && o.name == name {
			return o
		}
	}
	return nil
}

// Apply makes or changes objects of the cluster, which are not changed afterwards. The agent hears of each a drawn time
// later.
func (cl *Cluster) Apply(objects ...any) {
	source := cl.source
	cl.addSource(source)
	for _, o := range objects {
		name := ObjectName(o)
		c := cl.object(source, name)
		if c == nil {
			c = &clusterObject{source: source, name: name}
			cl.objects = append(cl.objects, c)
		}
		if c.now != nil && !isSame(c.now, o) { // another one of that name: the first must have been deleted
			c.last, c.now = c.now, nil
			cl.event("cluster.deleted", name)
			cl.tellObject(c)
		}
		c.last, c.now = c.now, o
		cl.event("cluster.applied", name)
		cl.tellObject(c)
	}
}

// Replace makes one edit of the cluster: the former objects go, others come, and a pod that comes with the uid of one
// that goes is renamed.
func (cl *Cluster) Replace(former, others []any) {
	cl.addSource(cl.source)
	cl.renames = true
	var changed []*clusterObject
	for _, o := range former {
		if c := cl.object(cl.source, ObjectName(o)); c != nil && c.now != nil {
			c.last, c.now = c.now, nil
			cl.event("cluster.deleted", c.name)
			changed = append(changed, c)
		}
	}
	for _, o := range others {
		name := ObjectName(o)
		c := cl.object(cl.source, name)
		if c == nil {
			c = &clusterObject{source: cl.source, name: name}
			cl.objects = append(cl.objects, c)
		}
		if c.now != nil {
			c.last = c.now
		}
		c.now = o
		cl.event("cluster.applied", name)
		if !slices.Contains(changed, c) {
			changed = append(changed, c)
		}
	}
	for _, c := range changed {
		if c.as != c.now {
			cl.tellObject(c)
		}
	}
}

// Delete takes objects, of this kind, namespace and name, out of the cluster.
func (cl *Cluster) Delete(objects ...any) {
	for _, o := range objects {
		c := cl.object(cl.source, ObjectName(o))
		if c == nil || c.now == nil {
			continue
		}
		c.last, c.now = c.now, nil
		cl.event("cluster.deleted", c.name)
		cl.tellObject(c)
	}
}

// What a ClusterTrustBundle holds: its fields, and its labels behind a prefix.
const (
	BundleField = "trustBundle"
	SignerField = "signerName"
	LabelField  = "label "
)

// Hold makes or changes what a Secret, a ConfigMap or a ClusterTrustBundle holds, and returns the object to Apply. data
// is not changed afterwards.
func (cl *Cluster) Hold(kind, namespace, name string, data map[string]string) *hal.Content {
	cl.edits++
	is := &hal.Content{Kind: kind, Namespace: namespace, Name: name, Version: strconv.FormatUint(cl.edits, 10)}
	is.UID = name + "-" + is.Version
	if kind == hal.TrustBundleKind {
		is.Signer, is.Labels = data[SignerField], labelsIn(data)
	}
	at := cl.holds(kind, namespace+"/"+name)
	if at < 0 {
		cl.held = append(cl.held, holding{is, data})
		return is
	}
	is.UID = cl.held[at].is.UID
	cl.held[at] = holding{is, data}
	return is
}

// labelsIn are the labels of a ClusterTrustBundle.
func labelsIn(data map[string]string) map[string]string {
	labels := map[string]string{}
	for _, field := range slices.Sorted(maps.Keys(data)) {
		if label, isLabel := strings.CutPrefix(field, LabelField); isLabel {
			labels[label] = data[field]
		}
	}
	return labels
}

// holds is the index of what an object holds; -1 if there is no such object.
func (cl *Cluster) holds(kind, name string) int {
	return slices.IndexFunc(cl.held, func(h holding) bool {
		return h.is.Kind == kind && h.is.Namespace+"/"+h.is.Name == name
	})
}

// Held is what a Secret or a ConfigMap, as namespace/name, holds; nil if there is none. It is not to be changed.
func (cl *Cluster) Held(kind, name string) map[string]string {
	if at := cl.holds(kind, name); at >= 0 {
		return cl.held[at].data
	}
	return nil
}

// Drop takes away what a Secret or a ConfigMap, as namespace/name, holds, and returns the object to Delete; nil if
// there is none.
func (cl *Cluster) Drop(kind, name string) *hal.Content {
	at := cl.holds(kind, name)
	if at < 0 {
		return nil
	}
	is := cl.held[at].is
	cl.held = slices.Delete(cl.held, at, at+1)
	return is
}

// HoldSynced keeps a source from saying Synced, in this life of the agent and later ones, until ReleaseSynced.
func (cl *Cluster) HoldSynced(source hal.Source) {
	cl.addSource(source)
	cl.holding = append(cl.holding, source)
}

// ReleaseSynced ends HoldSynced.
func (cl *Cluster) ReleaseSynced(source hal.Source) {
	cl.holding = slices.DeleteFunc(cl.holding, func(s hal.Source) bool { return s == source })
	if inc := cl.watcher; inc != nil && !inc.dead {
		cl.sayIn(inc, 0, hal.Synced{Source: source})
	}
}

// SetTrouble says that a source has a problem; Problem "" ends it.
func (cl *Cluster) SetTrouble(t hal.Trouble) {
	cl.trouble = slices.DeleteFunc(cl.trouble, func(k hal.Trouble) bool {
		return k.Source == t.Source && k.Where == t.Where
	})
	if t.Problem != "" {
		cl.trouble = append(cl.trouble, t)
	}
	if inc := cl.watcher; inc != nil && !inc.dead {
		cl.sayIn(inc, cl.time(siteObject, t.Where, fastest, objectMost), t)
	}
}

func (cl *Cluster) addSource(s hal.Source) {
	if !slices.Contains(cl.sources, s) {
		cl.sources = append(cl.sources, s)
	}
}

func (h hostCluster) Secret(c hal.Call, namespace, name string) (hal.Secret, error) {
	data, err := h.held(callSecret, hal.SecretKind, c, namespace+"/"+name)
	return hal.NewSecret(data), err
}

func (h hostCluster) ConfigMap(c hal.Call, namespace, name string) (map[string]string, error) {
	return h.held(callConfigMap, hal.ConfigMapKind, c, namespace+"/"+name)
}

func (h hostCluster) TrustBundle(c hal.Call, name string) (hal.TrustBundle, error) {
	data, err := h.held(callBundle, hal.TrustBundleKind, c, "/"+name)
	return hal.TrustBundle{PEM: data[BundleField], Signer: data[SignerField], Labels: labelsIn(data)}, err
}

func (h hostCluster) Pod(c hal.Call, namespace, name, uid string) (*corev1.Pod, error) {
	k := h.enter(callPod, namespace+"/"+name, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	for _, o := range h.w.Cluster.objects {
		if pod, is := o.now.(*corev1.Pod); is && string(pod.UID) == uid {
			return pod, k.done(0)
		}
	}
	return nil, k.done(syscall.ENOENT)
}

func (h hostCluster) held(at *callSite, kind string, c hal.Call, name string) (map[string]string, error) {
	k := h.enter(at, name, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	if data := h.w.Cluster.Held(kind, k.subject.name); data != nil {
		return maps.Clone(data), k.done(0)
	}
	return nil, k.done(syscall.ENOENT)
}
