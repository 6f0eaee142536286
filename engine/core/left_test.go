package core_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// A pod comes again whose emptyDir was about to be deleted, and its directory is as it was, however that is found out:
// the deletion is past. What is lost later is lost, and was not given up.
func TestWhatIsUpAgainIsNotGivenUp(t *testing.T) {
	const is = "directory 7"
	rung := core.Rung{
		Key: "emptydir/p/s", Kind: "emptydir", Pod: "p", Want: []core.Param{{Name: "path", Value: "/s"}},
		Places: []string{"/s"},
	}
	for _, mayBeUsed := range []bool{false, true} {
		for _, found := range [][]core.Found{nil, {{Key: rung.Key, Fingerprint: is}}} {
			rec := core.Record{
				Rung: rung, Phase: core.Leaving, Boot: "b", Fingerprint: is,
				Facts: []core.Fact{{Name: "is", Value: is}}, MayBeUsed: mayBeUsed, Seq: 1,
			}
			now := hal.Instant(time.Second)
			c := core.New(core.Start{Now: now, Boot: "b", Records: []core.Record{rec}, Found: found})
			b := c.Step(now, core.Wanted{Pod: "p", Rungs: []core.Rung{rung}, Complete: true})
			for len(b.Start) > 0 {
				b = c.Step(now, core.Completed{
					Op:     b.Start[0].ID,
					Result: core.Result{Outcome: hal.Done, Fingerprint: is},
				})
			}
			b = c.Step(now, core.Observed{Key: rung.Key, Since: c.Seq()})
			for ; len(b.Start) == 0; b = c.Step(now, core.Wake{}) {
				now = c.NextWake()
				require.NotZero(t, now)
			}
			require.Equal(t, core.SetUp, b.Start[0].Verb)
			require.False(t, b.Start[0].Left, "was up %v, found %v", mayBeUsed, found)
		}
	}
}
