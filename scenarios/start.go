package scenarios

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/manifest"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/hal/trace"
	"github.com/volnode/volnode/hal/wrap"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	_ "github.com/volnode/volnode/scenarios/rooms" // the sources that scenarios have
	"github.com/volnode/volnode/scenarios/secrets"
	"github.com/volnode/volnode/scenarios/world"
)

// newRun puts the engine into w. cfg is completed.
func newRun(w *sim.World, cfg engine.Config) *world.Run {
	r := &world.Run{
		W: w, Cfg: cfg, ByUID: map[core.PodUID]*world.Pod{}, Names: map[string]string{}, Unlinked: map[string]bool{},
		Written: map[string]any{}, Exclusive: map[string]bool{}, Denied: map[string]bool{},
		Places: map[hal.Key]*world.Place{}, Foreign: map[hal.MountID]world.Foreign{}, ByPath: map[string]*world.Place{},
		Leaks: &secrets.Finder{}, Legacy: &world.Legacy{},
		Untold: world.Untold{Framed: map[string]bool{}, Durable: map[string]bool{}},
		Now:    world.NewObjects(), Last: world.NewObjects(), Heard: world.NewObjects(), Recalled: map[string]any{},
		Images: map[string][]world.ImageVersion{}, Repositories: map[string][]world.RepositoryVersion{},
		Traits:     map[string][]world.Traits{},
		Shows:      map[any]string{},
		Registrars: dealings.NewRegistrars(), Disturbed: map[string]hal.Instant{},
		Harmed: map[string]uint32{}, Lost: map[string]*world.Pod{},
		Away: map[string]*world.HandOver{}, Attached: map[string]*world.Attachment{}, IsCut: map[string]bool{},
		ChangedOf: map[string]hal.Instant{}, Writers: map[string]bool{}, Blocks: map[string]map[string]int{},
		RawHas: map[string]string{}, Loosed: map[string]hal.BootID{},
		Wiped: map[string]bool{}, Rooms: world.NewRoomRuns(),
	}
	if r.Cfg.RepositorySchemes == nil {
		r.Cfg.RepositorySchemes = hal.RepositorySchemes()
	}
	r.Cfg.RootDir, r.Host = lang.RootDir, lang.NodeName
	r.Cfg.PodUID = func(node, namespace, name string) core.PodUID {
		return core.PodUID(manifest.PodUID(node, namespace, name))
	}
	r.Cfg.Happening, r.Cfg.Stepped = func(e engine.Event) { happens(r, e) }, func(c *core.Core) { stepped(r, c) }
	w.OnEffect(func(e sim.Effect) { judges.Effect(r, e) })
	w.OnFault(func(i sim.Injected) { dealings.Unreaches(r, i) })
	w.OnFault(func(i sim.Injected) { judges.CantPrune(r, i) })
	w.OnFault(r.CantSave)
	w.OnFault(func(i sim.Injected) { judges.SlowsStart(r, i) })
	w.OnFault(func(sim.Injected) { dealings.Changes(r) })
	w.SetAgent(func(h hal.Host) { start(r, h) })
	return r
}

// start makes the engine of a new life of the agent. It runs on the owner.
func start(r *world.Run, h hal.Host) {
	if r.Crowd.Pods > 0 {
		h, r.Meter = wrap.Metered(h)
	}
	if r.Files {
		r.Source = manifest.New(h, manifest.Options{
			Dir: lang.ManifestDir, CacheDir: world.CopiesDir, Memo: &r.Legacy.Manifests,
			Owner: func() manifest.Owner {
				id := r.M.Identity()
				return manifest.Owner{Node: id.Node, Machine: id.MachineID, Created: id.Created}
			},
			LeftPods: func() []string { return r.M.LeftPods() }, IsBare: func() bool { return r.M.IsBare() },
		})
		h.Cluster, r.Troubles = r.Source, map[string]hal.Trouble{}
	}
	if slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool { return d.Is.Quotes }) {
		h = trace.Wrap(h, r.Traced)
	}
	h.Cluster = heard{h.Cluster, r}
	dealings.HearDrivers(r, &h)
	r.H, r.Core, r.Synced, r.Heard, r.BornAt = h, nil, false, world.NewObjects(), r.W.Now()
	r.HoldsLimits = r.WillHold
	for _, m := range r.Rooms {
		m.Born(r)
	}
	r.ForgetsUnsaid()
	r.News, r.Announced.Older = map[string][]world.News{}, slices.Concat(r.W.ReadFile(dealings.DeletionsLog+".1"),
		r.W.ReadFile(dealings.DeletionsLog))
	dealings.Forget(&r.Registrars, r.W.Drivers())
	cfg := r.Cfg
	cfg.NodeName, cfg.HoldsLimits = r.Host, r.HoldsLimits
	if _, isNode := r.W.Exists(identity.File(lang.RootDir)); !isNode {
		cfg.NodeName = lang.NodeName // a host is renamed once it is a node
	}
	judges.Bars(r)
	if r.Word != nil {
		r.Word(&cfg)
		r.Word = nil
	}
	r.M = engine.New(h, cfg)
	m := r.M
	m.Start()
	if !r.Cfg.NoRuntime {
		m.ContainersGone(judges.AnotherUID) // they ended with the other agent, or never were
	}
	for _, p := range r.Pods {
		p.Told, p.IsWaiting = nil, false
		switch {
		case !p.IsWanted && !p.IsRunning:
			judges.TellGone(r, p)
		case p.IsWanted && !p.IsRunning:
			dealings.Await(r, p)
		}
	}
}

// heard notes what the agent is told of the cluster, as it is told.
type heard struct {
	hal.Cluster
	r *world.Run
}

func (c heard) Watch(f func(hal.ClusterEvent)) {
	c.Cluster.Watch(func(e hal.ClusterEvent) {
		judges.Hears(c.r, e)
		f(e)
		switch e := e.(type) {
		case hal.Changed:
			judges.Answers(c.r, e.Removed)
		case hal.Synced:
			judges.TellsUnnamed(c.r)
		}
	})
}

// happens takes in what the engine says has happened.
func happens(r *world.Run, e engine.Event) {
	l := e.Line()
	r.ReadsLine(l)
	switch e := e.(type) {
	case engine.OperationPanicked:
		if e.Panic != sim.Trap {
			r.Fail("panic", "engine", "an operation panicked", strings.Join(l.Fields, " "))
		}
	case engine.EvidenceIllegal:
		r.Fail("panic", "engine", "evidence that no law allows", strings.Join(l.Fields, " "))
	case engine.StartRefused:
		judges.Refused(r, e.Why)
	case engine.NotRecognised:
		r.Root.Left[e.Path] = true
	case engine.DriverRegistered:
		dealings.ChangesOf(r, e.Driver)
		dealings.LooksForOpen(r)
		dealings.IsMet(r, e.Driver)
	case engine.DriverDeregistered:
		dealings.ChangesOf(r, e.Driver)
		dealings.LooksForOpen(r)
	case engine.DriverConnected:
		dealings.IsMet(r, e.Driver)
	case engine.DriverMoved:
		dealings.IsMet(r, e.Driver)
	}
	judges.TellsOfDamage(r, e)
	judges.TellsOfStart(r, e)
	dealings.Hears(&r.Registrars, e, r.W.Now())
	if r.Cover != nil {
		r.Probes(e)
	}
	if r.Lines != nil {
		r.Lines(l)
	}
}

// stepped is called after each step of core.
func stepped(r *world.Run, c *core.Core) {
	if r.Canary != nil {
		r.Canary(r)
	}
	first := r.Core == nil
	r.Core = c
	if r.Cover != nil {
		r.Covered(c, first)
	}
	if first {
		r.IsBegun, r.Registrars.Begun = true, r.W.Now()
		judges.Begun(r)
		return
	}
	for _, key := range c.Decided() {
		r.Decisions++
		judges.Refine(r, key)
	}
	for _, m := range r.Rooms {
		m.Stepped(r)
	}
}
