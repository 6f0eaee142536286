package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
)

// TestASocketThatIsMadeOnceMoreIsNoted: the agent writes in calm who serves a driver, if its socket is made once more,
// and an older one waits.
func TestASocketThatIsMadeOnceMoreIsNoted(t *testing.T) {
	for name, c := range map[string]struct{ isAgain, waits, want bool }{
		"made once more while one waits": {true, true, true},
		"no other waits":                 {true, false, false},
		"it stands as it was":            {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			_ = r.W.RunFor(time.Hour)
			r.Core = core.New(core.Start{Now: 1, Boot: "b"})
			socket, since := r.W.Drivers()[0].Socket, r.W.Now()
			if r.Registrars.Since[socket] = since; c.isAgain {
				r.Registrars.Since[socket]++
			}
			if c.waits {
				r.Core.Step(2, core.Serves{Actor: "d", By: "7 " + socket})
			}
			require.Equal(t, c.want, dealings.NotesAgain(r, since))
		})
	}
}

// TestNewsOfTheTimeOfAnAttemptIsAReasonForAnother: an attempt to connect may take minutes, as the agent stands still.
// What the agent hears meanwhile has it try once more, and once.
func TestNewsOfTheTimeOfAnAttemptIsAReasonForAnother(t *testing.T) {
	for name, c := range map[string]struct {
		hears   time.Duration // after the first attempt has begun
		isFirst bool          // of the attempts that are made after the first one
		want    string
	}{
		"before the attempt":                   {-time.Second, true, "L7"},
		"while it is made":                     {time.Second, true, ""},
		"while it is made, and it comes again": {time.Second, false, "L7"},
	} {
		t.Run(name, func(t *testing.T) {
			const endpoint, began, late = "/e", hal.Instant(time.Hour), 2 * time.Minute
			r := bare(t)
			attempt := func(began, at hal.Instant) {
				r.Registrars.Meets[endpoint] = began
				dealings.Connects(r, &sim.Effect{
					Kind: sim.EffectAsked, Driver: "d", Path: endpoint,
					Method: dealings.Connect, At: at,
				})
			}
			r.Registrars.Answered["d"] = began.Add(c.hears)
			attempt(began, began.Add(late))
			attempt(began.Add(late), began.Add(late+1))
			if !c.isFirst {
				require.Nil(t, r.Violation)
				attempt(began.Add(late+1), began.Add(late+2))
			}
			if c.want == "" {
				require.Nil(t, r.Violation)
				return
			}
			require.Equal(t, c.want, r.Violation.Property)
		})
	}
}
