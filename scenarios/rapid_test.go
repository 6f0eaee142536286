package scenarios

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/verdict"
)

// vetoed makes a seed's choices, of which somebody decides each time that one is not benign: 0 has it benign, 1 leaves
// it as it is, more makes it another fault that can happen there. Times are the seed's, or the shortest. What was
// chosen can be told as a case.
type vetoed struct {
	seed   sim.Seeded
	isSlow bool // times are the seed's
	decide func(sim.ID) uint8
}

func (v vetoed) Pick(id sim.ID, weights []uint32) int {
	if i := v.seed.Pick(id, weights); i != 0 && v.decide(id) != 0 {
		return i
	}
	return 0
}

func (v vetoed) PickFault(id sim.ID, faults []sim.Fault, weights []uint32) sim.Fault {
	i := v.seed.Pick(id, weights)
	if i == 0 {
		return sim.NoFault
	}
	switch d := v.decide(id); d {
	case 0:
		return sim.NoFault
	case 1:
		return faults[i]
	default:
		i = int(d-2) % len(faults)
		if weights[i] == 0 {
			return sim.NoFault
		}
		return faults[i]
	}
}

func (v vetoed) Between(id sim.ID, lo, hi int64) int64 {
	if v.isSlow {
		return v.seed.Between(id, lo, hi)
	}
	return lo
}

// drawn makes the choices of a case as rapid draws them. lost is rapid's panic, where there is nothing more to draw: a
// world would take it for a defect of the engine, so it goes on without faults, and the property panics afterwards.
type drawn struct {
	t    *rapid.T
	lost any
}

func (d *drawn) decide(id sim.ID) (happens uint8) {
	if d.lost != nil {
		return 0
	}
	defer func() {
		if p := recover(); p != nil {
			d.lost, happens = p, 0
		}
	}()
	return min(rapid.Uint8Max(7).Draw(d.t, id.String()), 1)
}

// rapidly is a property for rapid: no case of those that it draws breaks anything. stories are told with faults on top;
// none is a world of a hunt. The shrinker goes by where a property fails, which is here for all; what is not what was
// found first therefore does not fail.
func rapidly(h *Hunter, stories ...*lang.Scenario) func(*rapid.T) {
	want := ""
	var names []string
	for _, s := range stories {
		names = append(names, s.Name)
	}
	return func(t *rapid.T) {
		c := cases.Case{Seed: rapid.Uint64Max(1<<20).Draw(t, "seed")}
		if len(stories) > 0 {
			name := rapid.SampledFrom(names).Draw(t, "scenario")
			c.Scenario, c.Still = stories[slices.Index(names, name)], true
		}
		d := &drawn{t: t}
		seen := cases.SurveyOf(c, vetoed{seed: sim.Seeded(c.Seed), isSlow: !c.Still, decide: d.decide})
		var v *verdict.Violation
		if c.Scenario != nil {
			v = Play{Scenario: c.Scenario, Choices: seen, IsVaried: true}.Run().Violation
		} else {
			v = h.Rerun(c, Watch{Chooser: seen}).Violation
		}
		if d.lost != nil {
			panic(d.lost)
		}
		if v == nil || want != "" && v.Signature() != want {
			return
		}
		want = v.Signature()
		c.Keep = slices.DeleteFunc(seen.Chose, func(k cases.Kept) bool { return k.Time })
		t.Fatalf("%s\nreplay: go run ./cmd/%s\nshrink: go run ./cmd/%s", v, c.Command("replay"), c.Command("shrink"))
	}
}

// TestRapid has rapid draw schedules; it shrinks one that fails. -rapid.checks asks for more of them.
func TestRapid(t *testing.T) { rapid.Check(t, rapidly(NewHunter())) }

// TestRapidStories has rapid draw what goes wrong in stories of the catalogue beside their own.
func TestRapidStories(t *testing.T) {
	all, err := Catalogue()
	require.NoError(t, err)
	rapid.Check(t, rapidly(NewHunter(), all...))
}

// listener is a test that keeps what it is told, and goes on.
type listener struct {
	*testing.T
	failed bool
	text   strings.Builder
}

func (q *listener) Errorf(format string, args ...any) {
	q.failed = true
	fmt.Fprintf(&q.text, format+"\n", args...)
}
func (q *listener) Logf(string, ...any) {}
func (q *listener) Failed() bool        { return q.failed }
func (q *listener) FailNow()            {}

// TestRapidFindsAndShrinks plants a defect: while the agent is away a second time, no pod may run.
func TestRapidFindsAndShrinks(t *testing.T) {
	h := NewHunter()
	h.Check = func(v View) {
		r := v.r
		for _, p := range r.Pods {
			if p.IsRunning && r.Actual.Crashes > 1 && !r.Stop {
				r.Fail("canary", "canary", p.Name, "a pod runs though the agent has died twice")
			}
		}
	}
	q := &listener{T: t}
	// How far rapid shrinks depends on what it has found.
	require.NoError(t, flag.Set("rapid.seed", "3"))
	defer func() { require.NoError(t, flag.Set("rapid.seed", "0")) }()
	rapid.Check(q, rapidly(h))
	require.True(t, q.failed)
	text := q.text.String()
	require.Contains(t, text, "canary at canary", "rapid: %s", text)
	_, seed, _ := strings.Cut(text, "volsim replay --seed ")
	seed, keep, _ := strings.Cut(seed, " --keep '")
	keep, _, _ = strings.Cut(keep, "'")
	var c cases.Case
	_, err := fmt.Sscan(seed, &c.Seed)
	require.NoError(t, err)
	c.Keep, err = cases.ParseKeep(keep)
	require.NoError(t, err)
	require.LessOrEqual(t, len(c.Choices()), 6, "%s", text)
	again := h.Rerun(c, Watch{}).Violation
	require.NotNil(t, again, "the command replays it")
	require.Equal(t, "canary canary", again.Signature())
}
