package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/secrets"
	"github.com/volnode/volnode/scenarios/verdict"
)

// StoryResult is what became of a scenario.
type StoryResult struct {
	Name      string
	Violation *verdict.Violation
	Events    uint64
	Calls     uint64
	Faults    uint64
	Crashes   int
	Hash      uint64
	Lasted    time.Duration
	Stale     []string           // faults that no call met
	Coverage  *coverage.Coverage // what it has reached, if Play.Cover asks
}

// scene is what the statements of a scenario act on and ask about.
type scene struct {
	s        *lang.Scenario
	r        *run
	w        *sim.World
	calls    []sim.Effect // RPCs that were sent
	before   int          // how many when the agent started last
	log      []engine.Entry
	isVaried bool // more goes wrong than the scenario says
}

// story runs one scenario.
type story struct {
	scene
	play   Play
	step   *lang.Step
	values map[uint64]int64 // of choices that go with faults
	hang   int64
	met    []int      // how many calls each fault of the scenario has matched
	passed [][]string // and of what else the calls of its site were, the first few

	next     int         // the statement that comes next
	end      hal.Instant // when it comes, or until when it is waited for
	hasActed bool        // there was an effect since a steady play was looked at last
}

// Play is one run of a scenario.
type Play struct {
	Scenario *lang.Scenario
	// Choices makes the choices that the scenario says nothing of; nil makes all of them benign, and no fault can happen but the scenario's own.
	Choices sim.Chooser
	Keep    bool // the trace's records
	Cover   bool // tell what the run has reached
	// IsVaried: Choices add to what goes wrong, so the scenario's expectations, which are about the story without that, say nothing of this run: each is
	// waited for as long as it is in the story, and then the timeline goes on. What can't be done (a container writes that does not run) is left out.
	// All properties are judged as ever.
	IsVaried bool
	// IsSteady: the play does not hang on how long things take, so that others can come to the same state: calls take no time, each statement comes as
	// long after the one before as their author wrote, and an expectation is waited for until nothing has happened for as long as it may take.
	IsSteady bool
	// Passes is told of each moment of the play up to calm, after an event, at a statement and at calm itself. The run ends, as if all had gone well, if
	// it returns false; nil for nobody.
	Passes func(Moment) bool
	// Begins is told of the play before anything happens in it: a moment that lasts; nil for nobody.
	Begins func(Moment)
	// Buffers is memory that plays use one after another; nil makes all that this one needs.
	Buffers *sim.Buffers
	// Made sees the world before anything happens in it; nil for nobody.
	Made func(*sim.World)
	// Log reads the engine's log up to the end of the timeline; nil for nobody.
	Log func(engine.Entry)
	// Done sees the world before it is closed; nil for nobody.
	Done func(*sim.World)
	// Watch is told of each effect at its instant; nil for nobody.
	Watch func(sim.Effect)
	// Check is one more check, at each step of the engine; nil for none.
	Check func(View)
	// Probe looks at the run after each event; nil for nobody.
	Probe func(View)
	// Ended sees the run before its world is closed; nil for nobody.
	Ended func(View)
	// leaves says of which lines the faults and statements are left out; nil for none.
	leaves func(line int) bool
}

// trustsNoAnswer configures the engine for drivers that are known to act after they have answered.
func (t *story) trustsNoAnswer() {
	for _, d := range t.s.Drivers {
		if c := t.r.cfg.Drivers[d.Name]; d.Personality.ActsBehind {
			c.ActsAfterReply = true
			t.r.cfg.Drivers[d.Name] = c
		}
	}
}

// Run plays the scenario. Any number of goroutines may play the same one.
func (p Play) Run() StoryResult {
	s := p.Scenario
	t := &story{scene: scene{s: s, isVaried: p.IsVaried}, play: p, met: make([]int, len(s.Faults)), passed: make([][]string, len(s.Faults)), values: map[uint64]int64{}, hang: -1}
	profile := sim.Profile{}
	if p.Choices != nil {
		profile = sim.Everything()
	}
	t.w = sim.New(sim.Config{
		Chooser: t, Script: t.script, Profile: profile, Keep: p.Keep, RootDir: lang.RootDir, MoreDir: lang.ManifestDir,
		Disk: sim.DiskOrdered, DiesAfter: p.IsSteady, Buffers: p.Buffers,
	})
	defer t.w.Close()
	t.r = newRun(t.w, engine.Config{
		NoRuntime: !s.Runtime, JournalBytes: s.JournalBytes, JournalMost: s.JournalMost,
		Drivers: map[string]plugin.DriverConfig{},
	})
	for name := range s.Bare {
		t.r.cfg.Drivers[name] = plugin.DriverConfig{PublishesWithoutMount: true}
	}
	t.trustsNoAnswer()
	t.r.files, t.r.probe, t.r.allWrite, t.r.isRenamed, t.r.bare = s.Files, watched(p.Probe), true, true, s.Bare
	t.r.check(p.Check)
	t.r.root.isTold = slices.ContainsFunc(s.Steps, func(s lang.Step) bool { return s.Words[0] == "start" && s.Words[1] == "with" })
	if p.Made != nil {
		p.Made(t.w)
	}
	t.r.lines = func(e engine.Entry) {
		t.log = append(t.log, e)
		if p.Log != nil {
			p.Log(e)
		}
	}
	if p.Cover {
		t.r.covers()
	}
	t.w.OnEffect(t.sent)
	if p.Watch != nil {
		t.w.OnEffect(p.Watch)
	}
	if p.Begins != nil {
		p.Begins(Moment{t})
	}
	if p.Passes != nil {
		t.r.isKnown = func() bool { return !t.r.stop && !t.passes() }
	}
	t.r.guard(func() {
		t.begin()
		t.tell()
		t.next, t.end = len(s.Steps), t.w.Now()
		if t.r.violation == nil && t.passes() && !s.Stuck {
			t.r.lines = nil
			t.r.finish(true)
		}
	})
	if p.Ended != nil {
		p.Ended(View{t.r})
	}
	if p.Done != nil {
		p.Done(t.w)
	}
	res := StoryResult{
		Name: s.Name, Violation: t.r.violation, Events: t.w.Steps(), Calls: t.w.Trace().Count(sim.MarkCall),
		Faults: t.w.Trace().Count(sim.MarkFault), Crashes: t.r.actual.crashes, Hash: t.w.Trace().Hash(), Lasted: t.w.Now().Sub(0),
		Coverage: t.r.cover,
	}
	for i, f := range s.Faults {
		if t.met[i] < f.Nth && !t.leaves(f.Line) && !p.IsVaried {
			res.Stale = append(res.Stale, fmt.Sprintf("line %d: fault %s is met by no call before the timeline ends%s", f.Line, f.Text, t.others(i)))
		}
	}
	return res
}

func (t *story) leaves(line int) bool { return t.play.leaves != nil && t.play.leaves(line) }

// Pick implements sim.Chooser: what goes with a fault of the scenario, else what the play chooses.
func (t *story) Pick(id sim.ID, weights []uint32) int {
	v, ok := t.values[id.Hash()]
	switch {
	case ok && int(v) < len(weights):
		return int(v)
	case !ok && t.play.Choices != nil:
		return t.play.Choices.Pick(id, weights)
	}
	return 0
}

// PickFault implements sim.FaultChooser.
func (t *story) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	switch c := t.play.Choices.(type) {
	case nil:
		return sim.NoFault
	case sim.FaultChooser:
		return c.PickFault(id, faults, weights)
	default:
		return faults[c.Pick(id, weights)]
	}
}

// Between implements sim.Chooser.
func (t *story) Between(id sim.ID, lo, hi int64) int64 {
	if v, ok := t.values[id.Hash()]; ok {
		return min(lo+v, hi)
	}
	if id.Site == "child.hang" && t.hang >= 0 {
		v := t.hang
		t.hang = -1
		return min(max(v, lo), hi)
	}
	v := lo
	if t.play.Choices != nil {
		v = t.play.Choices.Between(id, lo, hi)
	}
	if t.play.IsSteady && v == lo && cases.IsLatency(id.Site) {
		return 0
	}
	return v
}

// script implements sim.Script.
func (t *story) script(id sim.ID, possible []sim.Fault) sim.Fault {
	fault := sim.NoFault
	if t.r.stop {
		return fault // calm has come without it
	}
	for i := range t.s.Faults {
		f := &t.s.Faults[i]
		at := slices.IndexFunc(possible, func(p sim.Fault) bool { return slices.Contains(f.Faults, p) })
		site, _, _ := strings.Cut(id.Site, "/")
		if at < 0 || site != f.Site || t.leaves(f.Line) {
			continue
		}
		if !strings.Contains(id.Object, f.Object) {
			if t.met[i] == 0 && len(t.passed[i]) < fewObjects && !slices.Contains(t.passed[i], id.Object) {
				t.passed[i] = append(t.passed[i], id.Object)
			}
			continue
		}
		// Each rule counts every call that it matches, also one at which another has its fault.
		if t.met[i]++; t.met[i] != f.Nth || fault != sim.NoFault {
			continue
		}
		fault = possible[at]
		if f.Value >= 0 {
			for _, of := range []string{"/late", "/code", "/moment"} {
				t.values[sim.NewID(site+of, id.Object, id.Nth).Hash()] = f.Value
			}
			if fault == sim.ErrorPart || fault == sim.ErrorFull {
				t.values[sim.NewID(site+"/late", id.Object, id.Nth).Hash()] = int64(actsAfter)
			}
			if fault == sim.Slow {
				t.values[sim.NewID(site+"/execute", id.Object, id.Nth).Hash()] = f.Value / sim.Slowness
			}
			if fault == sim.OrphanActs {
				t.values[sim.NewID(site, id.Object, id.Nth+1).Hash()] = f.Value
			}
			if fault == sim.Hang {
				t.hang = f.Value
			}
		}
	}
	return fault
}

// fewObjects are told of a site at which a fault was not met.
const fewObjects = 5

// others says of what the calls of a fault's site were that met no fault.
func (t *story) others(i int) string {
	f := &t.s.Faults[i]
	switch {
	case t.met[i] > 0:
		return fmt.Sprintf("; it is at number %d of such calls, and the last one is number %d", f.Nth, t.met[i])
	case len(t.passed[i]) > 0:
		return "; calls of " + f.Site + " were of: " + strings.Join(t.passed[i], ", ")
	}
	return "; no call of " + f.Site + " came before then"
}

// actsAfter is how long after an error a driver acts that does so.
const actsAfter = 30 * time.Second

func (t *story) sent(e sim.Effect) {
	t.hasActed = t.hasActed || e.Kind != sim.EffectAsked // which changes nothing
	switch e.Kind {
	case sim.EffectSent:
		t.calls = append(t.calls, e)
	case sim.EffectAgentStarted:
		t.before = len(t.calls)
	default:
	}
}

// begin makes the world: drivers, their volumes, secrets, the objects that are no pods, and the agent.
func (t *story) begin() {
	t.r.cfg.Log = log(t.s, t.w)
	for _, d := range t.s.Drivers {
		if !t.s.Absent[d.Name] {
			t.addDriver(d)
		}
	}
	if t.s.Files {
		t.w.MakeDir(lang.ManifestDir)
	}
	var told []map[string]string
	for _, o := range t.s.Objects {
		if v, ok := o.Value.(*corev1.Secret); ok {
			told = append(told, contentOf(v))
			t.r.plant(v.Namespace, v.Name, contentOf(v))
		}
	}
	t.r.leaks = secrets.Of(told...)
	for _, o := range t.s.Objects {
		switch o.Value.(type) {
		case *corev1.Pod, *corev1.Secret:
		default:
			if o.Version == "" {
				t.r.give(o.Value)
			}
		}
	}
	t.w.StartAgent()
}

// addDriver installs a driver with the volumes that PersistentVolumes name, in any of their versions.
func (t *scene) addDriver(d sim.DriverSpec) {
	t.w.AddDriver(d)
	var handles []string
	for _, o := range t.s.Objects {
		v, ok := o.Value.(*corev1.PersistentVolume)
		if !ok || v.Spec.CSI == nil || v.Spec.CSI.Driver != d.Name {
			continue
		}
		if handle := v.Spec.CSI.VolumeHandle; !slices.Contains(handles, handle) { // two objects may name one volume
			handles = append(handles, handle)
			t.w.AddVolume(d.Name, handle)
			t.r.attaches(d.Name, handle)
		}
		if slices.Contains(v.Spec.AccessModes, corev1.ReadWriteOncePod) {
			t.r.exclusive[d.Name+"^"+v.Spec.CSI.VolumeHandle] = true
		}
	}
}

// tell goes through the timeline.
func (t *story) tell() {
	for i := range t.s.Steps {
		t.step = &t.s.Steps[i]
		at := hal.Instant(t.step.Wait)
		switch {
		case t.play.IsSteady:
			at = t.w.Now().Add(t.pause(i))
		case t.step.Since:
			at = t.w.Now().Add(t.step.Wait)
		}
		t.next, t.end, t.hasActed = i, at, false
		if t.step.Words[0] == "expect" {
			t.r.judges("expect")
		}
		if t.step.Within && !t.leaves(t.step.Line) {
			t.await(at)
		} else if t.r.until(at) && !t.leaves(t.step.Line) {
			if !t.passes() {
				return
			}
			if why := t.does(t.step); why != "" {
				t.fail(why)
			}
		}
		if t.r.violation != nil || t.r.isOver {
			return
		}
	}
}

// passes tells of a moment, and reports whether the run goes on.
func (t *story) passes() bool {
	if t.play.Passes != nil && !t.r.isOver {
		t.r.isOver = !t.play.Passes(Moment{t})
	}
	return !t.r.isOver
}

// pause is how long after the statement before it a statement of a steady play comes, or how long it is waited for: what its author wrote, less what
// expectations before it may have taken.
func (t *story) pause(i int) time.Duration {
	before, at := time.Duration(0), time.Duration(0)
	for j := range i + 1 {
		s := &t.s.Steps[j]
		before = at
		switch {
		case !s.Since:
			at = s.Wait
		case !s.Within || j == i:
			at += s.Wait
		}
	}
	return max(at-before, 0)
}

// awaitSteadily lets an expectation become true. It is looked at whenever all is done that is done at one instant. What happens puts off the end of
// its time, unless something was tried so often that it is tried again and again.
func (t *story) awaitSteadily() {
	patience := t.end.Sub(t.w.Now())
	for t.does(t.step) != "" && t.r.violation == nil && t.w.Now() < t.end {
		if t.hasActed && !t.r.despairs() {
			t.end = t.w.Now().Add(patience)
		}
		t.hasActed = false
		goal := t.end
		if next, ok := t.w.Next(); ok {
			goal = min(goal, next)
		}
		if !t.r.until(goal) {
			return
		}
	}
}

// despair is how often something is tried before its waits get no longer: core's backoff.
const despair = 8

// despairs reports whether the agent tries something for so long that its waits get no longer.
func (r *run) despairs() bool {
	return r.alive() && slices.ContainsFunc(r.core.View(), func(v core.View) bool { return v.Attempts >= despair })
}

// await lets an expectation become true.
func (t *story) await(end hal.Instant) {
	if t.play.IsSteady {
		t.awaitSteadily()
		return
	}
	for {
		why := t.does(t.step)
		switch {
		case why == "" || t.r.violation != nil:
			return
		case t.w.Now() >= end:
			t.fail(why)
			return
		}
		if !t.r.until(t.nextLook(end)) {
			return // an engine that has failed answers no more questions
		}
	}
}

// looksEach is how often an expectation is looked at that may become true.
const looksEach = 100 * time.Millisecond

// nextLook is when to look again: not before something has happened, as nothing becomes true by itself.
func (t *story) nextLook(end hal.Instant) hal.Instant {
	wait := looksEach
	if next, ok := t.w.Next(); !ok {
		return end
	} else if idle := next.Sub(t.w.Now()); idle > wait {
		wait = (idle + looksEach - 1) / looksEach * looksEach
	}
	return min(end, t.w.Now().Add(wait))
}

func (t *story) fail(why string) {
	if t.play.IsVaried {
		return
	}
	t.r.fail("expect", strings.TrimPrefix(t.step.String(), "expect "), t.s.Name, fmt.Sprintf("line %d, %q: %s", t.step.Line, t.step, why))
}

// pod returns the pod of the words "pod NAME": the one that the cluster has, else the one of that name that came last; before any has come, its first
// version.
func (t *scene) pod(name string) (*corev1.Pod, *pod) {
	var last *pod
	for _, p := range t.r.pods {
		if p.name == name && (last == nil || !last.isWanted) {
			last = p
		}
	}
	if last != nil {
		return last.object, last
	}
	object, _ := t.s.Object("pod "+name, "").(*corev1.Pod)
	return object, nil
}

// engineStatus is the engine's own status, empty if there is none.
func (t *scene) engineStatus() engine.Status {
	s, _ := t.r.status()
	return s
}
