package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/deletions"
)

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
