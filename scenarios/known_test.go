package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// hearsOfClaim tells the agent of a claim that people have.
func (r *run) hearsOfClaim() any {
	r.files, r.news = true, map[string][]news{}
	is := claimOf(1, 0)
	r.now.put(is)
	r.hears(hal.Changed{Applied: []any{is}})
	return is
}

// TestBareStartForgetsWhatCouldNotBeSaved: only where nothing is on the node, and the ledger went as nothing could be
// written.
func TestBareStartForgetsWhatCouldNotBeSaved(t *testing.T) {
	ledger := copiesDir + "/.ledger.json"
	for name, c := range map[string]struct {
		fault, left string
		mayForget   bool
	}{
		"nothing could be written":                 {copiesDir + "/.next", "", true},
		"all was written":                          {lang.RootDir + "/volnode/journal/journal.1", "", false},
		"the ledger is there":                      {copiesDir + "/.next", ledger, false},
		"the directory of a pod is on the node":    {copiesDir, lang.RootDir + "/pods/1/volumes/x", false},
		"the directory of a volume is on the node": {copiesDir, lang.RootDir + "/plugins/kubernetes.io/csi/d/1/x", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.hearsOfClaim()
			r.heard = newObjects()
			r.cantSave(sim.Injected{Object: c.fault})
			if c.left != "" {
				r.w.WriteFile(c.left, nil)
			}
			r.bars()
			r.hears(hal.Synced{})
			require.Equal(t, c.mayForget, r.violation == nil, "%v", r.violation)
		})
	}
}
