package scenarios

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
)

// hunted is how many seeds a test run hunts: about ten seconds.
const hunted = 2000

func TestHunt(t *testing.T) {
	f := Fleet{Runs: hunted, Seed: 1, Workers: 2}
	if testing.Short() {
		f.Runs = hunted / 4
	}
	tally, failed := f.Hunt()
	if failed != nil {
		t.Fatalf("%s\nreplay: go run ./cmd/volsim replay --seed %d", failed.Violation, failed.Seed)
	}
	require.GreaterOrEqual(t, tally.Per(tally.Calls), 300.0, "HAL calls per schedule")
	require.GreaterOrEqual(t, tally.Per(tally.Faults), 3.0, "faults per schedule")
	require.GreaterOrEqual(t, tally.Per(tally.Crashes), 0.5, "crashes per schedule")
}

func TestCatalogueRunsClean(t *testing.T) {
	all, err := Catalogue()
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 20)
	for _, s := range all {
		t.Run(s.Name, func(t *testing.T) {
			res := RunScenario(s, false, nil, nil)
			require.Nil(t, res.Violation, "go run ./cmd/volsim run %s", s.Name)
			require.Empty(t, res.Stale)
			again := RunScenario(s, false, nil, nil)
			require.Equal(t, res.Hash, again.Hash, "a scenario always runs the same")
		})
	}
}

func TestMain(m *testing.M) {
	if isOther() {
		return
	}
	// What rapid finds is replayed by a command.
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestReplayIsTheSameByteForByte(t *testing.T) {
	traces := map[string]bool{}
	for range 3 {
		NewHunter().Run(Schedule{Seed: 7, Keep: true, Done: func(w *sim.World) { traces[w.Trace().String()] = true }})
	}
	require.Len(t, traces, 1)
}

// TestShrinkIsMinimal shrinks a schedule whose property is broken on purpose: by a check that no pod is ever ready.
func TestShrinkIsMinimal(t *testing.T) {
	h := NewHunter()
	h.canary = func(r *run) {
		for _, p := range r.pods {
			if p.isRunning && p.name == "default/pod-3" {
				r.fail("canary", "canary", p.name, "pod-3 is ready")
			}
		}
	}
	seed := uint64(1)
	for h.Run(Schedule{Seed: seed}).Violation == nil {
		seed++
	}
	s, _ := Shrink(h, seed, 0)
	require.NotNil(t, s)
	require.LessOrEqual(t, len(s.Case.Choices()), 3, "%v", s.Case)
	for i, k := range s.Case.Keep {
		if !removable(k) {
			continue
		}
		less := s.Case
		less.Keep = append(append([]Kept(nil), s.Case.Keep[:i]...), s.Case.Keep[i+1:]...)
		require.Nil(t, h.Rerun(less, Watch{}).Violation, "choice %s could go", s.Case.Keep[i].ID)
	}
	require.LessOrEqual(t, strings.Count(Explain(h, s).Text(), "\n"), 30)
	kept, err := ParseKeep(s.Case.String())
	require.NoError(t, err)
	require.Len(t, kept, len(s.Case.Keep))
}

func TestKeepRefusesNonsense(t *testing.T) {
	for _, text := range []string{"", "xyz", "a.b=", "a.b=-1", "a.b=-1s", "a.b=nonsense", "a.b,,c.d", "a.b@c#x=1"} {
		_, err := ParseKeep(text)
		require.Error(t, err, "%q", text)
	}
}

func TestKeepPrintsAndParses(t *testing.T) {
	text := "hunt.tie=7,workload.pod@pod-1#2=1,workload.time@pod-1#2=1m0s," +
		"mounts.mount/fault@~/pods/u/volumes/kubernetes.io~csi/v/mount#0=fail-no-effect," +
		"driver.personality@disk.example not found#0=driver-nasty,csi.stage/crash@d^v#1"
	kept, err := ParseKeep(text)
	require.NoError(t, err)
	require.Equal(t, text, Case{Keep: kept}.String())
	require.Equal(t, rootDir+"/pods/u/volumes/kubernetes.io~csi/v/mount", kept[3].ID.Object)
	require.Equal(t, sim.FailNone, kept[3].Fault)
	require.True(t, kept[5].Drawn)
}

// TestCaseIsTheSeedsRun: what a seed chose, kept with its setup and its times, is the same run without the seed.
func TestCaseIsTheSeedsRun(t *testing.T) {
	h := NewHunter()
	for seed := range uint64(64) {
		seen := surveyOf(Case{Seed: seed}, sim.Seeded(seed))
		want := h.Rerun(Case{Seed: seed}, Watch{Chooser: seen})
		c := Case{Still: true, Keep: append(setupOf(seed).settings(), seen.chose...)}
		kept, err := ParseKeep(c.String())
		require.NoError(t, err)
		got := h.Rerun(Case{Still: true, Keep: kept}, Watch{})
		require.Equal(t, want.Hash, got.Hash, "seed %d", seed)
	}
}
