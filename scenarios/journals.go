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
		g.at(begin, "journal", func() { _ = g.r.copiesJournal() })
		g.at(begin+g.time("workload.journal-age", "", 0, awayMost), "journal", func() {
			g.r.sleeps(time.Second + g.time("workload.away", "journal", 0, awayMost))
			_ = g.r.restoresJournal() // not while the agent lives: a person looks first
		})
	}
}

// shrinksJournal configures a journal that has not room for all. Pods come as others go, and it is not judged how soon.
func (r *run) shrinksJournal(bytes int64) {
	r.roomy, r.cfg.JournalBytes = r.cfg.JournalBytes, bytes
	r.delays(chaos)
}

// makesRoom is a person who reads that the journal is full and does what that asks for: they remove pods, which go, as
// that needs no room. Then they configure a larger journal, and bring the pods back.
func (r *run) makesRoom() bool {
	if r.roomy == 0 {
		return true
	}
	var gone []*pod
	for _, p := range r.pods {
		if p.isWanted {
			gone = append(gone, p)
			r.remove(p, time.Second)
		}
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

// copiesJournal makes a backup of the journal, and says so if there is none.
func (r *run) copiesJournal() string {
	r.backup = map[string][]byte{}
	for _, name := range r.w.Entries(journalDir) {
		r.backup[name] = r.w.ReadFile(journalDir + "/" + name)
	}
	for _, p := range r.list {
		p.isCopied = p.isHeld
	}
	if len(r.backup) == 0 {
		return "there is no journal that could be copied"
	}
	return ""
}

// restoresJournal puts the backup in the place of the journal, while no agent lives, or says why it can't. What came since is not known.
func (r *run) restoresJournal() string {
	_, isNode := r.w.Exists(identity.File(rootDir))
	switch {
	case r.w.AgentLives():
		return "the agent lives; kill it for a while first"
	case len(r.backup) == 0:
		return "no journal was copied that could be restored; write: copy journal"
	case !isNode:
		return "the root directory has no identity file any more, so it is not the node that the copy is of"
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
	return ""
}
