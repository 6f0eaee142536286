package edits

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// This file compares what is there with what must be there.

// patience is how long all may take to become as it must be.
const patience = 90 * time.Second

// made is what is at a path of a pod.
type made struct {
	kind  string // as of a volume
	of    string // driver^handle; of an inline volume the driver
	under string // the name of the pod when it was made
	token string // what was written there
}

// option is what may stand of a pod: by path.
type option map[string]*made

// unresolved is a claim that is not complete, or "".
func (s *session) unresolved() string {
	for _, name := range claims {
		_, claimed := s.model.find(claim, name)
		if _, there := s.model.find(pv, name); !claimed || !there {
			return name
		}
	}
	return ""
}

// isUnresolved says that some volume is not as its objects are.
func (s *session) isUnresolved() bool {
	if s.unresolved() != "" {
		return true
	}
	for uid, o := range s.model.pods() {
		if l := s.model.lives[uid]; l != nil {
			for _, v := range o.volumes {
				if of, _ := s.model.resolve(v); l.made[v.at()] != nil && l.made[v.at()].of != of {
					return true
				}
			}
		}
	}
	return false
}

// options says what may stand of a pod: what stood before, with what is new; and, if it may have been gone meanwhile,
// what is new alone. What was wanted for a moment may stand.
func (s *session) options(uid string, o object) []option {
	l := s.model.lives[uid]
	again := option{}
	for _, v := range o.volumes {
		if of, ok := s.model.resolve(v); ok {
			again[v.at()] = &made{kind: v.kind, of: of, under: o.name}
			if len(l.names) > 1 {
				again[v.at()].under = ""
			}
		}
	}
	if l.isDoubtful() { // each of what stood before may be gone, or on its way, or taken back
		for at, m := range l.made {
			l.passes(at, m)
			if a := again[at]; a != nil && a.of == m.of && a.under != m.under {
				a.under = ""
			}
		}
	}
	for at, passing := range l.passing {
		full := filepath.Join(s.h.Root, "pods", uid, at)
		if _, err := os.Lstat(full); err != nil || again[at] != nil {
			continue
		}
		m := *passing[0]
		if m.kind == "memory" && !slices.ContainsFunc(s.h.Mounts(),
			func(is host.Mount) bool { return is.Path == full }) {
			m.kind = "empty" // the agent died on its way down, and the pod came again without it
		}
		again[at] = &m
	}
	all := []option{again}
	for _, at := range slices.Sorted(maps.Keys(l.passing)) {
		for _, o := range all {
			for _, m := range l.passing[at] {
				if o[at] != nil && m.of != o[at].of {
					other := maps.Clone(o)
					other[at] = m
					all = append(all, other)
				}
			}
		}
	}
	if !l.isDoubtful() {
		for _, o := range all {
			maps.Copy(o, l.made)
		}
	}
	return all
}

// compare returns what stands of each pod, and each difference from what must be.
func (s *session) compare() (map[string]option, []string) {
	status, err := s.status()
	if err != nil {
		return nil, []string{err.Error()}
	}
	var wrong []string
	pods, stands := s.model.pods(), map[string]option{}
	for _, p := range status.Pods {
		if o, ok := pods[string(p.UID)]; !ok || p.Namespace != "default" || p.Name != o.name || !p.Wanted {
			wrong = append(wrong, fmt.Sprintf("status shows pod %s/%s %s %s, wanted %v", p.Namespace, p.Name, p.UID,
				p.State, p.Wanted))
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(pods)) {
		at := slices.IndexFunc(status.Pods, func(p engine.PodStatus) bool { return string(p.UID) == uid })
		if at < 0 {
			wrong = append(wrong, "status does not show pod "+pods[uid].name+" "+uid)
			continue
		}
		var first []string
		for i, o := range s.options(uid, pods[uid]) {
			differs := s.differs(uid, pods[uid], o, status.Pods[at])
			if len(differs) == 0 {
				stands[uid] = o
				break
			}
			if i == 0 {
				first = differs
			}
		}
		if stands[uid] == nil {
			wrong = append(wrong, first...)
		}
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	differs, want := s.node(stands)
	wrong = append(s.sources(status), differs...)
	if len(wrong) == 0 && status.Journal.Records != want {
		wrong = append(wrong, fmt.Sprintf("the journal has %d records, not %d", status.Journal.Records, want))
	}
	if len(wrong) == 0 && !s.isUnresolved() {
		if plan, err := s.h.TryAsk("/v1/plan"); err != nil || strings.TrimSpace(plan) != "null" &&
			strings.TrimSpace(plan) != "[]" {
			wrong = append(wrong, fmt.Sprintf("something is planned: %s %v", plan, err))
		}
	}
	return stands, wrong
}

func (s *session) status() (engine.Status, error) {
	var status engine.Status
	text, err := s.h.TryAsk("/v1/status")
	if err == nil {
		err = json.Unmarshal([]byte(text), &status)
	}
	return status, err
}

// differs compares one pod.
func (s *session) differs(uid string, o object, stands option, p engine.PodStatus) []string {
	var wrong []string
	for _, v := range o.volumes {
		of, ok := s.model.resolve(v)
		m := stands[v.at()]
		want := []engine.Condition{engine.Ready}
		switch {
		case m == nil:
			want = []engine.Condition{engine.Blocked, engine.Waiting}
		case !ok:
			want = []engine.Condition{engine.Blocked, engine.Waiting, engine.Degraded, engine.Ready}
		case m.of != of:
			want = []engine.Condition{engine.Blocked}
		case m.under != o.name && (v.kind == "inline" || v.kind == "claim"):
			want = append(want, engine.Degraded) // its driver was told the pod's former name
		}
		at := slices.IndexFunc(p.Volumes, func(have engine.VolumeStatus) bool { return have.Name == v.name })
		switch {
		case at < 0:
			wrong = append(wrong, fmt.Sprintf("pod %s: status does not show volume %s", o.name, v.name))
		case !slices.Contains(want, p.Volumes[at].State):
			have := p.Volumes[at]
			wrong = append(wrong, fmt.Sprintf("pod %s: volume %s is %s (%s), and must be %v", o.name, v.name,
				have.State, have.Why, want))
		case m != nil && m.of == of && ok && p.Volumes[at].Path != filepath.Join(s.h.Root, "pods", uid, v.at()):
			wrong = append(wrong, fmt.Sprintf("pod %s: volume %s is shown at %s", o.name, v.name, p.Volumes[at].Path))
		}
	}
	for at := range stands {
		if _, err := os.Stat(filepath.Join(s.h.Root, "pods", uid, at)); err != nil {
			wrong = append(wrong, fmt.Sprintf("pod %s: %v", o.name, err))
		}
	}
	return wrong
}

// sources compares what status says of the manifests.
func (s *session) sources(status engine.Status) []string {
	var wrong []string
	m := s.model
	has := func(what string, ok func(engine.SourceTrouble) bool) {
		if !slices.ContainsFunc(status.Sources, ok) {
			wrong = append(wrong, "status does not tell of "+what)
		}
	}
	if m.unusable != "" {
		has("the directory", func(t engine.SourceTrouble) bool { return t.Where == s.h.Manifests })
		return wrong
	}
	accept := m.missing()
	for _, name := range m.bad() {
		has(name, func(t engine.SourceTrouble) bool { return t.Where == s.path(name) && !t.Accept })
	}
	for _, name := range accept {
		if len(m.known[name].docs) > 0 {
			has(name+", which is missing",
				func(t engine.SourceTrouble) bool { return t.Where == s.path(name) && t.Accept })
		}
	}
	for id := range m.held {
		if id.kind == pod {
			has("pod "+id.name+", which is kept", func(t engine.SourceTrouble) bool {
				return t.Held && t.Where == "Pod default/"+id.name
			})
		}
	}
	for _, t := range status.Sources {
		name := path.Base(t.Where)
		switch {
		case t.Held && !slices.ContainsFunc(slices.Collect(maps.Keys(m.held)),
			func(id identity) bool { return t.Where == "Pod default/"+id.name }),
			t.Accept && !t.Held && !slices.Contains(accept, name),
			!t.Held && !t.Accept && strings.HasPrefix(t.Where, s.h.Manifests) && m.disputes == 0 &&
				!slices.Contains(m.bad(), name):
			wrong = append(wrong, fmt.Sprintf("status tells of %s: %s (held %v, accept %v)", t.Where, t.Why,
				t.Held, t.Accept))
		}
	}
	if want := m.unusable == ""; status.Synced != want {
		wrong = append(wrong, fmt.Sprintf("synced is %v", status.Synced))
	}
	return wrong
}

// stages lists what must be staged, by driver^handle, and what may be: a volume that waits for another to leave its
// path, also if its claim is not there any more.
func (s *session) stages(stands map[string]option) (must, may map[string]bool) {
	must, may = map[string]bool{}, map[string]bool{}
	if s.unresolved() != "" {
		maps.Copy(may, s.staged)
	}
	for uid, o := range stands {
		for _, m := range o {
			if m.kind == "claim" {
				must[m.of] = true
			}
		}
		for _, v := range s.model.pods()[uid].volumes {
			if of, ok := s.model.resolve(v); ok && v.kind == "claim" {
				may[of] = true
			}
		}
	}
	return must, may
}

// node compares the mount table, the directories and the drivers. It returns how many records there must be, too.
func (s *session) node(stands map[string]option) (wrong []string, records int) {
	var mounts, dirs []string
	published := map[string]bool{}
	for uid, o := range stands {
		records += len(o)
		for at, m := range o {
			full := filepath.Join(s.h.Root, "pods", uid, at)
			dirs = append(dirs, strings.TrimSuffix(full, "/mount"))
			if m.kind != "empty" {
				mounts = append(mounts, full)
			}
			if m.kind == "claim" {
				published[m.of+" at "+full] = true
			}
			if m.kind == "inline" {
				published[m.of+" at "+full] = true
			}
		}
	}
	staged, differs := s.drivers(stands, published)
	records, mounts, wrong = records+len(staged), append(mounts, staged...), append(wrong, differs...)
	var have []string
	for _, m := range s.h.Mounts() {
		have = append(have, m.Path)
	}
	wrong = append(wrong, unequal("mount", mounts, have)...)
	wrong = append(wrong, unequal("directory of a volume", dirs,
		s.below("pods/*/volumes/*/*", "pods/*/volumes/*/.*"))...)
	var pods []string
	for uid, o := range stands {
		if len(o) > 0 {
			pods = append(pods, filepath.Join(s.h.Root, "pods", uid))
		}
	}
	return append(wrong, unequal("directory of a pod", pods, s.below("pods/*", "pods/.*"))...), records
}

// drivers compares what the drivers have staged and published. It returns where they have staged.
func (s *session) drivers(stands map[string]option, published map[string]bool) (paths, wrong []string) {
	staged, may := s.stages(stands)
	for i, dir := range s.states {
		state, err := csidriver.ReadState(dir)
		if err != nil {
			return nil, []string{err.Error()}
		}
		for id, at := range state.Staged {
			if state.Volumes[id].Inline {
				continue // below the driver's own directory
			}
			paths = append(paths, at.Path)
			of := drivers[i] + "^" + id
			if !staged[of] && !may[of] {
				wrong = append(wrong, drivers[i]+" has staged "+id)
			}
			delete(staged, of)
		}
		for id, targets := range state.Published {
			for target := range targets {
				what := drivers[i] + "^" + id + " at " + target
				if state.Volumes[id].Inline {
					what = drivers[i] + " at " + target
				}
				if !published[what] {
					wrong = append(wrong, "published is "+what)
				}
				delete(published, what)
			}
		}
		for id, v := range state.Volumes {
			if v.Inline && len(state.Published[id]) == 0 {
				wrong = append(wrong, drivers[i]+" still has the inline volume "+id)
			}
		}
	}
	for what := range staged {
		wrong = append(wrong, "not staged is "+what)
	}
	for what := range published {
		wrong = append(wrong, "not published is "+what)
	}
	return paths, wrong
}

// below lists what is there, but for strays.
func (s *session) below(patterns ...string) []string {
	var all []string
	for _, p := range patterns {
		found, err := filepath.Glob(filepath.Join(s.h.Root, p))
		s.must(err)
		all = append(all, found...)
	}
	return slices.DeleteFunc(all, func(name string) bool { return slices.Contains(s.strays, name) })
}

func unequal(what string, want, have []string) []string {
	slices.Sort(want)
	slices.Sort(have)
	if slices.Equal(want, have) {
		return nil
	}
	return []string{fmt.Sprintf("%s: there must be %v,\n    and there is %v", what, want, have)}
}

// takesOver looks at the data of all that stands, writes what is new, and forgets what is gone.
func (s *session) takesOver(stands map[string]option) []string {
	var lost []string
	for _, uid := range slices.Sorted(maps.Keys(stands)) {
		before := s.model.lives[uid]
		for _, at := range slices.Sorted(maps.Keys(stands[uid])) {
			m := stands[uid][at]
			s.serial++
			mine := fmt.Sprintf("%s %s %d", uid, at, s.serial)
			may := m.token == "" || before.isDoubtful()
			if before.made[at] != nil && before.made[at].of == m.of && m.token == "" {
				m.token = before.made[at].token // the pod may have been gone, or not
			}
			if m.kind == "claim" {
				mine, m.token, may = "of "+m.of, "of "+m.of, !s.written[m.of]
				s.written[m.of] = true
			}
			token, problem := readToken(filepath.Join(s.h.Root, "pods", uid, at))
			switch {
			case problem != "":
				lost = append(lost, problem)
			case token == m.token && token != "":
			case token == "" && may:
				m.token = mine
				s.must(os.WriteFile(filepath.Join(s.h.Root, "pods", uid, at, "token"), []byte(mine), 0o600))
			default:
				lost = append(lost, fmt.Sprintf("pod %s: %s holds %q, and must hold %q", uid, at, token, m.token))
			}
		}
		s.model.lives[uid] = newLife(stands[uid])
	}
	must, may := s.stages(stands)
	maps.Copy(may, must)
	s.staged = may
	for uid := range s.model.lives {
		if _, ok := stands[uid]; !ok {
			delete(s.model.lives, uid)
		}
	}
	for _, at := range s.strays {
		if _, err := os.Lstat(at); err != nil {
			lost = append(lost, err.Error())
		}
	}
	return lost
}

// readToken returns what was written to a volume, "" if it is empty.
func readToken(dir string) (token, problem string) {
	names, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return "", err.Error()
	case len(names) == 0:
		return "", ""
	case len(names) > 1 || names[0].Name() != "token":
		return "", fmt.Sprintf("%s holds %v", dir, names)
	}
	text, err := os.ReadFile(filepath.Join(dir, "token"))
	if err != nil {
		return "", err.Error()
	}
	return string(text), ""
}
