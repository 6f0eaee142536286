package judges

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Loses notes that a pod has lost what a volume held: it must say so as long as the pod is there.
func Loses(r *world.Run, p *world.Pod, at string) {
	if !p.IsRunning {
		return
	}
	isRemade := func(u world.Use) bool { return u.Path == at && !u.HoldsData() }
	if !slices.ContainsFunc(p.Given, isRemade) {
		r.LosesBlocks(p)
		if p.Writer != nil {
			p.Writer.Views = nil // until they are started again its containers write to what nobody finds any more
		}
	}
	if !r.Root.Unseen[at] {
		// what nobody has looked at since the journal was lost was never another directory, for all that can be known
		r.Lost[at] = p
	}
}

// madeRight is a part of S29: what the agent makes for pods has the mode that others rely on (K:G97).
func madeRight(r *world.Run, e *sim.Effect) {
	if e.Actor != "agent" || !world.Below(e.Path, lang.RootDir+"/pods") {
		return
	}
	kind, _ := r.W.Exists(e.Path)
	mode, there := r.W.Mode(e.Path)
	if !there || kind != hal.TypeDirectory {
		return
	}
	want, isRight := uint32(op.ParentMode), func(want uint32) bool { return mode == want }
	if m, isWithin := world.DirectoryAt(e.Path); isWithin {
		return // it is a part of what a volume holds
	} else if m != nil {
		want = m.Mode
		if m.IsGiven {
			isRight = func(want uint32) bool { return isRightOf(r, e.Path, want, mode) }
		}
	}
	r.Judges("S29")
	if !isRight(want) {
		r.Fail("S29", "made", e.Path, fmt.Sprintf("%s is made with the mode %#o, not %#o", e.Path, mode, want))
	}
}

// isRightOf reports whether mode is that of a directory which is, or will be, given to the group of its pod, by some
// version of it.
func isRightOf(r *world.Run, at string, want, mode uint32) bool {
	i := slices.IndexFunc(r.Pods, func(p *world.Pod) bool { return world.Below(at, lang.RootDir+"/pods/"+string(p.Uid)) })
	return mode == want || i >= 0 && slices.ContainsFunc(r.Pods[i].Groups, func(group string) bool {
		return mode == world.ModeOf(want, group)
	})
}

// wipes notes that an inline volume goes, and its data with it, by a call of which only a journal knew that was lost,
// or as the agent has an old journal, by which it was never up: see unpublishSent. Its containers write on to what is
// gone, so it is not judged until others are started.
func wipes(r *world.Run, e *sim.Effect) {
	p := PlaceOf(r, e)
	if p != nil && strings.HasPrefix(p.Volume, "csi-") && (p.IsOutdated || isOfLostJournal(r, e, p)) {
		r.Wiped[p.Driver+"^"+p.Volume] = true
	}
}
