package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/scrub"
)

// VolumeManager is the public face of the engine: it makes its components, and hands on what concerns several of them.
// Data flows one way, and comes back as a step of core:
//
//	objects (and the populator), drivers, drift, places, hidden, waits → core → commits → operations → core
//
// Its exported methods may be called from any goroutine but the owner; they only post.
type VolumeManager struct {
	port
	lacks *Refusal // what the engine was made without, or what is wrong with that; nil for nothing
	ears  ears     // which hear what drivers say, without secrets

	// All fields below belong to the owner: no other goroutine reads or writes them.

	starting   *starting   // the start, until it has read the node
	objects    *objects    // what sources say, and what comes of it
	drivers    *registry   // the registrations of drivers
	drift      *drift      // compares mounts with beliefs
	places     *places     // notices changes at places
	hidden     *hidden     // looks again at what could not be read
	commits    *commits    // writes the journal
	deleting   *deleting   // the log of deletions
	operations *operations // runs what core asks for
	waits      *waits      // who waits for what
	podEvents  *podEvents  // notes what the users of pods should hear
	measuring  *measuring  // asks how full volumes are
	own        *own        // watches the agent's own files
	questions  *questions  // answers of rungs, volumes and pods

	isStarted bool   // a start has read the node. Invariant: never false again.
	isBare    bool   // this start found nothing of an earlier run
	stopped   func() // is called once Run may return; nil before Stop
}

// New returns a manager that does nothing yet.
func New(h hal.Host, cfg Config) *VolumeManager {
	m := &VolumeManager{}
	if lacks := h.Lacks(); lacks != "" {
		m.lacks = &Refusal{"the host that the engine was made with has no " + lacks + "; give it one"}
	}
	m.cfg = cfg.withDefaults()
	if bad := m.cfg.VolumeSources.Bad(); bad != "" && m.lacks == nil {
		m.lacks = &Refusal{"engine.Config.VolumeSources: " + bad}
	}
	m.ears = ears{h.Runtime, h.Cluster, scrub.New(), m.cfg.VolumeSources}
	m.h = m.ears.discreet(h)
	m.stream = stream{
		runtime: h.Runtime, level: cfg.EventLevel, sink: cfg.Events, looks: cfg.Happening, taken: m.checkStopped,
	}
	m.drift, m.places = &drift{port: &m.port}, &places{&m.port, map[hal.Key]func(){}}
	m.drivers = newRegistry(&m.port, m.ears)
	m.objects = newObjects(&m.port, m.ears, m.drivers.registered, m.drivers.facts)
	m.drivers.met = m.objects.driverMet
	m.podEvents = &podEvents{port: &m.port, objects: m.objects, known: map[core.PodUID][]noted{}}
	m.objects.comes, m.objects.blocked, m.objects.shares = m.podEvents.comes, m.podEvents.blocked, m.podEvents.shares
	m.troubled = m.podEvents.troubled
	m.operations = &operations{
		port: &m.port, isNamed: m.objects.isNamed, drivers: m.drivers, places: m.places,
		clean: m.ears.said.Clean, begins: m.podEvents.began, over: m.operationEnded,
	}
	m.podEvents.running = func() int { return m.operations.running }
	m.deleting = &deleting{port: &m.port, pods: m.objects, told: map[hal.Key]deletions.Entry{}}
	m.waits = &waits{port: &m.port, all: map[core.Waiter]waiting{}}
	m.commits = newCommits(&m.port, m.deleting, m.waits, m.operations.launch)
	m.own = &own{port: &m.port, isWriting: m.commits.isWriting, mend: m.commits.mend}
	m.commits.dropped, m.commits.wrote = func() { m.objects.changed(volumeRef) }, m.own.journalWritten
	m.hidden = &hidden{port: &m.port, found: func() { m.objects.endUnnamedPods(); m.drift.tableChanged(nil) }}
	m.drift.strangerCame = m.hidden.strangerCame
	m.starting = &starting{port: &m.port, begin: m.begin, damaged: m.own.tellDamage}
	m.measuring = &measuring{
		port: &m.port, objects: m.objects, facts: m.drivers.facts, abnormal: m.podEvents.abnormal,
		connected: m.drivers.connected, known: map[hal.Key]measured{}, asking: map[string][]hal.Key{},
	}
	m.questions = &questions{
		port: &m.port, objects: m.objects, reached: m.drivers.reached, isUnwritten: m.commits.isUnwritten,
		below: m.drift.strangerBelow, usage: m.measuring.usage, health: m.measuring.health, events: m.podEvents.status,
		starting: func() string { return m.starting.why },
	}
	m.podEvents.naming = m.questions.naming
	m.waits.isUnwritten, m.waits.lacking = m.commits.isUnwritten, m.questions.lacking
	m.carryOut, m.rested = m.commits.dispatch, m.checkStopped
	return m
}

// Run starts the manager and blocks until Stop has been called, the operations then in flight have ended and the log is
// written, or until ctx is over: then it returns the end of ctx. Waits that outlive it end with their own contexts. A
// start that a person has to decide on ends it with a [*Refusal].
func (m *VolumeManager) Run(ctx context.Context) error {
	if m.lacks != nil {
		return m.lacks
	}
	isFirst := true
	err := m.h.Runtime.Await(ctx, func(done func()) {
		if isFirst = !m.isStarted; !isFirst {
			done()
			return
		}
		m.stopped = done
		m.begins()
		m.checkStopped()
	})
	if err == nil && !isFirst {
		return errors.New("the engine has already run; make a new one")
	}
	if err == nil && m.starting.refusal != nil { // the owner has written it before it called done
		return m.starting.refusal
	}
	return err
}

// Identity is whose root directory it is, once the node was read. Owner only.
func (m *VolumeManager) Identity() identity.Identity { return m.starting.id }

// LeftPods returns the uids of the pods of which something may be left, once the node was read: the journal has a
// record of it, or it is on the disk, or it may be where nobody could look. A name that nobody could look at, and that
// does not say of which pod it is, counts for each pod that may be behind it. Owner only.
func (m *VolumeManager) LeftPods() (uids []string) {
	for _, uid := range m.core.Left() {
		uids = append(uids, string(uid))
	}
	for _, name := range m.core.Hidden() { // any volume may be there
		if uid := plugin.PodAt(m.cfg.RootDir, name); uid != "" {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// IsBare reports whether this start, once the node was read, found nothing of an earlier life. Owner only.
func (m *VolumeManager) IsBare() bool { return m.isBare }

// Start starts the manager without waiting for its end. For hosts that own their owner.
func (m *VolumeManager) Start() { m.h.Runtime.Post(m.begins) }

// begins starts the manager, once.
func (m *VolumeManager) begins() {
	switch {
	case m.isStarted:
		return
	case m.lacks != nil:
		m.starting.startRefused(m.lacks)
	default:
		m.starting.start()
	}
	m.isStarted = true
}

// begin makes core from what was read and lets the world in.
func (m *VolumeManager) begin(n node) {
	m.commits.journal, m.own.journal, m.own.id = n.journal, n.journal, n.id
	m.deleting.log, m.deleting.recent = n.log, n.deleted
	m.drift.base, m.drift.strange, m.drift.covers, m.hidden.left = n.base, n.strange, n.start.Covers, n.left
	m.cfg.NodeName, m.objects.input.NodeName = n.id.Node, n.id.Node
	n.start.Now = m.h.Runtime.Now()
	if n.start.HasRun {
		// what the table of mounts shows is noticed, and then listed, within a minute each
		m.hidden.until = n.start.Now.Add(m.cfg.latestSetUp() + hiddenRetryMax)
		n.start.ComesUntil = m.hidden.until.Add(2 * hiddenRetryMax)
	}
	m.core = core.New(n.start)
	s := &n.start
	m.isBare = len(m.own.damage)+len(s.Records)+len(n.left)+len(s.Orphans) == 0 &&
		len(s.Hidden)+len(s.Unseen)+len(s.Children)+len(s.Covers) == 0
	for _, rec := range n.start.Records {
		for _, name := range plugin.SecretsOf(rec.Rung.Want) {
			m.ears.said.Give(name, rec.Rung.Actor)
		}
		m.ears.said.Lend(rec.Rung.Actor, s.Now.Add(plugin.TokenSpan(rec.Rung.Want)))
	}
	m.starting.tell(n)
	m.commits.mend()
	m.h.Cluster.Watch(m.objects.clusterEvent)
	m.drivers.begin()
	m.h.Watches.MountTable(m.drift.tableChanged)
	m.places.watchAll()
	m.own.watch()
	early := m.early
	m.early = nil
	step(&m.port, core.Wake{})
	for _, e := range early {
		step(&m.port, e)
	}
	m.drift.tableChanged(nil)
	m.hidden.lookAtHidden()
	m.measuring.begin()
}

// operationEnded tells the components of an operation that has ended, once core knows of it.
func (m *VolumeManager) operationEnded(op *core.Op, res *core.Result) {
	m.hidden.note(op.Key)
	m.podEvents.ended(op, res)
	if op.Verb == core.TearDown && res.Outcome != hal.Done {
		m.places.watchAgain(op) // its watch ended when it began
	}
	m.drift.ended(op, res)
	if res.AboveUnknown && op.Pod == "" { // what is published has nothing above it
		m.hidden.lookForUsers()
	}
	if res.Unsent {
		m.drivers.unreached(op.Actor)
	}
}

// Stop takes no more work: no operation is started from now on, and every mount is left as it is. Run returns once
// those in flight have ended.
func (m *VolumeManager) Stop() {
	m.h.Runtime.Post(func() {
		m.stopping = true
		m.checkStopped()
	})
}

func (m *VolumeManager) checkStopped() {
	if m.stopping && m.operations.running == 0 && !m.commits.isWriting() && !m.stream.busy && m.stopped != nil {
		m.stopped()
	}
}

func reason(what string, err error) string { return fmt.Sprintf("%s: %v", what, err) }
