package judges

import (
	"bytes"
	"maps"
	"slices"

	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// hasOthers: the journal is the one that was made elsewhere.
func hasOthers(r *world.Run) bool {
	return r.Root.Others != nil && slices.ContainsFunc(r.W.Entries(JournalDir), func(name string) bool {
		_, isJournal := journal.Generation(name) // what a start has put aside is read by none
		return isJournal && bytes.Equal(r.W.ReadFile(JournalDir+"/"+name), r.Root.Others)
	})
}

// JournalDir is where the agent keeps its journal.
const JournalDir = lang.RootDir + "/volnode/journal"

// isWhole: a publish and its stage are mounted. That alone tells that what is recorded of another boot is up in this
// one.
func isWhole(r *world.Run, p *world.Place) bool {
	return TopOf(r, p.Path).ID != 0 && slices.ContainsFunc(r.List, func(q *world.Place) bool {
		return !q.IsPublish && q.Thing == p.Thing && TopOf(r, q.Path).ID != 0
	})
}

// TopOf is the mount that shows at a path; the zero Mount if none is there.
func TopOf(r *world.Run, path string) hal.Mount {
	if stack := r.W.MountsAt(path); len(stack) > 0 {
		return stack[len(stack)-1]
	}
	return hal.Mount{}
}

// PutsJournalBack is somebody who puts a copy of the journal in its place.
func PutsJournalBack(r *world.Run) {
	_ = RemoveTree(r, JournalDir)
	r.Root.Spoilt = world.Spoilt{}
	for _, name := range slices.Sorted(maps.Keys(r.Backup)) {
		r.W.WriteFile(JournalDir+"/"+name, r.Backup[name])
	}
}
