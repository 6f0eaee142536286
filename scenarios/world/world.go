package world

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
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

// Run is one world with the engine in it, and all that watches over them.
type Run struct {
	W    *sim.World
	Cfg  engine.Config
	M    *engine.VolumeManager // of the present life of the agent, nil without one
	Core *core.Core            // its core, nil until it has begun
	H    hal.Host              // of the present life, as the engine sees it

	Roomy     int64             // how large the journal must be, if it is configured smaller; else 0
	Backup    map[string][]byte // of the journal, by name
	Host      string            // what the host is called: it may be renamed, the node is not
	Files     bool              // objects reach the agent as manifests, by hal/manifest
	Legacy    *Legacy           // of earlier runs
	Root      rootWorld
	Announced Announcements
	Word      func(*engine.Config) // what a person says to the next start; nil for nothing
	Synced    bool                 // the present life has been told that its source is synced

	Registrars Registrars
	Exclusive  map[string]bool // volumes of ReadWriteOncePod claims, as driver^handle
	Untold     Untold
	// volumes of which a call was answered ALREADY_EXISTS: they may be taken down first, whoever wants them
	Denied map[string]bool

	Writers map[string]bool // the drivers, true for those with SINGLE_NODE_MULTI_WRITER

	// as they are; as they were last, if they are no more; as the present life of the agent has been told of them
	Now, Last, Heard Objects
	// recalled is what all lives of the agent know together, by sim.ObjectName.
	Recalled map[string]any
	News     map[string][]News   // versions of objects, as the present life of the agent was told of them
	Traits   map[string][]Traits // of each driver, all that it has had
	OpenAt   hal.Instant         // when a volume of a pod could last not be resolved
	Shows    map[any]string      // whose data is in a directory that containers have found, by what it is
	Bare     map[string]bool     // drivers that publish without a mount

	// isRenamed: one name has meant two things by now, so what a pod uses follows from the objects as they are.
	IsRenamed bool

	Pods      []*Pod
	ByUID     map[core.PodUID]*Pod
	Names     map[string]string      // file mode: the manifest of each object, by its name
	Unlinked  map[string]bool        // file mode: manifests that were removed
	Written   map[string]any         // file mode: what people want each manifest to hold: an object, or a secret's text
	Source    *manifest.Cluster      // file mode: of the present life
	Troubles  map[string]hal.Trouble // file mode: what the present life tells of manifests, by where
	Swapped   Swapping               // file mode: what is in the place of the directory of manifests
	IsLinked  bool                   // file mode: a link does
	IsTended  bool                   // file mode: somebody looks for missing manifests
	Decisions uint64                 // counts what the agent's core has decided
	Held      []Holding              // what Secrets and ConfigMaps have held
	EditedAt  hal.Instant            // when somebody wrote or removed a manifest, or made a volume again, last
	IsCovered bool                   // file mode: something is mounted over the manifests
	Deferred  []func()               // edits that nobody can make meanwhile
	Broken    string                 // a driver that is broken for good, "" for none
	Ailing    Ailment                // a driver that answers with errors for a while in calm
	Bad       BadEntry               // what is bad on the node in calm for a while

	AllWrite bool                      // containers of all pods write
	Raw      []*RawUse                 // what containers have of raw disks
	RawHas   map[string]string         // what they have written last to one, by its name
	Loosed   map[string]hal.BootID     // the disks that a person has let go of, and when: see SeesRaw
	Blocks   map[string]map[string]int // how many blocks are written and synced, by volume and file
	Wiped    map[string]bool           // the inline volumes that are gone under containers, see wipes
	Foreign  map[hal.MountID]Foreign   // mounts of this boot that somebody else has made
	IsBegun  bool                      // the agent has begun in this boot

	Disturbed map[string]hal.Instant // by path of an emptyDir, when somebody harmed it
	Harmed    map[string]uint32      // by path of a volume, the life of the agent in which it was harmed: see Room
	WasDown   bool                   // the node has gone down: a power cut may have taken directories
	FailedAt  hal.Instant            // when a filesystem failed last
	Lost      map[string]*Pod        // by path of an emptyDir, whose data it held when it was taken away
	Aside     int                    // directories that somebody has moved aside

	Attached map[string]*Attachment // volumes of drivers that attach, by driver^handle

	// isCut: volumes, as driver^handle, whose filesystem has failed at some time, or that were detached while they were
	// mounted.
	IsCut map[string]bool

	Away map[string]*HandOver // volumes that go to another node, or are there, by driver^handle

	Places map[hal.Key]*Place // of each rung the last one
	ByPath map[string]*Place  // at each path the last one; the others follow as its earlier ones
	List   []*Place           // all places, in the order in which they were first used
	Actual counts
	storm  storm

	ChangedAt hal.Instant            // when something changed last by which a driver may be asked again
	ChangedOf map[string]hal.Instant // the same of a volume, by driver^handle, or of a driver
	// a driver spoils or loses all that it has published: that it does so again is no change
	IsRuined bool

	Leaks  *secrets.Finder // what is in the secrets; it must come out nowhere
	tokens struct {        // of service accounts; they must come out nowhere either
		leaks secrets.Finder
		known int // so many are in leaks
	}
	Canary    func(*Run)
	Astray    []string   // files that containers wrote below a volume's mount, while somebody had unmounted it
	Probe     func(*Run) // looks after each event, nil for nobody
	Violation *verdict.Violation
	Cover     *coverage.Coverage // what the run reaches, nil for nobody who asks
	probing   probing            // for cover
	Lines     func(engine.Line)  // who else reads the log, nil for nobody
	IsEdited  bool               // a volume's object was changed: any pod's volumes may have to be made again
	// rungs of which a call has met a fault; nil if it is not judged how promptly pods come in chaos
	Faulty    map[hal.Key]bool
	QuietFrom hal.Instant // before, something that has gone wrong may delay everybody
	TurnedAt  hal.Instant // when somebody turned a link of the host
	TypedAt   hal.Instant // when somebody changed the type of something on the host
	Rooms     []RoomRun   // by Rooms
	BornAt    hal.Instant // when the present life of the agent began
	Stop      bool        // no timeline event happens any more
	// HoldsLimits: the present life of the agent has quotas hold emptyDirs to their limits; WillHold: so will the next.
	HoldsLimits, WillHold bool
	goal                  hal.Instant // to which the world goes on
	Images                map[string][]ImageVersion
	// Repositories are the versions of each, by its URL.
	Repositories map[string][]RepositoryVersion
	Crowd        Crowd               // that comes in calm
	Meter        *wrap.Meter         // of the present life, if the world has a crowd
	IsKnown      func() bool         // asked after each event whether the rest of the run is known; nil for nobody
	IsOver       bool                // it is
	Told         uint32              // the last life that has said how its start ended
	Tries        int                 // how many starts have ended, or failed
	Slowed       int                 // calls of a start that were slow
	Measured     map[hal.Key]Measure // who was asked how full a volume is, by the rung at its top
}

// Measure is the last question to how full a volume is.
type Measure struct {
	At   hal.Instant
	Hung int // how many questions in a row have met a server that was silent
}

// counts is what the agent has done so far.
type counts struct {
	Effects  int // of any kind
	Mounting int // stages, publishes, mounts, and their contraries, but renewals
	Renewals int // publishes that their drivers want repeated
	Crashes  int
}

// SecretMark is what is in a scenario's Secret that says nothing else.
const SecretMark = "s3cr3t-do-not-show"

// Sleeps kills the agent, and keeps it away for d.
func (r *Run) Sleeps(d time.Duration) {
	r.W.Restarts(false)
	r.W.KillAgent()
	r.W.After(d, "the agent comes back", func() {
		r.W.Restarts(true)
		r.W.PowerOn() // a boot starts the agent as well: a node that went down under that one is down still
		r.W.StartAgent()
	})
}

// Fail notes a violation. The first one counts: what follows may be its consequence.
func (r *Run) Fail(property, site, object, story string) {
	if r.Violation == nil {
		r.Violation = &verdict.Violation{
			Property: property, Site: site, Object: object, Story: story, At: r.W.Now(), Record: r.W.Trace().Len(),
		}
	}
}

// Guard makes a panic of a check a violation, which can be replayed and shrunk: a hunt of hours tells of which schedule
// it was.
func (r *Run) Guard(tell func()) {
	defer func() {
		if p := recover(); p != nil {
			r.Fail("panic", "check", placeOfPanic(), fmt.Sprintf("volsim itself panics: %v", p))
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

// Until lets the world go on until t, a violation, or the end of what is not known. It reports whether it has come to
// t.
func (r *Run) Until(t hal.Instant) bool {
	r.goal = t
	for r.Violation == nil && !r.IsOver {
		next, ok := r.W.Next()
		if !ok || next > t {
			break
		}
		if !r.W.Step() || r.isStorm() {
			break
		}
		if r.Probe != nil {
			r.Probe(r)
		}
		r.IsOver = r.IsKnown != nil && r.IsKnown()
	}
	if r.IsOver {
		return false
	}
	if r.Probe != nil {
		r.Probe(r)
	}
	if r.Violation == nil {
		r.Judges("panic")
		if err := r.W.Run(t); err != nil {
			what := "engine"
			if f, ok := errors.AsType[*sim.Failure](err); ok {
				what = f.What
			}
			r.Fail("panic", "engine", what, err.Error())
		}
	}
	return r.Violation == nil
}

// logSite is where the writes of the log meet faults.
const logSite = "log.write"

// WritesLog is where the engine's log goes. A write that fails costs its lines.
func WritesLog(w *sim.World) func([]engine.Event) {
	return func([]engine.Event) { _ = w.WriteLog() }
}

// Log is where the engine's log goes in a scenario: nowhere, unless one of its faults is of that.
func Log(s *lang.Scenario, w *sim.World) func([]engine.Event) {
	if !slices.ContainsFunc(s.Faults, func(f lang.FaultRule) bool { return sim.SiteOf(f.Site) == logSite }) {
		return nil
	}
	return WritesLog(w)
}

// Traced reads the trace of the calls, as volnode writes it.
func (r *Run) Traced(t trace.Record) {
	r.Judges("S17")
	r.Reveals("trace", t.Name, t.String())
}

// Alive reports whether the agent lives and knows what it believes.
func (r *Run) Alive() bool { return r.Core != nil && r.W.AgentLives() }

// Missing returns the manifests of which the agent tells that they are missing in another directory, sorted.
func (r *Run) Missing() (all []string) {
	for where, t := range r.Troubles {
		if t.Accept {
			all = append(all, where)
		}
	}
	slices.Sort(all)
	return all
}

// PodOf returns the pod whose directory a path lies in, nil if none.
func (r *Run) PodOf(path string) *Pod {
	rest, ok := strings.CutPrefix(path, lang.RootDir+"/pods/")
	if block, isBlock := strings.CutPrefix(path,
		lang.RootDir+"/plugins/kubernetes.io/csi/volumeDevices/publish/"); isBlock {
		_, rest, ok = strings.Cut(block, "/")
	}
	if !ok {
		return nil
	}
	uid, _, _ := strings.Cut(rest, "/")
	return r.ByUID[core.PodUID(uid)]
}

// Below reports whether path lies strictly below dir.
func Below(path, dir string) bool {
	return len(path) > len(dir)+1 && path[len(dir)] == '/' && strings.HasPrefix(path, dir)
}

// IsOurs reports whether a path is one where only volumes are.
func IsOurs(path string) bool {
	return Below(path, lang.RootDir+"/pods") || Below(path, lang.RootDir+"/plugins/kubernetes.io")
}
