package badinput

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// freed is how soon a volume must be ready, or free, once the cause of its driver's plain errors has ended.
const freed = 5 * time.Second

// A driver answers with the plain error of a busy target, and nothing is done. No call of it is in doubt, and once the
// target is not busy any more each volume comes up, or goes, within seconds.
func TestTargetIsBusy(t *testing.T) {
	n := running(t)
	calls := map[string]string{
		"a": "NodeStageVolume", "b": "NodePublishVolume", "c": "NodeUnpublishVolume", "d": "NodeUnstageVolume",
	}
	d := n.OtherDriver(odd, "--volume=a=dir", "--volume=b=dir", "--volume=c=dir", "--volume=d=dir")
	d.Start()
	var rules []csidriver.Rule
	for _, v := range []string{"a", "b", "c", "d"} {
		n.Apply("volume-"+v+".yaml", oddClaim(v, v))
		rules = append(rules, csidriver.Rule{
			Method: calls[v], Volume: v, FailBefore: csidriver.Code(codes.Unknown),
			Message: "target is busy",
		})
	}
	d.Faults(rules...)
	pod := func(v string) { n.Apply("pod-"+v+".yaml", host.Pod("pod-"+v, "busy-"+v, "data", host.Claim(v))) }
	pod("c")
	pod("d")
	n.Wait("pod/default/pod-c", "ready")
	n.Wait("pod/default/pod-d", "ready")
	n.Remove("pod-c.yaml")
	n.Remove("pod-d.yaml")
	pod("a")
	pod("b")
	// After six failures in a row an unbounded wait would be a quarter of a minute.
	n.agent.AwaitStatus("failures", func(s engine.Status) bool {
		failed := 0
		for _, r := range s.Rungs {
			require.NotEqual(t, engine.Uncertain, r.State, "%s: %s (%s)", r.Key, r.Why, r.Next)
			if r.Attempts >= 6 && strings.Contains(r.Why, "UNKNOWN: target is busy") {
				failed++
			}
		}
		return failed == len(calls)
	})
	d.Faults()
	ends := time.Now()
	n.Wait("pod/default/pod-a", "ready")
	n.Wait("pod/default/pod-b", "ready")
	n.Wait("pod/default/pod-c", "gone")
	n.agent.AwaitStatus("the end of the stages", func(s engine.Status) bool {
		for _, r := range s.Rungs {
			if strings.HasSuffix(r.Volume, "^c") || strings.HasSuffix(r.Volume, "^d") {
				return false
			}
		}
		return true
	})
	took := time.Since(ends)
	t.Logf("%s after the end of the cause all is as wanted", took.Round(time.Millisecond))
	require.Less(t, took, freed)
	n.unharmed()
	for _, file := range []string{"pod-a.yaml", "pod-b.yaml"} {
		n.Remove(file)
	}
	n.ends()
}
