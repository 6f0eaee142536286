package scenarios

import (
	"maps"
	"slices"
	"strconv"
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
	"github.com/volnode/volnode/scenarios/verdict"
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
	Case      *cases.Case        // of a guided schedule that broke a property: its choices. nil of all others, whose seed tells all
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
	stock   *stock
	buffers sim.Buffers

	// Check is one more check of all runs, at each step of the engine; nil for none.
	Check func(View)
}

// stock is the objects of worlds, made when they are needed.
type stock struct {
	cluster map[cluster][]any
	pods    map[shape]built
	volumes map[versionOf]*corev1.PersistentVolume
	claims  map[[2]uint8]*corev1.PersistentVolumeClaim
	texts   map[any][]byte // manifests of objects
	names   []string       // of pods
}

// cluster is what the objects of a world follow from.
type cluster struct {
	volumes int
	isTold  bool // both drivers are told of the pod, and so of inline volumes

	diskAttaches, fileAttaches bool
}

// versionOf is a version of the object of a volume.
type versionOf struct {
	volume int
	version
}

type built struct {
	object *corev1.Pod
	uses   []use
}

// NewHunter returns a hunter.
func NewHunter() *Hunter {
	return &Hunter{stock: newStock()}
}

func newStock() *stock {
	return &stock{
		cluster: map[cluster][]any{}, pods: map[shape]built{}, volumes: map[versionOf]*corev1.PersistentVolume{},
		claims: map[[2]uint8]*corev1.PersistentVolumeClaim{}, texts: map[any][]byte{},
	}
}

// KeepCoroutines has worlds use the coroutines of earlier ones: for who runs many, and then closes the hunter.
func (h *Hunter) KeepCoroutines() { h.buffers.KeepCoroutines() }

// Close ends the coroutines that were kept.
func (h *Hunter) Close() { h.buffers.Close() }

// mostShapes is after how many pods a hunter forgets those that it has made. More would be found again more often, but what lives decides how
// large the heap grows until it is collected, and memory that was used long ago is in no cache.
const mostShapes = 512

func isPod(object any) bool {
	_, is := object.(*corev1.Pod)
	return is
}

// forgets lets go of the objects of earlier worlds, once they are many.
func (h *stock) forgets() {
	if len(h.pods) > mostShapes {
		clear(h.pods)
		maps.DeleteFunc(h.texts, func(object any, _ []byte) bool { return isPod(object) }) // those of volumes are few, and made once
	}
}

// podNames are the names of so many pods.
func (h *stock) podNames(pods int) []string {
	for i := len(h.names); i < pods; i++ {
		h.names = append(h.names, "pod-"+strconv.Itoa(i))
	}
	return h.names[:pods]
}

func (h *stock) pod(s shape) built {
	b, ok := h.pods[s]
	if !ok {
		b.object, b.uses = podOfHunts(s)
		h.pods[s] = b
	}
	return b
}

func (h *stock) objects(of cluster) []any {
	if h.cluster[of] == nil {
		h.cluster[of] = clusterOfHunts(of)
	}
	return h.cluster[of]
}

func (h *stock) volume(i int, is version) *corev1.PersistentVolume {
	key := versionOf{i, is}
	if h.volumes[key] == nil {
		h.volumes[key] = persistentVolume(i, is)
	}
	return h.volumes[key]
}

func (h *stock) claim(i int, uid uint8) *corev1.PersistentVolumeClaim {
	key := [2]uint8{uint8(i), uid}
	if h.claims[key] == nil {
		h.claims[key] = claimOf(i, uid)
	}
	return h.claims[key]
}

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
	Log func(engine.Entry)
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
	h.stock.forgets()
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
		MoreDir: lang.ManifestDir, Buffers: &h.buffers,
	})
	defer w.Close()
	if s.Watch != nil {
		w.OnEffect(s.Watch)
	}
	comes := crowdOf(s.Chooser, is.Files)
	r := newRun(w, engine.Config{
		NoRuntime: is.NoRuntime, JournalBytes: is.JournalBytes(), JournalMost: is.JournalMost() + int64(comes.pods)*8<<10,
		Drivers: map[string]plugin.DriverConfig{}, Log: writesLog(w), InFlight: is.InFlight,
	})
	r.crowd = comes
	r.files, r.texts, r.lines, r.probe = is.Files, h.stock.texts, s.Log, watched(s.Probe)
	r.check(h.Check)
	r.times()
	if s.Canary {
		r.canary = breaksCalm
	}
	if s.Cover {
		r.covers()
	}
	g := &workload{
		stock: h.stock, r: r, choose: s.Chooser, setup: is, names: h.stock.podNames(is.Pods), pods: make([]shape, is.Pods),
		edits: make([]version, is.Volumes),
		plain: plainVolumes(is.Volumes),
	}
	r.guard(func() {
		g.begin()
		if r.until(hal.Instant(is.Chaos)) && !s.IsShort {
			r.broken, r.ailing, r.bad = g.breaks(), g.ails(), g.errs()
			r.finish(!is.NoRestart)
		}
	})
	if s.Ended != nil {
		s.Ended(View{r})
	}
	if s.Done != nil {
		s.Done(w)
	}
	return Result{
		Seed: s.Seed, Canary: s.Canary, Violation: r.violation, Events: w.Steps(), Calls: w.Trace().Count(sim.MarkCall),
		Faults: w.Trace().Count(sim.MarkFault), Crashes: r.actual.crashes, Hash: w.Trace().Hash(), Lasted: w.Now().Sub(0), Coverage: r.cover,
	}
}

// workload makes pods come and go.
type workload struct {
	stock  *stock
	r      *run
	choose sim.Chooser
	setup  *cases.Setup
	names  []string // of pods
	pods   []shape
	edits  []version // of volumes
	plain  []int     // the volumes that any pod may use
	isTold bool      // both drivers are told of pods, and so of inline volumes
}

// pick draws from weights; the first is what happens if nothing does.
func (g *workload) pick(site, object string, nth int, weights ...uint32) int {
	return g.choose.Pick(sim.NewID(site, object, uint32(nth)), weights)
}

func (g *workload) time(site, object string, nth int, most time.Duration) time.Duration {
	return time.Duration(g.choose.Between(sim.NewID(site, object, uint32(nth)), 0, int64(most)))
}

func (g *workload) begin() {
	w := g.r.w
	disk := sim.Personality{Staging: true, BlockDevice: true, Checks: true, Attach: g.pick("workload.nodes", "", 0, 7, 1) == 1}
	g.driver("disk.example", disk)
	file := [...]sim.Personality{{Staging: true, Checks: true}, {}, {BlockDevice: true}}[g.pick("workload.kind", "file.example", 0, 2, 2, 1)]
	switch g.pick("workload.server", "file.example", 0, 10, 1, 1) {
	case 1:
		file = sim.Personality{Staging: true, Checks: true, Network: true}
	case 2:
		file = sim.Personality{Network: true}
	}
	file.Attach = file.Staging && g.setup.Volumes > cases.OneVolume && g.pick("workload.nodes", "file.example", 0, 4, 1) == 1
	g.driver("file.example", file)
	for i := range g.setup.Volumes {
		v := volumeAt(i)
		w.AddVolume(v.driver, v.handle)
	}
	if disk.Attach {
		g.planMoves(cases.MovingVolume)
	}
	if file.Attach {
		g.planMoves(cases.OneVolume)
	}
	if g.setup.Volumes >= cases.HuntVolumes && g.pick("workload.host-share", hostShare, 0, 3, 1) == 1 {
		g.sharesHost()
	}
	one := volumesOfHunts[cases.OneVolume]
	g.r.exclusive[one.driver+"^"+one.handle] = true
	for _, name := range []string{"stage", "publish"} {
		g.r.plant("default", name, secretsOfHunts[name])
	}
	g.r.leaks = leaksOfHunts
	g.isTold = g.pick("workload.told", "file.example", 0, 1, 1) == 1
	g.r.give(g.stock.objects(cluster{g.setup.Volumes, g.isTold, disk.Attach, file.Attach})...)
	for i := range g.setup.Volumes {
		g.r.attaches(volumeAt(i).driver, volumeAt(i).handle)
	}
	g.planRoot()
	g.planJournal()
	w.StartAgent()
	for i, name := range g.names {
		g.plan(i, name)
	}
	g.plansFiles()
	for i := range g.setup.Volumes {
		g.editsVolume(i)
		g.exportsVolume(i)
		g.renamesVolume(i)
	}
	for n := range 2 {
		if g.pick("workload.asks", "", n, 2, 1) == 1 {
			g.at(g.time("workload.asks-time", "", n, cases.Chaos), "asks", g.r.asksAround)
		}
	}
	for _, name := range []string{"disk.example", "file.example"} {
		for n := range 2 {
			if g.pick("workload.driver", name, n, 6, 1) == 1 {
				g.at(g.time("workload.driver-time", name, n, cases.Chaos), name, func() { w.RestartDriver(name) })
			}
		}
	}
}

// sharesHost has the host mount what hostPath volumes are on from a server, which is silent twice.
func (g *workload) sharesHost() {
	g.r.w.MountShare(hostShare)
	for n := range 2 {
		g.at(g.time("workload.host-share-time", hostShare, n, cases.Chaos), hostShare, func() {
			g.r.w.SilenceShare(hostShare, time.Second+g.time("workload.host-share-silent", hostShare, n, awayMost))
		})
	}
}

// driver installs a driver, with manners that are drawn, and configures the engine for it.
func (g *workload) driver(name string, kind sim.Personality) {
	is := g.r.w.DrawPersonality(name, kind)
	if is.ActsBehind {
		g.r.cfg.Drivers[name] = plugin.DriverConfig{ActsAfterReply: true}
	}
	g.r.w.AddDriver(sim.DriverSpec{Name: name, Personality: is})
}

// at plans f, unless calm comes before.
func (g *workload) at(d time.Duration, key string, f func()) {
	g.r.w.After(d, "workload "+key, func() {
		if !g.r.stop {
			f()
		}
	})
}

// plan draws what pod i is and does.
func (g *workload) plan(i int, name string) {
	s := &g.pods[i]
	s.index, s.owner, s.derived = uint8(i), uint8(i), g.setup.Files && i&1 == 0
	weights := slices.Repeat([]uint32{1}, len(g.plain))
	s.volumes = 1 << g.plain[g.pick("workload.volume", name, 0, weights...)]
	weights = append([]uint32{3 * uint32(len(g.plain))}, weights...)
	for n := range 2 {
		if v := g.pick("workload.more", name, n, weights...); v > 0 {
			s.volumes |= 1 << g.plain[v-1]
		}
	}
	if g.setup.Volumes >= cases.HuntVolumes {
		g.planRare(s, name)
	}
	g.renamesInline(i, name)
	s.scratch = scratch(g.pick("workload.scratch", name, 0, 2, 1, 1))
	g.planFiles(i, name)
	g.planVandals(i, name)
	window := cases.Chaos / cases.Slots
	if g.setup.Nervous {
		window /= 3
	}
	for n := range cases.Slots {
		if time.Duration(n)*cases.Chaos/cases.Slots >= g.setup.Chaos {
			break
		}
		g.planEdit(i, name, n, time.Duration(n)*window, window)
		what := g.pick("workload.pod", name, n, g.setup.Idle, 5, 1, 1)
		if what == 0 {
			continue
		}
		when := time.Duration(n)*window + g.time("workload.time", name, n, window)
		switch what {
		case 1:
			g.at(when, name, func() { g.flip(i, name, n) })
		case 2:
			g.at(when, name, func() { g.edit(i) })
		case 3:
			g.at(when, name, func() { g.flutter(i, name, n) })
		}
	}
}

// roundTrip is about how long news of a change takes to get to the agent.
const roundTrip = time.Second

// flutter has the pod come, go and come again, or go and come, before the agent need have heard of it.
func (g *workload) flutter(i int, name string, n int) {
	flips := 3
	if p := g.current(i); p != nil && p.isWanted {
		flips = 2
	}
	when := time.Duration(0)
	for k := range flips {
		nth := cases.Slots*(k+1) + n
		g.at(when, name, func() { g.flip(i, name, nth) })
		when += g.time("workload.flutter", name, nth, roundTrip)
	}
}

// planRare draws a volume of a kind that most pods don't have.
func (g *workload) planRare(s *shape, name string) {
	switch g.pick("workload.rare", name, 0, 10, 1, 2, 1, 1) {
	case 1:
		s.volumes |= 1 << cases.RawVolume
	case 2:
		s.volumes |= 1 << cases.OneVolume
	case 3:
		s.inline = true
	case 4:
		g.planHostPath(s, name)
	}
}

func (g *workload) current(i int) *pod {
	return g.r.byUID[core.PodUID(g.stock.pod(g.pods[i]).object.UID)]
}

// flip deletes the pod if it is there, and else makes it: again, or as another one of that name.
func (g *workload) flip(i int, name string, n int) {
	p := g.current(i)
	if p != nil && p.isWanted {
		g.end(p, i, n)
		return
	}
	if p != nil && g.pick("workload.uid", name, n, 1, 1) == 1 {
		g.pods[i].generation++
	}
	g.pods[i].edits++ // another object, so that it can be told whether the agent has heard of this one
	g.apply(i)
}

// end deletes a pod: mostly by force, now and then gracefully, or while the agent is away, for which time it may be there again under its name.
func (g *workload) end(p *pod, i, n int) {
	name, last := g.names[i], g.time("workload.grace", g.names[i], n, cases.Grace)
	how := g.pick("workload.end", name, n, 20, 2, 1)
	switch {
	case how == 1 && !p.isLeaving && !g.r.cfg.NoRuntime && !g.r.files:
		g.r.terminates(p, last)
		return
	case how == 2 && g.r.w.AgentLives():
		away := time.Second + g.time("workload.away", name, n, awayMost)
		g.r.sleeps(away)
		if g.pick("workload.again", name, n, 1, 1) == 1 {
			g.at(g.time("workload.again-time", name, n, away), name, func() {
				if c := g.current(i); c != nil && !c.isWanted {
					g.flip(i, name, cases.Slots*4+n)
				}
			})
		}
	}
	g.r.remove(p, last)
}

func (g *workload) apply(i int) {
	b := g.stock.pod(g.pods[i])
	g.r.apply(b.object, b.uses)
	g.manners(i)
}

// manners draws what the containers of pod i do.
func (g *workload) manners(i int) {
	p := g.current(i)
	p.isPinned = i&1 == 1
	if p.writer == nil && g.pick("workload.writes", p.name, 0, 4, 1) == 1 {
		p.writer = &writer{}
	}
}

// edit changes a pod that is there in a way that its first volume must be published again.
func (g *workload) edit(i int) {
	if p := g.current(i); p != nil && p.isWanted {
		g.pods[i].readOnly = !g.pods[i].readOnly
		g.pods[i].edits++
		g.apply(i)
		p.isSteady = false
	}
}

// breaks draws a driver that stays broken while the others must work.
func (g *workload) breaks() string {
	name := [...]string{"", "disk.example", "file.example"}[g.pick("workload.broken", "", 0, 6, 1, 1)]
	if name != "" {
		how := sim.Breakage(1 + g.pick("workload.breakage", name, 0, 1, 1, 1, 1, 1))
		if how == sim.Hides && !g.r.looks(name) {
			how = sim.Hangs
		}
		g.r.breaks(name, how)
	}
	return name
}
