package gitrepo

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/gitrepo"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what people do to repositories, and what must be true of what pods have of them.
//
// S20: the directory that the agent has made for a pod that is reported ready has all files of one revision, where the
// pod wants them, and no others: that which the pod asks for, or one that was the newest since the pod came.
//
// S29: all of it is of root, and of the group of the pod, which may write it; any user may write to the volume itself.
//
// S28: what containers have changed stays as they have it.
//
// L1: in calm, nothing is beside the volumes of a pod: what clones have left that did not end is gone.

// run is what a run notes of gitRepo volumes.
type run struct {
	world.PlainRun
	isHunted bool
	isAway   bool                        // the second repository of hunts is not there, damaged or silent
	came     map[core.PodUID]hal.Instant // when the agent first heard of a pod
	made     []made
}

// made is a directory that the agent has made for a pod.
type made struct {
	path    string
	at      hal.Info
	pod     core.PodUID
	key     hal.Key // of its rung
	life    uint32  // of the agent
	isGiven bool    // containers have had it
	isKept  bool    // a person will clear it away
	text    string  // that they wrote to a file in it
}

// own is the file that containers write.
const own = "own"

func isOne(a, b hal.Info) bool { return a.Inode == b.Inode && a.Born == b.Born && a.Device == b.Device }

// of is what the agent has made that is at a path now, nil if it is nothing.
func (h *run) of(w *sim.World, place string) *made {
	at, ok := w.Found(place)
	i := slices.IndexFunc(h.made, func(m made) bool { return ok && m.path == place && isOne(m.at, at) })
	if i < 0 {
		return nil
	}
	return &h.made[i]
}

// begin makes the repositories, and draws what people do to them.
func begin(g world.Planner) {
	r := g.Run()
	for _, m := range r.Rooms {
		if h, is := m.(*run); is {
			h.isHunted = true
		}
	}
	r.PutsRepository(app, tag)
	r.PutsRepository(app, "")
	r.PutsRepository(away, "")
	for n := range 2 {
		if g.Pick("workload.git-put", app, n, 2, 1) == 1 {
			g.At(g.Time("workload.git-time", app, n, cases.Chaos), app, func() { r.PutsRepository(app, "") })
		}
	}
	does := []func(string){
		r.RemovesRepository, r.W.DamageRepository, func(url string) { r.W.SilenceRepository(url) },
	}
	if what := g.Pick("workload.git-away", away, 0, 3, 1, 1, 1); what > 0 {
		g.At(g.Time("workload.git-time", away, 0, cases.Chaos), away, func() { takes(r, does[what-1]) })
	}
}

// takes has something done to the second repository, which delays the pods that want it.
func takes(r *world.Run, how func(string)) {
	how(away)
	for _, m := range r.Rooms {
		if h, is := m.(*run); is {
			h.isAway = true
			for _, p := range r.Pods {
				h.delays(r, p)
			}
		}
	}
}

func (h *run) delays(r *world.Run, p *world.Pod) {
	for _, u := range p.Uses {
		if src := sourceOf(p, u); h.isAway && src != nil && src.Repository == away {
			r.Faults(p, u)
		}
	}
}

// Mends is people who put back the repository that they have removed, or that is damaged, and its server answers.
func (h *run) Mends(r *world.Run) {
	if h.isHunted {
		r.W.AnswerRepository(away)
		r.PutsRepository(away, "")
		h.isAway = false
	}
}

// Told notes when the agent hears of a pod.
func (h *run) Told(r *world.Run, p *world.Pod, _ *corev1.Pod) {
	if _, is := h.came[p.Uid]; !is {
		h.came[p.Uid] = r.W.Now()
	}
	h.delays(r, p)
}

// sourceOf is the source of a use, nil if it is none of this room.
func sourceOf(p *world.Pod, u world.Use) *corev1.GitRepoVolumeSource {
	at := slices.IndexFunc(p.Object.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == u.Name })
	if at < 0 {
		return nil
	}
	return p.Object.Spec.Volumes[at].GitRepo
}

// Sees notes what the agent makes.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	if e.Kind != sim.EffectRenamed || e.Actor != "agent" {
		return
	}
	m, isWithin := world.DirectoryAt(e.NewPath)
	if m == nil || isWithin || m.Source.Name != "gitRepo" || hal.Cloning(e.NewPath) != e.Path {
		return
	}
	h.made = slices.DeleteFunc(h.made, func(m made) bool { return m.path == e.NewPath })
	if at, ok := r.W.Found(e.NewPath); ok {
		h.made = append(h.made, made{path: e.NewPath, at: at, pod: podOf(r, e.Key), key: e.Key, life: e.Run})
	}
}

// podOf is the pod whose volume a rung is, "" if the world has none.
func podOf(r *world.Run, key hal.Key) core.PodUID {
	for _, p := range r.Pods {
		if strings.HasPrefix(string(key), string(gitrepo.Key(string(p.Uid), ""))) {
			return p.Uid
		}
	}
	return ""
}

// Stepped is a person who clears away what the agent keeps, in calm, since its journal was lost, and nobody has told it
// that the pod is gone.
func (h *run) Stepped(r *world.Run) {
	if r.Registrars.Calm == 0 {
		return
	}
	for i := range h.made {
		if m := &h.made[i]; !m.isKept && isKept(r, m) {
			m.isKept = true
			at := *m
			r.W.After(time.Minute, "somebody clears away "+at.path, func() {
				if isKept(r, &at) {
					_ = r.W.RemoveDir(at.path) // it may be gone
				}
			})
		}
	}
}

// isKept: the agent does not take down what nobody wants, and tries again.
func isKept(r *world.Run, m *made) bool {
	p := r.ByUID[m.pod]
	if p == nil || p.IsWanted || p.IsRunning || r.Core == nil {
		return false
	}
	b, is := r.Core.Belief(m.key)
	return is && b.State == core.Unknown && !b.IsWanted && b.IsTimed && !b.InFlight
}

// LetsIn judges the volumes of a pod that is reported ready, and has its containers change them.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		src := sourceOf(p, u)
		is := h.of(r.W, u.Path)
		if src == nil || is == nil {
			continue // S21 says so, or somebody has replaced it
		}
		if is.isGiven {
			r.Judges("S28")
			if text := string(r.W.ReadFile(u.Path + "/" + own)); text != is.text {
				r.Fail("S28", "git", p.Name, fmt.Sprintf("pod %s is reported ready, and what its containers wrote to %s is %q, "+
					"not %q", p.Name, u.Path, text, is.text))
				return false
			}
			continue
		}
		if !h.isWhole(r, p, u, src) || !isOfGroup(r, p, u) {
			return false
		}
		is.isGiven, is.text = true, "of "+p.Name+" at "+u.Path
		r.W.WriteFile(u.Path+"/"+own, []byte(is.text))
	}
	return true
}

// isWhole is S20.
func (h *run) isWhole(r *world.Run, p *world.Pod, u world.Use, src *corev1.GitRepoVolumeSource) bool {
	r.Judges("S20")
	below := cmp.Or(src.Directory, hal.RepositoryName(src.Repository))
	files := map[string]string{}
	for name, content := range filesIn(r.W, u.Path) {
		within, is := strings.CutPrefix("./"+name, "./"+strings.TrimPrefix(below+"/", "./"))
		if !is {
			within = "outside " + below + ": " + name
		}
		if !strings.HasPrefix(within, sim.GitDir+"/") {
			files[within] = content
		}
	}
	if !r.IsOfRepository(src.Repository, src.Revision, files, h.came[p.Uid]) {
		r.Fail("S20", "git", p.Name, fmt.Sprintf("pod %s is reported ready, and what is at %s are not the files of a "+
			"revision of %s that it asks for: %q", p.Name, u.Path, src.Repository, files))
		return false
	}
	return true
}

// isOfGroup is S29.
func isOfGroup(r *world.Run, p *world.Pod, u world.Use) bool {
	r.Judges("S29")
	var paths []string
	for name := range filesIn(r.W, u.Path) {
		paths = append(paths, name)
	}
	slices.Sort(paths)
	for _, name := range append([]string{""}, paths...) {
		is, _ := r.W.Found(strings.TrimSuffix(u.Path+"/"+name, "/"))
		if !slices.ContainsFunc(p.Groups, func(group string) bool {
			gid, _ := strconv.Atoi(group)
			mode := uint32(0o644)
			switch {
			case name == "":
				mode = world.ModeOf(u.Room.Mode, group)
			case group != "":
				mode = 0o664
			}
			return is.UID == 0 && is.GID == uint32(gid) && is.Mode == mode
		}) {
			r.Fail("S29", "told ready", p.Name, fmt.Sprintf("pod %s is reported ready, and %q in volume %s has the owner %d, "+
				"the group %d and the mode %04o; its group is to be one of %q", p.Name, name, u.Name, is.UID, is.GID, is.Mode,
				p.Groups))
			return false
		}
	}
	return true
}

// Born: a power cut may have lost what containers wrote.
func (h *run) Born(r *world.Run) {
	for i := range h.made {
		m := &h.made[i]
		if m.isGiven && string(r.W.ReadFile(m.path+"/"+own)) != m.text {
			m.text = string(r.W.ReadFile(m.path + "/" + own))
		}
	}
}

// Reports is L1, once all is as wanted. What a deletion has left that failed waits for the end of the pod if the agent
// dies before it has tried again: no record tells of it.
func (h *run) Reports(r *world.Run, p *world.Pod, u world.Use, _ *engine.VolumeStatus) bool {
	if is := h.of(r.W, u.Path); sourceOf(p, u) == nil || is == nil || is.life != r.W.Life() {
		return true
	}
	r.Judges("L1")
	isVolume := func(name string) bool {
		return slices.ContainsFunc(p.Object.Spec.Volumes, func(v corev1.Volume) bool {
			return v.Name == name && v.GitRepo != nil
		})
	}
	for _, name := range r.W.Entries(path.Dir(u.Path)) {
		if !isVolume(name) {
			r.Fail("L1", "git", u.Path, "all is as wanted, and beside the volumes of pod "+p.Name+" there is "+name)
			return false
		}
	}
	return true
}

// filesIn is what is below a directory.
func filesIn(w *sim.World, dir string) map[string]string {
	all := map[string]string{}
	var walk func(prefix string)
	walk = func(prefix string) {
		for _, name := range w.Entries(dir + "/" + prefix) {
			at := prefix + name
			if info, _ := w.Found(dir + "/" + at); info.Type == hal.TypeDirectory {
				walk(at + "/")
			} else {
				all[at] = string(w.ReadFile(dir + "/" + at))
			}
		}
	}
	walk("")
	return all
}
