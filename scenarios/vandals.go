package scenarios

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is what containers and people do to the directories of pods in a hunt.

const (
	leastNames, mostNames = 1_000, 1_000_000 // that containers write to an emptyDir which they fill
)

// planFiles draws whether the containers of pod i fill its emptyDir with more files than one operation deletes, as deep
// as they like.
func (g *workload) planFiles(i int, name string) {
	if g.pods[i].scratch == noScratch || g.pick("workload.files", name, 0, 12, 1) == 0 {
		return
	}
	names := g.choose.Between(sim.NewID("workload.files-many", name, 0), leastNames, mostNames)
	g.at(g.time("workload.files-time", name, 0, g.setup.Chaos), name, func() {
		if p := g.current(i); p != nil && p.isRunning {
			g.r.fills(p, int(names))
		}
	})
}

func (u *use) isEmptyDir() bool {
	return u.driver == "" && strings.Contains(u.path, "/kubernetes.io~empty-dir/")
}

// fills has the containers of p write so many files to its emptyDirs.
func (r *run) fills(p *pod, names int) {
	for _, u := range p.given {
		if u.isEmptyDir() {
			_ = r.w.Fill(u.path, names) // somebody may have taken the directory away
		}
	}
}

// vandalism is what somebody does to the directory of an emptyDir.
type vandalism uint8

const (
	notVandalised vandalism = iota
	isRemoved
	isReplaced
	isUnmounted
	isCovered      // by a mount on it
	isCoveredAbove // by a mount on the directory that it is in
	isBoundBelow
)

const coverMost = 10 * time.Minute // that a cover stays

// planVandals draws whether somebody does harm to the emptyDir of pod i.
func (g *workload) planVandals(i int, name string) {
	what := vandalism(g.pick("workload.vandal", name, 0, 40, 2, 2, 2, 1, 2, 1))
	if g.pods[i].scratch == noScratch || what == notVandalised {
		return
	}
	lasts := time.Second + g.time("workload.vandal-lasts", name, 0, coverMost)
	g.at(g.time("workload.vandal-time", name, 0, g.setup.Chaos), name, func() {
		if p := g.current(i); p != nil && p.isWanted && p.isRunning {
			g.r.vandalises(p, what, lasts)
		}
	})
}

// vandalises harms the emptyDirs of a pod whose containers run. A cover is taken away again.
func (r *run) vandalises(p *pod, what vandalism, lasts time.Duration) {
	for _, u := range p.given {
		if !u.isEmptyDir() {
			continue
		}
		if errno := r.harms(p, u, what); errno == 0 &&
			(what == isCovered || what == isCoveredAbove || what == isBoundBelow) {
			for _, after := range [2]time.Duration{lasts / 2, lasts - 1} {
				r.w.After(after, "somebody asks for "+p.name, func() { r.seesHider(p) })
			}
			r.w.After(lasts, "somebody takes a mount away", func() { r.uncovers(u.path, what) })
		}
	}
}

func (r *run) uncovers(at string, what vandalism) {
	if where := placeOfCover(at, what); len(r.w.MountsAt(where)) > 0 {
		stack := r.w.MountsAt(where)
		if top := stack[len(stack)-1]; r.w.IsForeign(top.ID) || what == isBoundBelow {
			r.upsets(at)
			_ = r.w.UnmountTop(where) // it was looked at just now
		}
	}
}

func placeOfCover(at string, what vandalism) string {
	switch what {
	case isCoveredAbove:
		return path.Dir(at)
	case isBoundBelow:
		return at + "/bound"
	default:
		return at
	}
}

// harms does it, if there is something to harm.
func (r *run) harms(p *pod, u use, what vandalism) syscall.Errno {
	if stack := r.w.MountsAt(u.path); len(stack) > 0 != u.memory || len(stack) > 1 ||
		len(r.w.MountsAt(path.Dir(u.path))) > 0 {
		return syscall.EBUSY // somebody has been here before
	}
	var errno syscall.Errno
	r.upsets(u.path)
	if r.faulty != nil {
		r.faulty[emptydir.Key(string(p.uid), u.name)] = true
	}
	switch what {
	case isRemoved:
		errno = r.w.RemoveDir(u.path)
	case isReplaced:
		r.aside++
		errno = r.w.ReplaceDir(u.path, lang.RootDir+"/aside-"+strconv.Itoa(r.aside))
	case isUnmounted:
		if !u.memory {
			return syscall.EINVAL
		}
		errno = r.w.UnmountTop(u.path)
	case isCovered, isCoveredAbove:
		errno = r.w.MountForeign(placeOfCover(u.path, what))
	case isBoundBelow:
		r.w.WriteFile(boundDirectory+"/precious", []byte("precious"))
		r.w.MakeDir(u.path + "/bound")
		errno = r.w.BindForeign(boundDirectory, u.path+"/bound")
	case notVandalised:
	}
	if errno == 0 && (what == isRemoved || what == isReplaced) {
		r.loses(p, u.path)
	}
	return errno
}

// loses notes that a pod has lost what an emptyDir held: the volume must say so as long as the pod is there.
func (r *run) loses(p *pod, at string) {
	if !p.isRunning {
		return
	}
	r.losesBlocks(p)
	if p.writer != nil {
		p.writer.views = nil // until they are started again its containers write to what nobody finds any more
	}
	if !r.root.unseen[at] {
		// what nobody has looked at since the journal was lost was never another directory, for all that can be known
		r.lost[at] = p
	}
}

// upsets: somebody changes what is at the place of an emptyDir, and the agent need not know it yet.
func (r *run) upsets(at string) { r.disturbed[at] = r.w.Now() }

// isUpset reports whether the agent need not know yet what is at the place of an emptyDir, or can't.
func (r *run) isUpset(at string) bool {
	since, known := r.disturbed[at]
	if !known {
		return false
	}
	return r.w.Now().Sub(since) < noticing || len(r.w.MountsAt(path.Dir(at))) > 0 || len(r.w.MountsAt(at)) > 1
}

// confesses is S29: what a volume has lost is told, as long as its pod is there, and nothing else is told to be lost.
func (r *run) confesses() bool {
	status, ok := r.status()
	if !ok {
		return true
	}
	for _, s := range status.Pods {
		for _, v := range s.Volumes {
			p := r.lost[v.Path]
			if p == nil && v.State == engine.Degraded && r.isUntouched(v.Path) && saysLost(v.Why) {
				r.fail("S29", "told to be lost", v.Path,
					fmt.Sprintf("nobody has touched the emptyDir %s of pod %s, and its status is %s: %s",
						v.Name, s.Name, v.State, v.Why))
				return false
			}
			if p == nil || p.uid != s.UID || !p.isWanted || !p.isSteady {
				continue
			}
			r.judges("S29")
			if v.State == engine.Ready || !strings.Contains(v.Why, "lost") {
				r.fail("S29", "status", v.Path,
					fmt.Sprintf("the emptyDir %s of pod %s was taken away under its containers, and its status "+
						"is %s: %s",
						v.Name, s.Name, v.State, v.Why))
				return false
			}
		}
	}
	return true
}

// isUntouched reports whether nobody but the agent has changed anything at the place of an emptyDir, and no power cut.
func (r *run) isUntouched(at string) bool {
	_, isDisturbed := r.disturbed[at]
	return r.isEmptyDir(at) && !isDisturbed && !r.wasDown && !r.root.forgotten
}

// saysLost reports whether a status tells that what an emptyDir held is lost.
func saysLost(why string) bool { return strings.Contains(why, "what it held is lost") }

// madeRight is a part of S29: what the agent makes for pods has the mode that others rely on (K:G97).
func (r *run) madeRight(e *sim.Effect) {
	if e.Actor != "agent" || !below(e.Path, lang.RootDir+"/pods") {
		return
	}
	kind, _ := r.w.Exists(e.Path)
	mode, there := r.w.Mode(e.Path)
	if !there || kind != hal.TypeDirectory {
		return
	}
	want := uint32(0o750)
	if strings.HasSuffix(path.Dir(e.Path), "/kubernetes.io~empty-dir") {
		want = 0o777
	}
	r.judges("S29")
	if mode != want {
		r.fail("S29", "made", e.Path, fmt.Sprintf("%s is made with the mode %#o, not %#o", e.Path, mode, want))
	}
}

// vandalActions are the statements about what others do to directories, and what is expected of that.
func vandalActions() []action {
	return []action{
		{
			"remove the directory of volume VOLUME of pod POD",
			func(t *scene, a []string) string { return t.harm(a[0], a[1], isRemoved) },
		},
		{
			"replace the directory of volume VOLUME of pod POD",
			func(t *scene, a []string) string { return t.harm(a[0], a[1], isReplaced) },
		},
		{"mount over the directory of pod POD", func(t *scene, a []string,
		) string {
			return t.mountAbove(t.dirOf(a[0]))
		}},
		{"mount over the directory of pods", func(t *scene, _ []string,
		) string {
			return t.mountAbove(lang.RootDir + "/pods")
		}},
		{"deny the listing of PATH for TIME", func(t *scene, a []string,
		) string {
			return t.deny(a[0], duration(a[1]))
		}},
		{"deny the reading of PATH for TIME", func(t *scene, a []string,
		) string {
			return t.deny(a[0], duration(a[1]))
		}},
		{"write N files in volume VOLUME of pod POD", func(t *scene, a []string,
		) string {
			return t.fill(a[0], a[1], a[2])
		}},
		{"expect pod POD degraded TEXT", func(t *scene, a []string) string { return t.expectDegraded(a[0], a[1]) }},
		{"expect at most N files of pods", func(t *scene, a []string) string { return t.expectNames(a[0]) }},
	}
}

// fill is a statement: a container writes so many files.
func (t *scene) fill(names, volume, name string) string {
	u, why := t.container(volume, name)
	if why != "" {
		return why
	}
	n, _ := strconv.Atoi(names) // match has looked at it
	if errno := t.w.Fill(u.path, n); errno != 0 {
		return errno.Error()
	}
	return ""
}

// expectNames is a statement: so many names, or fewer, are left of the files of pods.
func (t *scene) expectNames(names string) string {
	most, _ := strconv.Atoi(names) // match has looked at it
	if n := t.w.Names(lang.RootDir + "/pods"); n > most {
		return strconv.Itoa(n) + " names are below the directories of pods"
	}
	return ""
}

// harm is a statement: somebody does something to the place of a volume.
func (t *scene) harm(volume, name string, what vandalism) string {
	u, why := t.container(volume, name)
	if why != "" {
		return why
	}
	_, p := t.pod(name)
	if errno := t.r.harms(p, u, what); errno != 0 {
		return errno.Error()
	}
	return ""
}

// mountAbove is a statement: somebody mounts over a directory of the agent's.
func (t *scene) mountAbove(dir string) string {
	for _, p := range t.r.pods {
		for _, u := range p.uses {
			t.r.upsets(u.path)
		}
	}
	if errno := t.w.MountForeign(dir); errno != 0 {
		return errno.Error()
	}
	return ""
}

func (t *scene) dirOf(name string) string {
	object, _ := t.pod(name)
	return lang.RootDir + "/pods/" + string(object.UID)
}

// expectDegraded is a statement: a volume of the pod is Degraded, and says why.
func (t *scene) expectDegraded(name, text string) string {
	object, _ := t.pod(name)
	why := "the engine does not know the pod"
	for _, s := range t.engineStatus().Pods {
		if s.UID != core.PodUID(object.UID) {
			continue
		}
		why = fmt.Sprintf("the pod is %s", s.State)
		for _, v := range s.Volumes {
			if v.State == engine.Degraded && strings.Contains(v.Why, text) {
				return ""
			}
			why += fmt.Sprintf("; volume %s is %s: %s", v.Name, v.State, v.Why)
		}
	}
	return why
}

// deny is a statement: a directory can't be listed, or a file can't be read, for a while.
func (t *scene) deny(at string, last time.Duration) string {
	t.r.denies(at, syscall.EACCES, last)
	return ""
}
