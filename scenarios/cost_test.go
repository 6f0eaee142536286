package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
)

// cost is what a world with so many pods, each with a volume of its own, has done five minutes after one more pod came
// and went, or did not.
type cost struct{ calls, effects uint64 }

func costOf(t *testing.T, pods int, change bool) cost {
	t.Helper()
	var text strings.Builder
	text.WriteString("# Pods that stay, and one that comes and goes.\n" +
		"driver disk.example staging device\nvolume vol-x of disk.example\npod default/x uses vol-x\n")
	for i := range pods {
		fmt.Fprintf(&text, "volume vol-%d of disk.example\npod default/p%d uses vol-%d\n", i, i, i)
	}
	text.WriteString("end stuck\n")
	for i := range pods {
		fmt.Fprintf(&text, "at 0s apply pod default/p%d\n", i)
	}
	for i := range pods {
		fmt.Fprintf(&text, "within 1m expect pod default/p%d ready\n", i)
	}
	if change {
		text.WriteString("at 5m apply pod default/x\nwithin 1m expect pod default/x ready\n" +
			"at 10m delete pod default/x\nwithin 1m expect pod default/x gone\n")
	}
	text.WriteString("at 20m expect pod default/p0 ready\n")
	s, err := Parse("cost.txt", text.String())
	require.NoError(t, err)
	var c cost
	res := RunScenario(s, false, nil,
		func(w *sim.World) { c = cost{w.Trace().Count(sim.MarkCall), w.Trace().Count(sim.MarkEffect)} })
	require.Nil(t, res.Violation)
	return c
}

// TestCostOfAChangeIsItsOwn: what one pod's coming and going costs in calls of the host, its records in the journal
// included, does not depend on how many others there are (L8); and what does not change costs nothing.
func TestCostOfAChangeIsItsOwn(t *testing.T) {
	few, many := costOf(t, 1, true).calls-costOf(t, 1, false).calls, costOf(t, 8, true).calls-costOf(t, 8, false).calls
	require.Equal(t, few, many)
	require.Less(t, many, uint64(200))
}
