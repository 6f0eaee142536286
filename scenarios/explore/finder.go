package explore

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// operation names one operation of one life of the agent.
type operation struct {
	run uint32
	op  hal.OpID
}

// finder tells a combination, and finds those that have one point more, behind its last: so each set of points comes up
// once.
type finder struct {
	*cases.Keeper // makes the choices of the combination, and nothing else go wrong
	subject       cases.Case
	node          *node
	isDeepest     bool   // nothing is added to the node
	known         *known // nil if combinations are told to their ends
	alike         *alike // nil if all faults are told
	run           uint64 // the number of this one
	moment        scenarios.Moment
	world         *sim.World
	buffers       *scenarios.Buffers
	check         func(scenarios.View)

	struck   operation                // that met the last fault
	things   []scenarios.Circumstance // as of the offer that was heard last; offers keep it
	thingsAt uint64                   // how many records and events there were then

	isPast  bool                 // the last point of the node has come up
	moments int                  // after it that brought new states
	looked  map[operation]bool   // the operation has looked since its last effect, or its begin
	effects map[operation]uint64 // of its calls, but for RPCs
	open    []*pending
	found   []*node
	pruned  uint64
	isCut   bool // the run came to a state that was known
}

// pending is the offers about a call that is to change something: whether it does, it will have shown when it is
// answered.
type pending struct {
	call    sim.ID
	by      operation
	effects uint64 // of the operation before it
	offers  []offer
}

func newFinder(s *lang.Scenario, n *node, isDeepest bool) *finder {
	f := &finder{
		subject: cases.Case{Scenario: s, Still: true, Keep: n.with()}, node: n, isDeepest: isDeepest,
		isPast: n.deep == 0,
		looked: map[operation]bool{}, effects: map[operation]uint64{},
	}
	f.Keeper = f.subject.Chooser()
	return f
}

// play is the run of the combination.
func (f *finder) play() scenarios.Play {
	p := scenarios.Play{
		Choices: f, Made: func(w *sim.World) { f.world = w }, Begins: func(m scenarios.Moment) { f.moment = m },
		Watch: f.effect, Check: f.check,
		Done: func(*sim.World) { f.rest() }, Buffers: f.buffers,
	}
	if f.known != nil {
		p.Passes = f.passes
	}
	return scenarios.PlayOf(f.subject, p)
}

// keenMoments is how many moments after its last fault a run that nothing is added to looks at all of them. One that
// has not come to what is known by then seldom does, but at statements.
const keenMoments = 8

// passes reports whether the run goes on.
func (f *finder) passes(m scenarios.Moment) bool {
	if !f.isThrough() || f.isDeepest && f.moments > keenMoments && !m.IsDue() {
		return true
	}
	isNew, isKnown := f.known.has(m, f.run)
	if isNew {
		f.moments++
	}
	f.isCut = isKnown && f.node.deep > 0
	return !f.isCut
}

// isThrough: the last point has come up, and nothing that was chosen with it, or before, is left to be met.
func (f *finder) isThrough() bool {
	return f.isPast && !slices.ContainsFunc(f.subject.Keep,
		func(c cases.Kept) bool { return outlivesCall(c.ID) && !f.Met(c.ID) })
}

// effect counts what the agent's calls have done.
func (f *finder) effect(e sim.Effect) {
	if e.Actor == "agent" && !e.Kind.IsQuestion() && !f.isDeepest {
		f.effects[operation{e.Run, e.Op}]++
	}
}

// PickFault implements sim.FaultChooser.
func (f *finder) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	if f.isDeepest { // nothing is added
		f.isPast = f.isPast || id == f.node.last()
	} else {
		f.hear(offer{
			id: id, faults: faults, caller: f.world.Caller(id), next: f.world.NextID,
			isFile: f.isFile(id.Object),
		})
	}
	return f.Keeper.PickFault(id, faults, weights)
}

// isFile reports whether a plain file is at a path.
func (f *finder) isFile(path string) bool {
	kind, ok := f.world.Exists(path)
	return ok && kind == hal.TypeFile
}

// Between implements sim.Chooser. The time of a call's way back is drawn when it has had its effect, if it has one.
func (f *finder) Between(id sim.ID, lo, hi int64) int64 {
	if site, ok := strings.CutSuffix(id.Site, "/reply"); ok && len(f.open) > 0 {
		call := sim.NewID(site, id.Object, id.Nth)
		if i := slices.IndexFunc(f.open, func(p *pending) bool { return p.call == call }); i >= 0 {
			p := f.open[i]
			f.open = slices.Delete(f.open, i, i+1)
			f.decide(p, f.effects[p.by] != p.effects)
		}
	}
	return f.Keeper.Between(id, lo, hi)
}

// hear takes an offer, or keeps it until it shows whether its call changes anything.
func (f *finder) hear(o offer) {
	if !f.isPast {
		if f.isPast = o.id == f.node.last(); f.isPast {
			f.struck = operation{o.caller.Run, o.caller.Op}
		}
		f.notes(o)
		return
	}
	if f.alike != nil && isPoint(o) {
		f.surround(&o)
	}
	if !o.caller.Writes || o.caller.Class == hal.ClassRPC {
		f.take(o)
		return
	}
	call := sim.NewID(o.caller.Site, o.id.Object, o.id.Nth)
	i := slices.IndexFunc(f.open, func(p *pending) bool { return p.call == call })
	if i < 0 {
		i = len(f.open)
		by := operation{o.caller.Run, o.caller.Op}
		f.open = append(f.open, &pending{call: call, by: by, effects: f.effects[by]})
	}
	f.open[i].offers = append(f.open[i].offers, o)
}

// decide takes the offers about a call. One that has changed nothing has only looked: whether the agent dies after it
// or after the effect before it is the same.
func (f *finder) decide(p *pending, hasEffect bool) {
	for _, o := range p.offers {
		if !hasEffect {
			o.caller.Writes = false
		} else if f.known != nil && o.isDeath() {
			o.after, o.isAfter = f.moment.AfterDeath(f.known.Comparer)
		}
		f.take(o)
	}
}

// rest takes the offers about calls that were never answered.
func (f *finder) rest() {
	for _, p := range f.open {
		for _, o := range p.offers {
			f.take(o)
		}
	}
	f.open = nil
}

// notes remembers whether the operation of an offer has looked. It reports whether the offer is no inspection, or the
// first since the last effect.
func (f *finder) notes(o offer) bool {
	by := operation{o.caller.Run, o.caller.Op}
	isNew := true
	switch {
	case isLook(o):
		isNew = !f.looked[by]
		f.looked[by] = true
	case o.caller.Site != "":
		f.looked[by] = false
	}
	return isNew
}

// take finds what can be chosen at an offer.
func (f *finder) take(o offer) {
	by := operation{o.caller.Run, o.caller.Op}
	isNew := f.notes(o)
	if !isPoint(o) || !isNew || isLook(o) && f.node.deep > 0 && f.node.look == by {
		return
	}
	o.unsynced, o.isFurther = f.world.Unsynced(), f.alike != nil && f.node.deep > 0
	all := alternatives(o)
	met, isNew := f.meets(&o)
	if !isNew {
		f.pruned += uint64(len(all))
		return
	}
	for _, choices := range all {
		if f.known != nil && f.known.leadsNowhereNew(o, choices) {
			f.pruned++
			continue
		}
		n := &node{from: f.node, added: choices, deep: f.node.deep + 1, met: met}
		if isLook(o) {
			n.look = by
		}
		f.found = append(f.found, n)
	}
}

// surround notes the circumstances in which an offer comes up.
func (f *finder) surround(o *offer) {
	if at := f.world.Trace().Len() + f.world.Steps(); at != f.thingsAt || f.things == nil {
		f.things, f.thingsAt = f.moment.Circumstances(make([]scenarios.Circumstance, 0, len(f.things))), at
	}
	o.things = f.things
	if !o.isDeath() && o.id.Object != "" {
		o.about = f.moment.Thing(o.caller.Key, o.id.Object)
	}
	if by := (operation{o.caller.Run, o.caller.Op}); f.node.deep > 0 && by == f.struck && by.op != 0 {
		c := f.node.added[0]
		o.before = c.ID.Site + c.Fault.String()
	}
}

// meets returns what is new about the circumstances of an offer. It reports whether the offer is taken: if anything is,
// and in any case if faults are told in all circumstances.
func (f *finder) meets(o *offer) (news []uint64, isTaken bool) {
	if f.alike == nil {
		return nil, true
	}
	news = f.alike.meets(o)
	return news, len(news) > 0 || f.node.deep < f.alike.whole
}
