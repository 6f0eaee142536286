package scenarios

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/calm"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/secrets"
	"github.com/volnode/volnode/scenarios/verdict"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
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

// scenario is one run of a scenario.
type scenario struct {
	workload.Scene
	play   Play
	step   *lang.Step
	values map[uint64]int64 // of choices that go with faults
	hang   int64
	met    []int      // how many calls each fault of the scenario has matched
	passed [][]string // and of what else the calls of its site were, the first few

	next     int         // the statement that comes next
	end      hal.Instant // when it comes, or until when it is waited for
	hasActed bool        // there was an effect since a steady play was looked at last
	// actedOn counts the effects on each path while the present statement is waited for, in a steady play.
	actedOn map[string]int
}

// Play is one run of a scenario.
type Play struct {
	Scenario *lang.Scenario
	// Choices makes the choices that the scenario says nothing of; nil makes all of them benign, and no fault can
	// happen but the scenario's own.
	Choices sim.Chooser
	Keep    bool // the trace's records
	Cover   bool // tell what the run has reached
	// IsVaried: Choices add to what goes wrong, so the scenario's expectations, which are about the run without
	// that, say nothing of this run: each is waited for as long as it is without, and then the timeline goes on.
	// What can't be done (a container writes that does not run) is left out. All properties are judged as ever.
	IsVaried bool
	// IsSteady: the play does not hang on how long things take, so that others can come to the same state: calls take
	// no time, each statement comes as long after the one before as their author wrote, and an expectation is waited
	// for until nothing has happened for as long as it may take.
	IsSteady bool
	// Passes is told of each moment of the play up to calm, after an event, at a statement and at calm itself. The run
	// ends, as if all had gone well, if it returns false; nil for nobody.
	Passes func(Moment) bool
	// Begins is told of the play before anything happens in it: a moment that lasts; nil for nobody.
	Begins func(Moment)
	// Buffers is memory that plays use one after another; nil makes all that this one needs.
	Buffers *Buffers
	// Made sees the world before anything happens in it; nil for nobody.
	Made func(*sim.World)
	// Log reads the engine's log up to the end of the timeline; nil for nobody.
	Log func(engine.Line)
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

// configures the engine for the drivers, and for what it is to do beside its work.
func (t *scenario) configures() {
	if t.S.Measures {
		t.R.Cfg.MeasureEvery = dealings.MeasureEvery
	}
	if t.S.HasQuotas {
		t.W.SetQuotas(true)
	}
	t.R.WillHold = t.S.HoldsLimits
	if t.S.IsWithoutGit {
		t.R.Cfg.RepositorySchemes = []string{}
	}
	if t.S.IsWithoutFsck {
		t.R.W.RemoveFsck()
	}
	for name := range t.S.Bare {
		t.R.Cfg.Drivers[name] = plugin.DriverConfig{PublishesWithoutMount: true}
	}
	for _, d := range t.S.Drivers {
		if c := t.R.Cfg.Drivers[d.Name]; d.Personality.ActsBehind {
			c.ActsAfterReply = true
			t.R.Cfg.Drivers[d.Name] = c
		}
	}
}

// Run plays the scenario. Any number of goroutines may play the same one.
func (p Play) Run() StoryResult {
	s := p.Scenario
	t := &scenario{
		Scene: workload.Scene{S: s, IsVaried: p.IsVaried}, play: p, met: make([]int, len(s.Faults)),
		passed: make([][]string, len(s.Faults)), values: map[uint64]int64{}, hang: -1,
	}
	profile := sim.Profile{}
	if p.Choices != nil {
		profile = sim.Everything()
	}
	t.W = sim.New(sim.Config{
		Chooser: t, Script: t.script, Profile: profile, Keep: p.Keep, RootDir: lang.RootDir, MoreDir: lang.ManifestDir,
		Disk: s.Disk, DiesAfter: p.IsSteady, Buffers: p.Buffers.ofWorlds(),
	})
	defer t.W.Close()
	t.R = newRun(t.W, engine.Config{
		FlexVolumes: true, NoRuntime: !s.Runtime, JournalBytes: s.JournalBytes, JournalMost: s.JournalMost,
		Drivers: map[string]plugin.DriverConfig{},
	})
	if p.Buffers != nil {
		t.R.Legacy = &p.Buffers.legacy
	}
	t.configures()
	t.R.Files, t.R.Probe, t.R.AllWrite, t.R.IsRenamed, t.R.Bare = s.Files, watched(p.Probe), true, true, s.Bare
	check(t.R, p.Check)
	t.R.Root.IsTold = slices.ContainsFunc(s.Steps,
		func(s lang.Step) bool { return s.Words[0] == "start" && s.Words[1] == "with" })
	if p.Made != nil {
		p.Made(t.W)
	}
	t.R.Lines = func(l engine.Line) {
		t.Log = append(t.Log, l)
		if p.Log != nil {
			p.Log(l)
		}
	}
	if p.Cover {
		t.R.Covers()
	}
	t.W.OnEffect(t.sent)
	if p.Watch != nil {
		t.W.OnEffect(p.Watch)
	}
	if p.Begins != nil {
		p.Begins(Moment{t})
	}
	if p.Passes != nil {
		t.R.IsKnown = func() bool { return !t.R.Stop && !t.passes() }
	}
	t.R.Guard(func() {
		t.begin()
		t.tell()
		t.next, t.end = len(s.Steps), t.W.Now()
		if t.R.Violation == nil && t.passes() && !s.Stuck {
			t.R.Lines = nil
			calm.Finish(t.R, true)
		}
	})
	if p.Ended != nil {
		p.Ended(View{t.R})
	}
	if p.Done != nil {
		p.Done(t.W)
	}
	res := StoryResult{
		Name: s.Name, Violation: t.R.Violation, Events: t.W.Steps(), Calls: t.W.Trace().Count(sim.MarkCall),
		Faults: t.W.Trace().Count(sim.MarkFault), Crashes: t.R.Actual.Crashes, Hash: t.W.Trace().Hash(),
		Lasted: t.W.Now().Sub(0), Coverage: t.R.Cover,
	}
	res.Stale = t.stale()
	return res
}

// stale tells the faults that no call met.
func (t *scenario) stale() (all []string) {
	for i, f := range t.S.Faults {
		if t.met[i] < f.Nth && !t.leaves(f.Line) && !t.IsVaried {
			all = append(all, fmt.Sprintf("line %d: fault %s is met by no call before the timeline ends%s", f.Line,
				f.Text, t.others(i)))
		}
	}
	return all
}

func (t *scenario) leaves(line int) bool { return t.play.leaves != nil && t.play.leaves(line) }

// Pick implements sim.Chooser: what goes with a fault of the scenario, else what the play chooses.
func (t *scenario) Pick(id sim.ID, weights []uint32) int {
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
func (t *scenario) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
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
func (t *scenario) Between(id sim.ID, lo, hi int64) int64 {
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
func (t *scenario) script(id sim.ID, possible []sim.Fault) sim.Fault {
	fault := sim.NoFault
	if t.R.Stop {
		return fault // calm has come without it
	}
	for i := range t.S.Faults {
		f := &t.S.Faults[i]
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
			if fault == sim.Intercepted {
				t.values[sim.NewID(site+"/late", id.Object, id.Nth).Hash()] = int64(f.Late)
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
func (t *scenario) others(i int) string {
	f := &t.S.Faults[i]
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

func (t *scenario) sent(e sim.Effect) {
	if t.actedOn != nil && !e.Kind.IsQuestion() { // which changes nothing
		most, at := mostRepeats, e.Path
		if dealings.AnyRenews(t.R) {
			most = mostRenewals
		}
		if path.Dir(at) == judges.JournalDir {
			at = judges.JournalDir // its files have many names
		}
		t.actedOn[at]++
		t.hasActed = t.hasActed || t.actedOn[at] < most
	}
	switch e.Kind {
	case sim.EffectSent:
		t.Calls = append(t.Calls, e)
	case sim.EffectAgentStarted:
		t.Before = len(t.Calls)
	default:
	}
}

// begin makes the world: drivers, their volumes, secrets, the objects that are no pods, and the agent.
func (t *scenario) begin() {
	t.R.Cfg.Events = world.Log(t.S, t.W)
	for _, d := range t.S.Drivers {
		if !t.S.Absent[d.Name] {
			addDriver(&t.Scene, d)
		}
	}
	if t.S.Files {
		t.W.MakeDir(lang.ManifestDir)
	}
	var told []map[string]string
	for _, o := range t.S.Objects {
		is, data, ok := world.ContentOf(o.Value)
		if ok && is.Kind == hal.SecretKind {
			told = append(told, data)
		}
		if ok && o.Version == "" {
			t.R.Holds(is.Kind, is.Namespace, is.Name, data)
		}
	}
	t.R.Leaks = secrets.Of(told...)
	for _, o := range t.S.Objects {
		_, isPod := o.Value.(*corev1.Pod)
		if _, _, isHeld := world.ContentOf(o.Value); !isPod && !isHeld && o.Version == "" {
			t.R.Give(o.Value)
		}
	}
	t.W.StartAgent()
}

// addDriver installs a driver with the volumes that PersistentVolumes name, in any of their versions.
func addDriver(t *workload.Scene, d sim.DriverSpec) {
	d.Personality.Stats, d.Personality.Health, d.Personality.StorageHealth = t.S.Measures, t.S.Measures, t.S.Measures
	t.W.AddDriver(d)
	var handles []string
	for _, v := range t.S.Volumes() {
		if v.Spec.CSI == nil || v.Spec.CSI.Driver != d.Name {
			continue
		}
		if handle := v.Spec.CSI.VolumeHandle; !slices.Contains(handles, handle) { // two objects may name one volume
			handles = append(handles, handle)
			t.W.AddVolume(d.Name, handle)
			dealings.Attaches(t.R, d.Name, handle)
		}
		if slices.Contains(v.Spec.AccessModes, corev1.ReadWriteOncePod) {
			t.R.Exclusive[d.Name+"^"+v.Spec.CSI.VolumeHandle] = true
		}
	}
}

// tell goes through the timeline.
func (t *scenario) tell() {
	for i := range t.S.Steps {
		t.step = &t.S.Steps[i]
		at := hal.Instant(t.step.Wait)
		switch {
		case t.play.IsSteady:
			at = t.W.Now().Add(t.pause(i))
		case t.step.Since:
			at = t.W.Now().Add(t.step.Wait)
		}
		t.next, t.end, t.hasActed = i, at, false
		if t.step.Words[0] == "expect" {
			t.R.Judges("expect")
		}
		if t.step.Within && !t.leaves(t.step.Line) {
			t.await(at)
		} else if t.R.Until(at) && !t.leaves(t.step.Line) {
			if !t.passes() {
				return
			}
			if why := t.does(t.step); why != "" {
				t.fail(why)
			}
		}
		if t.R.Violation != nil || t.R.IsOver {
			return
		}
	}
}

// passes tells of a moment, and reports whether the run goes on.
func (t *scenario) passes() bool {
	if t.play.Passes != nil && !t.R.IsOver {
		t.R.IsOver = !t.play.Passes(Moment{t})
	}
	return !t.R.IsOver
}

// pause is how long after the statement before it a statement of a steady play comes, or how long it is waited for:
// what its author wrote, less what expectations before it may have taken.
func (t *scenario) pause(i int) time.Duration {
	before, at := time.Duration(0), time.Duration(0)
	for j := range i + 1 {
		s := &t.S.Steps[j]
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

func (t *scenario) fail(why string) {
	if t.play.IsVaried {
		return
	}
	t.R.Fail("expect", strings.TrimPrefix(t.step.String(), "expect "), t.S.Name,
		fmt.Sprintf("line %d, %q: %s", t.step.Line, t.step, why))
}
