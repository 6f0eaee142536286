package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
)

// TestSilentServersLeaveOthersAlone: of 1,000 pods with an NFS volume each, 50 have theirs of servers that say nothing.
// The others have all operations that they have beside servers that answer, and no more, from the first pod until they
// have gone.
func TestSilentServersLeaveOthersAlone(t *testing.T) {
	const pods, servers, each = 1000, 10, 5
	story := func(isSilent bool) string {
		var s strings.Builder
		s.WriteString("# silent servers\njournal 4096KiB\n")
		others := func(do func(pod string)) {
			for i := servers * each; i < pods; i++ {
				do(fmt.Sprintf("default/p%d", i))
			}
		}
		for i := range pods {
			server := "well"
			if i < servers*each {
				server = fmt.Sprintf("s%d", i/each)
			}
			fmt.Fprintf(&s, "pod default/p%d uses nfs:%s:/data\n", i, server)
		}
		s.WriteString("at 0s export well:/data\n")
		for i := range servers {
			fmt.Fprintf(&s, "after 0s export s%d:/data\n", i)
		}
		for i := range servers {
			if isSilent {
				fmt.Fprintf(&s, "after 0s silence export s%d:/data for 10m\n", i)
			}
		}
		s.WriteString("at 2s apply all\n")
		others(func(pod string) { fmt.Fprintf(&s, "within 1m expect pod %s ready\n", pod) })
		s.WriteString("at 4m kill agent\n")
		others(func(pod string) { fmt.Fprintf(&s, "within 1m expect pod %s ready\n", pod) })
		others(func(pod string) { fmt.Fprintf(&s, "at 6m delete pod %s\n", pod) })
		others(func(pod string) { fmt.Fprintf(&s, "within 1m expect pod %s gone\n", pod) })
		s.WriteString("at 9m expect pod default/p0 " + map[bool]string{true: "not ready", false: "ready"}[isSilent] + "\n")
		return s.String()
	}
	ends := func(isSilent bool) map[string]int {
		s, err := Parse("silent.txt", story(isSilent))
		require.NoError(t, err)
		hung := map[string]bool{}
		for i := range servers * each {
			pod, is := s.Object(fmt.Sprintf("pod default/p%d", i), "").(*corev1.Pod)
			require.True(t, is)
			hung[string(pod.UID)] = true
		}
		all := map[string]int{}
		res := Play{Scenario: s, Log: func(l engine.Line) {
			at := slices.Index(l.Fields, "rung")
			if l.Message != "operation" || at < 0 || hung[strings.Split(l.Fields[at+1], "/")[1]] {
				return
			}
			all[strings.Join(l.Fields[2:], " ")]++ // all but the number of the operation
		}}.Run()
		require.Nil(t, res.Violation)
		return all
	}
	well, silent := ends(false), ends(true)
	require.Len(t, well, 2*(pods-servers*each), "each comes and goes once")
	require.Equal(t, well, silent)
}
