package world

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
)

// RoomRun is a source in one run: what it notes of the run, and what it judges. Its fields are a part of the state of
// the run.
type RoomRun interface {
	// Born: a new life of the agent begins, which has been told of nothing.
	Born(r *Run)
	// Told: the agent is told of a pod, as object has it.
	Told(r *Run, p *Pod, object *corev1.Pod)
	// Stepped judges what core believes, after each of its steps.
	Stepped(r *Run)
	// Sees judges an effect.
	Sees(r *Run, e *sim.Effect)
	// LetsIn judges that the engine reports a pod ready; false if its containers must not start.
	LetsIn(r *Run, p *Pod) bool
	// Refuses reports whether the agent must refuse a volume of a pod as it is now.
	Refuses(r *Run, p *Pod) bool
	// Reports judges the status of a volume of a pod, in calm; false if it is wrong.
	Reports(r *Run, p *Pod, u Use, status *engine.VolumeStatus) bool
	// Waits reports whether who makes or removes a rung waits for something that others have to mend.
	Waits(r *Run, b *core.Belief) bool
	// Mends: no fault happens any more, and people mend what they have broken.
	Mends(r *Run)
	// Corrects is a person who edits a pod of which a volume is refused so that it is refused no more; false if no edit
	// does that.
	Corrects(r *Run, p *Pod) bool
	// Stays reports whether the map of a disk is nobody's to remove.
	Stays(r *Run, wwid string) bool
}

// PlainRun notes and judges nothing. Those of sources embed it for the methods that they don't need.
type PlainRun struct{}

// Born notes nothing.
func (PlainRun) Born(*Run) {}

// Told notes nothing.
func (PlainRun) Told(*Run, *Pod, *corev1.Pod) {}

// Stepped judges nothing.
func (PlainRun) Stepped(*Run) {}

// Sees judges nothing.
func (PlainRun) Sees(*Run, *sim.Effect) {}

// LetsIn lets all pods in.
func (PlainRun) LetsIn(*Run, *Pod) bool { return true }

// Refuses has the agent refuse no pod.
func (PlainRun) Refuses(*Run, *Pod) bool { return false }

// Reports finds each status right.
func (PlainRun) Reports(*Run, *Pod, Use, *engine.VolumeStatus) bool { return true }

// Waits has nobody wait.
func (PlainRun) Waits(*Run, *core.Belief) bool { return false }

// Mends does nothing: nobody has broken anything.
func (PlainRun) Mends(*Run) {}

// Corrects knows no edit that helps.
func (PlainRun) Corrects(*Run, *Pod) bool { return false }

// Planner draws what happens in a hunt, and when.
type Planner interface {
	// Run is the run that the hunt makes.
	Run() *Run
	// Volumes is how many PersistentVolumes the world has.
	Volumes() int
	// Persists: sources besides CSI have PersistentVolumes.
	Persists() bool
	// InTree: the driver of awsElasticBlockStore serves this node.
	InTree() bool
	// Pick draws from weights; the first is what happens if nothing does.
	Pick(site, object string, nth int, weights ...uint32) int
	// Time draws a time between 0 and most.
	Time(site, object string, nth int, most time.Duration) time.Duration
	// At plans f, unless calm comes before. key is the object that it is about.
	At(d time.Duration, key string, f func())
	// EditVolume has somebody edit the volume of a source that pod i has, if the pod is there: see [Rare].
	EditVolume(i int, m *Room, to uint8)
}

// NewRoomRuns are those of all sources, in the order of Rooms.
func NewRoomRuns() []RoomRun {
	var all []RoomRun
	for _, m := range Rooms {
		if m.New == nil {
			all = append(all, PlainRun{})
			continue
		}
		all = append(all, m.New())
	}
	return all
}

// RareRooms are the sources of which few pods of a hunt have a volume.
func RareRooms() []*Room {
	return slices.DeleteFunc(slices.Clone(Rooms), func(m *Room) bool { return m.Rare.Plan == nil })
}

// BeginRooms makes what there is of each source before the first pod comes.
func BeginRooms(g Planner) {
	for _, m := range Rooms {
		if m.Begin != nil {
			m.Begin(g)
		}
	}
}

// IsRefused reports whether the agent must refuse a volume of a pod as it is now.
func (r *Run) IsRefused(p *Pod) bool {
	return slices.ContainsFunc(r.Rooms, func(m RoomRun) bool { return m.Refuses(r, p) })
}

// Sees has each source judge an effect.
func (r *Run) Sees(e *sim.Effect) {
	for _, m := range r.Rooms {
		m.Sees(r, e)
	}
}

// Stays has all maps be removed.
func (PlainRun) Stays(*Run, string) bool { return false }
