package scenarios

import (
	"slices"
	"time"

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
	"github.com/volnode/volnode/scenarios/verdict"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is the worlds that a hunt makes of seeds.

// Result is what became of one schedule.
type Result struct {
	Seed      uint64
	Canary    bool // it must fail
	Violation *verdict.Violation
	Events    uint64
	Calls     uint64
	Faults    uint64
	Crashes   int
	Hash      uint64
	Lasted    time.Duration      // in the world
	Coverage  *coverage.Coverage // what it has reached, if Schedule.Cover asks
	Case      *cases.Case        // of a guided schedule that broke a property: its choices. nil: the seed tells all
}

// ToCase is the schedule of the result as a case, and who makes its choices in place of that case; nil is nobody.
func (r Result) ToCase() (cases.Case, sim.Chooser) {
	if r.Case != nil {
		return *r.Case, nil
	}
	return cases.Case{Seed: r.Seed}, sim.Seeded(r.Seed)
}

// Hunter makes worlds of seeds. It is used by one goroutine at a time; all of its worlds share a stock.
type Hunter struct {
	stock   *workload.Stock
	buffers Buffers

	// Check is one more check of all runs, at each step of the engine; nil for none.
	Check func(View)
}

// NewHunter returns a hunter.
func NewHunter() *Hunter {
	return &Hunter{stock: workload.NewStock()}
}

// KeepCoroutines has worlds use the coroutines of earlier ones: for who runs many, and then closes the hunter.
func (h *Hunter) KeepCoroutines() { h.buffers.KeepCoroutines() }

// Close ends the coroutines that were kept.
func (h *Hunter) Close() { h.buffers.Close() }

// Schedule is one world to be: a seed, and who makes its choices in place of the seed.
type Schedule struct {
	Seed    uint64
	Setup   *cases.Setup // nil is what the seed gives
	Chooser sim.Chooser  // nil is the seed itself
	Keep    bool         // the trace's records
	Cover   bool         // tell what the run has reached
	Canary  bool         // the judge has a defect, so that the run fails
	// Done sees the world before it is closed; nil for nobody.
	Done func(*sim.World)
	// Log reads the engine's log; nil for nobody.
	Log func(engine.Line)
	// Watch is told of each effect at its instant; nil for nobody.
	Watch func(sim.Effect)
	// Probe looks at the run after each event; nil for nobody.
	Probe func(View)
	// Ended sees the run before its world is closed; nil for nobody.
	Ended func(View)
	// IsShort: the run ends before calm.
	IsShort bool
}

// Run runs one schedule.
func (h *Hunter) Run(s Schedule) Result {
	h.stock.Forgets()
	if s.Chooser == nil {
		s.Chooser = sim.Seeded(s.Seed)
	}
	is := s.Setup
	if is == nil {
		drawn := cases.SetupOf(s.Seed)
		is = &drawn
	}
	w := sim.New(sim.Config{
		Chooser: s.Chooser, Profile: is.Profile, Tie: is.Tie, Depth: is.Depth, Keep: s.Keep, RootDir: lang.RootDir,
		MoreDir: lang.ManifestDir, Buffers: h.buffers.ofWorlds(),
	})
	defer w.Close()
	if s.Watch != nil {
		w.OnEffect(s.Watch)
	}
	comes := calm.CrowdOf(s.Chooser, is.Files)
	r := newRun(w, engine.Config{
		FlexVolumes: true, NoRuntime: is.NoRuntime, JournalBytes: is.JournalBytes(), JournalMost: is.JournalMost() +
			int64(comes.Pods)*8<<10,
		Drivers: map[string]plugin.DriverConfig{}, Events: world.WritesLog(w), InFlight: is.InFlight,
	})
	r.Crowd = comes
	r.Legacy = &h.buffers.legacy
	r.Files, r.Lines, r.Probe = is.Files, s.Log, watched(s.Probe)
	check(r, h.Check)
	calm.Times(r)
	if s.Canary {
		r.Canary = breaksCalm
	}
	if s.Cover {
		r.Covers()
	}
	g := &workload.Workload{
		Stock: h.stock, R: r, Choose: s.Chooser, Setup: is, Names: h.stock.PodNames(is.Pods),
		Pods:  make([]world.Shape, is.Pods),
		Edits: make([]world.Version, is.Volumes),
		Plain: world.PlainVolumes(is.Volumes),
	}
	r.Guard(func() {
		g.Measures()
		begin(g)
		if r.Until(hal.Instant(is.Chaos)) && !s.IsShort {
			r.Broken, r.Ailing, r.Bad = breaksOne(g), calm.Ails(g), calm.Errs(g)
			calm.Finish(r, !is.NoRestart)
		}
	})
	if s.Ended != nil {
		s.Ended(View{r})
	}
	if s.Done != nil {
		s.Done(w)
	}
	return Result{
		Seed: s.Seed, Canary: s.Canary, Violation: r.Violation, Events: w.Steps(), Calls: w.Trace().Count(sim.MarkCall),
		Faults: w.Trace().Count(sim.MarkFault), Crashes: r.Actual.Crashes, Hash: w.Trace().Hash(),
		Lasted: w.Now().Sub(0), Coverage: r.Cover,
	}
}

func begin(g *workload.Workload) {
	w := g.R.W
	g.HasGroups = g.Pick("workload.groups", "", 0, 4, 1) == 1
	disk := sim.Personality{
		Staging: true, BlockDevice: true, Checks: true, FixedGroup: g.HasGroups,
		Attach:      g.Pick("workload.nodes", "", 0, 7, 1) == 1,
		PlacesNodes: g.Pick("workload.places", "disk.example", 0, 5, 1) == 1,
	}
	driver(g, "disk.example", disk)
	file := driver(g, "file.example", fileDriver(g))
	if g.IsInTree = g.Pick("workload.in-tree", "", 0, 2, 1) == 1; g.IsInTree {
		ebs := sim.Personality{Staging: true, BlockDevice: true, Checks: true, FixedGroup: g.HasGroups}
		driver(g, lang.EBSDriver, ebs)
	}
	for i := range g.Setup.Volumes {
		v := world.VolumeAt(i)
		w.AddVolume(v.Driver, v.Handle)
	}
	if disk.Attach {
		g.PlanMoves(cases.MovingVolume)
	}
	if file.Attach {
		g.PlanMoves(cases.OneVolume)
	}
	g.IsPersistent = g.Pick("workload.persistent", "", 0, 1, 1) == 1
	world.BeginRooms(g)
	one := world.VolumesOfHunts[cases.OneVolume]
	g.R.Exclusive[one.Driver+"^"+one.Handle] = true
	for _, name := range []string{"stage", "publish"} {
		g.R.Holds(hal.SecretKind, "default", name, world.SecretsOfHunts[name])
	}
	g.R.Leaks = world.LeaksOfHunts
	g.IsTold = g.Pick("workload.told", "file.example", 0, 1, 1) == 1
	g.R.Give(g.Stock.Objects(world.Cluster{
		Volumes: g.Setup.Volumes, IsTold: g.IsTold, DiskAttaches: disk.Attach, FileAttaches: file.Attach,
		Persists: g.IsPersistent, InTree: g.IsInTree, Renews: g.Renews(&file), HasGroups: g.HasGroups, Tokens: g.Tokens(),
	})...)
	for i := range g.Setup.Volumes {
		dealings.Attaches(g.R, world.VolumeAt(i).Driver, world.VolumeAt(i).Handle)
	}
	g.PlanRoot()
	g.PlanJournal()
	w.StartAgent()
	for i, name := range g.Names {
		plan(g, i, name)
	}
	g.PlansFiles()
	for i := range g.Setup.Volumes {
		g.EditsVolume(i)
		g.ExportsVolume(i)
		g.AilsVolume(i)
		g.RenamesVolume(i)
	}
	for n := range 2 {
		if g.Pick("workload.asks", "", n, 2, 1) == 1 {
			g.At(g.Time("workload.asks-time", "", n, cases.Chaos), "asks", func() { judges.AsksAround(g.R) })
		}
	}
	drivers := []string{"disk.example", "file.example"}
	if g.IsInTree {
		drivers = append(drivers, lang.EBSDriver)
	}
	for _, name := range drivers {
		for n := range 2 {
			if g.Pick("workload.driver", name, n, 6, 1) == 1 {
				g.At(g.Time("workload.driver-time", name, n, cases.Chaos), name, func() { w.RestartDriver(name) })
			}
		}
	}
}

// fileDriver draws what driver file.example is.
func fileDriver(g *workload.Workload) sim.Personality {
	file := [...]sim.Personality{
		{Staging: true, Checks: true},
		{},
		{BlockDevice: true},
	}[g.Pick("workload.kind", "file.example", 0, 2, 2, 1)]
	switch g.Pick("workload.server", "file.example", 0, 10, 1, 1) {
	case 1:
		file = sim.Personality{Staging: true, Checks: true, Network: true}
	case 2:
		file = sim.Personality{Network: true}
	}
	file.FixedGroup = g.HasGroups
	file.MountGroup = g.HasGroups && g.Pick("workload.groups", "file.example", 0, 19, 1) == 1
	file.Attach = file.Staging && g.Setup.Volumes > cases.OneVolume &&
		g.Pick("workload.nodes", "file.example", 0, 4, 1) == 1
	return file
}

// driver installs a driver, with manners that are drawn, configures the engine for it, and returns how it is.
func driver(g *workload.Workload, name string, kind sim.Personality) sim.Personality {
	kind.Stats = g.R.Cfg.MeasureEvery > 0
	kind.Health, kind.StorageHealth = kind.Stats, kind.Stats
	is := g.R.W.DrawPersonality(name, kind)
	if is.ActsBehind {
		g.R.Cfg.Drivers[name] = plugin.DriverConfig{ActsAfterReply: true}
	}
	g.R.W.AddDriver(sim.DriverSpec{Name: name, Personality: is})
	g.AilsStorage(name)
	return is
}

// plan draws what pod i is and does.
func plan(g *workload.Workload, i int, name string) {
	s := &g.Pods[i]
	s.Index, s.Owner, s.Derived = uint8(i), uint8(i), g.Setup.Files && i&1 == 0
	weights := slices.Repeat([]uint32{1}, len(g.Plain))
	s.Volumes = 1 << g.Plain[g.Pick("workload.volume", name, 0, weights...)]
	weights = append([]uint32{3 * uint32(len(g.Plain))}, weights...)
	for n := range 2 {
		if v := g.Pick("workload.more", name, n, weights...); v > 0 {
			s.Volumes |= 1 << g.Plain[v-1]
		}
	}
	if g.Setup.Volumes >= cases.HuntVolumes {
		planRare(g, i, name)
	}
	g.RenamesInline(i, name)
	g.PlanRooms(i, name)
	g.PlanGroup(i, name)
	g.PlanFiles(i, name)
	g.PlanVandals(i, name)
	window := cases.Chaos / cases.Slots
	if g.Setup.Nervous {
		window /= 3
	}
	for n := range cases.Slots {
		if time.Duration(n)*cases.Chaos/cases.Slots >= g.Setup.Chaos {
			break
		}
		g.PlanEdit(i, name, n, time.Duration(n)*window, window)
		what := g.Pick("workload.pod", name, n, g.Setup.Idle, 5, 1, 1)
		if what == 0 {
			continue
		}
		when := time.Duration(n)*window + g.Time("workload.time", name, n, window)
		switch what {
		case 1:
			g.At(when, name, func() { flip(g, i, name, n) })
		case 2:
			g.At(when, name, func() { edit(g, i) })
		case 3:
			g.At(when, name, func() { flutter(g, i, name, n) })
		}
	}
}

// roundTrip is about how long news of a change takes to get to the agent.
const roundTrip = time.Second

// flutter has the pod come, go and come again, or go and come, before the agent need have heard of it.
func flutter(g *workload.Workload, i int, name string, n int) {
	flips := 3
	if p := g.Current(i); p != nil && p.IsWanted {
		flips = 2
	}
	when := time.Duration(0)
	for k := range flips {
		nth := cases.Slots*(k+1) + n
		g.At(when, name, func() { flip(g, i, name, nth) })
		when += g.Time("workload.flutter", name, nth, roundTrip)
	}
}

// planRare draws a volume of a kind that most pods don't have.
func planRare(g *workload.Workload, i int, name string) {
	s, rare := &g.Pods[i], world.RareRooms()
	weights := append([]uint32{10, 1, 2, 1}, slices.Repeat([]uint32{1}, len(rare))...)
	switch n := g.Pick("workload.rare", name, 0, weights...); n {
	case 0:
	case 1:
		s.Volumes |= 1 << cases.RawVolume
	case 2:
		s.Volumes |= 1 << cases.OneVolume
	case 3:
		s.Inline = true
	default:
		g.PlanRare(rare[n-4], i, name)
	}
}

// flip deletes the pod if it is there, and else makes it: again, or as another one of that name.
func flip(g *workload.Workload, i int, name string, n int) {
	p := g.Current(i)
	if p != nil && p.IsWanted {
		end(g, p, i, n)
		return
	}
	if p != nil && g.Pick("workload.uid", name, n, 1, 1) == 1 {
		g.Pods[i].Generation++
	}
	g.Pods[i].Edits++ // another object, so that it can be told whether the agent has heard of this one
	g.Apply(i)
}

// end deletes a pod: mostly by force, now and then gracefully, or while the agent is away, for which time it may be
// there again under its name.
func end(g *workload.Workload, p *world.Pod, i, n int) {
	name, last := g.Names[i], g.Time("workload.grace", g.Names[i], n, cases.Grace)
	how := g.Pick("workload.end", name, n, 20, 2, 1)
	switch {
	case how == 1 && !p.IsLeaving && !g.R.Cfg.NoRuntime && !g.R.Files:
		judges.Terminates(g.R, p, last)
		return
	case how == 2 && g.R.W.AgentLives():
		away := time.Second + g.Time("workload.away", name, n, workload.AwayMost)
		g.R.Sleeps(away)
		if g.Pick("workload.again", name, n, 1, 1) == 1 {
			g.At(g.Time("workload.again-time", name, n, away), name, func() {
				if c := g.Current(i); c != nil && !c.IsWanted {
					flip(g, i, name, cases.Slots*4+n)
				}
			})
		}
	}
	judges.Remove(g.R, p, last)
}

// edit changes a pod that is there in a way that its first volume must be published again.
func edit(g *workload.Workload, i int) {
	if p := g.Current(i); p != nil && p.IsWanted {
		g.Pods[i].ReadOnly = !g.Pods[i].ReadOnly
		g.Pods[i].Edits++
		g.Apply(i)
		p.IsSteady = false
	}
}

// breaksOne draws a driver that stays broken while the others must work.
func breaksOne(g *workload.Workload) string {
	name := [...]string{"", "disk.example", "file.example"}[g.Pick("workload.broken", "", 0, 6, 1, 1)]
	if name != "" {
		how := sim.Breakage(1 + g.Pick("workload.breakage", name, 0, 1, 1, 1, 1, 1))
		if how == sim.Hides && !looks(g.R, name) {
			how = sim.Hangs
		}
		dealings.Breaks(g.R, name, how)
	}
	return name
}
