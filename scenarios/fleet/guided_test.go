package fleet

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
)

// TestGuidedReachesMore has as many schedules of the same seeds, guided and not. What guidance gains grows with them,
// as it has to see what there is first: 2 percent were measured of 3000 schedules, 7 of 4000. A guide that varies
// nothing gains none.
func TestGuidedReachesMore(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(scenarios.GCPercent))
	const runs, more = 4000, 105
	h, g, plain := scenarios.NewHunter(), newGuide(), coverage.New()
	for seed := uint64(50001); seed <= 50000+runs; seed++ {
		require.Nil(t, g.run(h, seed, g.ticket()).Violation, "seed %d", seed)
		plain.Add(h.Run(scenarios.Schedule{Seed: seed, Cover: true}).Coverage)
	}
	t.Logf("%d schedules reach %d tuples, guided %d", runs, len(plain.Tuples), len(g.all.Tuples))
	require.Greater(t, len(g.all.Tuples), len(plain.Tuples)*more/100)
}

func TestGuidedHuntIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	const runs = 90
	var want []uint64
	for _, workers := range []int{1, 3} {
		g := newGuide()
		g.few = 8
		hashes := make([]uint64, runs)
		varied := atomic.Int64{}
		var wait sync.WaitGroup
		var mu sync.Mutex
		for range workers {
			wait.Go(func() {
				h := scenarios.NewHunter()
				for {
					mu.Lock()
					ticket := g.ticket()
					mu.Unlock()
					if ticket >= runs {
						return
					}
					hashes[ticket] = g.run(h, 1+ticket, ticket).Hash
					if hashes[ticket] != h.Run(scenarios.Schedule{Seed: 1 + ticket}).Hash {
						varied.Add(1)
					}
				}
			})
		}
		wait.Wait()
		require.Greater(t, varied.Load(), int64(runs/2), "schedules that are not those of their seeds")
		if want == nil {
			want = hashes
		}
		require.Equal(t, want, hashes)
	}
}

func TestGuidedHunt(t *testing.T) {
	batches := Sums{}
	f := Fleet{
		Seed: BlockSeeds - guidedOf - 2, Runs: guidedOf + 4, Workers: 2, Guided: true,
		Batch: func(b Batch) { batches.Add(b.Sums) },
	}
	tally, failed := f.Hunt()
	require.Nil(t, failed)
	require.EqualValues(t, guidedOf+4, tally.Schedules)
	require.Equal(t, tally.Sums, batches)
}

// TestGuidedFindingIsACase: what a guided schedule breaks, its choices alone break, as a command has them.
func TestGuidedFindingIsACase(t *testing.T) {
	h := scenarios.NewHunter()
	h.Check = func(v scenarios.View) {
		if v.World().Life() > 3 && !v.IsCalm() {
			v.Fail("canary", "canary", "", "the agent has died three times")
		}
	}
	g := newGuide()
	g.few = 8
	varies := 0
	for seed := uint64(1); varies < 3; seed++ {
		res := g.run(h, seed, g.ticket())
		if res.Violation == nil {
			require.Nil(t, res.Case)
			continue
		}
		kept, err := cases.ParseKeep(res.Case.String())
		require.NoError(t, err)
		again := h.Rerun(cases.Case{Still: true, Keep: kept}, scenarios.Watch{})
		require.Equal(t, res.Hash, again.Hash)
		require.Equal(t, res.Violation, again.Violation)
		if len(g.vary(seed)) > 1 {
			varies++
		}
	}
}
