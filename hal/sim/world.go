package sim

import (
	"fmt"
	"time"

	"github.com/volnode/volnode/hal"
)

// Config is what a world starts from. The zero value is a world without faults.
type Config struct {
	Chooser Chooser // default Benign
	Profile Profile // which faults are possible, and how often; default none
	Script  Script  // faults that are wanted at certain calls; default none
	Tie     uint64  // seed of the order of what happens at one instant; 0 is first in, first out
	// of PCT: threads of control keep their order but for Depth-1 changes, and instants are milliseconds; 0 is none of
	// it
	Depth int
	Keep  bool // keep the trace's records, not only its hash

	RootDir string // the agent's root directory; default /var/lib/volnode
	// MoreDir is one more directory of the agent, below RootDir: that of manifests. A mount may depend on it.
	MoreDir string
	Source  hal.Source // of the cluster's objects; default "manifest"
	Private bool       // mounts do not propagate; else as systemd leaves it: shared
	Disk    Disk       // of the root filesystem; default drawn
	// DiesAfter: a reboot or a power cut at a call that changes something comes after its effect, or when its RPC was
	// sent; default a reboot comes before it, and a power cut before or after it, as the call's object has it.
	DiesAfter bool

	Buffers *Buffers // for what the agent reads, which it may use until it dies; default none: all that is read is made
}

// World is one node and all that surrounds it.
type World struct {
	*chance
	// Cluster is the cluster of the node, as the agent hears of it.
	Cluster *Cluster

	config     Config
	profile    Profile
	observe    []func(Effect)
	entered    *callSite // the call that entered last
	enteredFor hal.Key   // the rung that it is about

	fs        *filesystem
	mounts    *mountTable
	base      string // the agent's root directory
	machineID string
	randoms   uint64 // how often somebody has asked for random bytes
	boot      *boot
	inc       *incarnation // the present or last life of the agent
	start     func(hal.Host)
	down      Fault // how the agent that is dying dies
	restarts  bool
	off       bool // between two boots
	drivers   []*driver
	backends  []*backend
	rpcs      []*rpc // that have not ended
	rpcCount  uint64
	children  []*child
	pids      int
	volumes   uint32
	// heldBefore is the paths at which volumes were held when the last boot ended.
	heldBefore   []string
	hadForeign   bool     // some mount was a stray
	denied       []denial // directories that can't be listed, and files that can't be read
	torn         int      // manifests that are half written
	tears        int      // how many were, so far
	trap         string   // the call behind whose next answer the agent's code panics: see SetTrap
	shares       []*share // that are no volume's
	tokens       []Token
	images       map[string]*image
	flex         []*flexDriver
	repositories map[string]*repository
	blocks       []*blockDevice // disks of the node, in order of their numbers at first
	fabric
	lacksFsck bool   // the node has no program that checks their filesystems
	sequences uint64 // of disks so far
	isLooking bool   // somebody looks who waits for no server
	hungAt    *share // for which the system call waits that has just answered hangs
	borrowed  [][]byte
	slabs     slabs
}

// boot is one boot of the node.
type boot struct {
	world  *World
	number uint32
	id     hal.BootID
	began  hal.Instant // of the world's clock
}

// bootClock is what the monotonic clock of a boot shows when the boot begins.
const bootClock = hal.Instant(time.Second)

var siteDisk = newSite("world.disk")

// New makes a world: a booted node without an agent.
func New(c Config) *World {
	if c.Chooser == nil {
		c.Chooser = Benign{}
	}
	if c.RootDir == "" {
		c.RootDir = "/var/lib/volnode"
	}
	if c.Source == "" {
		c.Source = "manifest"
	}
	w := &World{
		chance: &chance{
			sched:   &scheduler{tie: c.Tie, ranks: newRanks(c.Depth, c.Tie)},
			chooser: c.Chooser, menus: c.Profile.menus(), script: c.Script,
		},
		config: c, profile: c.Profile, base: c.RootDir, machineID: "4f1d6c0b5f0e4b5c8f6f0a7f2a9d3e10",
		restarts: true, pids: 1000, images: map[string]*image{},
		repositories: map[string]*repository{},
	}
	w.Cluster = &Cluster{chance: w.chance, source: c.Source, post: func(inc *incarnation, f func()) {
		h := host{w, inc}
		h.post(f)
	}}
	if w.slabs.from = c.Buffers; c.Buffers != nil {
		w.sched.idle = c.Buffers.lend()
	}
	w.faults, _ = c.Chooser.(FaultChooser)
	w.trace.Keep = c.Keep
	w.sched.onKill = w.agentDies
	if c.Disk == DiskDrawn {
		s := w.subject(siteDisk, "")
		w.config.Disk = DiskOrdered + Disk(w.chooser.Pick(s.id(siteDisk), []uint32{2, 2, 2, 1}))
	}
	w.fs = newFilesystem(w)
	w.mounts = newMountTable(w)
	w.bootNode()
	return w
}

// Close ends all coroutines of the world, or leaves them to the next one with its Buffers. A world that is not closed
// leaks them.
func (w *World) Close() {
	w.sched.kill(w.inc)
	w.sched.close(w.config.Buffers)
	w.returns()
}

// bootNode begins a boot.
func (w *World) bootNode() {
	n := uint32(1)
	if w.boot != nil {
		n = w.boot.number + 1
	}
	w.off = false
	w.boot = &boot{
		world: w, number: n, id: hal.BootID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)),
		began: w.sched.now,
	}
	w.mounts.reset()
	w.unplugs()
	w.makeDirs(w.base)
	w.makeDevices()
	w.plugsBlocks()
	w.bootsInitiator()
	w.bootsFlex()
	w.event("node.booted", string(w.boot.id))
}

// Now is the time since the world began. It goes on over reboots.
func (w *World) Now() hal.Instant { return w.sched.now }

// NextID is the id that the next choice at a site about an object will have. It is asked for while another choice is
// being made.
func (w *World) NextID(site, object string) ID {
	return NewID(site, object, w.nth.slot(idHash(hashString(site), hashString(object), 0)).count)
}

// DrawTime draws a time for what others do in the world, who are told apart by site and object. lo is the benign one.
func (w *World) DrawTime(site, object string, lo, hi time.Duration) time.Duration {
	return w.time(newSite(site), object, lo, hi)
}

// Steps is the number of events so far.
func (w *World) Steps() uint64 { return w.sched.steps }

// Trace is what has happened so far.
func (w *World) Trace() *Trace { return &w.trace }

// After runs f as an event of the world, d from now. key names it: events of one instant are ordered by their keys.
func (w *World) After(d time.Duration, key string, f func()) {
	w.sched.at(w.sched.now.Add(d), hashString(key), nil, f)
}

// Run lets the world go on until the instant until of its clock. It ends early, with a *Failure, if code of the agent
// panics.
func (w *World) Run(until hal.Instant) error {
	s := w.sched
	for s.failure == nil {
		if s.dying == nil && (len(s.events.list) == 0 || s.events.list[0].at > until) {
			s.now = max(s.now, until)
			return nil
		}
		s.step()
	}
	return s.failure
}

// RunFor lets the world go on for d.
func (w *World) RunFor(d time.Duration) error { return w.Run(w.sched.now.Add(d)) }

// Step runs one event; false if nothing is left to happen, or the run has failed.
func (w *World) Step() bool { return w.sched.failure == nil && w.sched.step() }

// Next is the instant of the next event; false if there is none.
func (w *World) Next() (hal.Instant, bool) {
	if len(w.sched.events.list) == 0 {
		return 0, false
	}
	return w.sched.events.list[0].at, true
}

// Calm ends the injection of faults; what is under way (late calls, broken drivers) stays. Nor does the agent die any
// more of a call that is under way, nor a socket get lost for which that was drawn, but in a script, which says which.
func (w *World) Calm() {
	w.calm = true
	w.mendRegistrars()
}

// isSpared: what was drawn to happen later, and has not, does not happen any more.
func (w *World) isSpared() bool { return w.calm && w.config.Script == nil }

// Do runs f as a task of the agent's present incarnation and lets the world go on until f has ended. A panic of f is
// raised again here.
func (w *World) Do(f func()) {
	t := w.sched.spawn(w.living(), f)
	for !t.done && w.sched.failure == nil {
		if !w.sched.step() {
			panic("sim: Do: nothing is left to happen, and the function still waits")
		}
	}
	if w.sched.failure != nil {
		panic(w.sched.failure)
	}
}

// Go runs f as a task of the agent's present incarnation: a client of it, which dies with it.
func (w *World) Go(f func()) { w.sched.spawn(w.living(), f) }

// OnEffect calls f at the instant of each effect. f looks and judges; it changes nothing.
func (w *World) OnEffect(f func(Effect)) { w.observe = append(w.observe, f) }

// OnFault calls f with each fault as it is injected, before it has any effect. f looks and changes nothing.
func (w *World) OnFault(f func(Injected)) { w.faulted = append(w.faulted, f) }
