package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/deletions"
)

// describe shows the events of a pod as lines.
func TestDescribeShowsEvents(t *testing.T) {
	var out bytes.Buffer
	web := engine.PodStatus{Namespace: "default", Name: "web", UID: "u", Events: []engine.PodEventStatus{
		{
			Type: engine.TypeWarning, Reason: engine.ReasonFailedMount, Volume: "data", Message: "INTERNAL: a\nb",
			Count: 4, First: 2 * time.Minute, Last: 3 * time.Second,
		},
		{
			Type: engine.TypeNormal, Reason: engine.ReasonSuccessfulMountVolume, Volume: "raw",
			Message: "the device is in place", Count: 1, First: time.Second, Last: time.Second,
		},
	}}
	printDescription(&out, describeAnswer{Pods: []engine.PodStatus{web}})
	require.Contains(t, out.String(), `
  events
    Warning FailedMount of volume data (3s ago, 4 times since 2m0s ago): INTERNAL: a b
    Normal SuccessfulMountVolume of volume raw (1s ago): the device is in place
`)
}

// describe says whose deletions it lists: earlier pods of the name may have had the data. It shows the last few.
func TestDescribeSaysWhoseDeletionsItLists(t *testing.T) {
	describe := func(n int) string {
		a := describeAnswer{Pods: []engine.PodStatus{{
			Namespace: "default", Name: "web", UID: "u",
			State: engine.Ready,
		}}}
		for i := range n {
			a.Deletions = append(a.Deletions, deletions.Entry{
				Path: fmt.Sprintf("/data/%d", i), UID: "u",
				Volume: "scratch",
			})
		}
		var out bytes.Buffer
		printDescription(&out, a)
		return out.String()
	}
	require.NotContains(t, describe(0), "deleted")
	one := describe(1)
	require.Contains(t, one,
		"\ndeleted data of this pod, or of earlier pods of its name (1 deletion):\n\ndeleted /data/0\n")
	many := describe(12)
	require.Contains(t, many, "\ndeleted data of this pod, or of earlier pods of its name (12 deletions, "+
		"the last 5 are below; -o json has all):\n\ndeleted /data/7\n")
	require.Equal(t, 5, strings.Count(many, "deleted /data/"))
	require.Contains(t, many, "deleted /data/11\n")
}

func TestUsageText(t *testing.T) {
	const mi = 1 << 20
	for want, u := range map[string]*engine.Usage{
		"":                              nil,
		"not known":                     {},
		"not known, the driver is away": {Why: "the driver is away"},
		"512 B of 2.0 KiB (25 %)":       {Bytes: &engine.Amount{Total: 2048, Used: 512}},
		"1.5 MiB of 100 MiB (2 %), 0 of 7 inodes": {
			Bytes: &engine.Amount{Total: 100 * mi, Used: mi + mi/2}, Inodes: &engine.Amount{Total: 7},
		},
		"0 B of 0 B": {Bytes: &engine.Amount{}, Inodes: &engine.Amount{}},
	} {
		require.Equal(t, want, usageText(u))
	}
}
