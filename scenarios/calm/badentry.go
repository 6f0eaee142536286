package calm

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is L3 of what a person leaves on a node: one entry that is bad harms only whom it concerns. In calm there
// is one, at times over a restart, and the pods that have nothing to do with it stay up, go and come as if it were not
// there.

const (
	nothingBad world.Flaw = iota
	isStray               // a name in a directory that a start lists
	isBadText             // a manifest that is no object and names no pod
	isNoFile              // a directory with a manifest's name
	isDenied              // the directory of a pod's volumes can't be listed
	isOverlaid            // something is mounted over the directory of a pod
	isBound               // something is mounted below a volume of a pod that is deleted
	isBusy                // somebody keeps a volume of a pod busy that is deleted
)

func textOf(b world.BadEntry) string {
	return [...]string{
		"nothing", "a stray at " + b.Place, "a manifest that nobody understands", "a directory among the manifests",
		"a pod whose directory can't be listed",
		"a mount over the directory of a pod", "a mount below a volume of a pod",
		"somebody who keeps a volume of a pod busy",
	}[b.How]
}

// Errs draws a bad entry.
func Errs(g *workload.Workload) world.BadEntry {
	b := world.BadEntry{How: world.Flaw(g.Pick("workload.bad", "", 0, 8, 1, 2, 2, 1, 1, 1, 1))}
	if b.How == nothingBad {
		return b
	}
	b.Restarts = b.How == isDenied || g.Pick("workload.bad-restart", "", 0, 1, 1) == 1
	if b.How == isStray {
		b.Place = judges.StrayPlaces[g.Pick("workload.bad-where", "", 0,
			slices.Repeat([]uint32{1}, len(judges.StrayPlaces))...)]
		b.What = int(g.Pick("workload.bad-what", "", 0, 1, 1, 1))
	}
	return b
}

// spares has the entry come and go, and makes sure that it harms nobody whom it does not concern.
func spares(r *world.Run) bool {
	if r.Bad.How == nothingBad || !r.Files && (r.Bad.How == isBadText || r.Bad.How == isNoFile) {
		return true
	}
	guests := []*world.Pod{joins(r, passerby)}
	if r.Bad.How >= isDenied {
		guests = append(guests, joins(r, neighbour))
	}
	if !comesToRest(r, "L2", "before a bad entry", bound(r)) {
		return false
	}
	var victim *world.Pod
	if r.Bad.How >= isDenied {
		i := slices.IndexFunc(r.Pods, func(p *world.Pod) bool {
			return p != guests[0] && isBystander(r, p) && placeFor(r, p) != ""
		})
		if i < 0 {
			return true // none has what the entry would concern
		}
		victim = r.Pods[i]
	}
	undo, ok := mars(r, victim)
	if !ok {
		return true
	}
	if r.Bad.Restarts {
		r.W.Restarts(false)
		r.W.KillAgent()
		r.W.After(time.Second, "start the agent again", r.W.StartAgent)
	}
	if !r.Until(r.W.Now().Add(dealings.LongestStart)) {
		return false
	}
	r.W.Restarts(true)
	if !r.Alive() {
		r.Fail("L3", "start beside a bad entry", "agent",
			fmt.Sprintf("there is %s, and the agent has not started in %v", textOf(r.Bad), dealings.LongestStart))
		return false
	}
	others := []*world.Pod{guests[0]} // whatever the agent believes of it
	for _, p := range r.Pods {
		if p != victim && p != guests[0] && isBystander(r, p) {
			others = append(others, p)
		}
	}
	r.Judges("L3")
	for _, p := range others {
		if !r.Core.Ready(p.Uid) {
			r.Fail("L3", "stay beside a bad entry", p.Name,
				fmt.Sprintf("pod %s has nothing to do with %s, and it is not ready: %s", p.Name, textOf(r.Bad),
					judges.TellWhy(r, p.Name)))
			return false
		}
	}
	if !goesAndComes(r, guests[0], textOf(r.Bad)) || len(others) > 1 && !goesAndComes(r, others[1], textOf(r.Bad)) {
		return false
	}
	undo()
	return comesToRest(r, "L2", "the bad entry is mended", bound(r))
}

// placeFor is where the entry would be that concerns a pod; "" if there is none for it.
func placeFor(r *world.Run, p *world.Pod) string {
	i := slices.IndexFunc(p.Uses, func(u world.Use) bool {
		switch {
		case u.IsHosts() || u.Exempt || !strings.HasPrefix(u.Path, lang.RootDir+"/pods/"):
			return false
		case r.Bad.How == isBound:
			return u.IsDirectory()
		case r.Bad.How == isBusy:
			return u.Driver != "" && !u.Raw && !u.Bare
		default:
			return true
		}
	})
	switch {
	case i < 0:
		return ""
	case r.Bad.How == isDenied:
		return lang.RootDir + "/pods/" + string(p.Uid) + "/volumes"
	case r.Bad.How == isOverlaid:
		return lang.RootDir + "/pods/" + string(p.Uid)
	case r.Bad.How == isBound:
		return p.Uses[i].Path + "/bound"
	default:
		return p.Uses[i].Path
	}
}

// mars makes the entry, and returns how it is taken away again; false if it can't be made.
func mars(r *world.Run, victim *world.Pod) (undo func(), ok bool) {
	back := func() {
		if !victim.IsWanted {
			dealings.Apply(r, victim.Object, victim.Uses)
		}
	}
	switch r.Bad.How {
	case isStray:
		before := len(r.Root.Strays)
		judges.Strays(r, r.Bad.Place, r.Bad.What)
		return func() { r.W.SweepForeign(lang.RootDir); judges.Tidies(r) }, len(r.Root.Strays) > before
	case isBadText:
		at := lang.ManifestDir + "/zz-bad.yaml"
		r.W.WriteFile(at, []byte("speck: {}\n")) // it is whole and names no pod
		return func() { _ = r.W.RemoveFile(at) }, true
	case isNoFile:
		at := lang.ManifestDir + "/zz-bad.yaml"
		r.W.MakeDir(at)
		return func() { _ = r.W.RemoveFile(at) }, true
	case isDenied:
		at := placeFor(r, victim)
		r.W.Deny(at, syscall.EACCES)
		return func() { r.W.Deny(at, 0) }, true
	case isOverlaid:
		at := placeFor(r, victim)
		upset := func() {
			for _, u := range victim.Uses {
				workload.Upsets(r, u.Path)
			}
		}
		upset()
		return func() { upset(); _ = r.W.UnmountTop(at) }, r.W.MountForeign(at) == 0
	case isBound:
		at := placeFor(r, victim)
		r.W.MakeDir(at)
		if r.W.MountForeign(at) != 0 {
			return nil, false
		}
		judges.Remove(r, victim, time.Second)
		return func() { _ = r.W.UnmountTop(at); back() }, true
	case isBusy:
		release, err := r.W.Hold(placeFor(r, victim))
		if err != nil {
			return nil, false
		}
		judges.Remove(r, victim, time.Second)
		return func() { release(); back() }, true
	case nothingBad:
	}
	return nil, false
}
