package scenarios

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
)

// FuzzSchedule has bytes decide what of a seed's choices happens: a byte for each, as vetoed has it, and all of them
// once there are no more bytes.
func FuzzSchedule(f *testing.F) {
	f.Add(uint64(1), []byte{})
	f.Add(uint64(5), []byte{0, 0, 1, 7, 0, 20, 1, 1, 9})
	f.Add(uint64(18), []byte{1, 0, 1, 0, 1, 0, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, seed uint64, data []byte) {
		c := Case{Seed: seed % MaxSeed}
		seen := surveyOf(c, vetoed{seed: sim.Seeded(c.Seed), isSlow: true, decide: func(sim.ID) uint8 {
			if len(data) == 0 {
				return 1
			}
			b := data[0]
			data = data[1:]
			return b
		}})
		if v := NewHunter().Rerun(c, Watch{Chooser: seen}).Violation; v != nil {
			c.Keep = slices.DeleteFunc(seen.chose, func(k Kept) bool { return k.Time })
			t.Fatalf("%s\nreplay: go run ./cmd/%s\nshrink: go run ./cmd/%s", v, c.Command("replay"),
				c.Command("shrink"))
		}
	})
}

func FuzzParseKeep(f *testing.F) {
	f.Add("hunt.tie=7,workload.pod@pod-1#2=1,workload.time@pod-1#2=1m0s,mounts.mount/fault@~/pods/u/mount#0=fails,csi.stage/crash@d^v#1")
	f.Add("a.b@x@#0=1")
	f.Add("a.b=1h,c.d@#0,e.f@g#9=driver-nasty")
	f.Fuzz(func(t *testing.T, text string) {
		kept, err := ParseKeep(text)
		if err != nil {
			return
		}
		printed := Case{Keep: kept}.String()
		again, err := ParseKeep(printed)
		require.NoError(t, err, "printed of %q", text)
		require.Equal(t, printed, Case{Keep: again}.String())
		for i, k := range kept {
			k.Time = again[i].Time // what is shorter than a microsecond is printed without its unit
			require.Equal(t, k, again[i])
		}
		Case{Keep: kept}.setup()
	})
}

func FuzzParseRegression(f *testing.F) {
	entries, err := regressions.ReadDir("regressions")
	require.NoError(f, err)
	for _, e := range entries {
		text, err := regressions.ReadFile("regressions/" + e.Name())
		require.NoError(f, err)
		f.Add(e.Name(), text)
	}
	f.Add("r.json", []byte(`{"schema":1,"name":"r","scenario":"demo","choices":[],"unreached":[]} `))
	f.Fuzz(func(t *testing.T, file string, text []byte) {
		r, err := ParseRegression(file, text)
		if err != nil {
			require.ErrorContains(t, err, file)
			return
		}
		printed, err := r.Text()
		require.NoError(t, err)
		again, err := ParseRegression(file, printed)
		require.NoError(t, err, "printed: %s", printed)
		second, err := again.Text()
		require.NoError(t, err)
		require.Equal(t, string(printed), string(second))
	})
}

func FuzzCoverage(f *testing.F) {
	covered := NewHunter().Run(Schedule{Seed: 5, Cover: true}).Coverage
	text, err := json.Marshal(covered)
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte(`{"runs":1,"tuples":null,"faults":{"csi.stage: slow":2}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c := NewCoverage()
		if json.Unmarshal(text, c) != nil {
			return
		}
		printed, err := json.Marshal(c)
		require.NoError(t, err)
		again := NewCoverage()
		require.NoError(t, json.Unmarshal(printed, again))
		require.Equal(t, c, again)
		c.Add(covered)
		again.Add(c)
	})
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
