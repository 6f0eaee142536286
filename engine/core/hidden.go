package core

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/hal"
)

// A start may fail to list a directory. An earlier life of the agent may have left volumes there that no record names.
// So core does nothing with a rung whose path lies there: the rung is veiled, which is Unknown, until the manager has
// listed the directory. Else a setup would mount over what is there, or a waiter would hear that it is gone.

// veil returns the name that hides the place of r; false if none does.
func (c *Core) veil(r *rung) (string, bool) {
	for _, name := range c.hidden {
		for _, at := range append([]string{Value(r.Want, "path")}, r.Places...) {
			if isAtOrBelow(at, name) {
				return name, true
			}
		}
	}
	return "", false
}

func isAtOrBelow(at, name string) bool { return at == name || strings.HasPrefix(at, name+"/") }

// isTold reports whether a record tells what is at a name, or below it.
func (c *Core) isTold(name string) bool {
	return slices.ContainsFunc(c.sorted(), func(r *rung) bool {
		return r.recorded && slices.ContainsFunc(r.Places, func(at string) bool { return isAtOrBelow(at, name) })
	})
}

// unknownUser returns a place that volnode could not look at, and for whose sake a verb on r waits. The journal may be
// an old copy, or damaged; then a pod may have a volume there that no record names. That volume may stand on what pods
// share, so a teardown of such a rung waits. It may be the same volume, so the setup of one for a single pod waits.
func (c *Core) unknownUser(r *rung, verb Verb) (string, bool) {
	isShared := verb == TearDown && r.Pod == ""
	isForOne := verb == SetUp && r.Exclusive != "" && r.state != Present
	if !isShared && !isForOne || len(c.unseen) == 0 {
		return "", false
	}
	return c.unseen[0], true
}

// Hidden returns the names that could not be looked at, not to be changed. Any volume of an earlier life may be there.
func (c *Core) Hidden() []string { return c.hidden }

// IsKnown reports whether a rung has a history: what a listing tells of it is no news.
func (c *Core) IsKnown(key hal.Key) bool {
	r := c.rungs[key]
	return r != nil && !r.veiled && !r.isUntouched()
}

// isUntouched reports whether r is only wanted: it has no record, and this run has not looked at its place or called
// anybody for it.
func (r *rung) isUntouched() bool {
	return !r.recorded && !r.inspected && r.trust == clean && r.op == nil && r.child == "" &&
		!slices.ContainsFunc(r.calls, func(k call) bool { return k.op != 0 })
}

// HasVolume reports whether there is a rung of a volume.
func (c *Core) HasVolume(volume string) bool { return len(c.volumes[volume]) > 0 }

// mayComeToLight reports whether a later listing may find what is not known yet: a name could not be looked at, or a
// setup of an earlier run may still act.
func (c *Core) mayComeToLight() bool { return len(c.hidden) > 0 || c.now < c.comesUntil }

// closeWindow forgets the pods that it kept in mind only because something might have come to light.
func (c *Core) closeWindow() {
	if c.comesUntil == 0 || c.now < c.comesUntil {
		return
	}
	c.comesUntil = 0
	c.forgetPods()
}

func (c *Core) forgetPods() {
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		c.forgetPod(c.pods[uid])
	}
}

// mayComeUnknown reports whether r is only wanted, and a setup of an earlier run may still bring it up. If the journal
// was lost, no record tells of that setup (laws 5.4).
func (c *Core) mayComeUnknown(r *rung) bool {
	return c.earlier != 0 && r.Intent && r.isUntouched() && r.op == nil && c.rival(r) == nil &&
		c.now < c.earlier.Add(r.Limits.SetUp+r.Limits.LateWindow)
}

// comesUnknown makes r a rung without a record: such a setup has acted. Nobody was told that r is ready, so no
// containers have it. The call acts once, so r needs no fence.
func (c *Core) comesUnknown(r *rung) {
	c.addOrphan(r.Rung)
	e := r.evidence
	e.mayBeUsed = false
	r.believe(e)
	c.markAround(r)
}

// discovered takes in what was found where a start could not look.
func (c *Core) discovered(e Discovered) {
	c.hidden = e.Hidden
	before := c.unseen
	c.unseen = slices.Clone(e.Unseen)
	isMissing := func(orphan Rung) bool { return orphan.Pod == "" && !c.IsKnown(orphan.Key) }
	if !slices.ContainsFunc(e.Orphans, isMissing) { // else records are missing
		c.unseen = slices.DeleteFunc(c.unseen, func(name string) bool {
			is := func(was string) bool { return isAtOrBelow(name, was) || isAtOrBelow(was, name) }
			return !slices.ContainsFunc(before, is)
		})
	}
	c.addOrphans(slices.DeleteFunc(slices.Clone(e.Orphans), func(orphan Rung) bool { return c.IsKnown(orphan.Key) }))
	for _, r := range c.sorted() {
		if _, is := c.veil(r); r.veiled && !is {
			r.believe(fresh(false))
		}
		c.markAround(r)
	}
	c.forgetPods()
}

// addOrphans takes in rungs that no record tells of, and fences what an earlier run's last calls may still do to them
// (laws 4.4). A setup of each may come. So may a teardown of what pods share, where nothing is above it: an unstage is
// sent only once all publishes are gone. A teardown of a pod's own rung is not minded: its containers may run, and
// each loss of the journal would keep them waiting.
func (c *Core) addOrphans(orphans []Rung) {
	for _, orphan := range orphans {
		c.addOrphan(orphan)
	}
	if c.earlier == 0 {
		return // no run was before this one
	}
	for _, orphan := range orphans {
		r := c.rungs[orphan.Key]
		if !r.Intent || len(r.calls) > 0 {
			continue
		}
		fence := func(v Verb, limit time.Duration) {
			if until := c.earlier.Add(limit + r.Limits.LateWindow); until > c.now {
				r.fence(call{verb: v, until: until})
			}
		}
		fence(SetUp, r.Limits.SetUp)
		if r.Pod == "" && !slices.ContainsFunc(c.above[r.Key], (*rung).isLeft) {
			fence(TearDown, r.Limits.TearDown)
		}
	}
}

// fenceForgotten keeps r down while an unstage of an earlier run may still act, if the journal is lost (laws 4.4). The
// first of two unstages may act after the driver has answered the second, and no directory is left to show it. core
// writes no record of this fence: if the agent dies again within that time, the next run does not wait.
func (c *Core) fenceForgotten(r *rung) {
	until := c.earlier.Add(r.Limits.TearDown + r.Limits.LateWindow)
	if !c.hasLost || r.Pod != "" || r.Actor == "" || !r.Intent || until <= c.now {
		return
	}
	r.fence(call{verb: TearDown, until: until})
}

// addOrphan takes in a rung that the directories of an earlier life name and that no record does: it is Unknown.
func (c *Core) addOrphan(orphan Rung) {
	r := c.rungs[orphan.Key]
	if r == nil {
		r = c.add(orphan)
	}
	e := r.doubted()
	// What left a trace and no record may have been up: unknown is running.
	e.veiled, e.foundOnDisk, e.mayBeUsed = false, true, r.Pod != ""
	r.believe(e)
	r.made = orphan.Want
	c.locate(r)
	c.lastSeq++ // what no record tells of came after the last copy of the journal
	r.seq = c.lastSeq
}
