package scenarios

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Settings is what two scenarios have in common if circumstances of theirs are of the same things: drivers, objects,
// and how the agent is configured.
func Settings(s *lang.Scenario) string {
	var objects []string
	for _, o := range s.Objects {
		text, err := json.Marshal(o.Value)
		if err != nil {
			panic("scenarios: " + o.Name + ": " + err.Error()) // it was read from a manifest
		}
		objects = append(objects, o.Name+o.Version+string(text))
	}
	slices.Sort(objects)
	return fmt.Sprint(s.Runtime, s.Files, s.JournalBytes, s.JournalMost, s.Absent, s.Bare, s.Drivers, objects)
}

// Circumstance is how one thing of a run stands, roughly: what the engine believes of it, what decides what it does
// next about it, and what is true of it. Of a [State] it leaves out times, counts, what only a power cut can tell,
// directories without a mount, whether the journal can be written, and what an operation has done so far.
type Circumstance struct {
	// Of is a rung that a pod has, by its key, with what all pods share of its volume; that which they share, if no pod
	// has any; the uid of a pod; the name of a driver; or "" for the agent.
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
	r := m.t.R
	to = append(to, Circumstance{
		"", "", bit(r.Alive(), 0) | bit(r.Synced, 1) | bit(r.W.AgentLives(), 2) | uint64(len(r.Troubles))<<3,
	})
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
	for _, p := range r.Pods {
		to = append(to, Circumstance{
			string(p.Uid), "",
			bit(p.IsWanted, 0) | bit(p.IsLeaving, 1) | bit(p.IsRunning, 2) | bit(p.Told == p.Object, 3),
		})
	}
	for i, d := range r.W.Drivers() {
		is := uint64(i)<<5 | bit(d.Up, 0) | bit(d.Accepted, 1) | bit(d.Hides, 2) | bit(r.Registrars.Registered[d.Name],
			3) | bit(r.Registrars.Connected[d.Name], 4)
		to = append(to, Circumstance{d.Name, "", is + maphash.Comparable(circumstancesSeed, d.Is)})
	}
	return to
}

// rungs is how all rungs stand that are known to the engine or to the world.
func (m Moment) rungs() []rungState {
	r := m.t.R
	all := make([]rungState, 0, 2*len(r.List))
	for _, p := range r.List {
		all = append(all, rungState{p.Key, p.Thing, !p.IsPublish, truthOf(r, p)})
	}
	if !r.Alive() {
		return all
	}
	r.Core.Beliefs(func(b core.Belief) {
		next, _ := r.Core.Prospect(b.Key)
		bits := beliefBits(&b) | prospectBits(&next)
		if i := slices.IndexFunc(all, func(x rungState) bool { return x.key == b.Key }); i >= 0 {
			all[i].state |= bits
			return
		}
		if b.Path != "" {
			bits |= truthAt(r, b.Path)
		}
		all = append(all, rungState{b.Key, b.Volume, b.Pod == "", bits})
	})
	return all
}

// Thing is what something is about, of the things of [Moment.Circumstances]: a call for a rung, or what happens to an
// object, a path or a driver. It returns the rung, if it is one of a pod; the volume, of what its pods share; or the
// driver; "" for what may be about everything.
func (m Moment) Thing(key hal.Key, object string) string {
	r := m.t.R
	p := r.Places[key]
	if p == nil && key == "" {
		p = r.ByPath[object]
	}
	switch {
	case p != nil && p.IsPublish:
		return string(p.Key)
	case p != nil:
		return p.Thing
	}
	if r.Alive() {
		if b, ok := r.Core.Belief(key); ok {
			if b.Pod == "" && b.Volume != "" {
				return b.Volume
			}
			return string(b.Key)
		}
	}
	for _, d := range r.W.Drivers() {
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

// Which bits of a rung's state are of what.
const (
	placeAt    = 4 // of what is true of a place, beside its path
	beliefAt   = 9
	prospectAt = 24
)

// truthAt is what is true of a path.
func truthAt(r *world.Run, path string) uint64 {
	return uint64(min(len(r.W.MountsAt(path)), 3)) | bit(r.W.IsHeldOpen(path), 2) | bit(r.W.IsDead(path), 3)
}

// truthOf is what is true of a place.
func truthOf(r *world.Run, p *world.Place) uint64 {
	is := bit(p.IsHeld, 0) | bit(p.IsTouched, 1) | bit(r.W.IsSilent(p.Driver, p.Volume), 2)
	for _, k := range p.Calls {
		isSetUp := k.Method == world.Stage || k.Method == world.Publish
		is |= bit(isSetUp, 3) | bit(!isSetUp, 4)
	}
	return is<<placeAt | truthAt(r, p.Path)
}

// beliefBits is what is believed of a rung.
func beliefBits(b *core.Belief) uint64 {
	is := 1 | uint64(b.State)<<1 | bit(b.IsGone, 3) | bit(b.IsDoubtful, 4) | bit(b.IsWanted, 5) | bit(b.IsHeldBack,
		6) | bit(b.HasChild, 7) |
		bit(b.SetUpOpen != 0, 8) | bit(b.TearDownOpen != 0, 9) | bit(b.Fingerprint != "", 10) | bit(b.InFlight, 11) |
		bit(b.IsDisplaced, 14)
	if b.InFlight {
		is |= uint64(b.Verb) << 12
	}
	return is << beliefAt
}

// prospectBits is what decides what is done about a rung next.
func prospectBits(p *core.Prospect) uint64 {
	is := uint64(p.Change) | bit(p.IsHeld, 2) | bit(p.IsUsed, 3) | bit(p.IsReconfirmable, 4) | bit(p.MustUndo,
		5) | bit(p.IsDenied, 6) |
		bit(p.DropsBelow, 7) | bit(p.IsExclusive, 8) | bit(p.IsRecorded, 9)
	if p.IsRecorded {
		is |= uint64(p.Phase) << 10
	}
	return is << prospectAt
}
