package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/scenarios/lang"
)

// This file is L3 of what a person leaves on a node: one entry that is bad harms only whom it concerns. In calm there
// is one, at times over a restart, and the pods that have nothing to do with it stay up, go and come as if it were not
// there.

// flaw is what kind of entry is bad.
type flaw uint8

const (
	nothingBad flaw = iota
	isStray         // a name in a directory that a start lists
	isBadText       // a manifest that is no object and names no pod
	isNoFile        // a directory with a manifest's name
	isDenied        // the directory of a pod's volumes can't be listed
	isOverlaid      // something is mounted over the directory of a pod
	isBound         // something is mounted below a volume of a pod that is deleted
	isBusy          // somebody keeps a volume of a pod busy that is deleted
)

// badEntry is one of them.
type badEntry struct {
	how      flaw
	place    string // of a stray
	what     int    // the stray is
	restarts bool   // the agent, while it is there
}

func (b badEntry) String() string {
	return [...]string{
		"nothing", "a stray at " + b.place, "a manifest that nobody understands", "a directory among the manifests",
		"a pod whose directory can't be listed",
		"a mount over the directory of a pod", "a mount below a volume of a pod",
		"somebody who keeps a volume of a pod busy",
	}[b.how]
}

// errs draws a bad entry.
func (g *workload) errs() badEntry {
	b := badEntry{how: flaw(g.pick("workload.bad", "", 0, 8, 1, 2, 2, 1, 1, 1, 1))}
	if b.how == nothingBad {
		return b
	}
	b.restarts = b.how == isDenied || g.pick("workload.bad-restart", "", 0, 1, 1) == 1
	if b.how == isStray {
		b.place = strayPlaces[g.pick("workload.bad-where", "", 0, slices.Repeat([]uint32{1}, len(strayPlaces))...)]
		b.what = int(g.pick("workload.bad-what", "", 0, 1, 1, 1))
	}
	return b
}

// spares has the entry come and go, and makes sure that it harms nobody whom it does not concern.
func (r *run) spares() bool {
	if r.bad.how == nothingBad || !r.files && (r.bad.how == isBadText || r.bad.how == isNoFile) {
		return true
	}
	guests := []*pod{r.joins(passerby)}
	if r.bad.how >= isDenied {
		guests = append(guests, r.joins(neighbour))
	}
	if !r.comesToRest("L2", "before a bad entry", r.bound()) {
		return false
	}
	var victim *pod
	if r.bad.how >= isDenied {
		i := slices.IndexFunc(r.pods, func(p *pod) bool {
			return p != guests[0] && r.isBystander(p) && r.placeFor(p) != ""
		})
		if i < 0 {
			return true // none has what the entry would concern
		}
		victim = r.pods[i]
	}
	undo, ok := r.mars(victim)
	if !ok {
		return true
	}
	if r.bad.restarts {
		r.w.Restarts(false)
		r.w.KillAgent()
		r.w.After(time.Second, "start the agent again", r.w.StartAgent)
	}
	if !r.until(r.w.Now().Add(longestStart)) {
		return false
	}
	r.w.Restarts(true)
	if !r.alive() {
		r.fail("L3", "start beside a bad entry", "agent",
			fmt.Sprintf("there is %s, and the agent has not started in %v", r.bad, longestStart))
		return false
	}
	others := []*pod{guests[0]} // whatever the agent believes of it
	for _, p := range r.pods {
		if p != victim && p != guests[0] && r.isBystander(p) {
			others = append(others, p)
		}
	}
	r.judges("L3")
	for _, p := range others {
		if !r.core.Ready(p.uid) {
			r.fail("L3", "stay beside a bad entry", p.name,
				fmt.Sprintf("pod %s has nothing to do with %s, and it is not ready: %s", p.name, r.bad,
					r.tellWhy(p.name)))
			return false
		}
	}
	if !r.goesAndComes(guests[0], r.bad.String()) || len(others) > 1 && !r.goesAndComes(others[1], r.bad.String()) {
		return false
	}
	undo()
	return r.comesToRest("L2", "the bad entry is mended", r.bound())
}

// placeFor is where the entry would be that concerns a pod; "" if there is none for it.
func (r *run) placeFor(p *pod) string {
	i := slices.IndexFunc(p.uses, func(u use) bool {
		switch {
		case u.isHost || u.exempt || !strings.HasPrefix(u.path, lang.RootDir+"/pods/"):
			return false
		case r.bad.how == isBound:
			return u.isEmptyDir()
		case r.bad.how == isBusy:
			return u.driver != "" && !u.raw && !u.bare
		default:
			return true
		}
	})
	switch {
	case i < 0:
		return ""
	case r.bad.how == isDenied:
		return lang.RootDir + "/pods/" + string(p.uid) + "/volumes"
	case r.bad.how == isOverlaid:
		return lang.RootDir + "/pods/" + string(p.uid)
	case r.bad.how == isBound:
		return p.uses[i].path + "/bound"
	default:
		return p.uses[i].path
	}
}

// mars makes the entry, and returns how it is taken away again; false if it can't be made.
func (r *run) mars(victim *pod) (undo func(), ok bool) {
	back := func() {
		if !victim.isWanted {
			r.apply(victim.object, victim.uses)
		}
	}
	switch r.bad.how {
	case isStray:
		before := len(r.root.strays)
		r.strays(r.bad.place, r.bad.what)
		return func() { r.w.SweepForeign(lang.RootDir); r.tidies() }, len(r.root.strays) > before
	case isBadText:
		at := lang.ManifestDir + "/zz-bad.yaml"
		r.w.WriteFile(at, []byte("speck: {}\n")) // it is whole and names no pod
		return func() { _ = r.w.RemoveFile(at) }, true
	case isNoFile:
		at := lang.ManifestDir + "/zz-bad.yaml"
		r.w.MakeDir(at)
		return func() { _ = r.w.RemoveFile(at) }, true
	case isDenied:
		at := r.placeFor(victim)
		r.w.Deny(at, syscall.EACCES)
		return func() { r.w.Deny(at, 0) }, true
	case isOverlaid:
		at := r.placeFor(victim)
		upset := func() {
			for _, u := range victim.uses {
				r.upsets(u.path)
			}
		}
		upset()
		return func() { upset(); _ = r.w.UnmountTop(at) }, r.w.MountForeign(at) == 0
	case isBound:
		at := r.placeFor(victim)
		r.w.MakeDir(at)
		if r.w.MountForeign(at) != 0 {
			return nil, false
		}
		r.remove(victim, time.Second)
		return func() { _ = r.w.UnmountTop(at); back() }, true
	case isBusy:
		release, err := r.w.Hold(r.placeFor(victim))
		if err != nil {
			return nil, false
		}
		r.remove(victim, time.Second)
		return func() { release(); back() }, true
	case nothingBad:
	}
	return nil, false
}
