package scenarios

import (
	"cmp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/hal"
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
		"of a pod that was removed":              {time.Second, 10 * time.Second, "00:00:10Z", causeWasNamed, "", true},
		"of a pod that is removed later":         {time.Second, 10 * time.Second, "00:00:09Z", causeWasNamed, "", false},
		"of a pod that is there":                 {time.Second, 0, "00:00:30Z", causeWasNamed, "", false},
		"of a pod that nobody has named":         {0, 0, "00:00:30Z", unnamed, "", true},
		"of a pod that is named later":           {10 * time.Second, 0, "00:00:09Z", unnamed, "", true},
		"of a pod that was named":                {time.Second, 10 * time.Second, "00:00:30Z", unnamed, "", false},
		"of a pod that never was, as removed":    {0, 0, "00:00:30Z", causeWasNamed, "", false},
		"of a volume of a pod that is there":     {time.Second, 0, "00:00:30Z", causeIsNamed, "", true},
		"of a volume of a pod that is not there": {time.Second, 10 * time.Second, "00:00:30Z", causeIsNamed, "", false},
		"under another name":                     {time.Second, 10 * time.Second, "00:00:10Z", causeWasNamed, "old", false},
		"without a time":                         {time.Second, 10 * time.Second, "", causeWasNamed, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.news = map[string][]news{}
			is := r.runs().object
			for _, e := range []struct {
				at time.Duration
				of hal.Changed
			}{{c.added, hal.Changed{Applied: []any{is}}}, {c.removed, hal.Changed{Removed: []any{is}}}} {
				if e.at > 0 {
					require.NoError(t, r.w.RunFor(e.at-r.w.Now().Sub(0)))
					r.hears(e.of)
				}
			}
			r.misstated(&deletions.Entry{
				Time: "2030-01-01T" + c.second, UID: "u", Volume: "scratch", Path: scratchPath,
				Cause: c.cause, Namespace: is.Namespace, Name: cmp.Or(c.name, is.Name),
			})
			require.Equal(t, c.isTrue, r.violation == nil, "%v", r.violation)
		})
	}
}
