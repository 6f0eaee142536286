package scenarios

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/hal/sim"
)

// This file is journals in hunts that are nearly full, or older than what the agent has done.

// What is the matter with the journal.
const (
	isSmall  = 1 + iota // it has room for a few ladders
	getsTiny            // it is configured anew with less room, when records fill it
	isOld               // an old copy of it comes into its place, as from a backup
)

// leastRoom and mostRoom bound how large a small journal is, in KiB: a ladder takes about one and a half.
const leastRoom, mostRoom = 8, 20

// podRoom is a journal that has room for any one pod of a hunt, in bytes.
const podRoom = 18 << 10

// planJournal draws what is the matter with the journal.
func (g *workload) planJournal() {
	how := g.pick("workload.journal", "", 0, 9, 1, 1, 1)
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
		g.at(begin, "journal", g.r.copiesJournal)
		g.at(begin+g.time("workload.journal-age", "", 0, awayMost), "journal", func() {
			g.r.sleeps(time.Second + g.time("workload.away", "journal", 0, awayMost))
			g.r.restoresJournal()
		})
	}
}

// shrinksJournal configures a journal that has not room for all. Pods come as others go, and it is not judged how soon.
func (r *run) shrinksJournal(bytes int64) {
	r.roomy, r.cfg.JournalBytes = r.cfg.JournalBytes, bytes
	r.delays(chaos)
}

// makesRoom is a person who reads that the journal is full and does what that asks for: they remove pods, which go, as that needs no room. There is room
// for one that waited then: it comes up. In the end they configure a larger journal, and bring the pods back.
func (r *run) makesRoom() bool {
	if r.roomy == 0 {
		return true
	}
	gone := slices.DeleteFunc(slices.Clone(r.pods), func(p *pod) bool { return !p.isWanted })
	if len(gone) > 0 && r.cfg.JournalBytes >= podRoom {
		last := max(0, slices.IndexFunc(gone, func(p *pod) bool { return !p.isRunning }))
		for i, p := range gone {
			if i != last {
				r.remove(p, time.Second)
			}
		}
		if !r.comesToRest("L2", "with room for one", r.bound()) {
			return false
		}
	}
	for _, p := range gone {
		r.remove(p, time.Second) // those that are left
	}
	if !r.comesToRest("L4", "without room", r.bound()) {
		return false
	}
	r.cfg.JournalBytes, r.roomy = r.roomy, 0
	r.sleeps(time.Second)
	for _, p := range gone {
		r.apply(p.object, p.uses)
	}
	return r.until(r.w.Now().Add(2 * time.Second))
}

const journalDir = rootDir + "/volnode/journal"

// copiesJournal makes a backup of the journal.
func (r *run) copiesJournal() {
	r.backup = map[string][]byte{}
	for _, name := range r.w.Entries(journalDir) {
		r.backup[name] = r.w.ReadFile(journalDir + "/" + name)
	}
	for _, p := range r.list {
		p.isCopied = p.isHeld
	}
}

// restoresJournal puts the backup in the place of the journal, while no agent lives. What came since is not known.
func (r *run) restoresJournal() {
	if _, isNode := r.w.Exists(identity.File(rootDir)); !isNode || len(r.backup) == 0 || r.w.AgentLives() {
		return
	}
	_ = r.removeTree(journalDir)
	for _, name := range slices.Sorted(maps.Keys(r.backup)) {
		r.w.WriteFile(journalDir+"/"+name, r.backup[name])
	}
	r.forgets()
	for _, p := range r.list {
		// Of a raw block device no mount tells that the record is older than its end.
		if p.isCopied && !p.isHeld && strings.Contains(p.path, "/volumeDevices/") {
			p.isTouched, p.touchedAt = true, r.w.Now()
		}
	}
}
