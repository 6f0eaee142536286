package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/calm"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what the statements of a timeline do.

// language is the words of all statements, and does is what they do, by their words.
var (
	language = lang.Language{
		Methods: append(slices.Sorted(maps.Keys(methods)), anyMethod), Breakages: slices.Sorted(maps.Keys(breakages)),
		Failures: slices.Sorted(maps.Keys(diskFailures)), Badnesses: workload.Badnesses, Standings: standings,
		Contents: slices.Sorted(maps.Keys(diskContents)), Flaws: slices.Sorted(maps.Keys(flaws)),
		Reasons: reasons,
		Manners: slices.Sorted(maps.Keys(sim.FlexManners)),
		Healths: workload.HealthNames,
	}
	does = map[string]func(t *workload.Scene, args []string) string{}
)

// What statements do refers to what reads them.
func init() {
	for _, m := range world.Rooms {
		language.Volumes = append(language.Volumes, m.Words...)
	}
	for _, a := range actions() {
		language.Statements = append(language.Statements, a.Words)
		does[a.Words] = a.Do
	}
}

// does carries a statement out. It returns why it does not hold, or can't be done.
func (t *scenario) does(s *lang.Step) string { return does[s.Means](&t.Scene, s.Args) }

// scene is what a statement acts on.
type scene = workload.Scene

// on is a statement, and what it does.
func on(words string, do func(t *scene, args []string) string) workload.Action {
	return workload.Action{Words: words, Do: do}
}

// actions are all of them.
func actions() []workload.Action {
	return slices.Concat(driverActions(), workload.Edits(), workload.SwapActions(), workload.VandalActions(),
		backendActions(), diskActions(), flexActions(), repositoryActions(), workload.HostActions(), []workload.Action{
			on("apply all", func(t *scene, _ []string) string { return applyAll(t) }),
			on("apply pod POD", func(t *scene, a []string) string { return apply(t, "pod "+a[0], "") }),
			on("apply KIND OBJECT version VERSION",
				func(t *scene, a []string) string { return apply(t, a[0]+" "+a[1], a[2]) }),
			on("apply KIND OBJECT", func(t *scene, a []string) string { return apply(t, a[0]+" "+a[1], "") }),
			on("delete pod POD", func(t *scene, a []string) string { return remove(t, a[0], 0) }),
			on("delete pod POD containers end TIME later", func(t *scene, a []string) string {
				return remove(t, a[0], workload.Duration(a[1]))
			}),
			on("delete pod POD gracefully in TIME", func(t *scene, a []string) string {
				return terminate(t, a[0], workload.Duration(a[1]))
			}),
			on("delete KIND OBJECT", func(t *scene, a []string) string { return t.DeleteObject(a[0] + " " + a[1]) }),
			on("kill agent", func(t *scene, _ []string) string { t.W.KillAgent(); return "" }),
			on("kill agent for TIME", func(t *scene, a []string) string { return kill(t, workload.Duration(a[0])) }),
			on("stall agent for TIME",
				func(t *scene, a []string) string { t.W.StallAgent(workload.Duration(a[0])); return "" }),
			on("forget journal", func(t *scene, _ []string) string { return forgetJournal(t) }),
			on("spoil journal", func(t *scene, _ []string) string { return spoilJournal(t) }),
			on("cut journal",
				func(t *scene, _ []string) string { judges.Wounds(t.R, "", judges.IsCut, 500, 1); return "" }),
			on("overwrite journal", func(t *scene, _ []string) string {
				judges.Wounds(t.R, "", judges.IsOverwritten, 500, 600)
				return ""
			}),
			on("overwrite log of deletions", func(t *scene, _ []string) string {
				judges.Wounds(t.R, "deletions.log", judges.IsOverwritten, 900, 600)
				return ""
			}),
			on("overwrite ledger of manifests", func(t *scene, _ []string) string {
				judges.Wounds(t.R, "manifests/.ledger.json", judges.IsOverwritten, 500, 99)
				return ""
			}),
			on("overwrite pack of manifests", func(t *scene, _ []string) string { return t.OverwritePack() }),
			on("overwrite identity", func(t *scene, _ []string) string {
				judges.Wounds(t.R, "identity", judges.IsOverwritten, 500, 99)
				return ""
			}),
			on("cut journal and make it as long again", func(t *scene, _ []string) string {
				judges.Wounds(t.R, "", judges.IsRegrown, 500, 1)
				return ""
			}),
			on("rename host to NAME", func(t *scene, a []string) string { t.R.Host = a[0]; return "" }),
			on("change machine", func(t *scene, _ []string) string { judges.IsCopied(t.R); return "" }),
			on("start with --adopt", func(t *scene, _ []string) string {
				return startWith(t, func(c *engine.Config) { c.Adopt = true })
			}),
			on("start with --accept-machine",
				func(t *scene, _ []string) string { return startWith(t, judges.AcceptMachine) }),
			on("reboot", func(t *scene, _ []string) string { t.W.Reboot(); return "" }),
			on("cut power", func(t *scene, _ []string) string { t.W.CutPower(); return "" }),
			on("fail pods for TIME",
				func(t *scene, a []string) string { t.W.Cluster.BreakWatch("pods", workload.Duration(a[0])); return "" }),
			on("fail claims for TIME", func(t *scene, a []string) string {
				t.W.Cluster.BreakWatch("claims", workload.Duration(a[0]))
				return ""
			}),
			on("fail volumes for TIME", func(t *scene, a []string) string {
				t.W.Cluster.BreakWatch("persistent volumes", workload.Duration(a[0]))
				return ""
			}),
			on("fail drivers for TIME", func(t *scene, a []string) string {
				t.W.Cluster.BreakWatch("drivers", workload.Duration(a[0]))
				return ""
			}),
			on("hold synced", func(t *scene, _ []string) string { t.W.Cluster.HoldSynced("manifest"); return "" }),
			on("release synced", func(t *scene, _ []string) string { t.W.Cluster.ReleaseSynced("manifest"); return "" }),
		}, quotaActions(), healthActions(), meddling(), expectations())
}

// meddling is the statements of what somebody does to volumes and directories.
func meddling() []workload.Action {
	return []workload.Action{
		on("remove PATH", func(t *scene, a []string) string { return t.RemoveTree(a[0]) }),
		on("unmount volume VOLUME of pod POD", func(t *scene, a []string) string { return unmount(t, a[0], a[1]) }),
		on("remount volume VOLUME of pod POD", func(t *scene, a []string) string { return remount(t, a[0], a[1]) }),
		on("mount over volume VOLUME of pod POD",
			func(t *scene, a []string) string { return mountOver(t, a[0], a[1]) }),
		on("mount export SHARE over volume VOLUME of pod POD", func(t *scene, a []string) string {
			return mountExportOver(t, a[0], a[1], a[2])
		}),
		on("mount over the stage of VOLUME of driver DRIVER", func(t *scene, a []string) string {
			return mountOverStage(t, a[0], a[1])
		}),
		on("unmount the stage of VOLUME of driver DRIVER",
			func(t *scene, a []string) string { return unmountStage(t, a[0], a[1]) }),
		on("unmount the foreign mounts",
			func(t *scene, _ []string) string { t.W.SweepForeign(lang.RootDir); return "" }),
		on("make directory PATH", func(t *scene, a []string) string { t.W.MakeDir(a[0]); return "" }),
		on("make file PATH", func(t *scene, a []string) string { return t.MakeFile(a[0]) }),
		on("write FILE in volume VOLUME of pod POD",
			func(t *scene, a []string) string { return write(t, a[0], a[1], a[2]) }),
		on("give volume VOLUME of pod POD to OWNER with mode MODE",
			func(t *scene, a []string) string { return give(t, a[0], a[1], a[2], a[3]) }),
		on("bind FILE in volume VOLUME of pod POD",
			func(t *scene, a []string) string { return bind(t, a[0], a[1], a[2]) }),
		on("unbind FILE in volume VOLUME of pod POD",
			func(t *scene, a []string) string { return unbind(t, a[0], a[1], a[2]) }),
	}
}

// expectations are the statements that expect something.
func expectations() []workload.Action {
	return []workload.Action{
		on("expect pod POD ready", func(t *scene, a []string) string { return expectState(t, a[0], engine.Ready) }),
		on("expect pod POD gone", func(t *scene, a []string) string { return expectGone(t, a[0]) }),
		on("expect pod POD not ready", func(t *scene, a []string) string { return expectNotReady(t, a[0]) }),
		on("expect pod POD blocked TEXT", func(t *scene, a []string) string {
			return expectWhy(t, a[0], a[1], engine.Blocked, engine.Stuck)
		}),
		on("expect pod POD in groups TEXT", func(t *scene, a []string) string { return expectGroups(t, a[0], a[1]) }),
		on("expect pod POD waiting TEXT",
			func(t *scene, a []string) string { return expectWhy(t, a[0], a[1], engine.Waiting) }),
		on("expect pod POD uncertain TEXT",
			func(t *scene, a []string) string { return expectWhy(t, a[0], a[1], engine.Uncertain) }),
		on("expect N calls METHOD", func(t *scene, a []string) string { return expectCalls(t, a[0], a[1], "", 0) }),
		on("expect N calls METHOD of HANDLE",
			func(t *scene, a []string) string { return expectCalls(t, a[0], a[1], a[2], 0) }),
		on("expect N calls METHOD since start",
			func(t *scene, a []string) string { return expectCalls(t, a[0], a[1], "", t.Before) }),
		on("expect at most N calls of the host", func(t *scene, a []string) string { return t.ExpectAtMost(a[0]) }),
		on("expect directory PATH",
			func(t *scene, a []string) string { return expectType(t, a[0], hal.TypeDirectory) }),
		on("expect file PATH", func(t *scene, a []string) string { return expectType(t, a[0], hal.TypeFile) }),
		on("expect nothing at PATH", func(t *scene, a []string) string { return t.ExpectNothingAt(a[0]) }),
		on("expect file FILE in volume VOLUME of pod POD",
			func(t *scene, a []string) string { return expectFile(t, a[0], a[1], a[2]) }),
		on("expect file FILE in volume VOLUME of pod POD is TEXT",
			func(t *scene, a []string) string { return expectText(t, a[0], a[1], a[2], a[3]) }),
		on("expect N certificates in file FILE in volume VOLUME of pod POD",
			func(t *scene, a []string) string { return expectCertificates(t, a[0], a[1], a[2], a[3]) }),
		on("expect FILE in volume VOLUME of pod POD owned by OWNER with mode MODE",
			func(t *scene, a []string) string { return expectOwner(t, a[0], a[1], a[2], a[3], a[4]) }),
		on("expect no FILE in volume VOLUME of pod POD",
			func(t *scene, a []string) string { return expectNoFile(t, a[0], a[1], a[2]) }),
		on("expect volume VOLUME of pod POD STANDING",
			func(t *scene, a []string) string { return expectVolume(t, a[0], a[1], a[2]) }),
		on("expect event REASON of volume VOLUME of pod POD",
			func(t *scene, a []string) string { return expectEvent(t, a[0], a[1], a[2], "") }),
		on("expect event REASON of volume VOLUME of pod POD with TEXT",
			func(t *scene, a []string) string { return expectEvent(t, a[0], a[1], a[2], a[3]) }),
		on("expect no event of volume VOLUME of pod POD",
			func(t *scene, a []string) string { return expectNoEvent(t, a[0], a[1]) }),
		on("expect log TEXT", func(t *scene, a []string) string { return expectLog(t, a[0]) }),
		on("expect trouble TEXT", func(t *scene, a []string) string { return expectTrouble(t, a[0]) }),
		on("expect nothing left", func(t *scene, _ []string) string { return expectNothing(t) }),
	}
}

func applyAll(t *workload.Scene) string {
	for _, o := range t.S.Objects {
		if pod, ok := o.Value.(*corev1.Pod); ok && o.Version == "" {
			dealings.Apply(t.R, pod, nil)
		}
	}
	return ""
}

func apply(t *workload.Scene, name, version string) string {
	switch o := t.S.Object(name, version).(type) {
	case *corev1.Pod:
		dealings.Apply(t.R, o, nil)
		if version != "" {
			t.R.IsEdited = true
		}
	case *corev1.Secret, *corev1.ConfigMap, *certificatesv1beta1.ClusterTrustBundle:
		is, data, _ := world.ContentOf(o)
		t.R.Holds(is.Kind, is.Namespace, is.Name, data)
	default:
		t.R.IsEdited = true
		t.R.Give(o)
	}
	return ""
}

// changeDriver has a driver stage or not: what its volumes' ladders are changes as if their objects were edited.
func changeDriver(t *workload.Scene, name, overlap string, change func(is *sim.Personality)) string {
	t.W.ChangeDriver(name, workload.Duration(overlap), change)
	t.R.IsEdited = true
	return ""
}

func remove(t *workload.Scene, name string, grace time.Duration) string {
	_, p := t.Pod(name)
	if p == nil {
		return "the pod was never applied"
	}
	if grace > 0 && !t.S.Runtime {
		return "only on a host with a runtime containers outlive their pod; write: host runtime"
	}
	judges.Remove(t.R, p, grace)
	return ""
}

func terminate(t *workload.Scene, name string, grace time.Duration) string {
	_, p := t.Pod(name)
	switch {
	case p == nil:
		return "the pod was never applied"
	case !t.S.Runtime || t.S.Files:
		return "only a host with a runtime, and with objects from a stream, deletes gracefully; write: host runtime"
	}
	judges.Terminates(t.R, p, grace)
	return ""
}

func kill(t *workload.Scene, d time.Duration) string {
	t.R.Sleeps(d)
	return ""
}

// spoilJournal turns a byte in the middle of what the journal holds.
func spoilJournal(t *workload.Scene) string {
	if t.W.AgentLives() {
		return "the agent lives; kill it for a while first"
	}
	if !judges.SpoilsJournal(t.R) {
		return "the journal is empty"
	}
	return ""
}

// forgetJournal removes the files of the journal, as an admin or a damaged disk would. The agent is dead meanwhile.
func forgetJournal(t *workload.Scene) string {
	if t.W.AgentLives() {
		return "the agent lives; kill it for a while first"
	}
	judges.Forgets(t.R)
	dir := lang.RootDir + "/volnode/journal"
	for _, name := range t.W.Entries(dir) {
		if errno := t.W.RemoveFile(dir + "/" + name); errno != 0 {
			return errno.Error()
		}
	}
	return ""
}

// startWith starts the agent again with a word of a person, for that life alone. If that life ends too early, the
// person says it again.
func startWith(t *workload.Scene, word func(*engine.Config)) string {
	t.R.Word, t.R.Root.IsTold = word, false
	t.W.Restarts(false)
	t.W.KillAgent()
	t.W.Restarts(true)
	t.W.StartAgent()
	return ""
}

// breakages are what a driver can be made to do, by the words for it.
var breakages = map[string]sim.Breakage{
	"works": sim.Works, "hangs": sim.Hangs, "refuses": sim.Refuses, "fails": sim.Fails, "hides": sim.Hides,
	"denies": sim.Denies,
	"busy":   sim.Busy, "partly": sim.Partly, "wholly": sim.Wholly, "spoils": sim.Spoils, "loses": sim.Loses,
}

func breaks(t *workload.Scene, name string, b sim.Breakage) string {
	if b == sim.Hides && !looks(t.R, name) {
		return "a driver with the trait unchecked can't hide its mounts"
	}
	dealings.Breaks(t.R, name, b)
	delete(t.R.Registrars.Serving, name)
	return ""
}

// looks reports whether a driver looks at what is staged before it publishes.
func looks(r *world.Run, name string) bool {
	return slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool { return d.Name == name && d.Is.Checks })
}

func startDriver(t *workload.Scene, name string) string {
	for _, d := range t.W.Drivers() {
		if d.Name == name {
			t.W.StartDriver(name)
			return ""
		}
	}
	addDriver(t, *t.S.Driver(name))
	return ""
}

// expectGroups looks which groups the containers of a pod need beside its own.
func expectGroups(t *workload.Scene, name, want string) string {
	object, _ := t.Pod(name)
	for _, s := range t.EngineStatus().Pods {
		if string(s.UID) != string(object.UID) {
			continue
		}
		if is := strings.Trim(fmt.Sprint(s.Groups), "[]"); is != want {
			return fmt.Sprintf("its containers need the groups %q", is)
		}
		return ""
	}
	return "the engine does not know the pod"
}

func expectState(t *workload.Scene, name string, want engine.Condition) string {
	object, p := t.Pod(name)
	if t.IsVaried && want == engine.Ready && (p == nil || !p.IsRunning) {
		return "no container runs" // nobody is told why, and the engine is not asked after each event
	}
	got, why := engine.Condition("unknown"), "the engine does not know the pod"
	for _, s := range t.EngineStatus().Pods {
		if string(s.UID) == string(object.UID) {
			got, why = s.State, stateOf(s)
		}
	}
	if got != want {
		return why
	}
	if p != nil && !p.IsRunning {
		return "who waits for it is not woken"
	}
	return ""
}

// stateOf says how a pod is, and why each volume that is not ready is not.
func stateOf(s engine.PodStatus) string {
	text := fmt.Sprintf("the pod is %s", s.State)
	for _, v := range s.Volumes {
		if v.State != engine.Ready && v.State != engine.Gone {
			text += fmt.Sprintf("; volume %s is %s: %s", v.Name, v.State, cmp.Or(v.Why, "no reason is told"))
		}
	}
	return text
}

func expectNotReady(t *workload.Scene, name string) string {
	if expectState(t, name, engine.Ready) == "" {
		return "the pod is ready"
	}
	return ""
}

// expectGone: neither the engine nor the node has anything of the pod. If it was made again under another uid, that is
// expected of those before.
func expectGone(t *workload.Scene, name string) string {
	if !t.R.Alive() {
		return "the agent has not started"
	}
	_, present := t.Pod(name)
	status := t.EngineStatus()
	isAgain := slices.ContainsFunc(t.R.Pods, func(p *world.Pod) bool { return p.Name == name && p != present })
	for _, p := range t.R.Pods {
		if p.Name != name || isAgain && p == present && p.IsWanted {
			continue
		}
		for _, s := range status.Pods {
			if s.UID == p.Uid && s.State != engine.Gone {
				return stateOf(s)
			}
		}
		if _, there := t.W.Exists(lang.RootDir + "/pods/" + string(p.Uid)); there {
			return "its directory is there"
		}
	}
	return ""
}

func expectWhy(t *workload.Scene, name, text string, states ...engine.Condition) string {
	object, _ := t.Pod(name)
	why := "the engine does not know the pod"
	for _, s := range t.EngineStatus().Pods {
		if string(s.UID) != string(object.UID) {
			continue
		}
		why = fmt.Sprintf("the pod is %s", s.State)
		for _, v := range s.Volumes {
			if slices.Contains(states, v.State) && strings.Contains(v.Why, text) {
				return ""
			}
			why += fmt.Sprintf("; volume %s is %s: %s", v.Name, v.State, v.Why)
		}
	}
	return why
}

// methods are the calls that a scenario counts, by the names that a trace has for them.
var methods = map[string]string{
	"csi.stage": world.Stage, "csi.unstage": world.Unstage, "csi.publish": world.Publish,
	"csi.unpublish": world.Unpublish,
}

// anyMethod stands for all of them, and for all other calls.
const anyMethod = "any"

func expectCalls(t *workload.Scene, count, site, volume string, from int) string {
	want, _ := strconv.Atoi(count) // match has looked at it
	got := 0
	for _, e := range t.Calls[from:] {
		if (e.Method == methods[site] || site == anyMethod) && (volume == "" || e.Volume == volume) {
			got++
		}
	}
	if got != want {
		return fmt.Sprintf("there were %d", got)
	}
	return ""
}

func expectLog(t *workload.Scene, text string) string {
	for _, l := range t.Log {
		if strings.Contains(LogLine(l), text) {
			return ""
		}
	}
	return "no line of the log has it"
}

func expectTrouble(t *workload.Scene, text string) string {
	for _, s := range t.EngineStatus().Sources {
		if strings.Contains(s.Why, text) {
			return ""
		}
	}
	return "the status tells of no such trouble"
}

func expectNothing(t *workload.Scene) string {
	if !t.R.Alive() {
		return "the agent has not started"
	}
	if what := calm.Leftover(t.R); what != "" {
		return what + " is left"
	}
	return ""
}
