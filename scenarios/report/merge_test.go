package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/verdict"
)

// hunted is what a hunt without failures writes.
func hunted(t *testing.T, f fleet.Fleet) string {
	var out bytes.Buffer
	l := NewLines(&out)
	l.Head(NewHead(f))
	f.Batch = l.Batch
	tally, failed := f.Hunt()
	require.Nil(t, failed)
	require.NoError(t, l.End(End{Shard: f.Shard.String(), Tally: tally}))
	return out.String()
}

func shardOf(t *testing.T, i uint64) string {
	return hunted(t, fleet.Fleet{Seed: fleet.BlockSeeds - 4, Runs: 8, Shard: fleet.Shard{Index: i, Of: 2}})
}

func TestMergeAddsUpShards(t *testing.T) {
	whole, failed := fleet.Fleet{Seed: fleet.BlockSeeds - 4, Runs: 8}.Hunt()
	require.Nil(t, failed)
	mixed := strings.SplitAfter(shardOf(t, 0)+shardOf(t, 1), "\n")
	mixed[1], mixed[4] = mixed[4], mixed[1]
	var m Merged
	require.NoError(t, m.Read("mixed", strings.NewReader(strings.Join(mixed, ""))))
	require.NoError(t, m.Check())
	require.Empty(t, m.Damaged)
	require.Empty(t, m.Missing)
	require.Equal(t, whole.Sums, m.Sums)
	require.Equal(t, 2, m.Hunts)
	require.Equal(t, 2, m.Ended)
	require.Positive(t, m.CPU)
}

func TestMergeRefusesASeedTwice(t *testing.T) {
	var m Merged
	require.NoError(t, m.Read("a.jsonl", strings.NewReader(shardOf(t, 0))))
	require.NoError(t, m.Read("b.jsonl", strings.NewReader(shardOf(t, 1))))
	require.NoError(t, m.Read("c.jsonl", strings.NewReader(shardOf(t, 0))))
	require.EqualError(t, m.Check(),
		"the seeds from 356 to 359 are in a.jsonl:2 and in c.jsonl:2: give each result once, and hunts of other seeds "+
			"(--shard, --seed)")
}

func TestMergeRefusesOtherVersions(t *testing.T) {
	var m Merged
	require.NoError(t, m.Read("a.jsonl",
		strings.NewReader(`{"schema":1,"kind":"hunt","commit":"aa","seed":1,"runs":4,"shard":"0/1"}`)))
	require.NoError(t, m.Read("b.jsonl",
		strings.NewReader(`{"schema":1,"kind":"hunt","commit":"bb","seed":5,"runs":4,"shard":"0/1"}`)))
	require.ErrorContains(t, m.Check(), `a.jsonl:1 is a hunt of version "aa" and b.jsonl:1 of "bb"`)
	require.ErrorContains(t, new(Merged).Check(), "no line of a hunt")
}

func TestMergeTellsDamagedLinesAndMissingShards(t *testing.T) {
	text := shardOf(t, 1) + "\n" + strings.Join([]string{
		`{"schema":1,"kind":"batch","from":1,`,
		`{"schema":2,"kind":"batch"}`,
		`{"schema":1,"kind":"party"}`,
		`{"schema":1,"kind":"batch","from":5,"to":4,"schedules":1}`,
		`{"schema":1,"kind":"failure","seed":7}`,
		`{"schema":1,"kind":"hunt","shard":"2/2"}`,
		`not JSON`,
	}, "\n")
	var m Merged
	require.NoError(t, m.Read("x.jsonl", strings.NewReader(text)))
	require.NoError(t, m.Check())
	require.Equal(t, []string{"0/2"}, m.Missing)
	require.EqualValues(t, 4, m.Sums.Schedules)
	says := []string{
		"5: no line of a hunt", "6: schema 2", `7: "party" is no kind`, "8: a batch of the seeds 5 up to 4",
		"9: a failure without",
		"10: \"2/2\" is not a shard", "11: no line",
	}
	require.Len(t, m.Damaged, len(says))
	for i, err := range m.Damaged {
		require.ErrorContains(t, err, "x.jsonl:"+says[i])
	}
}

func TestSignaturesAreDistinct(t *testing.T) {
	var out bytes.Buffer
	l := NewLines(&out)
	for i, property := range []string{"S5", "S1", "S5"} {
		l.Failure(Failure{Seed: uint64(9 - i), Violation: &verdict.Violation{Property: property, Site: "x"}})
	}
	require.NoError(t, l.End(End{}))
	var m Merged
	require.NoError(t, m.Read("x", &out))
	m.batches = append(m.batches, placed[fleet.Batch]{})
	require.NoError(t, m.Check())
	order, by := m.Signatures()
	require.Equal(t, []string{"S5 x", "S1 x"}, order)
	require.EqualValues(t, 7, by["S5 x"][0].Seed)
	require.Len(t, by["S5 x"], 2)
}

func FuzzMerge(f *testing.F) {
	f.Add(`{"schema":1,"kind":"batch","from":1,"to":3,"schedules":2}` + "\n" +
		`{"schema":1,"kind":"failure","seed":7,"violation":{}}`)
	f.Add(`{"schema":1,"kind":"hunt","shard":"0/2"}` + "\n" + `{"schema":1,"kind":"end"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var m Merged
		require.NoError(t, m.Read("x", strings.NewReader(text)))
		_ = m.Check() // it must not panic
	})
}

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := Progress{Out: &out, Fleet: fleet.Fleet{Seed: 1, Runs: 1000, Budget: time.Minute}}
	tally := fleet.Tally{Next: 101}
	tally.Schedules, tally.Faults = 100, 50
	for s := range 31 {
		tally.Elapsed = time.Duration(s) * time.Second
		p.Tell(tally)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3) // one each ten seconds
	require.Contains(t, lines[2], "30s")
	require.Contains(t, lines[2], "100 schedules")
	require.Contains(t, lines[2], "0.5 faults")
	require.Contains(t, lines[2], "30s left")

	out.Reset()
	p.Width = 40
	p.Tell(tally)
	p.Tell(tally)
	p.Close()
	p.Close()
	require.NotContains(t, out.String(), "\n")
	require.True(t, strings.HasSuffix(out.String(), "\r\x1b[K"))
	for _, line := range strings.Split(out.String(), "\r\x1b[K") {
		require.Less(t, len(line), 40)
	}
}
