package scenarios

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is journals in hunts that are nearly full, or older than what the agent has done.

// What is the matter with the journal.
const (
	isSmall  = 1 + iota // it has room for a few ladders
	getsTiny            // it is configured again with less room, when records fill it
	isOld               // an old copy of it comes into its place, as from a backup
	// one that tells of another root directory comes into its place, as if the root directory was copied.
	isElsewheres
)

// leastRoom and mostRoom bound how large a small journal is, in KiB: a ladder takes about one and a half.
const leastRoom, mostRoom = 8, 20

// planJournal draws what is the matter with the journal.
func (g *workload) planJournal() {
	how := g.pick("workload.journal", "", 0, 9, 1, 1, 1, 1)
	room := g.choose.Between(sim.NewID("workload.journal-room", "", 0), leastRoom, mostRoom) << 10
	switch how {
	case isSmall:
		g.r.shrinksJournal(room)
	case getsTiny:
		g.at(g.time("workload.journal-time", "", 0, g.setup.Chaos), "journal", func() {
			g.r.shrinksJournal(room)
			g.r.sleeps(time.Second + g.time("workload.away", "journal", 0, awayMost))
		})
	case isOld:
		begin := g.time("workload.journal-time", "", 0, g.setup.Chaos)
		g.at(begin, "journal", func() { _ = g.r.copiesJournal() })
		g.at(begin+g.time("workload.journal-age", "", 0, awayMost), "journal", func() {
			g.r.sleeps(time.Second + g.time("workload.away", "journal", 0, awayMost))
			_ = g.r.restoresJournal() // not while the agent lives: a person looks first
		})
	case isElsewheres:
		g.at(g.time("workload.journal-time", "", 0, g.setup.Chaos), "journal", func() {
			g.r.sleeps(time.Second + g.time("workload.away", "journal", 0, awayMost))
			g.r.journalOf(inRoot("/srv/volnode"))
		})
	}
}

// inRoot is what a parameter of a record is in another root directory.
func inRoot(root string) func(core.Param) core.Param {
	return func(p core.Param) core.Param {
		if below(p.Value, lang.RootDir) {
			p.Value = root + strings.TrimPrefix(p.Value, lang.RootDir)
		}
		return p
	}
}

// ofNode is what it is on another node.
func ofNode(name string) func(core.Param) core.Param {
	return func(p core.Param) core.Param {
		if plugin.NodeOf([]core.Param{p}) != "" {
			p.Value = name
		}
		return p
	}
}

// otherJournal is a statement.
func (t *scene) otherJournal(rewrite func(core.Param) core.Param) string {
	if !t.r.journalOf(rewrite) {
		return "there is no record that would be another one; kill the agent for a time first, and have an attached " +
			"volume up for a node's name"
	}
	return ""
}

// journalOf rewrites the parameters of the journal's records, while no agent lives: it is as it would be elsewhere. A
// person who reads that the start refuses it puts back what was there.
func (r *run) journalOf(rewrite func(core.Param) core.Param) bool {
	if _, isNode := r.w.Exists(identity.File(lang.RootDir)); !isNode || r.w.AgentLives() {
		return false
	}
	_ = r.copiesJournal()
	isOther := false
	w, records := r.opensBackup()
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		j, _, err := journal.Open(&h, hal.Call{}, otherJournal, r.cfg.JournalBytes,
			func(rec core.Record) core.Record { return rec },
			func([]core.Record) error { return nil })
		if err != nil {
			return
		}
		var lines []core.Line
		for _, rec := range records {
			// a path of the host is the same wherever the root directory is
			hasPlaces := len(kinds.All().Places(&rec.Rung)) > 0
			for i, p := range rec.Rung.Want {
				if hasPlaces {
					rec.Rung.Want[i] = rewrite(p)
				}
				isOther = isOther || rec.Rung.Want[i] != p && rec.Phase != core.Lingering // of which nothing is left
			}
			lines = append(lines, core.Line{Key: rec.Rung.Key, Record: rec, Sync: true})
		}
		isOther = isOther && j.Append(&h, hal.Call{}, lines) == nil
	})
	if !isOther {
		return false
	}
	_ = r.removeTree(journalDir)
	r.root.spoilt = spoilt{}
	const first = "/journal.1" // a spare is not needed
	r.root.others = w.ReadFile(otherJournal + first)
	r.w.WriteFile(journalDir+first, r.root.others)
	r.root.mayRefuse = true
	return true
}

// opensBackup reads the copy of the journal, in a world of its own.
func (r *run) opensBackup() (w *sim.World, records []core.Record) {
	w = sim.New(sim.Config{RootDir: lang.RootDir})
	for _, name := range slices.Sorted(maps.Keys(r.backup)) {
		w.WriteFile(journalDir+"/"+name, r.backup[name])
	}
	h := w.Host()
	w.Do(func() { records, _, _ = journal.Peek(&h, hal.Call{}, journalDir) }) // what can't be read has no records
	return w, records
}

// hasOthers: the journal is the one that was made elsewhere.
func (r *run) hasOthers() bool {
	return r.root.others != nil && slices.ContainsFunc(r.w.Entries(journalDir), func(name string) bool {
		_, isJournal := journal.Generation(name) // what a start has put aside is read by none
		return isJournal && bytes.Equal(r.w.ReadFile(journalDir+"/"+name), r.root.others)
	})
}

const otherJournal = lang.RootDir + "/volnode/other"

// shrinksJournal configures a journal that has not room for all. Pods come as others go, and it is not judged how soon.
func (r *run) shrinksJournal(bytes int64) {
	r.roomy, r.cfg.JournalBytes, r.cfg.JournalMost = r.cfg.JournalMost, bytes, bytes
	r.delays(cases.Chaos)
}

// makesRoom is a person who reads that the journal is full and does what that asks for: they remove pods, which go, as
// that needs no room. There is room for one that waited then: it comes up. In the end they configure a larger journal,
// and bring the pods back.
func (r *run) makesRoom() bool {
	if r.roomy == 0 {
		return true
	}
	gone := slices.DeleteFunc(slices.Clone(r.pods), func(p *pod) bool { return !p.isWanted })
	last := slices.IndexFunc(gone, func(p *pod) bool { return !p.isRunning && !r.keepsFormer(p) })
	if last < 0 {
		last = slices.IndexFunc(gone, func(p *pod) bool { return !r.keepsFormer(p) })
	}
	if last >= 0 {
		for i, p := range gone {
			if i != last {
				r.remove(p, time.Second)
			}
		}
		if !r.until(r.w.Now().Add(longestAway + slowest)) {
			return false
		}
		hasRoom := r.hasRoomFor(gone[last]) && !r.keepsFormer(gone[last]) // an edit may come as late as now
		if hasRoom && !r.comesToRest("L2", "with room for one", r.bound()) {
			return false
		}
	}
	for _, p := range gone {
		r.remove(p, time.Second) // those that are left
	}
	if !r.comesToRest("L4", "without room", r.bound()) {
		return false
	}
	r.cfg.JournalMost, r.roomy = r.roomy, 0
	r.sleeps(time.Second)
	for _, p := range gone {
		r.apply(p.object, p.uses)
	}
	return r.until(r.w.Now().Add(2 * time.Second))
}

// hasRoomFor: the journal can hold the records of a pod beside those that a broken driver keeps from going.
func (r *run) hasRoomFor(p *pod) bool {
	room := int64(0)
	for _, u := range p.uses {
		room += cases.LadderRoom / 2
		if u.driver != "" {
			room += cases.LadderRoom / 2
		}
	}
	return min(room, cases.PodRoom) <= r.cfg.JournalMost*3/4-r.takenByBroken(p)
}

// takenByBroken is what the records of a broken driver take of the journal that are not a pod's own. What was found
// without a record gets one as it is taken down.
func (r *run) takenByBroken(p *pod) int64 {
	var last journal.Examined
	newest := uint64(0)
	for _, name := range r.w.Entries(journalDir) {
		if g, ok := journal.Generation(name); ok && g >= newest {
			b := r.w.ReadFile(journalDir + "/" + name)
			if e, err := journal.Examine(g, b, int64(len(b)), r.w.BootID()); err == nil && e.Whole {
				newest, last = g, e
			}
		}
	}
	taken, upon := 0, map[hal.Key]int{}
	isUsed := func(volume string) bool {
		return slices.ContainsFunc(p.uses, func(u use) bool { return u.driver+"^"+u.volume == volume })
	}
	isOwn := func(volume string, pod core.PodUID) bool { return isUsed(volume) && (pod == "" || pod == p.uid) }
	isRecorded := map[hal.Key]bool{}
	for _, e := range last.Records { // by key: a publish comes before its stage, which keeps room for it
		is, worst := e.Record.Rung, journal.WorstSize(e.Record)
		isRecorded[is.Key] = true
		switch {
		case !r.isBroken(string(is.Key)) && !r.isKeptBy(is.Pod) && upon[is.Key] == 0 || isOwn(is.Volume, is.Pod):
		case len(is.Below) > 0 && !isUsed(is.Volume):
			upon[is.Below[0]] += worst
		default:
			taken += worst + max(e.Room, upon[is.Key])
		}
	}
	if r.core == nil {
		return int64(taken)
	}
	r.core.Beliefs(func(b core.Belief) {
		if r.isBroken(string(b.Key)) && b.State != core.Absent && !isRecorded[b.Key] && !isOwn(b.Volume, b.Pod) {
			taken += cases.LadderRoom / 2
		}
	})
	return int64(taken)
}

// isKeptBy: containers of a pod run that was deleted, as they hang on what a broken driver serves. The pod keeps all of
// its volumes.
func (r *run) isKeptBy(uid core.PodUID) bool {
	p := r.byUID[uid]
	return p != nil && p.isRunning && !p.isWanted
}

// keepsFormer reports whether a pod has volumes still that it had before an edit, or the agent presumes so. They take
// room until it ends, beside those that it has now.
func (r *run) keepsFormer(p *pod) bool {
	isOf := func(volume string) bool {
		return slices.ContainsFunc(p.uses, func(u use) bool { return u.driver+"^"+u.volume == volume })
	}
	is := slices.ContainsFunc(r.list, func(at *place) bool {
		return at.isHeld && at.isPublish && r.podOf(at.path) == p && !isOf(at.thing)
	})
	if r.alive() {
		r.core.Beliefs(func(b core.Belief) {
			is = is || b.Pod == p.uid && b.Volume != "" && !isOf(b.Volume) && r.isPresumed(b.Key, p)
		})
	}
	return is
}

const journalDir = lang.RootDir + "/volnode/journal"

// copiesJournal makes a backup of the journal, and says so if there is none.
func (r *run) copiesJournal() string {
	r.backup = map[string][]byte{}
	for _, name := range r.w.Entries(journalDir) {
		r.backup[name] = r.w.ReadFile(journalDir + "/" + name)
	}
	for _, p := range r.list {
		p.isCopied, p.copied = p.isHeld, r.topOf(p.path)
	}
	if len(r.backup) == 0 {
		return "there is no journal that could be copied"
	}
	return ""
}

// restoresJournal puts the backup in the place of the journal, while no agent lives, or says why it can't. What came
// since is not known.
func (r *run) restoresJournal() string {
	_, isNode := r.w.Exists(identity.File(lang.RootDir))
	switch {
	case r.w.AgentLives():
		return "the agent lives; kill it for a while first"
	case len(r.backup) == 0:
		return "no journal was copied that could be restored; write: copy journal"
	case !isNode:
		return "the root directory has no identity file any more, so it is not the node that the copy is of"
	}
	r.putsJournalBack()
	r.forgets()
	w, records := r.opensBackup()
	defer w.Close()
	for _, p := range r.list {
		at := slices.IndexFunc(records, func(rec core.Record) bool { return rec.Rung.Key == p.key })
		p.isTrace, p.isOutdated = at < 0, at >= 0 && p.isHeld && !records[at].MayBeUsed
		// What shows something else than the record tells of is a stranger's, for all that a start can know. The same
		// thing, mounted again, is not. Nor can a start know it of what a later boot has brought, if the record is of a
		// call of an earlier one.
		isEarlier := at >= 0 && records[at].Boot != r.w.BootID()
		p.isEarlier = isEarlier && p.isHeld
		if is := r.topOf(p.path); is.ID != 0 && (p.isCopied || isEarlier) && !is.Shows(p.copied.Fingerprint()) {
			p.isMixedUp = true
		}
		// Of a raw block device no mount tells that the record is older than its end; nor of what has brought none, in
		// this boot, to a directory that is there still.
		_, isThere := r.w.Exists(p.path)
		isBare := isThere && p.copied.ID == 0 && !isEarlier
		if p.isCopied && !p.isHeld && (strings.Contains(p.path, "/volumeDevices/") || isBare) {
			p.isTouched, p.touchedAt = true, r.w.Now()
		}
	}
	return ""
}

// isWhole: a publish and its stage are mounted. That alone tells that what is recorded of another boot is up in this
// one.
func (r *run) isWhole(p *place) bool {
	return r.topOf(p.path).ID != 0 && slices.ContainsFunc(r.list, func(q *place) bool {
		return !q.isPublish && q.thing == p.thing && r.topOf(q.path).ID != 0
	})
}

// topOf is the mount that shows at a path; the zero Mount if none is there.
func (r *run) topOf(path string) hal.Mount {
	if stack := r.w.MountsAt(path); len(stack) > 0 {
		return stack[len(stack)-1]
	}
	return hal.Mount{}
}

func (r *run) putsJournalBack() {
	_ = r.removeTree(journalDir)
	r.root.spoilt = spoilt{}
	for _, name := range slices.Sorted(maps.Keys(r.backup)) {
		r.w.WriteFile(journalDir+"/"+name, r.backup[name])
	}
}
