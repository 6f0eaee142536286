package workload

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what containers and people do to the directories of pods in a hunt.

const (
	leastNames, mostNames = 1_000, 1_000_000 // that containers write to a volume which they fill
)

// PlanFiles draws whether the containers of pod i fill its volumes that are directories with more files than one
// operation deletes, as deep as they like.
func (g *Workload) PlanFiles(i int, name string) {
	if !g.Pods[i].HasDirectory() || g.Pick("workload.files", name, 0, 12, 1) == 0 {
		return
	}
	names := g.Choose.Between(sim.NewID("workload.files-many", name, 0), leastNames, mostNames)
	g.At(g.Time("workload.files-time", name, 0, g.Setup.Chaos), name, func() {
		if p := g.Current(i); p != nil && p.IsRunning {
			fills(g.R, p, int(names))
		}
	})
}

// fills has the containers of p write so many files to its volumes that are directories.
func fills(r *world.Run, p *world.Pod, names int) {
	for _, u := range p.Given {
		if u.IsDirectory() {
			_ = r.W.Fill(u.Path, names) // somebody may have taken the directory away
		}
	}
}

// vandalism is what somebody does to the directory of a volume.
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

// PlanVandals draws whether somebody does harm to the volumes of pod i that are directories.
func (g *Workload) PlanVandals(i int, name string) {
	what := vandalism(g.Pick("workload.vandal", name, 0, 40, 2, 2, 2, 1, 2, 1))
	if !g.Pods[i].HasDirectory() || what == notVandalised {
		return
	}
	lasts := time.Second + g.Time("workload.vandal-lasts", name, 0, coverMost)
	g.At(g.Time("workload.vandal-time", name, 0, g.Setup.Chaos), name, func() {
		if p := g.Current(i); p != nil && p.IsWanted && p.IsRunning {
			vandalises(g.R, p, what, lasts)
		}
	})
}

// vandalises harms the volumes that are directories, of a pod whose containers run. A cover is taken away again.
func vandalises(r *world.Run, p *world.Pod, what vandalism, lasts time.Duration) {
	for _, u := range p.Given {
		if !u.IsDirectory() {
			continue
		}
		if errno := harms(r, p, u, what); errno == 0 &&
			(what == isCovered || what == isCoveredAbove || what == isBoundBelow) {
			for _, after := range [2]time.Duration{lasts / 2, lasts - 1} {
				r.W.After(after, "somebody asks for "+p.Name, func() { judges.SeesHider(r, p) })
			}
			r.W.After(lasts, "somebody takes a mount away", func() { uncovers(r, u.Path, what) })
		}
	}
}

func uncovers(r *world.Run, at string, what vandalism) {
	if where := placeOfCover(at, what); len(r.W.MountsAt(where)) > 0 {
		stack := r.W.MountsAt(where)
		if top := stack[len(stack)-1]; r.W.IsForeign(top.ID) || what == isBoundBelow {
			Upsets(r, at)
			_ = r.W.UnmountTop(where) // it was looked at just now
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
func harms(r *world.Run, p *world.Pod, u world.Use, what vandalism) syscall.Errno {
	if stack := r.W.MountsAt(u.Path); len(stack) > 0 != u.Memory || len(stack) > 1 ||
		len(r.W.MountsAt(path.Dir(u.Path))) > 0 {
		return syscall.EBUSY // somebody has been here before
	}
	var errno syscall.Errno
	Upsets(r, u.Path)
	r.Faults(p, u)
	switch what {
	case isRemoved:
		errno = r.W.RemoveDir(u.Path)
	case isReplaced:
		r.Aside++
		errno = r.W.ReplaceDir(u.Path, lang.RootDir+"/aside-"+strconv.Itoa(r.Aside))
	case isUnmounted:
		if !u.Memory {
			return syscall.EINVAL
		}
		errno = r.W.UnmountTop(u.Path)
	case isCovered, isCoveredAbove:
		errno = r.W.MountForeign(placeOfCover(u.Path, what))
	case isBoundBelow:
		r.W.WriteFile(BoundDirectory+"/precious", []byte("precious"))
		r.W.MakeDir(u.Path + "/bound")
		errno = r.W.BindForeign(BoundDirectory, u.Path+"/bound")
	case notVandalised:
	}
	if errno == 0 && (what == isRemoved || what == isReplaced) {
		judges.Loses(r, p, u.Path)
	}
	return errno
}

// Upsets: somebody changes what is at the place of a volume, and the agent need not know it yet.
func Upsets(r *world.Run, at string) { r.Disturbed[at] = r.W.Now() }

// Confesses is S29: what a volume has lost is told, as long as its pod is there, and nothing else is told to be lost.
func Confesses(r *world.Run) bool {
	status, ok := judges.Status(r)
	if !ok {
		return true
	}
	for _, s := range status.Pods {
		for _, v := range s.Volumes {
			p := r.Lost[v.Path]
			if p == nil && v.State == engine.Degraded && isUntouched(r, v.Path) && saysLost(v.Why) {
				r.Fail("S29", "told to be lost", v.Path,
					fmt.Sprintf("nobody has touched the volume %s of pod %s, and its status is %s: %s",
						v.Name, s.Name, v.State, v.Why))
				return false
			}
			if p == nil || p.Uid != s.UID || !p.IsWanted || !p.IsSteady {
				continue
			}
			r.Judges("S29")
			if v.State == engine.Ready || !strings.Contains(v.Why, "lost") {
				r.Fail("S29", "status", v.Path,
					fmt.Sprintf("the volume %s of pod %s was taken away under its containers, and its status "+
						"is %s: %s",
						v.Name, s.Name, v.State, v.Why))
				return false
			}
		}
	}
	return true
}

// isUntouched reports whether nobody but the agent has changed anything at the place of a volume, and no power cut.
func isUntouched(r *world.Run, at string) bool {
	_, isDisturbed := r.Disturbed[at]
	return judges.IsPodPlace(r, at) && !isDisturbed && !r.WasDown && !r.Root.Forgotten
}

// saysLost reports whether a status tells that what a volume held is lost.
func saysLost(why string) bool {
	return strings.Contains(why, "what it held is lost") || strings.Contains(why, "have lost it")
}

// VandalActions are the statements about what others do to directories, and what is expected of that.
func VandalActions() []Action {
	return []Action{
		{
			"remove the directory of volume VOLUME of pod POD",
			func(t *Scene, a []string) string { return t.harm(a[0], a[1], isRemoved) },
		},
		{
			"replace the directory of volume VOLUME of pod POD",
			func(t *Scene, a []string) string { return t.harm(a[0], a[1], isReplaced) },
		},
		{"mount over the directory of pod POD", func(t *Scene, a []string,
		) string {
			return t.mountAbove(t.dirOf(a[0]))
		}},
		{"mount over the directory of pods", func(t *Scene, _ []string,
		) string {
			return t.mountAbove(lang.RootDir + "/pods")
		}},
		{"deny the listing of PATH for TIME", func(t *Scene, a []string,
		) string {
			return t.deny(a[0], Duration(a[1]))
		}},
		{"deny the reading of PATH for TIME", func(t *Scene, a []string,
		) string {
			return t.deny(a[0], Duration(a[1]))
		}},
		{"write N files in volume VOLUME of pod POD", func(t *Scene, a []string,
		) string {
			return t.fill(a[0], a[1], a[2])
		}},
		{"expect pod POD degraded TEXT", func(t *Scene, a []string) string { return t.expectDegraded(a[0], a[1]) }},
		{"expect at most N files of pods", func(t *Scene, a []string) string { return t.expectNames(a[0]) }},
	}
}

// fill is a statement: a container writes so many files.
func (t *Scene) fill(names, volume, name string) string {
	u, why := t.Container(volume, name)
	if why != "" {
		return why
	}
	n, _ := strconv.Atoi(names) // match has looked at it
	if errno := t.W.Fill(u.Path, n); errno != 0 {
		return errno.Error()
	}
	return ""
}

// expectNames is a statement: so many names, or fewer, are left of the files of pods.
func (t *Scene) expectNames(names string) string {
	most, _ := strconv.Atoi(names) // match has looked at it
	if n := t.W.Names(lang.RootDir + "/pods"); n > most {
		return strconv.Itoa(n) + " names are below the directories of pods"
	}
	return ""
}

// harm is a statement: somebody does something to the place of a volume.
func (t *Scene) harm(volume, name string, what vandalism) string {
	u, why := t.Container(volume, name)
	if why != "" {
		return why
	}
	_, p := t.Pod(name)
	if errno := harms(t.R, p, u, what); errno != 0 {
		return errno.Error()
	}
	return ""
}

// mountAbove is a statement: somebody mounts over a directory of the agent's.
func (t *Scene) mountAbove(dir string) string {
	for _, p := range t.R.Pods {
		for _, u := range p.Uses {
			Upsets(t.R, u.Path)
		}
	}
	if errno := t.W.MountForeign(dir); errno != 0 {
		return errno.Error()
	}
	return ""
}

func (t *Scene) dirOf(name string) string {
	object, _ := t.Pod(name)
	return lang.RootDir + "/pods/" + string(object.UID)
}

// expectDegraded is a statement: a volume of the pod is Degraded, and says why.
func (t *Scene) expectDegraded(name, text string) string {
	object, _ := t.Pod(name)
	why := "the engine does not know the pod"
	for _, s := range t.EngineStatus().Pods {
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
func (t *Scene) deny(at string, last time.Duration) string {
	judges.Denies(t.R, at, syscall.EACCES, last)
	return ""
}
