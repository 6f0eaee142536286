package scenarios

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// TestCauseOfADeletionIsTrue: an entry in the log of deletions says what the agent was told of the pod by the second of
// that entry.
func TestCauseOfADeletionIsTrue(t *testing.T) {
	const unnamed = "volnode has read all sources, and none names the pod"
	for name, c := range map[string]struct {
		added, removed time.Duration // when the agent is told; 0 is never
		second         string
		cause          string
		name           string // "" is the pod's
		isTrue         bool
	}{
		"of a pod that was removed": {
			time.Second, 10 * time.Second, "00:00:10Z", dealings.CauseWasNamed,
			"", true,
		},
		"of a pod that is removed later": {
			time.Second, 10 * time.Second, "00:00:09Z", dealings.CauseWasNamed,
			"", false,
		},
		"of a pod that is there":              {time.Second, 0, "00:00:30Z", dealings.CauseWasNamed, "", false},
		"of a pod that nobody has named":      {0, 0, "00:00:30Z", unnamed, "", true},
		"of a pod that is named later":        {10 * time.Second, 0, "00:00:09Z", unnamed, "", true},
		"of a pod that was named":             {time.Second, 10 * time.Second, "00:00:30Z", unnamed, "", false},
		"of a pod that never was, as removed": {0, 0, "00:00:30Z", dealings.CauseWasNamed, "", false},
		"of a volume of a pod that is there":  {time.Second, 0, "00:00:30Z", dealings.CauseIsNamed, "", true},
		"of a volume of a pod that is not there": {
			time.Second, 10 * time.Second, "00:00:30Z", dealings.CauseIsNamed,
			"", false,
		},
		"under another name": {
			time.Second, 10 * time.Second, "00:00:10Z", dealings.CauseWasNamed,
			"old", false,
		},
		"without a time": {
			time.Second, 10 * time.Second, "", dealings.CauseWasNamed, "",
			false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.News = map[string][]world.News{}
			is := runs(r).Object
			for _, e := range []struct {
				at time.Duration
				of hal.Changed
			}{{c.added, hal.Changed{Applied: []any{is}}}, {c.removed, hal.Changed{Removed: []any{is}}}} {
				if e.at > 0 {
					require.NoError(t, r.W.RunFor(e.at-r.W.Now().Sub(0)))
					judges.Hears(r, e.of)
				}
			}
			dealings.Misstated(r, &deletions.Entry{
				Time: "2030-01-01T" + c.second, UID: "u", Volume: "scratch", Path: scratchPath,
				Cause: c.cause, Namespace: is.Namespace, Name: cmp.Or(c.name, is.Name),
			})
			require.Equal(t, c.isTrue, r.Violation == nil, "%v", r.Violation)
		})
	}
}
