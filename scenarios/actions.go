package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what the statements of a timeline do.

// action is one kind of statement: its words, as a Language has them.
type action struct {
	words string
	do    func(t *scene, args []string) string // returns why it does not hold, or can't be done
}

// language is the words of all statements, and does is what they do, by their words.
var (
	language = lang.Language{
		Methods: append(slices.Sorted(maps.Keys(methods)), anyMethod), Breakages: slices.Sorted(maps.Keys(breakages)),
		Failures: slices.Sorted(maps.Keys(diskFailures)), Badnesses: badnesses, Standings: standings,
	}
	does = map[string]func(t *scene, args []string) string{}
)

// What statements do refers to what reads them.
func init() {
	for _, a := range actions() {
		language.Statements = append(language.Statements, a.words)
		does[a.words] = a.do
	}
}

// does carries a statement out. It returns why it does not hold, or can't be done.
func (t *story) does(s *lang.Step) string { return does[s.Means](&t.scene, s.Args) }

// actions are all of them.
func actions() []action {
	return append(slices.Concat(driverActions(), edits(), swapActions(), vandalActions(), backendActions(), hostActions()), []action{
		{"apply all", func(t *scene, _ []string) string { return t.applyAll() }},
		{"apply pod POD", func(t *scene, a []string) string { return t.apply("pod "+a[0], "") }},
		{"apply KIND OBJECT version VERSION", func(t *scene, a []string) string { return t.apply(a[0]+" "+a[1], a[2]) }},
		{"apply KIND OBJECT", func(t *scene, a []string) string { return t.apply(a[0]+" "+a[1], "") }},
		{"delete pod POD", func(t *scene, a []string) string { return t.remove(a[0], 0) }},
		{"delete pod POD containers end TIME later", func(t *scene, a []string) string { return t.remove(a[0], duration(a[1])) }},
		{"delete pod POD gracefully in TIME", func(t *scene, a []string) string { return t.terminate(a[0], duration(a[1])) }},
		{"delete KIND OBJECT", func(t *scene, a []string) string { return t.deleteObject(a[0] + " " + a[1]) }},
		{"kill agent", func(t *scene, _ []string) string { t.w.KillAgent(); return "" }},
		{"kill agent for TIME", func(t *scene, a []string) string { return t.kill(duration(a[0])) }},
		{"stall agent for TIME", func(t *scene, a []string) string { t.w.StallAgent(duration(a[0])); return "" }},
		{"forget journal", func(t *scene, _ []string) string { return t.forgetJournal() }},
		{"spoil journal", func(t *scene, _ []string) string { return t.spoilJournal() }},
		{"cut journal", func(t *scene, _ []string) string { t.r.wounds("", isCut, 500, 1); return "" }},
		{"overwrite journal", func(t *scene, _ []string) string { t.r.wounds("", isOverwritten, 500, 600); return "" }},
		{"overwrite log of deletions", func(t *scene, _ []string) string {
			t.r.wounds("deletions.log", isOverwritten, 900, 600)
			return ""
		}},
		{"overwrite ledger of manifests", func(t *scene, _ []string) string {
			t.r.wounds("manifests/.ledger.json", isOverwritten, 500, 99)
			return ""
		}},
		{"overwrite pack of manifests", func(t *scene, _ []string) string { return t.overwritePack() }},
		{"overwrite identity", func(t *scene, _ []string) string { t.r.wounds("identity", isOverwritten, 500, 99); return "" }},
		{"cut journal and make it as long again", func(t *scene, _ []string) string { t.r.wounds("", isRegrown, 500, 1); return "" }},
		{"rename host to NAME", func(t *scene, a []string) string { t.r.host = a[0]; return "" }},
		{"change machine", func(t *scene, _ []string) string { t.r.isCopied(); return "" }},
		{"start with --adopt", func(t *scene, _ []string) string { return t.startWith(func(c *engine.Config) { c.Adopt = true }) }},
		{"start with --accept-machine", func(t *scene, _ []string) string { return t.startWith(acceptMachine) }},
		{"remove PATH", func(t *scene, a []string) string { return t.removeTree(a[0]) }},
		{"reboot", func(t *scene, _ []string) string { t.w.Reboot(); return "" }},
		{"cut power", func(t *scene, _ []string) string { t.w.CutPower(); return "" }},
		{"fail pods for TIME", func(t *scene, a []string) string { t.w.BreakWatch("pods", duration(a[0])); return "" }},
		{"fail claims for TIME", func(t *scene, a []string) string { t.w.BreakWatch("claims", duration(a[0])); return "" }},
		{"fail volumes for TIME", func(t *scene, a []string) string { t.w.BreakWatch("persistent volumes", duration(a[0])); return "" }},
		{"fail drivers for TIME", func(t *scene, a []string) string { t.w.BreakWatch("drivers", duration(a[0])); return "" }},
		{"hold synced", func(t *scene, _ []string) string { t.w.HoldSynced("manifest"); return "" }},
		{"release synced", func(t *scene, _ []string) string { t.w.ReleaseSynced("manifest"); return "" }},
		{"unmount volume VOLUME of pod POD", func(t *scene, a []string) string { return t.unmount(a[0], a[1]) }},
		{"remount volume VOLUME of pod POD", func(t *scene, a []string) string { return t.remount(a[0], a[1]) }},
		{"mount over volume VOLUME of pod POD", func(t *scene, a []string) string { return t.mountOver(a[0], a[1]) }},
		{"mount over the stage of VOLUME of driver DRIVER", func(t *scene, a []string) string { return t.mountOverStage(a[0], a[1]) }},
		{"unmount the stage of VOLUME of driver DRIVER", func(t *scene, a []string) string { return t.unmountStage(a[0], a[1]) }},
		{"unmount the foreign mounts", func(t *scene, _ []string) string { t.w.SweepForeign(lang.RootDir); return "" }},
		{"make directory PATH", func(t *scene, a []string) string { t.w.MakeDir(a[0]); return "" }},
		{"make file PATH", func(t *scene, a []string) string { return t.makeFile(a[0]) }},
		{"write FILE in volume VOLUME of pod POD", func(t *scene, a []string) string { return t.write(a[0], a[1], a[2]) }},
		{"bind FILE in volume VOLUME of pod POD", func(t *scene, a []string) string { return t.bind(a[0], a[1], a[2]) }},
		{"unbind FILE in volume VOLUME of pod POD", func(t *scene, a []string) string { return t.unbind(a[0], a[1], a[2]) }},
		{"expect pod POD ready", func(t *scene, a []string) string { return t.expectState(a[0], engine.Ready) }},
		{"expect pod POD gone", func(t *scene, a []string) string { return t.expectGone(a[0]) }},
		{"expect pod POD not ready", func(t *scene, a []string) string { return t.expectNotReady(a[0]) }},
		{"expect pod POD blocked TEXT", func(t *scene, a []string) string { return t.expectWhy(a[0], a[1], engine.Blocked, engine.Stuck) }},
		{"expect pod POD waiting TEXT", func(t *scene, a []string) string { return t.expectWhy(a[0], a[1], engine.Waiting) }},
		{"expect pod POD uncertain TEXT", func(t *scene, a []string) string { return t.expectWhy(a[0], a[1], engine.Uncertain) }},
		{"expect N calls METHOD", func(t *scene, a []string) string { return t.expectCalls(a[0], a[1], "", 0) }},
		{"expect N calls METHOD of HANDLE", func(t *scene, a []string) string { return t.expectCalls(a[0], a[1], a[2], 0) }},
		{"expect N calls METHOD since start", func(t *scene, a []string) string { return t.expectCalls(a[0], a[1], "", t.before) }},
		{"expect at most N calls of the host", func(t *scene, a []string) string { return t.expectAtMost(a[0]) }},
		{"expect directory PATH", func(t *scene, a []string) string { return t.expectType(a[0], hal.TypeDirectory) }},
		{"expect file PATH", func(t *scene, a []string) string { return t.expectType(a[0], hal.TypeFile) }},
		{"expect nothing at PATH", func(t *scene, a []string) string { return t.expectNothingAt(a[0]) }},
		{"expect file FILE in volume VOLUME of pod POD", func(t *scene, a []string) string { return t.expectFile(a[0], a[1], a[2]) }},
		{"expect volume VOLUME of pod POD STANDING", func(t *scene, a []string) string { return t.expectVolume(a[0], a[1], a[2]) }},
		{"expect log TEXT", func(t *scene, a []string) string { return t.expectLog(a[0]) }},
		{"expect trouble TEXT", func(t *scene, a []string) string { return t.expectTrouble(a[0]) }},
		{"expect nothing left", func(t *scene, _ []string) string { return t.expectNothing() }},
	}...)
}

func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // match has looked at it
	return d
}

func (t *scene) applyAll() string {
	for _, o := range t.s.Objects {
		if pod, ok := o.Value.(*corev1.Pod); ok && o.Version == "" {
			t.r.apply(pod, nil)
		}
	}
	return ""
}

func (t *scene) apply(name, version string) string {
	switch o := t.s.Object(name, version).(type) {
	case *corev1.Pod:
		t.r.apply(o, nil)
		if version != "" {
			t.r.isEdited = true
		}
	case *corev1.Secret:
	default:
		t.r.isEdited = true
		t.r.give(o)
	}
	return ""
}

// changeDriver has a driver stage or not: what its volumes' ladders are changes as if their objects were edited.
func (t *scene) changeDriver(name string, staging bool, overlap string) string {
	t.w.ChangeDriver(name, staging, duration(overlap))
	t.r.isEdited = true
	return ""
}

func (t *scene) remove(name string, grace time.Duration) string {
	_, p := t.pod(name)
	if p == nil {
		return "the pod was never applied"
	}
	if grace > 0 && !t.s.Runtime {
		return "only on a host with a runtime containers outlive their pod; write: host runtime"
	}
	t.r.remove(p, grace)
	return ""
}

func (t *scene) terminate(name string, grace time.Duration) string {
	_, p := t.pod(name)
	switch {
	case p == nil:
		return "the pod was never applied"
	case !t.s.Runtime || t.s.Files:
		return "only a host with a runtime, and with objects from a stream, deletes gracefully; write: host runtime"
	}
	t.r.terminates(p, grace)
	return ""
}

func (t *scene) kill(d time.Duration) string {
	t.r.sleeps(d)
	return ""
}

// spoilJournal turns a byte in the middle of what the journal holds.
func (t *scene) spoilJournal() string {
	if t.w.AgentLives() {
		return "the agent lives; kill it for a while first"
	}
	if !t.r.spoilsJournal() {
		return "the journal is empty"
	}
	return ""
}

// forgetJournal removes the files of the journal, as an admin or a damaged disk would. The agent is dead meanwhile.
func (t *scene) forgetJournal() string {
	if t.w.AgentLives() {
		return "the agent lives; kill it for a while first"
	}
	t.r.forgets()
	dir := lang.RootDir + "/volnode/journal"
	for _, name := range t.w.Entries(dir) {
		if errno := t.w.RemoveFile(dir + "/" + name); errno != 0 {
			return errno.Error()
		}
	}
	return ""
}

// startWith starts the agent again with a word of a person, for that life alone. If that life ends too early, the person says it again.
func (t *scene) startWith(word func(*engine.Config)) string {
	t.r.word, t.r.root.isTold = word, false
	t.w.Restarts(false)
	t.w.KillAgent()
	t.w.Restarts(true)
	t.w.StartAgent()
	return ""
}

// removeTree removes a path and all below it, as somebody on the node would.
func (t *scene) removeTree(at string) string {
	t.r.removes(at)
	t.r.typedAt = t.w.Now() // a hostPath may lead there
	if errno := t.r.removeTree(at); errno != 0 {
		return at + ": " + errno.Error()
	}
	t.w.SyncDirectory(path.Dir(at)) // what a person has put in order stays so
	return ""
}

// breakages are what a driver can be made to do, by the words for it.
var breakages = map[string]sim.Breakage{
	"works": sim.Works, "hangs": sim.Hangs, "refuses": sim.Refuses, "fails": sim.Fails, "hides": sim.Hides, "denies": sim.Denies,
	"busy": sim.Busy, "partly": sim.Partly, "wholly": sim.Wholly, "spoils": sim.Spoils, "loses": sim.Loses,
}

func (t *scene) breaks(name string, b sim.Breakage) string {
	if b == sim.Hides && !t.r.looks(name) {
		return "a driver with the trait unchecked can't hide its mounts"
	}
	t.r.breaks(name, b)
	delete(t.r.registrars.serving, name)
	return ""
}

// looks reports whether a driver looks at what is staged before it publishes.
func (r *run) looks(name string) bool {
	return slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool { return d.Name == name && d.Is.Checks })
}

func (t *scene) startDriver(name string) string {
	for _, d := range t.w.Drivers() {
		if d.Name == name {
			t.w.StartDriver(name)
			return ""
		}
	}
	t.addDriver(*t.s.Driver(name))
	return ""
}

// spoil makes a pod's manifest one that nobody understands. It is not cut, and names no other pod.
func (t *scene) spoil(name string) string {
	object, _ := t.pod(name)
	if !t.s.Files {
		return "only manifests can be spoilt; write: objects from files"
	}
	t.w.WriteFile(t.r.fileOf(object), []byte("apiVersion: v1\nkind: Pod\nspeck: {}\nmetadata: {name: "+object.Name+"}\n"))
	return ""
}

func (t *scene) expectState(name string, want engine.Condition) string {
	object, p := t.pod(name)
	if t.isVaried && want == engine.Ready && (p == nil || !p.isRunning) {
		return "no container runs" // nobody is told why, and the engine is not asked after each event
	}
	got, why := engine.Condition("unknown"), "the engine does not know the pod"
	for _, s := range t.engineStatus().Pods {
		if string(s.UID) == string(object.UID) {
			got, why = s.State, stateOf(s)
		}
	}
	if got != want {
		return why
	}
	if p != nil && !p.isRunning {
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

func (t *scene) expectNotReady(name string) string {
	if t.expectState(name, engine.Ready) == "" {
		return "the pod is ready"
	}
	return ""
}

// expectGone: neither the engine nor the node has anything of the pod. If it was made again under another uid, that is expected of those before.
func (t *scene) expectGone(name string) string {
	if !t.r.alive() {
		return "the agent has not started"
	}
	_, present := t.pod(name)
	status := t.engineStatus()
	isAgain := slices.ContainsFunc(t.r.pods, func(p *pod) bool { return p.name == name && p != present })
	for _, p := range t.r.pods {
		if p.name != name || isAgain && p == present && p.isWanted {
			continue
		}
		for _, s := range status.Pods {
			if s.UID == p.uid && s.State != engine.Gone {
				return stateOf(s)
			}
		}
		if _, there := t.w.Exists(lang.RootDir + "/pods/" + string(p.uid)); there {
			return "its directory is there"
		}
	}
	return ""
}

func (t *scene) expectWhy(name, text string, states ...engine.Condition) string {
	object, _ := t.pod(name)
	why := "the engine does not know the pod"
	for _, s := range t.engineStatus().Pods {
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
var methods = map[string]string{"csi.stage": stage, "csi.unstage": unstage, "csi.publish": publish, "csi.unpublish": unpublish}

// anyMethod stands for all of them, and for all other calls.
const anyMethod = "any"

func (t *scene) expectCalls(count, site, volume string, from int) string {
	want, _ := strconv.Atoi(count) // match has looked at it
	got := 0
	for _, e := range t.calls[from:] {
		if (e.Method == methods[site] || site == anyMethod) && (volume == "" || e.Volume == volume) {
			got++
		}
	}
	if got != want {
		return fmt.Sprintf("there were %d", got)
	}
	return ""
}

func (t *scene) expectLog(text string) string {
	for _, e := range t.log {
		if strings.Contains(LogLine(e), text) {
			return ""
		}
	}
	return "no line of the log has it"
}

func (t *scene) expectTrouble(text string) string {
	for _, s := range t.engineStatus().Sources {
		if strings.Contains(s.Why, text) {
			return ""
		}
	}
	return "the status tells of no such trouble"
}

func (t *scene) expectNothing() string {
	if !t.r.alive() {
		return "the agent has not started"
	}
	if what := t.r.leftover(); what != "" {
		return what + " is left"
	}
	return ""
}
