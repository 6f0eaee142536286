package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/hal/sim"
)

func TestIDsPrintAndParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := sim.NewID(rapid.StringMatching(`[a-z./-]+`).Draw(t, "site"), rapid.String().Draw(t, "object"),
			rapid.Uint32().Draw(t, "nth"))
		back, err := sim.ParseID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, back)
	})
	for _, bad := range []string{"", "a", "a@b", "a#1", "a@b#", "a@b#-1"} {
		_, err := sim.ParseID(bad)
		require.Error(t, err, bad)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("csi.stage/fault@disk.example^vol-1 /p#3")
	f.Add("a@@#0")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := sim.ParseID(text)
		if err != nil {
			return
		}
		again, err := sim.ParseID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, again)
	})
}

func TestSeededIsAFunctionOfTheID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sim.Seeded(rapid.Uint64().Draw(t, "seed"))
		id := sim.NewID("s", rapid.String().Draw(t, "object"), rapid.Uint32().Draw(t, "nth"))
		weights := rapid.SliceOfN(rapid.Uint32Range(0, 100), 1, 8).Draw(t, "weights")
		i := s.Pick(id, weights)
		require.Equal(t, i, s.Pick(id, weights))
		sum := uint32(0)
		for _, w := range weights {
			sum += w
		}
		require.True(t, sum == 0 || weights[i] > 0)
		lo := rapid.Int64Range(-1000, 1000).Draw(t, "lo")
		hi := rapid.Int64Range(lo, 1<<40).Draw(t, "hi")
		v := s.Between(id, lo, hi)
		require.True(t, lo <= v && v <= hi)
	})
}

func TestSeededKeepsTheWeights(t *testing.T) {
	counts := [3]int{}
	for i := range uint32(10000) {
		counts[sim.Seeded(1).Pick(sim.NewID("s", "o", i), []uint32{1, 2, 1})]++
	}
	require.InDelta(t, 2500, counts[0], 200)
	require.InDelta(t, 5000, counts[1], 200)
}

func TestMaskedChoicesDoNotMoveOthers(t *testing.T) {
	a, b := sim.NewID("s", "a", 0), sim.NewID("s", "b", 0)
	weights := []uint32{1, 100, 100}
	for seed := range uint64(100) {
		m := newMasked(sim.Seeded(seed), false, b)
		require.Zero(t, m.Pick(a, weights))
		require.Equal(t, sim.Seeded(seed).Pick(b, weights), m.Pick(b, weights))
		require.EqualValues(t, 5, m.Between(a, 5, 50))
	}
}
