package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

func TestShardsAreDisjointAndComplete(t *testing.T) {
	const first, runs = 1000, 20 * BlockSeeds
	for _, n := range []uint64{1, 2, 3, 7, 16} {
		owners := map[uint64]int{}
		for i := range n {
			s := Shard{Index: i, Of: n}
			for seed := s.from(first); seed < first+runs; seed = s.from(seed + 1) {
				require.True(t, s.Owns(seed))
				owners[seed]++
			}
		}
		require.Len(t, owners, runs, "%d shards", n)
		for seed, times := range owners {
			require.Equal(t, 1, times, "seed %d in %d shards", seed, n)
		}
	}
}

func TestEachBlockHasEveryFamilyInItsProportion(t *testing.T) {
	count := func(block uint64) map[string]int {
		families := map[string]int{}
		for seed := range uint64(BlockSeeds) {
			families[FamilyOf(block*BlockSeeds+seed)]++
		}
		return families
	}
	first := count(0)
	require.Len(t, first, len(Families))
	for block := range uint64(64) {
		for family, n := range count(block) {
			require.InDelta(t, first[family], n, 2, "%s in block %d", family, block)
		}
	}
}

func TestShardedHuntsRunEachSeedOnce(t *testing.T) {
	const seed, runs, shards = BlockSeeds - 3, 9, 2
	var whole Sums
	times := map[uint64]int{}
	for i := range uint64(shards) {
		f := Fleet{Seed: seed, Runs: runs, Shard: Shard{Index: i, Of: shards}, Workers: 2}
		f.Batch = func(b Batch) {
			require.Equal(t, b.To-b.From, b.Schedules)
			for s := b.From; s < b.To; s++ {
				times[s]++
			}
		}
		tally, failed := f.Hunt()
		require.Nil(t, failed)
		require.EqualValues(t, seed+runs, tally.Next)
		whole.Add(tally.Sums)
	}
	require.Len(t, times, runs)
	for s, n := range times {
		require.Equal(t, 1, n, "seed %d", s)
	}
	tally, _ := Fleet{Seed: seed, Runs: runs}.Hunt()
	require.Equal(t, tally.Sums, whole)
}

func TestStoppedHuntGoesOnWithItsNextSeed(t *testing.T) {
	const runs = 8
	stop := make(chan struct{})
	close(stop)
	none, failed := Fleet{Seed: 5, Runs: runs, Stop: stop}.Hunt()
	require.Nil(t, failed)
	require.Zero(t, none.Schedules)
	require.EqualValues(t, 5, none.Next)
}

func TestParseShard(t *testing.T) {
	for _, text := range []string{"0/1", "3/4", "0/4294967295"} {
		s, err := ParseShard(text)
		require.NoError(t, err)
		require.Equal(t, text, s.String())
	}
	for _, text := range []string{"", "1", "1/1", "4/4", "-1/4", "a/b", "1/2/3", "0/0"} {
		_, err := ParseShard(text)
		require.ErrorContains(t, err, "is not a shard", text)
	}
}

func TestSeedFromIsAFunctionOfItsText(t *testing.T) {
	require.Equal(t, SeedFrom("4f2a"), SeedFrom("4f2a"))
	require.NotEqual(t, SeedFrom("4f2a"), SeedFrom("4f2b"))
	require.Less(t, SeedFrom("4f2a"), uint64(1)<<48)
}

func TestFaultOfALineThatIsLeftOutDoesNotHappen(t *testing.T) {
	s, err := scenarios.Parse("late.txt",
		"# late\ndriver disk.example staging\nvolume vol-a of disk.example\npod default/web "+
			"uses vol-a\n"+
			"fault csi.stage of vol-a late 60s\nat 0s apply all\nwithin 5m expect pod default/web ready\n")
	require.NoError(t, err)
	h := scenarios.NewHunter()
	whole := h.Rerun(cases.Case{Scenario: s, Still: true}, scenarios.Watch{})
	less := h.Rerun(cases.Case{Scenario: s, Still: true, Keep: []cases.Kept{cases.WithoutLine(5)}}, scenarios.Watch{})
	require.Nil(t, whole.Violation)
	require.Nil(t, less.Violation)
	require.Greater(t, whole.Calls, less.Calls, "a stage that is late is called again")
}

func FuzzParseShard(f *testing.F) {
	f.Add("3/4")
	f.Add("0/0")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseShard(text)
		if err != nil {
			require.ErrorContains(t, err, "is not a shard")
			return
		}
		again, err := ParseShard(s.String())
		require.NoError(t, err)
		require.Equal(t, s, again)
		require.Less(t, s.Index, s.Of)
	})
}
