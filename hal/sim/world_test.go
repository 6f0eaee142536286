package sim_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

func TestToyRunsWithoutFaults(t *testing.T) {
	w := toyWorld(sim.Config{Keep: true}, 3)
	defer w.Close()
	require.NoError(t, w.RunFor(10*time.Minute))
	text := w.Trace().String()
	require.Greater(t, strings.Count(text, "csi.unstage d^v1 done"), 50, text[:min(len(text), 4000)])
	require.NotContains(t, text, " ! ")
}

func TestSwarmsRun(t *testing.T) {
	steps := uint64(0)
	for seed := range uint64(300) {
		w := toyWorld(swarmConfig(seed), 4)
		require.NoErrorf(t, w.RunFor(20*time.Minute), "seed %d", seed)
		w.Calm()
		require.NoErrorf(t, w.RunFor(20*time.Minute), "seed %d", seed)
		steps += w.Steps()
		w.Close()
	}
	t.Logf("%d events", steps)
}

// TestCalmSparesTheAgent has calm come while calls are under way for which a death was drawn.
func TestCalmSparesTheAgent(t *testing.T) {
	underWay := 0
	for seed := range uint64(200) {
		c := swarmConfig(seed)
		c.Profile = sim.Everything()
		c.Profile.Weight[sim.Slow], c.Profile.Weight[sim.CrashAfter],
			c.Profile.Weight[sim.CrashReplied] = 20000, 1000, 1000
		w := toyWorld(c, 4)
		require.NoErrorf(t, w.RunFor(time.Minute), "seed %d", seed)
		starts := 0
		w.OnEffect(func(e sim.Effect) {
			if e.Kind == sim.EffectAgentStarted {
				starts++
			}
		})
		w.Calm()
		underWay += len(w.Active())
		lived := w.AgentLives()
		require.NoErrorf(t, w.RunFor(6*time.Minute), "seed %d", seed)
		if lived {
			require.Zerof(t, starts, "seed %d", seed)
		}
		w.Close()
	}
	require.Positive(t, underWay)
}

// hashes runs some seeds and returns their trace hashes.
func hashes(n uint64) string {
	var b strings.Builder
	for seed := range n {
		w := toyWorld(swarmConfig(seed), 3)
		err := w.RunFor(10 * time.Minute)
		fmt.Fprintf(&b, "%d %x %x %v\n", seed, w.Trace().Hash(), w.Hash(), err)
		w.Close()
	}
	return b.String()
}

const hashesEnv = "VOLNODE_SIM_HASHES"

func TestMain(m *testing.M) {
	if os.Getenv(hashesEnv) != "" {
		fmt.Print(hashes(20))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestSameSeedSameTraceInEveryProcess(t *testing.T) {
	want := hashes(20)
	require.Equal(t, want, hashes(20))
	for _, env := range [][]string{
		{"GOMAXPROCS=1"},
		{"GOMAXPROCS=2", "GOGC=10"},
		{"GOGC=off"},
		{"GODEBUG=asyncpreemptoff=1"},
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(append(os.Environ(), hashesEnv+"=1"), env...)
		out, err := cmd.Output()
		require.NoError(t, err)
		require.Equalf(t, want, string(out), "%v", env)
	}
}

func TestHashOnlyIsTheHashOfTheText(t *testing.T) {
	c := swarmConfig(7)
	w := toyWorld(c, 2)
	defer w.Close()
	require.NoError(t, w.RunFor(5*time.Minute))
	c.Keep = true
	v := toyWorld(c, 2)
	defer v.Close()
	require.NoError(t, v.RunFor(5*time.Minute))
	require.Equal(t, w.Trace().Hash(), v.Trace().Hash())
	require.Equal(t, int(v.Trace().Len()), len(v.Trace().Records))
}

func TestWorldsLeaveNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	for seed := range uint64(1000) {
		w := toyWorld(swarmConfig(seed), 2)
		require.NoError(t, w.RunFor(time.Minute))
		w.Close()
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestMaskTakesSingleFaultsAway(t *testing.T) {
	seed := uint64(11)
	all := &recorder{Inner: sim.Seeded(seed)}
	c := sim.Config{Chooser: all, Profile: sim.Uniform(), Tie: 1}
	run := func(c sim.Config) *sim.World {
		w := toyWorld(c, 3)
		require.NoError(t, w.RunFor(10*time.Minute))
		w.Close()
		return w
	}
	whole := run(c)
	require.NotEmpty(t, all.Choices)
	ids := make([]sim.ID, len(all.Choices))
	for i, choice := range all.Choices {
		ids[i] = choice.ID
	}
	c.Chooser = newMasked(sim.Seeded(seed), true, ids...)
	require.Equal(t, whole.Trace().Hash(), run(c).Trace().Hash(), "all choices allowed: the same run")

	few := &recorder{Inner: newMasked(sim.Seeded(seed), true, ids[:5]...)}
	c.Chooser = few
	run(c)
	for _, choice := range few.Choices {
		require.Contains(t, ids[:5], choice.ID)
	}

	both := &recorder{Inner: sim.Seeded(seed), Times: true}
	c.Chooser = both
	run(c)
	c.Chooser = newRecorded(both.Choices)
	require.Equal(t, whole.Trace().Hash(), run(c).Trace().Hash(), "a replay of all choices: the same run")
}

func TestKillHasNoEffect(t *testing.T) {
	for seed := range uint64(100) {
		w := toyWorld(sim.Config{Chooser: sim.Seeded(seed), Tie: seed + 1}, 3)
		w.Restarts(false)
		require.NoError(t, w.RunFor(time.Duration(5+seed)*time.Second))
		for range seed {
			w.Step()
		}
		effects := 0
		w.OnEffect(func(e sim.Effect) {
			if e.Kind != sim.EffectAgentDied {
				effects++
			}
		})
		before := w.Hash()
		w.KillAgent()
		require.Equal(t, before, w.Hash())
		require.Zero(t, effects)
		require.False(t, w.AgentLives())
		w.Close()
	}
}

func TestRebootBeginsANewClockAndTable(t *testing.T) {
	w := toyWorld(sim.Config{Private: true}, 2)
	defer w.Close()
	require.NoError(t, w.RunFor(3*time.Second))
	require.NotEmpty(t, w.Staged())
	boot := w.BootID()
	w.CutPower()
	require.True(t, w.Off())
	require.Empty(t, w.Staged())
	require.Len(t, w.Mounts(), 3)
	require.NoError(t, w.RunFor(time.Minute))
	require.NotEqual(t, boot, w.BootID())
	require.Less(t, w.Host().Runtime.Now(), hal.Instant(2*time.Minute))
	require.NotEmpty(t, w.Staged(), "the agent and its driver are back")
}

func BenchmarkWorld(b *testing.B) {
	calls, steps := uint64(0), uint64(0)
	b.ReportAllocs()
	for i := range b.N {
		w := toyWorld(swarmConfig(uint64(i)), 4)
		if err := w.RunFor(10 * time.Minute); err != nil {
			b.Fatal(err)
		}
		calls += w.Trace().Count(sim.MarkCall)
		steps += w.Steps()
		w.Close()
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(steps)/float64(b.N), "events/world")
	b.ReportMetric(float64(calls)/float64(b.N), "calls/world")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "worlds/s")
}

func BenchmarkCall(b *testing.B) {
	for _, kind := range []string{"stat", "mkdir+remove", "write+sync"} {
		b.Run(kind, func(b *testing.B) {
			w := sim.New(swarmless(1))
			defer w.Close()
			h := w.Host()
			c := hal.Call{}
			b.ReportAllocs()
			w.Do(func() {
				_ = h.Files.Write(c, root+"/f", make([]byte, 4096), 0o600)
				for range b.N {
					switch kind {
					case "stat":
						_, _ = h.Tree.Stat(c, root)
					case "mkdir+remove":
						_ = h.Tree.Mkdir(c, root+"/d", 0o755)
						_ = h.Tree.Remove(c, root+"/d")
					case "write+sync":
						_ = h.Files.WriteAt(c, root+"/f", 100, []byte("0123456789"))
						_ = h.Files.Sync(c, root+"/f")
					}
				}
			})
		})
	}
}

// swarmless draws times, and no faults.
func swarmless(seed uint64) sim.Config { return sim.Config{Chooser: sim.Seeded(seed), Tie: seed} }
