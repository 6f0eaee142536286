package killmatrix

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/host"
)

var (
	only    = flag.String("point", "", "kill at this point alone, written as the test prints it")
	rungs   = flag.String("rungs", "", "kill only at calls for rungs whose keys begin so, like: emptydir/")
	more    = flag.String("volume", "", "one more pod has this volume, written as in a manifest, like: emptyDir: {}")
	workers = flag.Int("workers", 4, "nodes at work at a time; most of a trial is waiting")
)

func TestMain(m *testing.M) {
	flag.Parse()
	// Each worker is a parallel subtest.
	if err := flag.Set("test.parallel", strconv.Itoa(*workers)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	host.Main(m)
}

// shortStep is which points -short takes: every so many-th. Those of RPCs that ask for an effect it takes all.
const shortStep = 4

// retries is how often a trial is begun again whose agent was not killed: writes of the journal share one call or not,
// as time has it.
const retries = 5

func TestKillMatrix(t *testing.T) {
	h := node(t)
	var all []point
	for _, p := range phases {
		all = append(all, unkilled(t, h, p)...)
	}
	var chosen []point
	for i, p := range all {
		if testing.Short() && i%shortStep != 0 && p.method == "" || *only != "" && p.String() != *only ||
			!strings.HasPrefix(p.rule.Rung, *rungs) {
			continue
		}
		chosen = append(chosen, p)
	}
	r := result{passed: map[phase]int{}}
	t.Run("kill", func(t *testing.T) {
		todo := make(chan point, len(chosen))
		for _, p := range chosen {
			todo <- p
		}
		close(todo)
		for w := range *workers {
			t.Run(strconv.Itoa(w), func(t *testing.T) {
				t.Parallel()
				work(t, todo, &r)
			})
		}
	})
	var parts []string
	for _, p := range phases {
		parts = append(parts, fmt.Sprintf("%s %d of %d", p, r.passed[p], count(chosen, p)))
	}
	fmt.Printf("%d kills, %d trials begun again\n%s\n", r.kills, r.again, strings.Join(parts, ", "))
}

// unkilled runs a phase undisturbed and returns its points.
func unkilled(t *testing.T, h *host.Host, p phase) []point {
	t.Helper()
	a, from := launch(h, p)
	require.True(t, arrive(h, a, p))
	calls := readTrace(t, a.Trace)
	a.Kill()
	recovers(h, p)
	return points(h, p, calls, from)
}

func count(points []point, p phase) int {
	n := 0
	for _, at := range points {
		if at.phase == p {
			n++
		}
	}
	return n
}

// result is what has come of all trials.
type result struct {
	mu     sync.Mutex
	passed map[phase]int // points at which each kill went well
	kills  int
	again  int
}

// work takes points as long as there are any. A node on which a trial has failed is not used again.
func work(t *testing.T, todo <-chan point, r *result) {
	var h *host.Host
	for p := range todo {
		moments := []moment{before, after}
		if p.method != "" {
			moments = append(moments, between)
		}
		passed, kills, again := true, 0, 0
		for _, m := range moments {
			if h == nil {
				h = node(t)
			}
			ok := t.Run(fmt.Sprintf("%s %s", p, m), func(t *testing.T) { again += trial(t, h, p, m) })
			kills++
			if !ok {
				h, passed = nil, false
			}
		}
		r.mu.Lock()
		r.kills, r.again = r.kills+kills, r.again+again
		if passed {
			r.passed[p.phase]++
		}
		r.mu.Unlock()
	}
}

// trial kills at one moment and returns how often it had to begin again.
func trial(t *testing.T, h *host.Host, p point, m moment) int {
	defer h.Use(t)()
	for again := range retries {
		if kill(h, p, m) {
			recovers(h, p.phase)
			return again
		}
		reset(h)
	}
	require.Fail(t, "the agent never came to the call", "%s; go test ./e2e/killmatrix -point '%s'", p, p)
	return retries
}

// reset takes the pods down after a phase that was over before its kill.
func reset(h *host.Host) {
	a := h.Start()
	if pods := "pods.yaml"; h.Applied(pods) {
		h.Remove(pods)
	}
	h.Wait("all", "gone")
	a.Kill()
}
