package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// hearsOfClaim tells the agent of a claim that people have.
func hearsOfClaim(r *world.Run) any {
	r.Files, r.News = true, map[string][]world.News{}
	is := world.ClaimOf(1, 0)
	r.Now.Put(is)
	judges.Hears(r, hal.Changed{Applied: []any{is}})
	return is
}

// TestBareStartForgetsWhatCouldNotBeSaved: only where nothing is on the node, and the ledger went as nothing could be
// written.
func TestBareStartForgetsWhatCouldNotBeSaved(t *testing.T) {
	ledger := world.CopiesDir + "/.ledger.json"
	for name, c := range map[string]struct {
		fault, left string
		mayForget   bool
	}{
		"nothing could be written":               {world.CopiesDir + "/.next", "", true},
		"all was written":                        {lang.RootDir + "/volnode/journal/journal.1", "", false},
		"the ledger is there, and a copy is not": {world.CopiesDir + "/.next", ledger, true},
		"the directory of a pod is on the node":  {world.CopiesDir, lang.RootDir + "/pods/1/volumes/x", false},
		"the directory of a volume is on the node": {
			world.CopiesDir, lang.RootDir + "/plugins/kubernetes.io/csi/d/1/x",
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			hearsOfClaim(r)
			r.Heard = world.NewObjects()
			r.CantSave(sim.Injected{Object: c.fault})
			if c.left != "" {
				r.W.WriteFile(c.left, nil)
			}
			judges.Bars(r)
			judges.Hears(r, hal.Synced{})
			require.Equal(t, c.mayForget, r.Violation == nil, "%v", r.Violation)
		})
	}
}
