package workload

import (
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
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
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

// PlanJournal draws what is the matter with the journal.
func (g *Workload) PlanJournal() {
	how := g.Pick("workload.journal", "", 0, 9, 1, 1, 1, 1)
	room := g.Choose.Between(sim.NewID("workload.journal-room", "", 0), leastRoom, mostRoom) << 10
	switch how {
	case isSmall:
		shrinksJournal(g.R, room)
	case getsTiny:
		g.At(g.Time("workload.journal-time", "", 0, g.Setup.Chaos), "journal", func() {
			shrinksJournal(g.R, room)
			g.R.Sleeps(time.Second + g.Time("workload.away", "journal", 0, AwayMost))
		})
	case isOld:
		begin := g.Time("workload.journal-time", "", 0, g.Setup.Chaos)
		g.At(begin, "journal", func() { _ = copiesJournal(g.R) })
		g.At(begin+g.Time("workload.journal-age", "", 0, AwayMost), "journal", func() {
			g.R.Sleeps(time.Second + g.Time("workload.away", "journal", 0, AwayMost))
			_ = restoresJournal(g.R) // not while the agent lives: a person looks first
		})
	case isElsewheres:
		g.At(g.Time("workload.journal-time", "", 0, g.Setup.Chaos), "journal", func() {
			g.R.Sleeps(time.Second + g.Time("workload.away", "journal", 0, AwayMost))
			journalOf(g.R, inRoot("/srv/volnode"))
		})
	}
}

// inRoot is what a parameter of a record is in another root directory.
func inRoot(root string) func(core.Param) core.Param {
	return func(p core.Param) core.Param {
		if world.Below(p.Value, lang.RootDir) {
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
func (t *Scene) otherJournal(rewrite func(core.Param) core.Param) string {
	if !journalOf(t.R, rewrite) {
		return "there is no record that would be another one; kill the agent for a time first, and have an attached " +
			"volume up for a node's name"
	}
	return ""
}

// journalOf rewrites the parameters of the journal's records, while no agent lives: it is as it would be elsewhere. A
// person who reads that the start refuses it puts back what was there.
func journalOf(r *world.Run, rewrite func(core.Param) core.Param) bool {
	if _, isNode := r.W.Exists(identity.File(lang.RootDir)); !isNode || r.W.AgentLives() {
		return false
	}
	_ = copiesJournal(r)
	isOther := false
	w, records := opensBackup(r)
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		j, _, err := journal.Open(&h, hal.Call{}, otherJournal, r.Cfg.JournalBytes,
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
	_ = judges.RemoveTree(r, judges.JournalDir)
	r.Root.Spoilt = world.Spoilt{}
	const first = "/journal.1" // a spare is not needed
	r.Root.Others = w.ReadFile(otherJournal + first)
	r.W.WriteFile(judges.JournalDir+first, r.Root.Others)
	r.Root.MayRefuse = true
	return true
}

// opensBackup reads the copy of the journal, in a world of its own.
func opensBackup(r *world.Run) (w *sim.World, records []core.Record) {
	w = sim.New(sim.Config{RootDir: lang.RootDir})
	for _, name := range slices.Sorted(maps.Keys(r.Backup)) {
		w.WriteFile(judges.JournalDir+"/"+name, r.Backup[name])
	}
	h := w.Host()
	w.Do(func() { records, _, _ = journal.Peek(&h, hal.Call{}, judges.JournalDir) }) // what can't be read has no records
	return w, records
}

const otherJournal = lang.RootDir + "/volnode/other"

// shrinksJournal configures a journal that has not room for all. Pods come as others go, and it is not judged how soon.
func shrinksJournal(r *world.Run, bytes int64) {
	r.Roomy, r.Cfg.JournalBytes, r.Cfg.JournalMost = r.Cfg.JournalMost, bytes, bytes
	judges.Delays(r, cases.Chaos)
}

// HasRoomFor: the journal can hold the records of a pod beside those that stay.
func HasRoomFor(r *world.Run, p *world.Pod) bool {
	room, most := int64(0), int64(cases.PodRoom)
	for _, u := range p.Uses {
		if u.IsOfArray() { // it has a session and a device, too, and what is kept of its disk
			room, most = room+4*cases.LadderRoom, most+4*cases.LadderRoom
		}
		room += cases.LadderRoom / 2
		if u.Upon() != "" {
			room += cases.LadderRoom / 2
		}
	}
	return min(room, most) <= r.Cfg.JournalMost*3/4-TakenByOthers(r, p)
}

// TakenByOthers is what the records take of the journal that stay and are not a pod's own: those of a broken driver,
// and who serves a driver. What was found without a record gets one as it is taken down.
func TakenByOthers(r *world.Run, p *world.Pod) int64 {
	var last journal.Examined
	newest := uint64(0)
	for _, name := range r.W.Entries(judges.JournalDir) {
		if g, ok := journal.Generation(name); ok && g >= newest {
			b := r.W.ReadFile(judges.JournalDir + "/" + name)
			if e, err := journal.Examine(g, b, int64(len(b)), r.W.BootID()); err == nil && e.Whole {
				newest, last = g, e
			}
		}
	}
	taken, upon := 0, map[hal.Key]int{}
	isUsed := func(volume string) bool {
		return slices.ContainsFunc(p.Uses, func(u world.Use) bool { return u.Driver+"^"+u.Volume == volume })
	}
	isOwn := func(volume string, pod core.PodUID) bool { return isUsed(volume) && (pod == "" || pod == p.Uid) }
	isRecorded := map[hal.Key]bool{}
	for _, e := range last.Records { // by key: a publish comes before its stage, which keeps room for it
		is, worst := e.Record.Rung, journal.WorstSize(e.Record)
		isRecorded[is.Key] = true
		switch {
		case is.Kind == core.KindServes, is.Kind == core.KindKept:
			taken += worst
		case !r.IsBroken(string(is.Key)) && !isKeptBy(r, is.Pod) && upon[is.Key] == 0 || isOwn(is.Volume, is.Pod):
		case len(is.Below) > 0 && !isUsed(is.Volume):
			upon[is.Below[0]] += worst
		default:
			taken += worst + max(e.Room, upon[is.Key])
		}
	}
	if r.Core == nil {
		return int64(taken)
	}
	r.Core.Beliefs(func(b core.Belief) {
		if r.IsBroken(string(b.Key)) && b.State != core.Absent && !isRecorded[b.Key] && !isOwn(b.Volume, b.Pod) {
			taken += cases.LadderRoom / 2
		}
	})
	return int64(taken)
}

// isKeptBy: containers of a pod run that was deleted, as they hang on what a broken driver serves. The pod keeps all of
// its volumes.
func isKeptBy(r *world.Run, uid core.PodUID) bool {
	p := r.ByUID[uid]
	return p != nil && p.IsRunning && !p.IsWanted
}

// KeepsFormer reports whether a pod has volumes still that it had before an edit, or the agent presumes so. They take
// room until it ends, beside those that it has now.
func KeepsFormer(r *world.Run, p *world.Pod) bool {
	isOf := func(volume string) bool {
		return slices.ContainsFunc(p.Uses, func(u world.Use) bool { return u.Driver+"^"+u.Volume == volume })
	}
	is := slices.ContainsFunc(r.List, func(at *world.Place) bool {
		return at.IsHeld && at.IsPublish && r.PodOf(at.Path) == p && !isOf(at.Thing)
	})
	if r.Alive() {
		r.Core.Beliefs(func(b core.Belief) {
			is = is || b.Pod == p.Uid && b.Volume != "" && !isOf(b.Volume) && r.IsPresumed(b.Key, p)
		})
	}
	return is
}

// copiesJournal makes a backup of the journal, and says so if there is none.
func copiesJournal(r *world.Run) string {
	r.Backup = map[string][]byte{}
	for _, name := range r.W.Entries(judges.JournalDir) {
		r.Backup[name] = r.W.ReadFile(judges.JournalDir + "/" + name)
	}
	for _, p := range r.List {
		p.IsCopied, p.Copied = p.IsHeld, judges.TopOf(r, p.Path)
	}
	if len(r.Backup) == 0 {
		return "there is no journal that could be copied"
	}
	return ""
}

// restoresJournal puts the backup in the place of the journal, while no agent lives, or says why it can't. What came
// since is not known.
func restoresJournal(r *world.Run) string {
	_, isNode := r.W.Exists(identity.File(lang.RootDir))
	switch {
	case r.W.AgentLives():
		return "the agent lives; kill it for a while first"
	case len(r.Backup) == 0:
		return "no journal was copied that could be restored; write: copy journal"
	case !isNode:
		return "the root directory has no identity file any more, so it is not the node that the copy is of"
	}
	judges.PutsJournalBack(r)
	judges.Forgets(r)
	w, records := opensBackup(r)
	defer w.Close()
	r.Root.Outdated = map[string]bool{}
	for _, rec := range records {
		r.Root.Outdated[plugin.PathOf(rec.Rung.Want)] = !rec.MayBeUsed
	}
	for _, p := range r.List {
		at := slices.IndexFunc(records, func(rec core.Record) bool { return rec.Rung.Key == p.Key })
		p.IsTrace, p.IsOutdated = at < 0, at >= 0 && p.IsHeld && !records[at].MayBeUsed
		// What shows something else than the record tells of is a stranger's, for all that a start can know. The same
		// thing, mounted again, is not. Nor can a start know it of what a later boot has brought, if the record is of a
		// call of an earlier one.
		isEarlier := at >= 0 && records[at].Boot != r.W.BootID()
		p.IsEarlier = isEarlier && p.IsHeld
		if is := judges.TopOf(r, p.Path); is.ID != 0 && (p.IsCopied || isEarlier) && !is.Shows(p.Copied.Fingerprint()) {
			p.IsMixedUp = true
		}
		// Of a raw block device no mount tells that the record is older than its end; nor of what has brought none, in
		// this boot, to a directory that is there still.
		_, isThere := r.W.Exists(p.Path)
		isBare := isThere && p.Copied.ID == 0 && !isEarlier
		if p.IsCopied && !p.IsHeld && (strings.Contains(p.Path, "/volumeDevices/") || isBare) {
			p.IsTouched, p.TouchedAt = true, r.W.Now()
		}
	}
	return ""
}
