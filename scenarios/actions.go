package scenarios

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is what the statements of a timeline do.

// action is one kind of statement: its words, in which NAME, TIME and N stand for any one word.
type action struct {
	words string
	do    func(t *story, args []string) string // returns why it does not hold, or can't be done
}

// actions are all of them.
func actions() []action {
	return []action{
		{"apply all", func(t *story, _ []string) string { return t.applyAll() }},
		{"apply pod NAME", func(t *story, a []string) string { return t.apply("pod "+a[0], "") }},
		{"apply NAME NAME version NAME", func(t *story, a []string) string { return t.apply(a[0]+" "+a[1], a[2]) }},
		{"apply NAME NAME", func(t *story, a []string) string { return t.apply(a[0]+" "+a[1], "") }},
		{"delete pod NAME", func(t *story, a []string) string { return t.remove(a[0], 0) }},
		{"delete pod NAME containers end TIME later", func(t *story, a []string) string { return t.remove(a[0], duration(a[1])) }},
		{"delete NAME NAME", func(t *story, a []string) string { return t.deleteObject(a[0] + " " + a[1]) }},
		{"kill agent", func(t *story, _ []string) string { t.w.KillAgent(); return "" }},
		{"kill agent for TIME", func(t *story, a []string) string { return t.kill(duration(a[0])) }},
		{"forget journal", func(t *story, _ []string) string { return t.forgetJournal() }},
		{"spoil journal", func(t *story, _ []string) string { return t.spoilJournal() }},
		{"reboot", func(t *story, _ []string) string { t.w.Reboot(); return "" }},
		{"cut power", func(t *story, _ []string) string { t.w.CutPower(); return "" }},
		{"stop driver NAME", func(t *story, a []string) string { t.w.StopDriver(a[0]); return "" }},
		{"start driver NAME", func(t *story, a []string) string { return t.startDriver(a[0]) }},
		{"restart driver NAME", func(t *story, a []string) string { t.w.RestartDriver(a[0]); return "" }},
		{"replace driver NAME", func(t *story, a []string) string { t.w.ReplaceDriver(a[0]); return "" }},
		{"upgrade driver NAME for TIME", func(t *story, a []string) string { t.w.UpgradeDriver(a[0], duration(a[1])); return "" }},
		{"lose socket of driver NAME", func(t *story, a []string) string { t.w.LoseSocket(a[0]); return "" }},
		{"make socket of driver NAME", func(t *story, a []string) string { t.w.FindSocket(a[0]); return "" }},
		{"silence server of NAME of driver NAME for TIME", func(t *story, a []string) string { return t.silence(a[1], a[0], duration(a[2])) }},
		{"export NAME of driver NAME anew", func(t *story, a []string) string { return t.exportAnew(a[1], a[0]) }},
		{"mount share NAME", func(t *story, a []string) string { t.w.MountShare(a[0]); return "" }},
		{"silence share NAME for TIME", func(t *story, a []string) string { return t.silenceShare(a[0], duration(a[1])) }},
		{"hand over NAME of driver NAME for TIME", func(t *story, a []string) string { t.r.handsOver(a[1], a[0], duration(a[2])); return "" }},
		{"silence cluster for TIME", func(t *story, a []string) string { t.w.BreakWatch("", duration(a[0])); return "" }},
		{"fail pods for TIME", func(t *story, a []string) string { t.w.BreakWatch("pods", duration(a[0])); return "" }},
		{"fail claims for TIME", func(t *story, a []string) string { t.w.BreakWatch("claims", duration(a[0])); return "" }},
		{"fail volumes for TIME", func(t *story, a []string) string { t.w.BreakWatch("persistent volumes", duration(a[0])); return "" }},
		{"fail drivers for TIME", func(t *story, a []string) string { t.w.BreakWatch("drivers", duration(a[0])); return "" }},
		{"break driver NAME NAME", func(t *story, a []string) string { return t.breaks(a[0], a[1]) }},
		{"hold synced", func(t *story, _ []string) string { t.w.HoldSynced("manifest"); return "" }},
		{"release synced", func(t *story, _ []string) string { t.w.ReleaseSynced("manifest"); return "" }},
		{"spoil pod NAME", func(t *story, a []string) string { return t.spoil(a[0]) }},
		{"unmount volume NAME of pod NAME", func(t *story, a []string) string { return t.unmount(a[0], a[1]) }},
		{"mount over volume NAME of pod NAME", func(t *story, a []string) string { return t.mountOver(a[0], a[1]) }},
		{"unmount the foreign mounts", func(t *story, _ []string) string { t.w.SweepForeign(rootDir); return "" }},
		{"make directory NAME", func(t *story, a []string) string { t.w.MakeDir(a[0]); return "" }},
		{"make file NAME", func(t *story, a []string) string { t.w.WriteFile(a[0], nil); return "" }},
		{"write NAME in volume NAME of pod NAME", func(t *story, a []string) string { return t.write(a[0], a[1], a[2]) }},
		{"bind NAME in volume NAME of pod NAME", func(t *story, a []string) string { return t.bind(a[0], a[1], a[2]) }},
		{"unbind NAME in volume NAME of pod NAME", func(t *story, a []string) string { return t.unbind(a[0], a[1], a[2]) }},
		{"expect pod NAME ready", func(t *story, a []string) string { return t.expectState(a[0], engine.Ready) }},
		{"expect pod NAME gone", func(t *story, a []string) string { return t.expectGone(a[0]) }},
		{"expect pod NAME not ready", func(t *story, a []string) string { return t.expectNotReady(a[0]) }},
		{"expect pod NAME blocked NAME", func(t *story, a []string) string { return t.expectBlocked(a[0], a[1]) }},
		{"expect N calls NAME", func(t *story, a []string) string { return t.expectCalls(a[0], a[1], "", 0) }},
		{"expect N calls NAME of NAME", func(t *story, a []string) string { return t.expectCalls(a[0], a[1], a[2], 0) }},
		{"expect N calls NAME since start", func(t *story, a []string) string { return t.expectCalls(a[0], a[1], "", t.before) }},
		{"expect NAME of driver NAME away", func(t *story, a []string) string { return t.expectAway(a[0], a[1]) }},
		{"expect directory NAME", func(t *story, a []string) string { return t.expectType(a[0], hal.TypeDirectory) }},
		{"expect file NAME", func(t *story, a []string) string { return t.expectType(a[0], hal.TypeFile) }},
		{"expect file NAME in volume NAME of pod NAME", func(t *story, a []string) string { return t.expectFile(a[0], a[1], a[2]) }},
		{"expect volume NAME of pod NAME NAME", func(t *story, a []string) string { return t.expectVolume(a[0], a[1], a[2]) }},
		{"expect log NAME", func(t *story, a []string) string { return t.expectLog(a[0]) }},
		{"expect trouble NAME", func(t *story, a []string) string { return t.expectTrouble(a[0]) }},
		{"expect nothing left", func(t *story, _ []string) string { return t.expectNothing() }},
	}
}

// match returns the words that stand for something in the pattern, if words fit it.
func match(pattern string, words []string) ([]string, bool) {
	parts := strings.Fields(pattern)
	if len(parts) != len(words) {
		return nil, false
	}
	var args []string
	for i, part := range parts {
		switch part {
		case "NAME":
			args = append(args, words[i])
		case "TIME":
			if _, err := time.ParseDuration(words[i]); err != nil {
				return nil, false
			}
			args = append(args, words[i])
		case "N":
			if _, err := strconv.ParseUint(words[i], 10, 31); err != nil {
				return nil, false
			}
			args = append(args, words[i])
		default:
			if part != words[i] {
				return nil, false
			}
		}
	}
	return args, true
}

// check makes sure that every statement means something, and names objects that there are.
func (p *parser) check() error {
	drivers := map[string]bool{}
	for _, d := range p.s.Drivers {
		if drivers[d.Name] {
			return p.errorf("driver %s is there twice", d.Name)
		}
		drivers[d.Name] = true
	}
	all := actions()
	for i := range p.s.Steps {
		s := &p.s.Steps[i]
		p.line = s.Line
		for _, a := range all {
			args, ok := match(a.words, s.Words)
			if !ok {
				continue
			}
			if err := p.names(a.words, args, drivers); err != nil {
				return err
			}
			s.act = func(t *story) string { return a.do(t, args) }
			break
		}
		if s.act == nil {
			return p.errorf("%q is nothing that can happen or be expected; docs/volsim.md lists what can", s)
		}
	}
	return nil
}

// pathPatterns are the statements about a path of the host.
var pathPatterns = [...]string{"mount share NAME", "make directory NAME", "make file NAME", "expect directory NAME", "expect file NAME"}

func (p *parser) names(pattern string, args []string, drivers map[string]bool) error {
	switch {
	case strings.Contains(pattern, "pod NAME"):
		name := args[0]
		if before, _, inVolume := strings.Cut(pattern, " of pod NAME"); inVolume {
			name = args[strings.Count(before, "NAME")]
		}
		if p.s.object("pod "+name, "") == nil {
			return p.errorf("there is no pod %s among the objects; write it as namespace/name", name)
		}
		if strings.Contains(pattern, "NAME in volume") && strings.Contains(args[0], "/") {
			return p.errorf("%q is no name of a file in a volume", args[0])
		}
	case slices.Contains(pathPatterns[:], pattern):
		if path.Clean(args[0]) != args[0] || !path.IsAbs(args[0]) || args[0] == "/" {
			return p.errorf("%q is no path of the host; write it from the root on, like /srv/data", args[0])
		}
	case strings.Contains(pattern, "driver NAME"):
		before, _, _ := strings.Cut(pattern, "driver NAME")
		if name := args[strings.Count(before, "NAME")]; !drivers[name] {
			return p.errorf("there is no driver %s; a line like this makes it: driver %s staging", name, name)
		}
	case strings.HasPrefix(pattern, "apply NAME NAME"):
		version := ""
		if len(args) > 2 {
			version = args[2]
		}
		if p.s.object(args[0]+" "+args[1], version) == nil {
			return p.errorf("there is no %s %s %s among the objects", args[0], args[1], version)
		}
	}
	return nil
}

func duration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // match has looked at it
	return d
}

func (t *story) applyAll() string {
	for _, o := range t.s.Objects {
		if pod, ok := o.Value.(*corev1.Pod); ok && o.Version == "" {
			t.r.apply(pod, t.s.usesOf(pod))
		}
	}
	return ""
}

func (t *story) apply(name, version string) string {
	switch o := t.s.object(name, version).(type) {
	case *corev1.Pod:
		t.r.apply(o, t.s.usesOf(o))
		if version != "" {
			t.r.isEdited = true
		}
	case *corev1.Secret:
	case nil:
		return "there is no such object"
	default:
		t.r.isEdited = true
		t.r.give(o)
	}
	return ""
}

func (t *story) deleteObject(name string) string {
	o := t.s.object(name, "")
	if o == nil {
		return "there is no such object"
	}
	t.r.take(o)
	return ""
}

func (t *story) remove(name string, grace time.Duration) string {
	_, p := t.pod(name)
	if p == nil {
		return "the pod was never applied"
	}
	t.r.remove(p, grace)
	return ""
}

func (t *story) kill(d time.Duration) string {
	t.r.sleeps(d)
	return ""
}

// spoilJournal turns a byte in the middle of what the journal holds.
func (t *story) spoilJournal() string {
	if t.w.AgentLives() {
		return "the agent lives; kill it for a while first"
	}
	dir := rootDir + "/volnode/journal"
	name, used := "", []byte(nil)
	for _, file := range t.w.Entries(dir) {
		if data := bytes.TrimRight(t.w.ReadFile(dir+"/"+file), "\x00"); len(data) > len(used) {
			name, used = file, data
		}
	}
	if len(used) == 0 {
		return "the journal is empty"
	}
	data := t.w.ReadFile(dir + "/" + name)
	data[len(used)/2] ^= 0x40
	t.w.WriteFile(dir+"/"+name, data)
	return ""
}

// forgetJournal removes the files of the journal, as an admin or a damaged disk would. The agent is dead meanwhile.
func (t *story) forgetJournal() string {
	if t.w.AgentLives() {
		return "the agent lives; kill it for a while first"
	}
	for _, p := range t.r.list {
		if len(p.calls) > 0 { // nobody can know of these any more
			p.isTouched, p.calls = true, nil
		}
	}
	dir := rootDir + "/volnode/journal"
	for _, name := range t.w.Entries(dir) {
		if errno := t.w.RemoveFile(dir + "/" + name); errno != 0 {
			return errno.Error()
		}
	}
	return ""
}

func (t *story) breaks(name, how string) string {
	b, ok := map[string]sim.Breakage{"works": sim.Works, "hangs": sim.Hangs, "refuses": sim.Refuses, "fails": sim.Fails}[how]
	if !ok {
		return "a driver works, hangs, refuses or fails"
	}
	t.w.BreakDriver(name, b)
	return ""
}

func (t *story) startDriver(name string) string {
	for _, d := range t.w.Drivers() {
		if d.Name == name {
			t.w.StartDriver(name)
			return ""
		}
	}
	for _, d := range t.s.Drivers {
		if d.Name == name {
			t.addDriver(d)
		}
	}
	return ""
}

// spoil makes a pod's manifest one that can't be read.
func (t *story) spoil(name string) string {
	object, _ := t.pod(name)
	if !t.s.Files {
		return "only manifests can be spoilt; write: objects from files"
	}
	t.w.WriteFile(manifestPath(object), []byte("apiVersion: v1\nkind: Pod\nmetadata: {name: [\n"))
	return ""
}

func (t *story) expectState(name string, want engine.Condition) string {
	object, p := t.pod(name)
	got := engine.Condition("unknown")
	for _, s := range t.engineStatus().Pods {
		if string(s.UID) == string(object.UID) {
			got = s.State
		}
	}
	if got != want {
		return fmt.Sprintf("the pod is %s", got)
	}
	if p != nil && !p.isRunning {
		return "who waits for it is not woken"
	}
	return ""
}

func (t *story) expectNotReady(name string) string {
	if t.expectState(name, engine.Ready) == "" {
		return "the pod is ready"
	}
	return ""
}

// expectGone: neither the engine nor the node has anything of the pod.
func (t *story) expectGone(name string) string {
	object, _ := t.pod(name)
	if !t.r.alive() {
		return "the agent has not started"
	}
	for _, s := range t.engineStatus().Pods {
		if string(s.UID) == string(object.UID) && s.State != engine.Gone {
			return fmt.Sprintf("the pod is %s", s.State)
		}
	}
	if _, there := t.w.Exists(rootDir + "/pods/" + string(object.UID)); there {
		return "its directory is there"
	}
	return ""
}

func (t *story) expectBlocked(name, text string) string {
	object, _ := t.pod(name)
	why := "the engine does not know the pod"
	for _, s := range t.engineStatus().Pods {
		if string(s.UID) != string(object.UID) {
			continue
		}
		why = fmt.Sprintf("the pod is %s", s.State)
		for _, v := range s.Volumes {
			if (v.State == engine.Blocked || v.State == engine.Stuck) && strings.Contains(v.Why, text) {
				return ""
			}
			why += fmt.Sprintf("; volume %s is %s: %s", v.Name, v.State, v.Why)
		}
	}
	return why
}

// methods are the calls that a scenario counts, by the names that a trace has for them.
var methods = map[string]string{"csi.stage": stage, "csi.unstage": unstage, "csi.publish": publish, "csi.unpublish": unpublish}

func (t *story) expectCalls(count, site, volume string, from int) string {
	want, _ := strconv.Atoi(count) // match has looked at it
	got := 0
	for _, e := range t.calls[from:] {
		if (e.Method == methods[site] || site == "any") && (volume == "" || e.Volume == volume) {
			got++
		}
	}
	if got != want {
		return fmt.Sprintf("there were %d", got)
	}
	return ""
}

func (t *story) expectLog(text string) string {
	for _, e := range t.log {
		if strings.Contains(LogLine(e), text) {
			return ""
		}
	}
	return "no line of the log has it"
}

func (t *story) expectTrouble(text string) string {
	for _, s := range t.engineStatus().Sources {
		if strings.Contains(s.Why, text) {
			return ""
		}
	}
	return "the status tells of no such trouble"
}

func (t *story) expectNothing() string {
	if !t.r.alive() {
		return "the agent has not started"
	}
	if what := t.r.leftover(); what != "" {
		return what + " is left"
	}
	return ""
}
