package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/scrub"
)

// VolumeManager is the public face of the engine: it owns the state, runs the operations that core asks for, and
// answers questions. Its exported methods may be called from any goroutine but the owner; they only post.
type VolumeManager struct {
	h     hal.Host     // the host; ears remove secrets from what drivers say
	lacks *Refusal     // which part of the host is missing; nil for none
	node  discreetNode // the node service of h
	ears  ears
	cfg   Config
	// sources are the volume sources that it serves.
	sources kinds.Table

	// All fields below belong to the owner: no other goroutine reads or writes them.

	core     *core.Core // nil until a start has read the node
	journal  *journal.Journal
	early    []core.Event // events that came before core. Invariant: empty once core is set and has taken them.
	why      string       // why the start failed last; "" if it did not
	damage   []string     // of the journal and of volnode's other own files, for the status
	identity identity.Identity
	own      own
	left     []plugin.Unrecognised // names on the node that volnode leaves alone
	hidden   hidden
	starts   int      // failed attempts to start
	listings int      // the part of starts that failed to list the root directory
	refusal  *Refusal // why the start was refused for good; nil for none. Run returns it.

	commits  commits
	deleting deleting
	objects  objects
	drivers  drivers
	drift    drift

	waits      map[core.Waiter]waiting // registered waits
	lastWaiter core.Waiter
	armed      hal.Instant // the earliest queued wake-up; 0 is none
	running    int         // operations under way. Invariant: Run does not return before it is 0, unless ctx ends.
	tasks      []*task     // tasks that have ended, for reuse
	late       func(hal.OpID, error)
	lines      lines
	defects    int // of volnode itself, as it has found them
	isStarted  bool
	isBare     bool // this start found nothing of an earlier run
	stopping   bool // Invariant: no operation starts once it is set
	stopped    func()
}

// New returns a manager that does nothing yet.
func New(h hal.Host, cfg Config) *VolumeManager {
	m := &VolumeManager{cfg: cfg.withDefaults(), waits: map[core.Waiter]waiting{}}
	if lacks := h.Lacks(); lacks != "" {
		m.lacks = &Refusal{"the host that the engine was made with has no " + lacks + "; give it one"}
	}
	m.sources = m.cfg.VolumeSources
	m.ears = ears{h.Runtime, h.Cluster, scrub.New()}
	m.h, m.node = m.ears.discreet(h)
	m.commits.unwritten, m.drift.watched = map[hal.Key]bool{}, map[hal.Key]func(){}
	m.deleting.told = map[hal.Key]deletions.Entry{}
	m.objects.init()
	m.objects.input = m.newInput()
	m.drivers.init()
	m.late = m.answeredLate
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
	if err == nil && m.refusal != nil { // the owner has written it before it called done
		return m.refusal
	}
	return err
}

// Identity is whose root directory it is, once the node was read. Owner only.
func (m *VolumeManager) Identity() identity.Identity { return m.identity }

// LeftPods is the uids of the pods of which something may be left, once the node was read: the journal has a record of
// it, or it lies on the disk, or would, where nobody could look. Where the name that nobody could look at does not say of
// which pod, it stands for the pods that may be behind it. Owner only.
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
		m.startRefused(m.lacks)
	default:
		m.start()
	}
	m.isStarted = true
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
	if m.stopping && m.running == 0 && !m.commits.busy && !m.lines.busy && m.stopped != nil {
		m.stopped()
	}
}

// step feeds core and carries out what it asks for. E is the type of the event, so that no memory is taken to pass it
// on.
func step[E core.Event](m *VolumeManager, e E) {
	if m.core == nil {
		m.early = append(m.early, e)
		return
	}
	if m.cfg.Stepping != nil {
		m.cfg.Stepping(m.core, e)
	}
	batch := m.core.Step(m.h.Runtime.Now(), e)
	if m.cfg.Stepped != nil {
		m.cfg.Stepped(m.core)
	}
	for _, is := range m.core.Illegal() {
		m.defect("evidence that no law allows; volnode inspects the volume again", "rung", string(is.Key), "evidence",
			is.Evidence)
	}
	m.dispatch(batch)
	m.core.Reuse(batch)
	m.arm()
}

// arm queues a wake-up for the next instant at which time alone changes a decision, unless one is queued that comes
// before it.
func (m *VolumeManager) arm() {
	at := m.core.NextWake()
	if at == 0 || (m.armed != 0 && m.armed <= at) {
		return
	}
	m.armed = at
	m.h.Runtime.At(at, func() {
		if m.armed == at {
			m.armed = 0
		}
		if !m.stopping { // nothing would be started
			step(m, core.Wake{})
		}
	})
}

const dirMode = 0o750

// dirs are the directories below the root that a start makes. They are not synced: what is below them ends with the
// boot. The journal makes its own.
func (m *VolumeManager) dirs() []string {
	root := m.cfg.RootDir
	return []string{path.Join(root, "pods"), path.Join(root, "plugins"), m.registryDir()}
}

func (m *VolumeManager) journalDir() string  { return path.Join(m.cfg.RootDir, "volnode", "journal") }
func (m *VolumeManager) registryDir() string { return path.Join(m.cfg.RootDir, "plugins_registry") }

func (c Config) withDefaults() Config {
	setDefault(&c.CallTimeout, 2*time.Minute)
	setDefault(&c.UnstageTimeout, 30*time.Second)
	setDefault(&c.LateWindow, 120*time.Second)
	setDefault(&c.JournalBytes, 4<<20)
	setDefault(&c.JournalMost, journal.MaxSize)
	if c.VolumeSources == nil {
		c.VolumeSources = kinds.All()
	}
	if len(c.Sources) == 0 {
		c.Sources = []hal.Source{"manifest"}
	}
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// driverConfig is what the operator says of one driver, defaults filled in.
func (m *VolumeManager) driverConfig(name string) plugin.DriverConfig {
	d := m.cfg.Drivers[name]
	setDefault(&d.SetUp, m.cfg.CallTimeout)
	setDefault(&d.TearDown, m.cfg.CallTimeout)
	setDefault(&d.Unstage, m.cfg.UnstageTimeout)
	setDefault(&d.LateWindow, m.cfg.LateWindow)
	return d
}

// forgiven returns the drivers that the operator trusts not to act after they answer, sorted.
func (m *VolumeManager) forgiven() []string {
	names := slices.Sorted(maps.Keys(m.cfg.Drivers))
	return slices.DeleteFunc(names, func(name string) bool { return !m.cfg.Drivers[name].TrustsAnswers })
}

func reason(what string, err error) string { return fmt.Sprintf("%s: %v", what, err) }
