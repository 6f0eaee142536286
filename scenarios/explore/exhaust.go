package explore

import (
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
)

// Exhaust tells scenarios with every combination of up to Depth faults on top of their own.
type Exhaust struct {
	Scenarios []*scenarios.Scenario
	Depth     int // at least 1
	// All: every combination is told to its end. Else what is known is not told again: see [known].
	All     bool
	Workers int // how many scenarios at the same time; the outcome is the same with any number
	// Budget is how long it may take, shared out among the scenarios; 0 is as long as it takes. What could not be told in that time is left.
	Budget time.Duration
	// Progress is told of each scenario when it is through, in no certain order, by one goroutine at a time; nil for nobody.
	Progress func(Exhausted)

	end time.Time // of the budget
}

// Exhausted is what became of one scenario.
type Exhausted struct {
	Name string `json:"name"`
	// Generated is the combinations that came up, the scenario as it is written and the one without a fault included.
	Generated uint64 `json:"generated"`
	Pruned    uint64 `json:"pruned"`         // of them, those that were not told: with a death after which all is as after the death of another
	Run       uint64 `json:"run"`            // the others
	Cut       uint64 `json:"cut"`            // of those, the ones that were cut short: they came to a state that an earlier one had come to
	Left      uint64 `json:"left,omitempty"` // of those that are neither, for want of time; what they would have led to did not come up
	Events    uint64 `json:"events"`
	// Violation is what the first combination breaks that breaks something; nil if none does.
	Violation *scenarios.Violation `json:"violation,omitempty"`
	Case      scenarios.Case       `json:"-"` // that combination
	Stale     []string             `json:"stale,omitempty"`
}

// Failed reports whether the scenario does not run clean.
func (e *Exhausted) Failed() bool { return e.Violation != nil || len(e.Stale) > 0 }

// gcPercent lets the heap grow to many times what lives before it is collected: worlds are small and short.
const gcPercent = 1500

// Run tells the scenarios in their order, until one fails. It returns what became of each that was told to its end, or to its failure.
func (e Exhaust) Run() []Exhausted {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	var (
		all    = make([]Exhausted, len(e.Scenarios))
		next   atomic.Int64
		failed atomic.Int64 // the first scenario that failed
		mu     sync.Mutex
		wait   sync.WaitGroup
	)
	failed.Store(int64(len(e.Scenarios)))
	e.end = time.Now().Add(e.Budget)
	for range max(e.Workers, 1) {
		wait.Go(func() {
			buffers := &sim.Buffers{}
			buffers.KeepCoroutines()
			defer buffers.Close()
			for {
				i := next.Add(1) - 1
				if i >= failed.Load() || i >= int64(len(e.Scenarios)) {
					return
				}
				end := e.endOf(int64(len(e.Scenarios)) - i)
				all[i] = e.one(e.Scenarios[i], buffers, func() bool { return failed.Load() < i || !end.IsZero() && time.Now().After(end) })
				mu.Lock()
				if all[i].Failed() {
					failed.Store(min(failed.Load(), i))
				}
				if e.Progress != nil && failed.Load() >= i {
					e.Progress(all[i])
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return all[:min(failed.Load()+1, int64(len(all)))]
}

// endOf is when a scenario that begins now must be through if so many are left, itself among them: each has the same share of what is left of the
// budget. It is zero without a budget.
func (e *Exhaust) endOf(left int64) time.Time {
	if e.Budget == 0 {
		return time.Time{}
	}
	share := time.Until(e.end) / time.Duration(left) * time.Duration(min(int64(max(e.Workers, 1)), left))
	return time.Now().Add(share)
}

// Total adds what became of scenarios.
func Total(all []Exhausted) Exhausted {
	sum := Exhausted{Name: "total"}
	for _, x := range all {
		sum.Generated += x.Generated
		sum.Pruned += x.Pruned
		sum.Run += x.Run
		sum.Cut += x.Cut
		sum.Left += x.Left
		sum.Events += x.Events
	}
	return sum
}

// node is one combination: a path of the tree whose root is the scenario with nothing more going wrong.
type node struct {
	with []scenarios.Kept
	last sim.ID    // the point that was chosen last
	look operation // whose looks share that point; its zero value if it is no look
	deep int       // how many points were chosen
}

// known is the states that runs of a scenario came to after their last faults, and those that deaths lead to. Combinations are told level by level,
// so those who came first have at least as many faults to come: what can follow is tried, or will be, on top of their faults.
//
// A run that comes to a known state is cut short. Of a death it is known before it is told to what it leads: nothing is left of the agent, so it is a
// function of the world, of the checks that watch it and of what is left of the timeline ([scenarios.Moment.AfterDeath]).
//
// Not a part of a state is how often a call was made before, by which the model decides where a few faults strike, so that both come up over a run:
// does a driver that dies at a call die before its effect or after it, does a stalled call act. A fault on top of a run that was cut short may
// strike there.
type known struct {
	*scenarios.Comparer
	states map[scenarios.State]uint64 // and the run that came to it first
	deaths map[death]bool
}

// death is a way in which the agent dies, and the state that it is the end of.
type death struct {
	how   way
	state scenarios.State
}

type way struct {
	fault sim.Fault
	none  bool // a power cut that leaves nothing of what was not synced
}

// newKnown is for combinations of up to depth faults.
func newKnown(depth int) *known {
	return &known{scenarios.NewComparer(depth - 1), map[scenarios.State]uint64{}, map[death]bool{}}
}

// has notes the state of a moment of a run, and reports whether nobody has come to it, and whether another run has.
func (k *known) has(m scenarios.Moment, run uint64) (isNew, isKnown bool) {
	at, ok := m.State(k.Comparer)
	if !ok {
		return false, false
	}
	first, was := k.states[at]
	if !was {
		k.states[at] = run
	}
	return !was, was && first != run
}

// operation names one operation of one life of the agent.
type operation struct {
	run uint32
	op  hal.OpID
}

// one exhausts one scenario, level by level: the smallest combination that breaks something is found first. isOver ends it early.
func (e Exhaust) one(s *scenarios.Scenario, buffers *sim.Buffers, isOver func() bool) Exhausted {
	out := Exhausted{Name: s.Name, Generated: 2, Run: 1}
	written := scenarios.Play{Scenario: s}.Run()
	out.Events, out.Violation, out.Stale = written.Events, written.Violation, written.Stale
	out.Case = scenarios.Case{Scenario: s}
	k := newKnown(e.Depth)
	level, next := []node{{with: []scenarios.Kept{scenarios.Steady()}}}, []node(nil)
	for len(level) > 0 && !out.Failed() && !isOver() {
		n := level[0]
		f := newFinder(s, n, n.deep == e.Depth)
		f.buffers = buffers
		if !e.All {
			f.known, f.run = k, out.Run
		}
		res := f.play().Run()
		out.Run++
		out.Events += res.Events
		out.Generated += uint64(len(f.found)) + f.pruned
		out.Pruned += f.pruned
		if f.isCut {
			out.Cut++
		}
		if res.Violation != nil {
			out.Violation, out.Case = res.Violation, f.subject
		}
		next = append(next, f.found...)
		if level = level[1:]; len(level) == 0 {
			level, next = next, nil
			e.mix(level)
		}
	}
	out.Left = uint64(len(level) + len(next))
	return out
}

// mix puts the combinations of one level in an order in which the first ones, which is all that a budget may have time for, are some of each kind: of
// a few first faults with all the second ones that follow much less would be learnt. The order is always the same.
func (e *Exhaust) mix(level []node) {
	if e.Budget == 0 {
		return
	}
	rand.New(rand.NewPCG(uint64(len(level)), 0)).Shuffle(len(level), func(i, j int) { level[i], level[j] = level[j], level[i] })
}

// finder tells a combination, and finds those that have one point more, behind its last: so each set of points comes up once.
type finder struct {
	*scenarios.Keeper // makes the choices of the combination, and nothing else go wrong
	subject           scenarios.Case
	node              node
	isDeepest         bool   // nothing is added to the node
	known             *known // nil if all is told
	run               uint64 // the number of this one
	moment            scenarios.Moment
	world             *sim.World
	buffers           *sim.Buffers

	isPast  bool                 // the last point of the node has come up
	moments int                  // after it that brought new states
	looked  map[operation]bool   // the operation has looked since its last effect, or its begin
	effects map[operation]uint64 // of its calls, but for RPCs
	open    []*pending
	found   []node
	pruned  uint64
	isCut   bool // the run came to a state that was known
}

// pending is the offers about a call that is to change something: whether it does, it will have shown when it is answered.
type pending struct {
	call    sim.ID
	by      operation
	effects uint64 // of the operation before it
	offers  []offer
}

func newFinder(s *scenarios.Scenario, n node, isDeepest bool) *finder {
	f := &finder{
		subject: scenarios.Case{Scenario: s, Still: true, Keep: n.with}, node: n, isDeepest: isDeepest, isPast: n.deep == 0,
		looked: map[operation]bool{}, effects: map[operation]uint64{},
	}
	f.Keeper = f.subject.Chooser()
	return f
}

// play is the run of the combination.
func (f *finder) play() scenarios.Play {
	p := scenarios.Play{
		Choices: f, Made: func(w *sim.World) { f.world = w }, Begins: func(m scenarios.Moment) { f.moment = m }, Watch: f.effect,
		Done: func(*sim.World) { f.rest() }, Buffers: f.buffers,
	}
	if f.known != nil {
		p.Passes = f.passes
	}
	return f.subject.Play(p)
}

// keenMoments is how many moments after its last fault a run that nothing is added to looks at all of them. One that has not come to what is known by
// then seldom does, but at statements.
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
	return f.isPast && !slices.ContainsFunc(f.node.with, func(c scenarios.Kept) bool { return outlivesCall(c.ID) && !f.Met(c.ID) })
}

// effect counts what the agent's calls have done.
func (f *finder) effect(e sim.Effect) {
	if e.Actor == "agent" {
		f.effects[operation{e.Run, e.Op}]++
	}
}

// PickFault implements sim.FaultChooser.
func (f *finder) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	if !f.isPast || !f.isDeepest { // else nothing is added any more
		f.hear(offer{id: id, faults: faults, caller: f.world.Caller(id), next: f.world.NextID, isFile: !f.isDeepest && f.isFile(id.Object)})
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
	if site, ok := strings.CutSuffix(id.Site, "/reply"); ok {
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
	switch {
	case !f.isPast:
		f.isPast = o.id == f.node.last
		f.notes(o)
		return
	case !o.caller.Writes, o.caller.Class == hal.ClassRPC:
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

// decide takes the offers about a call. One that has changed nothing has only looked: whether the agent dies after it or after the effect before it
// is the same.
func (f *finder) decide(p *pending, hasEffect bool) {
	for _, o := range p.offers {
		if !hasEffect {
			o.caller.Writes = false
		} else if f.known != nil && o.isDeath() && !f.isDeepest {
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

// notes remembers whether the operation of an offer has looked. It reports whether the offer is no look, or the first since the last effect.
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
	if f.isDeepest || !isPoint(o) || !isNew || isLook(o) && f.node.deep > 0 && f.node.look == by {
		return
	}
	o.unsynced = f.world.Unsynced()
	for _, choices := range alternatives(o) {
		if f.known != nil && f.known.leadsNowhereNew(o, choices) {
			f.pruned++
			continue
		}
		n := node{with: append(slices.Clip(f.node.with), choices...), last: o.id, deep: f.node.deep + 1}
		if isLook(o) {
			n.look = by
		}
		f.found = append(f.found, n)
	}
}

// isTorn is the calls of which a death after the effect may leave a part of it, by itself.
var isTorn = map[string]bool{"tree.remove-tree": true, "files.allocate": true}

// leadsNowhereNew notes the state that a death leads to, and reports whether it was there. Of a death in the middle of an effect, or beside an RPC
// that may act, it is not known.
func (k *known) leadsNowhereNew(o offer, choices []scenarios.Kept) bool {
	d := death{way{choices[0].Fault, len(choices) > 1}, o.after}
	if !o.isAfter || !o.isDeath() || d.how.fault == sim.CrashAfter && (len(choices) > 1 || isTorn[o.caller.Site]) {
		return false
	}
	was := k.deaths[d]
	k.deaths[d] = true
	return was
}
