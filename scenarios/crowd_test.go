package scenarios

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/calm"
	"github.com/volnode/volnode/scenarios/world"
)

// crowded is a chooser in whose worlds a crowd comes.
type crowded struct {
	sim.Chooser
	pods, mounts int64
}

func (c crowded) Pick(id sim.ID, weights []uint32) int {
	if id.Site == "workload.crowd" {
		return 1
	}
	return c.Chooser.Pick(id, weights)
}

func (c crowded) Between(id sim.ID, lo, hi int64) int64 {
	if id.Site == "workload.crowd-size" {
		return map[string]int64{"pods": c.pods, "mounts": c.mounts}[id.Object]
	}
	return c.Chooser.Between(id, lo, hi)
}

// run runs a world of a seed with a crowd.
func (c crowded) run(t *testing.T, seed uint64, ended func(*world.Run)) Result {
	t.Helper()
	c.Chooser = sim.Seeded(seed)
	s := Schedule{Seed: seed, Chooser: c, Cover: true}
	if ended != nil {
		s.Ended = func(v View) { ended(v.r) }
	}
	return NewHunter().Run(s)
}

// What a change costs is judged, whatever the world is like, and whether its agent reads manifests or not.
func TestCostOfAChangeBesideACrowd(t *testing.T) {
	for _, seed := range []uint64{1, 2, 6} {
		res := crowded{pods: 150, mounts: 300}.run(t, seed, nil)
		require.Nil(t, res.Violation, "seed %d: %v", seed, res.Violation)
		require.NotZero(t, res.Coverage.Checks["L8"], "seed %d", seed)
	}
}

// Each counter counts, and breaks L8 if it grows.
func TestEachCountedCostBreaksL8(t *testing.T) {
	var r *world.Run
	var spent calm.ACost
	crowded{pods: calm.FewestPods}.run(t, 2, func(ended *world.Run) { r, spent = ended, calm.Spent(ended) })
	for is, n := range spent {
		require.True(t, n > 0 || is == calm.TasksAtOnce || strings.HasPrefix(is, "calls of "), "%s was never counted",
			is)
		r.Violation = nil
		few := map[string]calm.ACost{"a change": {is: 1}}
		require.True(t, calm.Grows(r, few, map[string]calm.ACost{"a change": {is: 1}}))
		require.False(t, calm.Grows(r, few, map[string]calm.ACost{"a change": {is: 2 << 20}}), is)
		require.Equal(t, "L8 a change", r.Violation.Signature())
	}
}

// Large worlds are rare, and of all sizes.
func TestCrowdsAreRare(t *testing.T) {
	worlds, pods, huge := 0, 0, 0
	for seed := range uint64(1_000_000) {
		c := calm.CrowdOf(sim.Seeded(seed), false)
		if c.Pods == 0 {
			continue
		}
		require.GreaterOrEqual(t, c.Pods, calm.FewestPods)
		worlds, pods = worlds+1, pods+c.Pods
		if c.Pods > 1000 {
			huge++
		}
	}
	require.InDelta(t, 1_000_000/calm.CrowdOneIn, worlds, 100)
	require.Positive(t, huge)
	t.Logf("%d worlds of a million have a crowd, of %d pods on average; %d have more than 1,000", worlds,
		pods/worlds, huge)
}
