package scenarios

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/manifest"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/hal/trace"
	"github.com/volnode/volnode/hal/wrap"
	"github.com/volnode/volnode/scenarios/coverage"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/secrets"
	"github.com/volnode/volnode/scenarios/verdict"
)

// run is one world with the engine in it, and all that watches over them.
type run struct {
	w    *sim.World
	cfg  engine.Config
	m    *engine.VolumeManager // of the present life of the agent, nil without one
	core *core.Core            // its core, nil until it has begun
	h    hal.Host              // of the present life, as the engine sees it

	roomy     int64             // how large the journal must be, if it is configured smaller; else 0
	backup    map[string][]byte // of the journal, by name
	host      string            // what the host is called: it may be renamed, the node is not
	files     bool              // objects reach the agent as manifests, by hal/manifest
	texts     map[any][]byte    // the manifests, by object; nil keeps none
	root      rootWorld
	announced announcements
	word      func(*engine.Config) // what a person says to the next start; nil for nothing
	synced    bool                 // the present life has been told that its source is synced

	registrars registrars
	exclusive  map[string]bool // volumes of ReadWriteOncePod claims, as driver^handle
	untold     untold
	// volumes of which a call was answered ALREADY_EXISTS: they may be taken down first, whoever wants them
	denied map[string]bool

	writers map[string]bool // the drivers, true for those with SINGLE_NODE_MULTI_WRITER

	// as they are; as they were last, if they are no more; as the present life of the agent has been told of them
	now, last, heard objects
	// recalled is what all lives of the agent know together, by sim.ObjectName.
	recalled map[string]any
	news     map[string][]news   // versions of objects, as the present life of the agent was told of them
	traits   map[string][]traits // of each driver, all that it has had
	openAt   hal.Instant         // when a volume of a pod could last not be resolved
	shows    map[any]string      // whose data is in a directory that containers have found, by what it is
	bare     map[string]bool     // drivers that publish without a mount

	// isRenamed: one name has meant two things by now, so what a pod uses follows from the objects as they are.
	isRenamed bool

	pods      []*pod
	byUID     map[core.PodUID]*pod
	names     map[string]string // file mode: the manifest of each object, by its name
	unlinked  map[string]bool   // file mode: manifests that were removed
	written   map[string]any    // file mode: what people want each manifest to hold: an object, or the text of a secret
	source    *manifest.Cluster // file mode: of the present life
	missing   map[string]bool   // file mode: the manifests of which it tells that they are missing in another directory
	swapped   swapping          // file mode: what is in the place of the directory of manifests
	isLinked  bool              // file mode: a link does
	isTended  bool              // file mode: somebody looks for missing manifests
	decisions uint64            // counts what the agent's core has decided
	editedAt  hal.Instant       // when somebody wrote or removed a manifest, or made a volume again, last
	isCovered bool              // file mode: something is mounted over the manifests
	deferred  []func()          // edits that nobody can make meanwhile
	broken    string            // a driver that is broken for good, "" for none
	ailing    ailment           // a driver that answers with errors for a while in calm
	bad       badEntry          // what is bad on the node in calm for a while

	allWrite bool                      // containers of all pods write
	blocks   map[string]map[string]int // how many blocks are written and synced, by volume and file
	wiped    map[string]bool           // the inline volumes that are gone under containers, see wipes
	foreign  map[hal.MountID]foreign   // mounts of this boot that somebody else has made
	isBegun  bool                      // the agent has begun in this boot

	disturbed map[string]hal.Instant // by path of an emptyDir, when somebody harmed it
	wasDown   bool                   // the node has gone down: a power cut may have taken directories
	failedAt  hal.Instant            // when a filesystem failed last
	lost      map[string]*pod        // by path of an emptyDir, whose data it held when it was taken away
	aside     int                    // directories that somebody has moved aside

	attached map[string]*attachment // volumes of drivers that attach, by driver^handle

	// isCut: volumes, as driver^handle, whose filesystem has failed at some time, or that were detached while they were
	// mounted.
	isCut map[string]bool

	away map[string]*handOver // volumes that go to another node, or are there, by driver^handle

	places map[hal.Key]*place // of each rung the last one
	byPath map[string]*place  // at each path the last one; the others follow as its earlier ones
	list   []*place           // all places, in the order in which they were first used
	actual counts
	storm  storm

	changedAt hal.Instant            // when something changed last by which a driver may be asked again
	changedOf map[string]hal.Instant // the same of a volume, by driver^handle, or of a driver
	// a driver spoils or loses all that it has published: that it does so again is no change
	isRuined bool

	leaks     *secrets.Finder // what is in the secrets; it must come out nowhere
	canary    func(*run)
	astray    []string   // files that containers wrote below a volume's mount, while somebody had unmounted it
	probe     func(*run) // looks after each event, nil for nobody
	violation *verdict.Violation
	cover     *coverage.Coverage // what the run reaches, nil for nobody who asks
	probing   probing            // for cover
	lines     func(engine.Entry) // who else reads the log, nil for nobody
	isEdited  bool               // a volume's object was changed: any pod's volumes may have to be made again
	// rungs of which a call has met a fault; nil if it is not judged how promptly pods come in chaos
	faulty    map[hal.Key]bool
	quietFrom hal.Instant // before, something that has gone wrong may delay everybody
	turnedAt  hal.Instant // when somebody turned a link of the host
	typedAt   hal.Instant // when somebody put something of another type in the place of a hostPath
	typed     []*pod      // with hostPaths, of which the present life of the agent was told
	bornAt    hal.Instant // when the present life of the agent began
	stop      bool        // no timeline event happens any more
	goal      hal.Instant // to which the world goes on
	crowd     crowd       // that comes in calm
	meter     *wrap.Meter // of the present life, if the world has a crowd
	isKnown   func() bool // asked after each event whether the rest of the run is known; nil for nobody
	isOver    bool        // it is
}

// counts is what the agent has done so far.
type counts struct {
	effects  int // of any kind
	mounting int // stages, publishes, mounts, and their contraries
	crashes  int
}

// newRun puts the engine into w. cfg is completed.
func newRun(w *sim.World, cfg engine.Config) *run {
	r := &run{
		w: w, cfg: cfg, byUID: map[core.PodUID]*pod{}, names: map[string]string{}, unlinked: map[string]bool{},
		written: map[string]any{}, exclusive: map[string]bool{}, denied: map[string]bool{},
		places: map[hal.Key]*place{}, foreign: map[hal.MountID]foreign{}, byPath: map[string]*place{}, leaks: &secrets.Finder{},
		untold: untold{framed: map[string]bool{}, durable: map[string]bool{}},
		now:    newObjects(), last: newObjects(), heard: newObjects(), recalled: map[string]any{},
		traits:     map[string][]traits{},
		shows:      map[any]string{},
		registrars: newRegistrars(), disturbed: map[string]hal.Instant{}, lost: map[string]*pod{},
		away: map[string]*handOver{}, attached: map[string]*attachment{}, isCut: map[string]bool{},
		changedOf: map[string]hal.Instant{}, writers: map[string]bool{}, blocks: map[string]map[string]int{}, wiped: map[string]bool{},
	}
	r.cfg.RootDir, r.host = lang.RootDir, lang.NodeName
	r.cfg.PodUID = func(node, namespace, name string) core.PodUID {
		return core.PodUID(manifest.PodUID(node, namespace, name))
	}
	r.cfg.Logging, r.cfg.Stepped = r.logged, r.stepped
	w.OnEffect(r.effect)
	w.OnFault(r.unreaches)
	w.OnFault(r.cantPrune)
	w.OnFault(r.cantSave)
	w.OnFault(func(sim.Injected) { r.changes() })
	w.SetAgent(r.start)
	return r
}

// secretMark is what is in a scenario's Secret that says nothing else.
const secretMark = "s3cr3t-do-not-show"

// start makes the engine of a new life of the agent. It runs on the owner.
func (r *run) start(h hal.Host) {
	if r.crowd.pods > 0 {
		h, r.meter = wrap.Metered(h)
	}
	if r.files {
		r.source = manifest.New(h, manifest.Options{
			Dir: lang.ManifestDir, CacheDir: copiesDir,
			Owner: func() manifest.Owner {
				id := r.m.Identity()
				return manifest.Owner{Node: id.Node, Machine: id.MachineID, Created: id.Created}
			},
			LeftPods: func() []string { return r.m.LeftPods() }, IsBare: func() bool { return r.m.IsBare() },
		})
		h.Cluster, r.missing = r.source, map[string]bool{}
	}
	if slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool { return d.Is.Quotes }) {
		h = trace.Wrap(h, r.traced)
	}
	h.Cluster = heard{h.Cluster, r}
	r.hearDrivers(&h)
	r.h, r.core, r.synced, r.heard, r.bornAt = h, nil, false, newObjects(), r.w.Now()
	r.forgetsTypes()
	r.forgetsUnsaid()
	r.news, r.announced.older = map[string][]news{}, slices.Concat(r.w.ReadFile(deletionsLog+".1"),
		r.w.ReadFile(deletionsLog))
	r.registrars.forget(r.w.Drivers())
	cfg := r.cfg
	cfg.NodeName = r.host
	if _, isNode := r.w.Exists(identity.File(lang.RootDir)); !isNode {
		cfg.NodeName = lang.NodeName // a host is renamed once it is a node
	}
	r.bars()
	if r.word != nil {
		r.word(&cfg)
		r.word = nil
	}
	r.m = engine.New(h, cfg)
	m := r.m
	m.Start()
	if !r.cfg.NoRuntime {
		m.ContainersGone(anotherUID) // they ended with the other agent, or never were
	}
	for _, p := range r.pods {
		p.told, p.isWaiting = nil, false
		switch {
		case !p.isWanted && !p.isRunning:
			r.tellGone(p)
		case p.isWanted && !p.isRunning:
			r.await(p)
		}
	}
}

// heard notes what the agent is told of the cluster, as it is told.
type heard struct {
	hal.Cluster
	r *run
}

func (c heard) Watch(f func(hal.ClusterEvent)) {
	c.Cluster.Watch(func(e hal.ClusterEvent) {
		c.r.hears(e)
		f(e)
		switch e := e.(type) {
		case hal.Changed:
			c.r.answers(e.Removed)
		case hal.Synced:
			c.r.tellsUnnamed()
		}
	})
}

// sleeps kills the agent, and keeps it away for d.
func (r *run) sleeps(d time.Duration) {
	r.w.Restarts(false)
	r.w.KillAgent()
	r.w.After(d, "the agent comes back", func() {
		r.w.Restarts(true)
		r.w.PowerOn() // a boot starts the agent as well: a node that went down under that one is down still
		r.w.StartAgent()
	})
}

// fail notes a violation. The first one counts: what follows may be its consequence.
func (r *run) fail(property, site, object, story string) {
	if r.violation == nil {
		r.violation = &verdict.Violation{
			Property: property, Site: site, Object: object, Story: story, At: r.w.Now(), Record: r.w.Trace().Len(),
		}
	}
}

// guard makes a panic of a check a violation, which can be replayed and shrunk: a hunt of hours tells of which schedule
// it was.
func (r *run) guard(tell func()) {
	defer func() {
		if p := recover(); p != nil {
			r.fail("panic", "check", placeOfPanic(), fmt.Sprintf("volsim itself panics: %v", p))
		}
	}()
	tell()
}

// placeOfPanic is the function and the line that panicked. Who calls it is deferred, and has recovered.
func placeOfPanic() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs[:])])
	for {
		f, more := frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", f.Function, f.Line)
		}
	}
}

// until lets the world go on until t, a violation, or the end of what is not known. It reports whether it has come to
// t.
func (r *run) until(t hal.Instant) bool {
	r.goal = t
	for r.violation == nil && !r.isOver {
		next, ok := r.w.Next()
		if !ok || next > t {
			break
		}
		if !r.w.Step() || r.isStorm() {
			break
		}
		if r.probe != nil {
			r.probe(r)
		}
		r.isOver = r.isKnown != nil && r.isKnown()
	}
	if r.isOver {
		return false
	}
	if r.probe != nil {
		r.probe(r)
	}
	if r.violation == nil {
		r.judges("panic")
		if err := r.w.Run(t); err != nil {
			what := "engine"
			if f, ok := errors.AsType[*sim.Failure](err); ok {
				what = f.What
			}
			r.fail("panic", "engine", what, err.Error())
		}
	}
	return r.violation == nil
}

// logSite is where the writes of the log meet faults.
const logSite = "log.write"

// writesLog is where the engine's log goes. A write that fails costs its lines.
func writesLog(w *sim.World) func([]engine.Entry) {
	return func([]engine.Entry) { _ = w.WriteLog() }
}

// log is where the engine's log goes in a scenario: nowhere, unless one of its faults is of that.
func log(s *lang.Scenario, w *sim.World) func([]engine.Entry) {
	if !slices.ContainsFunc(s.Faults, func(f lang.FaultRule) bool { return sim.SiteOf(f.Site) == logSite }) {
		return nil
	}
	return writesLog(w)
}

// logged reads the engine's log.
func (r *run) logged(e engine.Entry) {
	r.judges("S17")
	for _, f := range e.Fields {
		r.reveals("log", e.Message, f)
	}
	if what, is := strings.CutPrefix(e.Message, "defect of volnode: "); is && !slices.Contains(e.Fields, sim.Trap) {
		r.fail("panic", "engine", what, what+": "+strings.Join(e.Fields, " "))
	}
	r.readsLog(e)
	r.tellsOfDamage(e)
	switch e.Message {
	case "start refused; volnode changed nothing":
		r.refused(e.Fields[1])
	case "not recognised; volnode leaves it alone":
		r.root.left[e.Fields[1]] = true
	case "driver registered", "driver deregistered":
		r.changesOf(e.Fields[1])
		r.looksForOpen()
	}
	switch e.Message {
	case "driver registered", "driver connected", "driver is served by another endpoint":
		r.isMet(e.Fields[1])
	}
	if len(e.Fields) > 1 {
		r.registrars.hears(e.Message, e.Fields[1], r.w.Now())
	}
	if r.cover != nil {
		r.probeLine(e)
	}
	if r.lines != nil {
		r.lines(e)
	}
}

// traced reads the trace of the calls, as volnode writes it.
func (r *run) traced(t trace.Record) {
	r.judges("S17")
	r.reveals("trace", t.Name, t.String())
}

// alive reports whether the agent lives and knows what it believes.
func (r *run) alive() bool { return r.core != nil && r.w.AgentLives() }

// podOf returns the pod whose directory a path lies in, nil if none.
func (r *run) podOf(path string) *pod {
	rest, ok := strings.CutPrefix(path, lang.RootDir+"/pods/")
	if block, isBlock := strings.CutPrefix(path, lang.RootDir+"/plugins/kubernetes.io/csi/volumeDevices/publish/"); isBlock {
		_, rest, ok = strings.Cut(block, "/")
	}
	if !ok {
		return nil
	}
	uid, _, _ := strings.Cut(rest, "/")
	return r.byUID[core.PodUID(uid)]
}

// below reports whether path lies strictly below dir.
func below(path, dir string) bool {
	return len(path) > len(dir)+1 && path[len(dir)] == '/' && strings.HasPrefix(path, dir)
}

// isOurs reports whether a path is one where only volumes are.
func isOurs(path string) bool {
	return below(path, lang.RootDir+"/pods") || below(path, lang.RootDir+"/plugins/kubernetes.io")
}
