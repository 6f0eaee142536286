package engine_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
)

// The type of a hostPath is checked at publish and at start: while the agent is away the path may have become something
// else.
func TestHostPathIsCheckedAtStart(t *testing.T) {
	b := newBench(t, sim.Polite())
	web := pod("web", "a")
	kind := corev1.HostPathDirectoryOrCreate
	web.Spec.Volumes[1].VolumeSource = corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
		Path: "/srv/data",
		Type: &kind,
	}}
	b.w.Cluster.Apply(web)
	b.run(time.Minute)
	checked := func(line string) bool {
		return strings.Contains(line, "verb setup rung hostpath/uid-web/scratch outcome done")
	}
	require.True(t, slices.ContainsFunc(b.log, checked))
	b.log = nil
	b.w.KillAgent()
	b.run(10 * time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
	require.False(t, slices.ContainsFunc(b.log, checked), "the start has looked, and found what there was")
	b.w.KillAgent()
	require.Zero(t, b.w.RemoveDir("/srv/data"))
	b.w.WriteFile("/srv/data", nil)
	b.run(10 * time.Minute)
	require.NotEqual(t, engine.Ready, b.status().Pods[0].State)
}
