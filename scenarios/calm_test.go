package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/calm"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// TestChaosFinds: a pod comes late, and nothing is known to have gone wrong with what it uses.
func TestChaosFinds(t *testing.T) {
	for _, isKnown := range []bool{false, true} {
		text := strings.NewReplacer(
			"at 0s", "at 5s", "within 1m expect pod default/web ready", "at 5m expect pod default/web not ready",
		).Replace(storyOfTwoDrivers)
		s, err := Parse("one_pod.txt", text+"end stuck\n")
		require.NoError(t, err)
		meddled := false
		res := Play{Scenario: s, Check: func(v View) {
			if meddled {
				return
			}
			r := v.r
			meddled = true
			calm.Times(r)
			r.W.After(time.Second, "", func() { r.W.BreakDriver("disk.example", sim.Refuses) })
			if isKnown {
				calm.Disturbs(r, sim.Injected{Site: "csi.stage/fault", Key: "csi.stage/disk.example^vol-a"})
			}
		}}.Run()
		if isKnown {
			require.Nil(t, res.Violation)
			continue
		}
		require.NotNil(t, res.Violation)
		require.Equal(t, "L3 come in chaos", res.Violation.Signature(), "%v", res.Violation)
	}
}

// TestCalmFinds breaks what the liveness phase looks for, by somebody who meddles with the world.
func TestCalmFinds(t *testing.T) {
	for name, c := range map[string]struct {
		property string
		meddle   func(r *world.Run)
	}{
		"another driver's pod can't go": {"L3", func(r *world.Run) {
			r.Broken = "disk.example"
			r.W.After(31*time.Second+500*time.Millisecond, "", func() { r.W.BreakDriver("file.example", sim.Refuses) })
		}},
		"an assertion of the engine": {"panic", func(*world.Run) { panic("planted") }},
		"a directory is left": {"L1", func(r *world.Run) {
			r.W.After(10*time.Minute+50*time.Second, "", func() { r.W.MakeDir(lang.RootDir + "/pods/left") })
		}},
		"a waiter is not woken": {"L2", func(r *world.Run) {
			r.W.After(10*time.Second, "", func() {
				for _, p := range r.Pods {
					p.IsRunning = false
				}
			})
		}},
		"a pod can't go": {"L4", func(r *world.Run) {
			r.W.After(10*time.Minute+50*time.Second, "", func() { r.W.BreakDriver("disk.example", sim.Refuses) })
		}},
		"its driver is away at a restart": {"L6", func(r *world.Run) {
			r.W.After(5*time.Minute, "",
				func() { r.W.StopDriver("disk.example") })
		}},
		"it is never quiet": {"L7", func(r *world.Run) {
			r.W.After(7*time.Minute, "",
				func() { r.Actual.Effects++ })
		}},
		"a restart makes calls": {
			"L11",
			func(r *world.Run) { r.W.After(10*time.Minute+45*time.Second, "", func() { r.Actual.Mounting++ }) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := storyOfOnePod
			if c.property == "L3" {
				text = storyOfTwoDrivers
			}
			s, err := Parse("one_pod.txt", text)
			require.NoError(t, err)
			meddled := false
			res := Play{Scenario: s, Check: func(v View) {
				if !meddled {
					meddled = true
					c.meddle(v.r)
				}
			}}.Run()
			require.NotNil(t, res.Violation)
			require.Equal(t, c.property, res.Violation.Property, "%v", res.Violation)
		})
	}
}

func TestPanicOfACheckIsFound(t *testing.T) {
	res := NewHunter().Run(Schedule{Seed: 1, Probe: func(v View) { _ = v.r.ByUID["nobody"].Uses }})
	require.NotNil(t, res.Violation)
	require.Equal(t, "panic check", res.Violation.Signature())
	require.Contains(t, res.Violation.Object, "TestPanicOfACheckIsFound")
	require.Contains(t, res.Violation.Story, "nil pointer")
}
