package calm

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is the end of a world: every pod is deleted, and nothing may be left.

// empties deletes all pods, and nothing may be left of them.
func empties(r *world.Run) {
	judges.Tidies(r) // what somebody had mounted is gone by now
	isTold := asksForTheEnd(r)
	for _, p := range r.Pods {
		judges.Remove(r, p, time.Second)
	}
	r.W.After(time.Minute, "somebody looks why a driver refuses", func() { forgetsUnseeable(r) })
	if !r.Until(r.W.Now().Add(2*time.Second)) || !awaitRest(r, "L4", "emptied", bound(r)) || !isTold() {
		return
	}
	if !judges.FacesTruth(r) {
		return
	}
	judges.Clears(r)
	if hangsOn(r) {
		return
	}
	r.Judges("L1")
	if what := Leftover(r); what != "" {
		r.Fail("L1", "emptied", what, "every pod is deleted, and this is left: "+what)
		return
	}
	sweeps(r)
}

// forgetsUnseeable has drivers forget the publishes of which nobody on the node can know. One that remembers such a
// publish refuses each unstage of its volume, until a person tells it that the publish is gone.
func forgetsUnseeable(r *world.Run) {
	for _, h := range r.W.Published() {
		if judges.IsUnseeable(r, &h) {
			r.W.Forget(h)
		}
	}
}

// mapLeft names a map of a disk that is left, or a name of one that multipathd keeps, "" if there is none.
func mapLeft(r *world.Run) string {
	stays := func(wwid string) bool {
		return slices.ContainsFunc(r.Rooms, func(m world.RoomRun) bool { return m.Stays(r, wwid) })
	}
	for _, m := range r.W.MultipathMaps() {
		if !stays(m.WWID) {
			return "the map " + m.UUID
		}
	}
	for _, wwid := range r.W.WWIDs() {
		if !r.W.IsGreedy() && !r.W.HasOutlasted(wwid) && !stays(wwid) {
			return "the name of the disk " + wwid + " with multipathd"
		}
	}
	return ""
}

// Leftover names something of a volume that is left, "" if nothing is.
func Leftover(r *world.Run) string {
	left := strings.Join(r.Core.Hidden(), ", ") // nobody could look there: any volume may be
	if r.Core.Beliefs(func(b core.Belief) { left = "the rung " + string(b.Key) }); left != "" {
		return left
	}
	for _, m := range r.W.Mounts() {
		if world.IsOurs(m.Path) {
			return "the mount at " + m.Path
		}
	}
	for _, h := range r.W.Staged() {
		if !judges.IsUnseeable(r, &h) {
			return "the stage of " + h.Volume + " at " + h.Path
		}
	}
	for _, h := range r.W.Published() {
		if !judges.IsUnseeable(r, &h) {
			return "the publish of " + h.Volume + " at " + h.Path
		}
	}
	for _, p := range r.W.Projects() {
		// A directory that somebody has moved aside keeps its limit until after that is cleared away.
		if p.IsOurs && len(p.Tops) == 0 && r.HoldsLimits && r.Aside == 0 {
			return "the limit of project " + strconv.FormatUint(uint64(p.Number), 10)
		}
	}
	for _, s := range r.W.OwnSessions() {
		return "the session " + strconv.FormatUint(uint64(s.ID), 10) + " with " + s.Target
	}
	if what := mapLeft(r); what != "" {
		return what
	}
	for _, d := range r.W.HeldDevices() {
		return "the hold " + d.Name + " of device " + d.Device
	}
	for _, l := range r.W.ISCSIRecords() {
		return "the record of a session with " + l.Target
	}
	for _, h := range r.W.FlexHolds() {
		return "what the driver " + h.Driver + " holds for " + h.Dir
	}
	if what := judges.NamesLeft(r, func(dir string) bool { return judges.IsLitter(r, dir) }); what != "" {
		return what
	}
	status, ok := judges.Status(r)
	if !ok {
		return "an agent that does not answer"
	}
	calls, actors, served := r.Core.Memories()
	if n := status.Journal.Records - calls - actors - len(served) - len(r.Core.Owners()); n > 0 {
		return fmt.Sprintf("%d records in the journal", n)
	}
	if served = slices.DeleteFunc(served, func(driver string) bool {
		return dealings.HasRival(r,
			driver)
	}); len(served) > 0 {
		return "the record of who serves " + served[0]
	}
	if all := generations(r); len(all) > mostGenerations {
		return "files of the journal that others have replaced: " + strings.Join(all, ", ")
	}
	if all := r.W.WatchedPaths(); len(all) > 1 { // one is that of the journal
		return "a watch: the agent follows " + strings.Join(all, ", ")
	}
	asksInUseAtLast(r)
	TellsAtTheEnd(r, status)
	return ""
}

// mostGenerations is how many files of the journal may be there: what could not be taken away, as the agent died or the
// disk failed, goes once another one is begun.
const mostGenerations = 3

// generations names the files of the journal, but for the spare and what is kept of damaged ones.
func generations(r *world.Run) []string {
	return slices.DeleteFunc(r.W.Entries(path.Join(lang.RootDir, "volnode/journal")), func(name string) bool {
		_, err := strconv.ParseUint(strings.TrimPrefix(name, "journal."), 10, 64)
		return err != nil
	})
}

// asksInUseAtLast asks the engine, of which nothing is left, for each volume that was there.
func asksInUseAtLast(r *world.Run) {
	m := r.M
	r.W.Do(func() {
		NotInUse(r, func(name string) (bool, error) { return m.VolumeIsAttached(r.W.Context(0), name) })
	})
}

// NotInUse is L5. ask is the engine's answer for a volume, driver^handle.
func NotInUse(r *world.Run, ask func(string) (bool, error)) {
	for _, p := range r.List {
		r.Judges("L5")
		name := p.Driver + "^" + p.Volume
		if isInUse, err := ask(name); err != nil || isInUse {
			r.Fail("L5", "emptied", name, "nothing is left of volume "+name+", and the engine reports it in use")
		}
	}
}

// TellsAtTheEnd is S17 of the journal, the status and the plan.
func TellsAtTheEnd(r *world.Run, status engine.Status) {
	dir := path.Join(lang.RootDir, "volnode/journal")
	for _, name := range r.W.Entries(dir) {
		if r.Leak(r.W.FileText(path.Join(dir, name))) != "" {
			r.Fail("S17", "journal", name, "a secret is in the journal")
		}
	}
	r.Reveals("status", "status", fmt.Sprintf("%+v", status))
}

// sweeps starts the agent again, if something is left that only the next start removes. It must be gone then.
func sweeps(r *world.Run) {
	if judges.NamesLeft(r, func(string) bool { return false }) == "" {
		return
	}
	r.W.KillAgent()
	if !r.Until(r.W.Now().Add(2*time.Second)) || !comesToRest(r, "L6", "restarted", dealings.Hasty) {
		return
	}
	r.Root.IsSwept = true
	if what := judges.NamesLeft(r, func(dir string) bool { return judges.IsLitter(r, dir) }); what != "" {
		r.Fail("L1", "swept", what, "every pod is deleted, the agent has started since, and this is left: "+what)
	}
}
