package mutants

import (
	_ "embed"
	"encoding/json"
)

// killer is what is known to kill a mutant: a scenario of the catalogue, else a schedule, else a seed of a hunt.
// A mutant that one of the first seeds kills needs none.
type killer struct {
	Scenario string `json:"scenario,omitempty"`
	Keep     string `json:"keep,omitempty"` // the choices of a schedule, as volsim shrink prints them
	Seed     uint64 `json:"seed,omitempty"`
}

//go:embed killers.json
var killersJSON []byte

// killers, by the name of a mutant, is what is tried first. A stale entry costs the whole catalogue and a hunt, and
// nothing else.
var killers = func() (all map[string]killer) {
	if err := json.Unmarshal(killersJSON, &all); err != nil {
		panic("killers.json: " + err.Error())
	}
	return all
}()

// equivalent is the mutants that nothing can kill, and the proof of it. There are at most two.
var equivalent = map[string]string{
	"a drift reading of before a change counts": "the manager hands to core only what differs among the rungs that " +
		"core names as unchanged since the " +
		`reading began (Core.EachPresent),
			in one turn of the owner; core looks again because events may come in any order`,
	"a ladder shrinks with its spec": "the ladders of emptyDir and hostPath are one rung, and those of a file " +
		"system and of raw block are the same, " +
		"so it is the stage alone that a ladder can lose, by a driver that comes back without staging; a publish " +
		"that depends on nothing waits for an " +
		"unstage that may act, and keeps the stage from being unstaged until it is gone itself, as one does that " +
		"depends on it; only what waits for a " +
		"stage that this driver can't make would come up sooner. A ladder whose rungs are of several volumes would " +
		"lose what it depends on",
}
