package scenarios

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Settings is what two scenarios have in common if circumstances of theirs are of the same things: drivers, objects, and how the agent is configured.
func (s *Scenario) Settings() string {
	var objects []string
	for _, o := range s.Objects {
		text, err := json.Marshal(o.Value)
		if err != nil {
			panic("scenarios: " + o.Name + ": " + err.Error()) // it was read from a manifest
		}
		objects = append(objects, o.Name+o.Version+string(text))
	}
	slices.Sort(objects)
	return fmt.Sprint(s.Runtime, s.Files, s.JournalBytes, s.Absent, s.Bare, s.Drivers, objects)
}

// Circumstance is how one thing of a run stands, roughly: what the engine believes of it and what is true of it. Of a [State] it leaves out times,
// counts, what only a power cut can tell, directories without a mount, and what an operation has done so far.
type Circumstance struct {
	// Of is a rung that a pod has, by its key, with what all pods share of its volume; that which they share, if no pod has any; the uid of a pod; the
	// name of a driver; or "" for the agent.
	Of     string
	Volume string // as driver^handle; "" for what is of none
	State  uint64
}

// rungState is how a rung stands.
type rungState struct {
	key      hal.Key
	volume   string
	isShared bool // pods share it
	state    uint64
}

// Circumstances appends those of all things to a list, in no certain order.
func (m Moment) Circumstances(to []Circumstance) []Circumstance {
	r := m.t.r
	to = append(to, Circumstance{"", "", bit(r.alive(), 0) | bit(r.synced, 1) | bit(r.w.AgentLives(), 2)})
	rungs := m.rungs()
	for i := range rungs {
		x := rungs[i]
		for _, y := range rungs {
			switch {
			case x.volume == "" || y.volume != x.volume || y.isShared == x.isShared:
			case x.isShared:
				x.key = "" // told with the pod's
			default:
				x.state += mixed(string(y.key), y.state)
			}
		}
		if x.key != "" {
			to = append(to, Circumstance{string(x.key), x.volume, x.state})
		}
	}
	for _, p := range r.pods {
		to = append(to, Circumstance{string(p.uid), "", bit(p.isWanted, 0) | bit(p.isLeaving, 1) | bit(p.isRunning, 2) | bit(p.told == p.object, 3)})
	}
	for i, d := range r.w.Drivers() {
		to = append(to, Circumstance{d.Name, "", uint64(i)<<3 | bit(d.Up, 0) | bit(d.Accepted, 1) | bit(d.Hides, 2)})
	}
	return to
}

// rungs is how all rungs stand that are known to the engine or to the world.
func (m Moment) rungs() []rungState {
	r := m.t.r
	all := make([]rungState, 0, 2*len(r.list))
	for _, p := range r.list {
		all = append(all, rungState{p.key, p.thing, !p.isPublish, r.truthOf(p)})
	}
	if !r.alive() {
		return all
	}
	r.core.Beliefs(func(b core.Belief) {
		bits := beliefBits(&b)
		if i := slices.IndexFunc(all, func(x rungState) bool { return x.key == b.Key }); i >= 0 {
			all[i].state |= bits
			return
		}
		if b.Path != "" {
			bits |= uint64(min(len(r.w.MountsAt(b.Path)), 3))
		}
		all = append(all, rungState{b.Key, b.Volume, b.Pod == "", bits})
	})
	return all
}

// Thing is what something is about, of the things of [Moment.Circumstances]: a call for a rung, or what happens to an object, a path or a driver. It
// returns the rung, if it is one of a pod; the volume, of what its pods share; or the driver; "" for what may be about everything.
func (m Moment) Thing(key hal.Key, object string) string {
	r := m.t.r
	p := r.places[key]
	if p == nil && key == "" {
		p = r.byPath[object]
	}
	switch {
	case p != nil && p.isPublish:
		return string(p.key)
	case p != nil:
		return p.thing
	}
	if r.alive() {
		if b, ok := r.core.Belief(key); ok {
			if b.Pod == "" && b.Volume != "" {
				return b.Volume
			}
			return string(b.Key)
		}
	}
	for _, d := range r.w.Drivers() {
		if object == d.Name || object == d.Socket || object == d.Endpoint {
			return d.Name
		}
	}
	return ""
}

var circumstancesSeed = maphash.MakeSeed()

// mixed is a number for bits that are so of the thing of a name.
func mixed(of string, bits uint64) uint64 {
	x := maphash.String(circumstancesSeed, of) + bits*0x9e3779b97f4a7c15
	x = (x ^ x>>32) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

func bit(is bool, at int) uint64 {
	if is {
		return 1 << at
	}
	return 0
}

// truthOf is what is true of a place.
func (r *run) truthOf(p *place) uint64 {
	is := uint64(min(len(r.w.MountsAt(p.path)), 3)) | bit(p.isHeld, 2) | bit(p.isTouched, 3)
	for _, k := range p.calls {
		isClimb := k.method == stage || k.method == publish
		is |= bit(isClimb, 4) | bit(!isClimb, 5)
	}
	return is
}

// beliefBits is what is believed of a rung.
func beliefBits(b *core.Belief) uint64 {
	is := 1 | uint64(b.State)<<1 | bit(b.IsGone, 3) | bit(b.IsDoubtful, 4) | bit(b.IsWanted, 5) | bit(b.IsHeldBack, 6) | bit(b.HasChild, 7) |
		bit(b.ClimbOpen != 0, 8) | bit(b.DescendOpen != 0, 9) | bit(b.InFlight, 10)
	if b.InFlight {
		is |= uint64(b.Verb) << 11
	}
	return is << 8
}
