package journal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// first is the first line of the ladder of volume i: its stage, with room for a publish.
func first(i int) core.Line {
	l := put(stage(i))
	l.Room = WorstSize(publish(i, i))
	return l
}

// roomFor is a journal with room for n records of the size of a publish and not for one more.
func roomFor(t require.TestingT, d *disk, n int) *Journal {
	j, _ := openOn(t, d, testSize)
	filler := put(stage(99))
	taken := int(capacityOf(testSize)) - n*WorstSize(publish(1, 1)) - WorstSize(publish(1, 1))/2
	filler.Record.Seen = strings.Repeat("x", taken-WorstSize(filler.Record))
	require.NoError(t, add(j, d, filler))
	left := int(capacityOf(testSize) - j.ledger.used)
	require.Equal(t, n, left/WorstSize(publish(1, 1)))
	return j
}

// Room for four records, two pods with a ladder of two each, and a third: two get through to the top, the third
// waits until one has left.
func TestTwoPodsInTheRoomOfFour(t *testing.T) {
	d := newDisk()
	j := roomFor(t, d, 4)
	lines := []core.Line{first(1), first(2), first(3)}
	require.Equal(t, []hal.Key{"stage/v3"}, j.Admit(lines))
	err := add(j, d, lines...)
	require.ErrorIs(t, err, ErrRoom)
	require.Contains(t, err.Error(), "journal: no room for stage/v3: ")
	require.Equal(t, 1, j.Stats().Records, "nothing of the batch was taken")
	require.NoError(t, add(j, d, lines[:2]...))

	used := j.Stats().Bytes
	require.Equal(t, []hal.Key{"publish/v9/p9"}, j.Admit([]core.Line{put(publish(9, 9))}))
	require.NoError(t, add(j, d, put(publish(1, 1)), put(publish(2, 2))))
	require.Equal(t, used, j.Stats().Bytes, "the room was theirs before")
	require.Equal(t, []hal.Key{"publish/v1/p7"}, j.Admit([]core.Line{put(publish(1, 7))}), "a second pod has no room")

	require.Len(t, roomFor(t, newDisk(), 2).Admit([]core.Line{
		put(publish(6, 6)), put(publish(7, 7)), put(publish(8, 8)),
	}), 1, "lines of one batch count together")

	// One pod leaves; its stage is kept by the next pod, and finds the room of the first.
	require.NoError(t, add(j, d, core.Line{Key: "publish/v1/p1", Drop: true}))
	require.Equal(t, []hal.Key{"stage/v3"}, j.Admit([]core.Line{first(3)}))
	require.Empty(t, j.Admit([]core.Line{put(publish(1, 7))}))

	// The whole ladder goes.
	require.NoError(t, add(j, d, core.Line{Key: "stage/v1", Drop: true}))
	require.NoError(t, add(j, d, first(3)))
	require.NoError(t, add(j, d, put(publish(3, 3))))
}

// What a ladder has reserved is there after a restart, at whatever point it comes.
func TestRoomOutlivesARestart(t *testing.T) {
	d := newDisk()
	j := roomFor(t, d, 4)
	require.NoError(t, add(j, d, first(1), first(2)))
	for range 2 {
		j, _ = openOn(t, d.restart(), testSize)
		require.Equal(t, []hal.Key{"stage/v3"}, j.Admit([]core.Line{first(3)}))
		require.Empty(t, j.Admit([]core.Line{put(publish(1, 1)), put(publish(2, 2))}))
	}
	// What was never up has no age, and what it depends on may have been made again since it came.
	for _, age := range []uint64{0, stage(2).Seq - 1, stage(2).Seq + 1} {
		member := publish(2, 2)
		member.Seq = age
		require.NoError(t, add(j, d, put(member)))
		used := j.Stats().Bytes
		j, _ = openOn(t, d.restart(), testSize)
		require.Equal(t, used, j.Stats().Bytes, "age %d", age)
	}
	require.NoError(t, add(j, d, put(publish(1, 1))))
}

// A rung that was not done is dropped, and finds its room again; a rung two steps above the base draws from it too.
func TestRoomGoesBackToItsLadder(t *testing.T) {
	d := newDisk()
	j := roomFor(t, d, 3)
	base := put(stage(1))
	base.Record.Rung.Key, base.Key = "attach/v1", "attach/v1"
	base.Room = 2 * WorstSize(publish(1, 1))
	middle := put(stage(1))
	middle.Record.Rung.Below = []hal.Key{"attach/v1"}
	require.NoError(t, add(j, d, base))
	for range 3 {
		require.NoError(t, add(j, d, middle))
		require.NoError(t, add(j, d, put(publish(1, 1))))
		require.NoError(t, add(j, d, core.Line{Key: "publish/v1/p1", Drop: true},
			core.Line{Key: middle.Key, Drop: true}))
		require.Equal(t, []hal.Key{"stage/v2"}, j.Admit([]core.Line{first(2)}))
	}
	// All in one batch.
	require.NoError(t, add(j, d, core.Line{Key: "attach/v1", Drop: true}))
	require.Empty(t, j.Admit([]core.Line{base, middle, put(publish(1, 1))}))
	tooMany := []core.Line{base, middle, put(publish(1, 1)), put(publish(1, 2))}
	require.Equal(t, []hal.Key{"publish/v1/p2"}, j.Admit(tooMany))
}

// What stands on several ladders draws from the first that has enough left for it, else from one of them as far as that
// goes.
func TestRoomOfSeveralLadders(t *testing.T) {
	member := publish(1, 1)
	member.Rung.Below = []hal.Key{"nothing/that/is/recorded", stage(1).Rung.Key, stage(2).Rung.Key}
	worst := int64(WorstSize(member))
	for what, c := range map[string]struct {
		rooms [2]int64 // of what it depends on; 0 stands alone
		joins int      // 0 is neither
		costs int64
	}{
		"the first has enough":       {[2]int64{worst, worst}, 1, 0},
		"the second has enough":      {[2]int64{worst - 1, worst}, 2, 0},
		"the second is the only one": {[2]int64{0, worst}, 2, 0},
		"none has enough":            {[2]int64{worst - 7, worst - 5}, 1, 7},
		"none is there":              {[2]int64{0, 0}, 0, worst},
	} {
		g := newLedger()
		var below [2]*ladder
		for i, room := range c.rooms {
			r := stage(i + 1)
			g.put(&r, len(appendRecord(nil, &r)), room)
			below[i] = g.entries[r.Rung.Key].ladder
		}
		before := g.used
		g.put(&member, len(appendRecord(nil, &member)), 0)
		require.Equal(t, c.costs, g.used-before, what)
		drawn := g.entries[member.Rung.Key].ladder
		require.Equal(t, c.joins == 0, drawn == nil, what)
		require.True(t, c.joins == 0 || drawn == below[c.joins-1], what)
	}
}

// A teardown is never refused, and never fails for want of space: not with every record at its worst size, and not if
// records outgrow it.
func TestATeardownFits(t *testing.T) {
	for _, outgrown := range []int{0, 4000} {
		d := newDisk()
		j, _ := openOn(t, d, testSize)
		var keys []core.Record
		for i := 0; len(j.Admit([]core.Line{first(i)})) == 0; i++ {
			require.NoError(t, add(j, d, first(i)))
			require.NoError(t, add(j, d, put(publish(i, i))))
			keys = append(keys, stage(i), publish(i, i))
		}
		if outgrown == 0 {
			d.quota = 2 * testSize
		}
		var lines []core.Line
		for _, r := range keys {
			r.Phase, r.SetUpUntil, r.TearDownUntil, r.MayBeUsed = core.Leaving, 1<<62, 1<<62, true
			r.Fingerprint = fmt.Sprintf("%0*d", growFingerprint+outgrown, 7)
			r.Facts = []core.Fact{{Name: "a", Value: fmt.Sprintf("%0*d", growFacts-5, 7)}}
			lines = append(lines, put(r))
		}
		unknown := put(stage(1000))
		unknown.Record.Phase = core.Leaving
		lines = append(lines, unknown)
		for _, l := range lines {
			require.NoError(t, add(j, d, l))
		}
		_, loaded := openOn(t, d.restart(), testSize)
		require.Empty(t, loaded.Damages)
		require.Len(t, loaded.Records, len(lines))
	}
}

// The ledger's sum is the sum of its parts, whatever comes and goes.
func TestLedgerAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newLedger()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			i := rapid.IntRange(0, 3).Draw(t, "volume")
			r := stage(i)
			if rapid.Bool().Draw(t, "publish") {
				r = publish(i, rapid.IntRange(0, 2).Draw(t, "pod"))
			}
			r.Fingerprint = strings.Repeat("f", rapid.IntRange(0, 400).Draw(t, "grown"))
			if rapid.IntRange(0, 2).Draw(t, "drop") == 0 {
				g.drop(r.Rung.Key)
			} else {
				room := rapid.SampledFrom([]int64{0, 0, 700, 2000}).Draw(t, "room")
				g.put(&r, len(appendRecord(nil, &r)), room)
			}
			var want int64
			members := map[*ladder]int64{}
			for _, e := range g.entries {
				if e.ladder == nil || e.base {
					want += int64(e.worst)
				}
				if e.ladder != nil {
					members[e.ladder] += 0
					if !e.base {
						members[e.ladder] += int64(e.worst)
					}
				}
			}
			for l, used := range members {
				require.Equal(t, used, l.used)
				want += l.cost()
			}
			require.Equal(t, want, g.used)
		}
		for key := range g.entries {
			g.drop(key)
		}
		require.Zero(t, g.used)
	})
}
