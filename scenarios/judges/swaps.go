package judges

import (
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/world"
)

const (
	NotSwapped   world.Swapping = iota // the directory of manifests stays
	ByRename                           // a copy, with some of the manifests, comes into its place
	byLink                             // a link comes into its place, which leads to the directory
	ByTurnedLink                       // the link is turned to the copy in the middle of the time
	// the directory is removed and made again with the manifests of the copy: its inode has the same number.
	ByRemake
)

// lacksManifests: in the place of the directory of manifests is another one that lacks some: an object of a pod that
// comes may be among them.
func lacksManifests(r *world.Run) bool {
	if r.Swapped == NotSwapped {
		return false
	}
	for file, object := range r.Written { // the order does not matter
		if _, is := r.W.Exists(file); object != nil && !is {
			return true
		}
	}
	return false
}

// CatchesUp makes the edits that nobody could make.
func CatchesUp(r *world.Run) {
	if r.IsAside() {
		return
	}
	deferred := r.Deferred
	r.Deferred = nil
	for _, f := range deferred {
		f()
	}
}

// hearsOfTrouble notes what the agent tells of manifests.
func hearsOfTrouble(r *world.Run, t hal.Trouble) {
	if t.Problem != "" {
		r.Troubles[t.Where] = t
	} else {
		delete(r.Troubles, t.Where)
	}
}
