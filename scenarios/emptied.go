package scenarios

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is the end of a world: every pod is deleted, and nothing may be left.

// empties deletes all pods, and nothing may be left of them.
func (r *run) empties() {
	r.tidies() // what somebody had mounted is gone by now
	isTold := r.asksForTheEnd()
	for _, p := range r.pods {
		r.remove(p, time.Second)
	}
	r.w.After(time.Minute, "somebody looks why a driver refuses", r.forgetsUnseeable)
	if !r.until(r.w.Now().Add(2*time.Second)) || !r.awaitRest("L4", "emptied", r.bound()) || !isTold() {
		return
	}
	if !r.facesTruth() {
		return
	}
	r.clears()
	if r.hangsOn() {
		return
	}
	r.judges("L1")
	if what := r.leftover(); what != "" {
		r.fail("L1", "emptied", what, "every pod is deleted, and this is left: "+what)
		return
	}
	r.sweeps()
}

// forgetsUnseeable has drivers forget the publishes of which nobody on the node can know. One that remembers such a
// publish refuses each unstage of its volume, until a person tells it that the publish is gone.
func (r *run) forgetsUnseeable() {
	for _, h := range r.w.Published() {
		if r.isUnseeable(&h) {
			r.w.Forget(h)
		}
	}
}

// leftover names something of a volume that is left, "" if nothing is.
func (r *run) leftover() string {
	left := strings.Join(r.core.Hidden(), ", ") // nobody could look there: any volume may be
	if r.core.Beliefs(func(b core.Belief) { left = "the rung " + string(b.Key) }); left != "" {
		return left
	}
	for _, m := range r.w.Mounts() {
		if isOurs(m.Path) {
			return "the mount at " + m.Path
		}
	}
	for _, h := range r.w.Staged() {
		if !r.isUnseeable(&h) {
			return "the stage of " + h.Volume + " at " + h.Path
		}
	}
	for _, h := range r.w.Published() {
		if !r.isUnseeable(&h) {
			return "the publish of " + h.Volume + " at " + h.Path
		}
	}
	if what := r.namesLeft(r.isLitter); what != "" {
		return what
	}
	status, ok := r.status()
	if !ok {
		return "an agent that does not answer"
	}
	calls, actors, served := r.core.Memories()
	if n := status.Journal.Records - calls - actors - len(served); n > 0 {
		return fmt.Sprintf("%d records in the journal", n)
	}
	if served = slices.DeleteFunc(served, r.hasRival); len(served) > 0 {
		return "the record of who serves " + served[0]
	}
	if all := r.generations(); len(all) > mostGenerations {
		return "files of the journal that others have replaced: " + strings.Join(all, ", ")
	}
	if all := r.w.WatchedPaths(); len(all) > 1 { // one is that of the journal
		return "a watch: the agent follows " + strings.Join(all, ", ")
	}
	r.asksInUseAtLast()
	r.tellsAtTheEnd(status)
	return ""
}

// mostGenerations is how many files of the journal may be there: what could not be taken away, as the agent died or the
// disk failed, goes once another one is begun.
const mostGenerations = 3

// generations names the files of the journal, but for the spare and what is kept of damaged ones.
func (r *run) generations() []string {
	return slices.DeleteFunc(r.w.Entries(path.Join(lang.RootDir, "volnode/journal")), func(name string) bool {
		_, err := strconv.ParseUint(strings.TrimPrefix(name, "journal."), 10, 64)
		return err != nil
	})
}

// asksInUseAtLast asks the engine, of which nothing is left, for each volume that was there.
func (r *run) asksInUseAtLast() {
	m := r.m
	r.w.Do(func() {
		r.notInUse(func(name string) (bool, error) { return m.VolumeIsAttached(r.w.Context(0), name) })
	})
}

// notInUse is L5. ask is the engine's answer for a volume, driver^handle.
func (r *run) notInUse(ask func(string) (bool, error)) {
	for _, p := range r.list {
		r.judges("L5")
		name := p.driver + "^" + p.volume
		if isInUse, err := ask(name); err != nil || isInUse {
			r.fail("L5", "emptied", name, "nothing is left of volume "+name+", and it is told to be in use")
		}
	}
}

// namesLeft names a directory of a pod or a volume that is left, "" if none is but such as may be.
func (r *run) namesLeft(mayBe func(string) bool) string {
	for _, name := range r.w.Entries(path.Join(lang.RootDir, "pods")) {
		if !mayBe(path.Join(lang.RootDir, "pods", name)) {
			return "the directory pods/" + name
		}
	}
	csi := path.Join(lang.RootDir, "plugins/kubernetes.io/csi")
	for _, driver := range r.w.Entries(csi) {
		for _, name := range r.w.Entries(path.Join(csi, driver)) {
			if !mayBe(path.Join(csi, driver, name)) {
				return "the directory " + path.Join(driver, name)
			}
		}
	}
	return ""
}

// tellsAtTheEnd is S17 of the journal, the status and the plan.
func (r *run) tellsAtTheEnd(status engine.Status) {
	dir := path.Join(lang.RootDir, "volnode/journal")
	for _, name := range r.w.Entries(dir) {
		if r.leaks.In(r.w.FileText(path.Join(dir, name))) != "" {
			r.fail("S17", "journal", name, "a secret is in the journal")
		}
	}
	r.reveals("status", "status", fmt.Sprintf("%+v", status))
}
