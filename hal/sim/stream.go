package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/hal"
)

// This file is how the agent is told of the cluster: late, twice, in older versions, across each other, with parts
// missing for a while; never otherwise than hal.Cluster's contract allows. What was told last of an object is true, and
// Synced comes after all that exists.

const (
	objectMost     = 500 * time.Millisecond
	objectLateMost = 5 * time.Minute
	outageMost     = 5 * time.Minute
)

var (
	siteObject = newSite("cluster.object")
	siteSynced = newSite("cluster.synced")
	siteWatch  = newSite("cluster.watch")
	siteKind   = newSite("cluster.kind")
	siteList   = newSite("cluster.list")
)

// outage is a time in which nothing arrives of the objects of a kind, "" for all.
type outage struct{ kind string }

// isSame reports whether two objects are one: objects of one name are told apart by their uids.
func isSame(a, b any) bool { return hal.IdentityOf(a) == hal.IdentityOf(b) }

func kindOf(o any) string {
	switch o.(type) {
	case *corev1.Pod:
		return "pods"
	case *corev1.PersistentVolume:
		return "persistent volumes"
	case *corev1.PersistentVolumeClaim:
		return "claims"
	case *storagev1.VolumeAttachment:
		return "attachments"
	case *hal.Content:
		return "contents"
	}
	return "drivers"
}

func (c *clusterObject) kind() string {
	if c.now != nil {
		return kindOf(c.now)
	}
	return kindOf(c.last)
}

// sayIn delivers an event to the watcher.
func (cl *Cluster) sayIn(inc *incarnation, wait time.Duration, e hal.ClusterEvent) {
	cl.sayAt(inc, cl.sched.now.Add(wait), e)
}

func (cl *Cluster) sayAt(inc *incarnation, at hal.Instant, e hal.ClusterEvent) {
	f := cl.watch
	cl.sched.at(at, siteObject.hash, inc, func() {
		cl.post(inc, func() { f(e) })
	})
}

// say delivers a notice of an object at an instant, or the version that it was merged into by then. gone: that object
// is gone.
func (cl *Cluster) say(inc *incarnation, c *clusterObject, at hal.Instant, object any, gone bool) {
	c.said++
	f, nth := cl.watch, c.said
	if c.told = max(c.told, at); !gone {
		c.shown = c.told
	}
	cl.sched.at(at, siteObject.hash, inc, func() {
		e := hal.Changed{Source: c.source, Applied: []any{object}}
		switch {
		case nth <= c.merged && isSame(object, c.newest):
			e.Applied[0] = c.newest
		case gone:
			e.Applied, e.Removed = nil, e.Applied
		}
		cl.post(inc, func() { f(e) })
	})
}

// again says the last notice once more, or not.
func (cl *Cluster) again(inc *incarnation, c *clusterObject, object any, gone bool) {
	if cl.happens(ObjectRepeated, siteObject, c.name) {
		cl.say(inc, c, c.told.Add(cl.time(siteObject, c.name, fastest, objectMost)), object, gone)
	}
}

// tellObject delivers the present state of an object, unless it is kept back, and returns when the first notice of it
// arrives. The states of one object arrive in their order; those of different objects in any.
func (cl *Cluster) tellObject(c *clusterObject) hal.Instant {
	inc := cl.watcher
	if inc == nil || inc.dead || c.now == nil && c.as == nil || cl.isOut(inc, c) {
		return 0
	}
	if cl.renames {
		if all := cl.entangled(c); len(all) > 1 {
			return cl.tellTogether(inc, all)
		}
	}
	wait := cl.time(siteObject, c.name, fastest, objectMost)
	if cl.happens(ObjectLate, siteObject, c.name) {
		wait = cl.time(siteObject, c.name, time.Second, objectLateMost)
	}
	at := max(cl.sched.now.Add(wait), c.told+1)
	if gone := c.as; gone != nil && (c.now == nil || !isSame(gone, c.now)) {
		cl.say(inc, c, at, gone, true)
		cl.again(inc, c, gone, true)
		c.ends = slices.DeleteFunc(c.ends, func(e ending) bool { return e.at <= cl.sched.now })
		c.ends = append(c.ends, ending{hal.IdentityOf(gone), c.told})
		c.as, c.left = nil, gone
		if c.now == nil {
			return at
		}
	}
	return cl.tellNow(inc, c, max(at, c.told+1))
}

// entangled returns the pods that can only be told of at once with c, itself first: one has a uid now under which the
// agent was told of another.
func (cl *Cluster) entangled(c *clusterObject) []*clusterObject {
	uid := func(o any) types.UID {
		if p, ok := o.(*corev1.Pod); ok {
			return p.UID
		}
		return ""
	}
	all := []*clusterObject{c}
	for i := 0; i < len(all); i++ {
		a := all[i]
		for _, o := range cl.objects {
			isOne := uid(o.now) != "" && uid(o.now) == uid(a.as) || uid(o.as) != "" && uid(o.as) == uid(a.now)
			if isOne && o.source == c.source && !slices.Contains(all, o) {
				all = append(all, o)
			}
		}
	}
	return all
}

// tellTogether delivers the present states of several objects as one difference, and returns when.
func (cl *Cluster) tellTogether(inc *incarnation, all []*clusterObject) hal.Instant {
	wait := cl.time(siteObject, all[0].name, fastest, objectMost)
	if cl.happens(ObjectLate, siteObject, all[0].name) {
		wait = cl.time(siteObject, all[0].name, time.Second, objectLateMost)
	}
	at, e := cl.sched.now.Add(wait), hal.Changed{Source: all[0].source}
	for _, c := range all {
		at = max(at, c.told+1)
		if c.as != nil && (c.now == nil || !isSame(c.as, c.now)) {
			e.Removed = append(e.Removed, c.as)
			c.left = c.as
		}
		if c.now != nil {
			e.Applied = append(e.Applied, c.now)
		}
		c.as = c.now
	}
	times := 1
	if cl.happens(ObjectRepeated, siteObject, all[0].name) {
		times = 2
	}
	isCrossed := times == 2 && cl.happens(ObjectCrossed, siteObject, all[0].name)
	for n := range times {
		told := at + hal.Instant(n)
		if isCrossed && n == 1 {
			e.Applied = nil // the removals alone come once more, after what has come in their place
		}
		cl.sayAt(inc, told, e)
		for _, c := range all {
			c.told = told
			c.said++
		}
	}
	return at
}

// tellNow delivers an object that is there.
func (cl *Cluster) tellNow(inc *incarnation, c *clusterObject, at hal.Instant) hal.Instant {
	isUnderWay := c.told > cl.sched.now+1
	isEnding := slices.ContainsFunc(c.ends, func(e ending) bool {
		return e.is == hal.IdentityOf(c.now) && e.at > cl.sched.now
	})
	other := c.as == nil && c.left != nil && !isSame(c.left, c.now)
	first, from := at, cl.sched.now
	if c.kind() != "pods" {
		from = max(from, c.shown) // the former one would take the name of this one otherwise
	}
	switch {
	case isUnderWay && other && !isEnding && c.told.Sub(from) > fastest+1 &&
		cl.happens(ObjectCrossed, siteObject, c.name):
		first = from.Add(cl.time(siteObject, c.name, fastest, c.told.Sub(from)-1))
		at = first
	case isUnderWay && !other && cl.happens(ObjectMerged, siteObject, c.name):
		c.merged, c.newest = c.said, c.now
	case c.last != nil && isSame(c.last, c.now) && cl.happens(ObjectStale, siteObject, c.name):
		cl.say(inc, c, at, c.last, false)
		at = at.Add(cl.time(siteObject, c.name, fastest, objectMost))
	}
	cl.say(inc, c, at, c.now, false)
	c.as = c.now
	cl.again(inc, c, c.now, false)
	return first
}

// isOut says whether an object is kept back: it is told when the outage is over. An outage may begin with it.
func (cl *Cluster) isOut(inc *incarnation, c *clusterObject) bool {
	kind := c.kind()
	if cl.outageOf(kind) != nil {
		return true
	}
	switch {
	case cl.happens(WatchBreaks, siteWatch, ""):
		cl.breaks(inc, "", cl.time(siteWatch, "", time.Second, outageMost))
	case cl.happens(KindFails, siteKind, kind):
		cl.breaks(inc, kind, cl.time(siteKind, kind, time.Second, outageMost))
	default:
		return false
	}
	return true
}

// HasNews reports whether there is a change that the agent's watch has not delivered yet: it is late, or an outage of
// the source holds it back.
func (cl *Cluster) HasNews() bool {
	inc := cl.watcher
	return inc != nil && !inc.dead && slices.ContainsFunc(cl.objects, func(c *clusterObject) bool {
		return c.told >= cl.sched.now || c.as != c.now
	})
}

func (cl *Cluster) outageOf(kind string) *outage {
	for _, o := range cl.outages {
		if o.kind == "" || o.kind == kind {
			return o
		}
	}
	return nil
}

// BreakWatch keeps all news from the agent's watch for a while, or those of one kind ("pods", "persistent volumes",
// "claims", "drivers"): then the source says so. At the end all is listed again.
func (cl *Cluster) BreakWatch(kind string, lasts time.Duration) {
	if inc := cl.watcher; inc != nil && !inc.dead {
		cl.breaks(inc, kind, lasts)
	}
}

// breaks begins an outage. At its end the stream lists all that the outage kept back again, with only the last state of
// each object.
func (cl *Cluster) breaks(inc *incarnation, kind string, lasts time.Duration) {
	o := &outage{kind}
	cl.outages = append(cl.outages, o)
	cl.event("cluster.outage", kind)
	trouble := hal.Trouble{Source: cl.source, Where: kind, Problem: "the list of " + kind + " fails"}
	if kind != "" {
		cl.sayIn(inc, cl.time(siteKind, kind, fastest, objectMost), trouble)
	}
	cl.sched.at(cl.sched.now.Add(lasts), siteWatch.hash^hashString(kind), inc, func() {
		cl.outages = slices.DeleteFunc(cl.outages, func(k *outage) bool { return k == o })
		cl.event("cluster.back", kind)
		if kind != "" {
			trouble.Problem = ""
			cl.sayIn(inc, cl.time(siteKind, kind, objectMost, 2*objectMost), trouble)
		}
		cl.list(inc, kind)
	})
}

// list tells of all objects of a kind, "" for all, and then, unless another kind is missing, Synced.
func (cl *Cluster) list(inc *incarnation, kind string) {
	for _, c := range cl.objects {
		if kind == "" || c.kind() == kind {
			cl.listed = max(cl.listed, cl.tellObject(c))
		}
	}
	if len(cl.outages) > 0 {
		return
	}
	for _, s := range cl.sources {
		wait := max(cl.listed.Sub(cl.sched.now), 0) + cl.time(siteSynced, string(s), fastest, objectMost)
		if cl.happens(SyncedLate, siteSynced, string(s)) {
			wait += cl.time(siteSynced, string(s), time.Second, objectLateMost)
		}
		if !slices.Contains(cl.holding, s) {
			cl.sayIn(inc, wait, hal.Synced{Source: s})
		}
	}
}

type hostCluster struct{ *host }

// Watch tells of all objects that exist, then, once all were told, Synced for each source.
func (h hostCluster) Watch(f func(hal.ClusterEvent)) {
	cl := h.w.Cluster
	if h.inc.dead {
		return
	}
	cl.watch, cl.watcher, cl.outages, cl.listed = f, h.inc, nil, cl.sched.now
	cl.addSource(cl.source)
	for _, c := range cl.objects {
		c.told, c.shown, c.as, c.left, c.ends = cl.sched.now, 0, nil, nil, nil
		if c.now == nil && c.last != nil && cl.happens(ObjectStale, siteObject, c.name) {
			cl.say(h.inc, c, cl.sched.now+1, c.last, false) // the list is old: the deletion comes after it
			c.as = c.last
		}
	}
	if cl.happens(ListEmpty, siteList, "") {
		cl.breaks(h.inc, "", cl.time(siteList, "", time.Second, outageMost))
	} else {
		cl.list(h.inc, "")
	}
	for _, t := range cl.trouble {
		cl.sayIn(h.inc, cl.time(siteObject, t.Where, fastest, objectMost), t)
	}
}
