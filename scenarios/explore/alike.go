package explore

import (
	"hash/maphash"
	"path"
	"strings"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/lang"
)

// alike is the circumstances in which faults have struck. A fault, or a further one, is told once in like
// circumstances, whatever has gone wrong before, and in whichever scenario: at a call, or another point, while all that
// it is about stands as it did ([scenarios.Circumstance]), and the operation whose call it is has met the same fault
// before, or none. What it is about is
//
//   - of a call for a volume, or of what somebody does to one: that volume;
//   - of a call to a driver, or of what happens to it: that driver;
//   - of a death, the journal and the mount table: everything. It is enough that one thing stands as it did not before:
//     how two things are at the same time is not told twice if each of them did so already.
//
// Of the directories and files that an operation makes or removes one stands for all. This is less than all pairs: what
// hangs on how often something was tried, on how long ago, or on a directory that was left, is told in the
// circumstances that came up first, and not again.
type alike struct {
	settings uint64 // a hash of those of the scenario
	whole    int    // how many faults are told in all circumstances
	mine     map[uint64]bool
	// others is what the first faults of all scenarios have met, and what was told by then; it is not changed any more.
	// nil until it is known.
	others map[uint64]bool
}

// encounter is a fault that meets a thing as it stands; it is kept as its hash.
type encounter struct {
	settings, state   uint64
	point, before, of string
}

var alikeSeed = maphash.MakeSeed()

func newAlike(s *lang.Scenario, whole int) *alike {
	return &alike{whole: whole, settings: maphash.String(alikeSeed, scenarios.Settings(s)), mine: map[uint64]bool{}}
}

// meets notes the circumstances of an offer to a combination, and returns what is new of them; nil if they are known.
func (a *alike) meets(o *offer) []uint64 {
	at := pointOf(o)
	var news []uint64
	for _, c := range o.things {
		if o.about != "" && c.Of != o.about && c.Volume != o.about {
			continue
		}
		key := maphash.Comparable(alikeSeed, encounter{a.settings, c.State, at, o.before, c.Of})
		if !a.mine[key] {
			a.mine[key] = true
			if !a.others[key] {
				news = append(news, key)
			}
		}
	}
	return news
}

// pointOf names the point of an offer: its site, and what it is about. Of the calls of an operation for a rung's files
// and directories it is not told which.
func pointOf(o *offer) string {
	object := o.id.Object
	isJournal := strings.HasPrefix(path.Base(object), "journal.")
	switch area, _, _ := strings.Cut(o.id.Site, "."); {
	case isJournal:
		object = "journal" // of any generation
	case o.caller.Key == "" || area != "tree" && area != "files":
	case o.isDeath():
		return "files/crash"
	default:
		object = string(o.caller.Key)
	}
	return o.id.Site + " " + object
}
