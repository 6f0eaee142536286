package minimise

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

// The same seeds are run in other processes, which are this test binary with one of these variables.
const (
	hashesEnv = "SCENARIOS_TEST_HASHES" // print the hashes of so many seeds
	traceEnv  = "SCENARIOS_TEST_TRACE"  // print the trace of this seed
	// with either, a seed that is run in another order of what happens at one instant.
	tieEnv = "SCENARIOS_TEST_TIE"
)

// isOther does what the variables say, in place of the tests.
func isOther() bool {
	tied, err := strconv.ParseUint(os.Getenv(tieEnv), 10, 64)
	isTied := err == nil
	setup := func(seed uint64) cases.Setup {
		s := cases.SetupOf(seed)
		if isTied && seed == tied {
			s.Tie++
		}
		return s
	}
	if n, err := strconv.ParseUint(os.Getenv(hashesEnv), 10, 64); err == nil {
		h := scenarios.NewHunter()
		for seed := range n {
			is := setup(seed)
			fmt.Println(hashOf(h.Run(scenarios.Schedule{Seed: seed, Setup: &is})))
		}
		return true
	}
	seed, err := strconv.ParseUint(os.Getenv(traceEnv), 10, 64)
	if err != nil {
		return false
	}
	is := setup(seed)
	scenarios.NewHunter().Run(scenarios.Schedule{
		Seed: seed, Setup: &is, Keep: true,
		Done: func(w *sim.World) { fmt.Print(w.Trace().String()) },
	})
	return true
}

func TestMain(m *testing.M) {
	if !isOther() {
		os.Exit(m.Run())
	}
}

func hashOf(res scenarios.Result) string { return fmt.Sprintf("%016x %d", res.Hash, res.Events) }

// other is a test binary that runs seeds elsewhere.
type other struct {
	binary string
	env    []string
}

func (o other) run(t *testing.T, name string, value uint64) []string {
	cmd := exec.Command(o.binary)
	cmd.Env = append(append(os.Environ(), o.env...), name+"="+strconv.FormatUint(value, 10))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s %v", o.binary, o.env)
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// parts runs seeds here and there and tells the first that is not the same, by the first record in which its traces
// differ; "" if all are.
func (o other) parts(t *testing.T, here []string) string {
	there := o.run(t, hashesEnv, uint64(len(here)))
	require.Len(t, there, len(here))
	for seed := range here {
		if here[seed] == there[seed] {
			continue
		}
		d := Diff(TraceOf(scenarios.NewHunter(), cases.Case{Seed: uint64(seed)}, sim.Seeded(seed)),
			o.run(t, traceEnv, uint64(seed)))
		if d == nil {
			return fmt.Sprintf("seed %d was %s here and %s there, and now its traces are equal: it is not always "+
				"the same", seed, here[seed], there[seed])
		}
		d.NameA, d.NameB = fmt.Sprintf("seed %d here", seed), "in a process with "+strings.Join(o.env, " ")
		return d.Text()
	}
	return ""
}

func hashesHere(seeds uint64) []string {
	var all []string
	h := scenarios.NewHunter()
	for seed := range seeds {
		all = append(all, hashOf(h.Run(scenarios.Schedule{Seed: seed})))
	}
	return all
}

// TestSameSeedSameTrace runs seeds in other processes: under other schedulers and collectors, and in a race build.
func TestSameSeedSameTrace(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 50
	}
	here := hashesHere(seeds)
	for _, procs := range []string{"GOMAXPROCS=1", "GOMAXPROCS=2"} {
		for _, gc := range []string{"GOGC=10", "GOGC=off"} {
			require.Empty(t, other{os.Args[0], []string{procs, gc}}.parts(t, here))
		}
	}
	if testing.Short() {
		return // a race build takes minutes
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("a race build needs a C compiler, and gcc is not installed")
	}
	binary := filepath.Join(t.TempDir(), "race.test")
	out, err := exec.Command("go", "test", "-race", "-c", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, other{binary, []string{"GOMAXPROCS=2"}}.parts(t, here))
}

func TestSeedThatIsNotTheSameIsShown(t *testing.T) {
	text := other{os.Args[0], []string{tieEnv + "=0"}}.parts(t, hashesHere(6))
	require.Contains(t, text, "seed 0 here and in a process with "+tieEnv+"=0 part at line")
	require.Regexp(t, `(?m)^- .+\n`, text)
	require.Regexp(t, `(?m)^\+ .+\n`, text)
}
