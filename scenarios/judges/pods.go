package judges

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/world"
)

// Terminates deletes a pod gracefully, as an API server does: its object says that it is being deleted, no container of
// it starts any more, those that run end after grace, and then the object goes.
func Terminates(r *world.Run, p *world.Pod, grace time.Duration) {
	if !p.IsWanted || p.IsLeaving {
		return
	}
	object, stops := p.Object.DeepCopy(), p.Stops
	object.ResourceVersion += "0"
	object.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	p.Object, p.IsLeaving, p.IsSteady = object, true, false
	r.Give(object)
	r.W.After(grace, "the end of "+p.Name, func() {
		if p.Stops == stops && p.IsLeaving {
			Remove(r, p, 0)
		}
	})
}

// Remove deletes a pod by force: its object goes at once, and its containers end after grace; without a runtime they
// have ended.
func Remove(r *world.Run, p *world.Pod, grace time.Duration) {
	if !p.IsWanted {
		return
	}
	r.Unwants(p)
	r.Take(p.Object)
	Stops(r, p, grace)
}

// Stops lets the containers of a pod that is deleted end.
func Stops(r *world.Run, p *world.Pod, grace time.Duration) {
	if r.Cfg.NoRuntime {
		r.Halt(p)
		if p.Told == nil {
			TellGone(r, p)
		}
		return
	}
	ends(r, p, p.Stops, grace)
}

// ends lets the containers of a deleted pod end in a while. Those that wait for a server that is silent can't be
// killed.
func ends(r *world.Run, p *world.Pod, stops uint64, in time.Duration) {
	r.W.After(in, "containers end "+p.Name, func() {
		switch {
		case p.Stops != stops || p.IsWanted:
		case r.Hangs(p):
			ends(r, p, stops, world.HungAgain)
		default:
			r.Halt(p)
			if p.Told == nil {
				TellGone(r, p)
			}
		}
	})
}

// Answers is the host's answer to an agent that has been told that a pod is gone: whether its containers are. It does
// not ask of a pod that is renamed.
func Answers(r *world.Run, removed []any) {
	for _, o := range removed {
		object, ok := o.(*corev1.Pod)
		if !ok {
			continue
		}
		if p := r.ByUID[core.PodUID(object.UID)]; p != nil && p.Told == nil && !p.IsWanted && !p.IsRunning {
			TellGone(r, p)
		}
	}
}

// TellsUnnamed is the answer without a runtime, as the sources have said all: it is of each pod that they do not name.
func TellsUnnamed(r *world.Run) {
	for _, p := range r.Pods {
		if r.Cfg.NoRuntime && p.Told == nil && !p.IsRunning {
			TellGone(r, p)
		}
	}
}

// TellGone is the host's answer, as long as it is asked: no container of p runs. Without a runtime the agent takes it
// from its sources, once they have said all and do not name p: see frees.
func TellGone(r *world.Run, p *world.Pod) {
	dealings.ChangesFor(r, p)
	if r.M == nil || !r.W.AgentLives() || r.Cfg.NoRuntime && !r.Synced {
		return
	}
	p.FreedIn = r.W.Life()
	if r.Frees(p); !r.Cfg.NoRuntime {
		r.M.ContainersGone(p.Uid)
	}
	if p.Told == nil {
		expects(r, p)
	}
}

// Hears notes what the present life of the agent is told.
func Hears(r *world.Run, e hal.ClusterEvent) {
	dealings.ChangesByNews(r, e)
	dealings.LooksForOpen(r)
	dealings.Notes(r, e)
	switch e := e.(type) {
	case hal.Changed:
		for _, o := range e.Removed {
			if object, ok := o.(*corev1.Pod); ok {
				Tells(r, object, true)
			}
			r.Heard.Drop(o)
			if is, ok := o.(*storagev1.VolumeAttachment); ok {
				dealings.TieTold(r, is)
			}
		}
		for _, o := range e.Applied {
			switch object := o.(type) {
			case *corev1.Pod:
				Tells(r, object, false)
			case *corev1.PersistentVolume:
				r.HearsOfVolume(object)
			case *storagev1.VolumeAttachment:
				dealings.TieTold(r, object)
			}
			r.Heard.Put(o)
		}
		r.Recalls(e)
	case hal.Synced:
		r.Synced = true
		r.RecallsAll()
	case hal.Trouble:
		if r.Files {
			hearsOfTrouble(r, e)
		}
	}
}

// Tells notes that the agent is told of a pod. A manifest's object is another one than ours, of the same
// resourceVersion.
func Tells(r *world.Run, object *corev1.Pod, gone bool) {
	p := r.ByUID[core.PodUID(object.UID)]
	if p != nil && !gone {
		r.ComesAgain(p)
		for _, m := range r.Rooms {
			m.Told(r, p, object)
		}
	}
	switch {
	case p == nil:
	case gone && (p.Told == nil || hal.IdentityOf(p.Told) == hal.IdentityOf(object)):
		p.Told, p.Expected = nil, nil
	case gone:
	case object == p.Object || r.Files && object.ResourceVersion == p.Object.ResourceVersion:
		p.Told = p.Object
		expects(r, p)
	default:
		p.Told = object
	}
}
