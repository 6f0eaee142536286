package core_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// This file is what a record must say while an operation is under way: the agent may die before that ends.

// A pod goes and comes again while its volume is being refreshed. The records say at once whether containers may use
// it: the agent may die before the refresh ends. They keep the bound of its call.
func TestUseIsRecordedWhileACallIsUnderWay(t *testing.T) {
	limits := core.Limits{SetUp: time.Minute, TearDown: time.Minute, LateWindow: time.Minute}
	wanted := core.Wanted{Pod: "p", Rungs: []core.Rung{{Key: "a", Pod: "p", Intent: true, Limits: limits}}, Complete: true}
	c, now := core.New(core.Start{Now: second, Boot: "b"}), second
	c.Step(now, core.AllSynced{})
	b := c.Step(now, wanted)
	b = c.Step(now, done(b.Start[0].ID, ""))
	b = c.Step(now, core.Completed{Op: b.Start[0].ID, Result: core.Result{
		Outcome: hal.Done, Fingerprint: "m", RefreshBy: now.Add(time.Hour),
	}})
	for ; len(b.Start) == 0; b = c.Step(now, core.Wake{}) {
		now = c.NextWake()
	}
	require.Equal(t, core.Refresh, b.Start[0].Verb)
	until := now.Add(2 * time.Minute)
	require.Empty(t, c.Step(now, core.Unwanted{Pod: "p"}).Lines)
	for _, change := range []struct {
		is   core.Event
		used bool
	}{{core.Gone{Pod: "p"}, false}, {wanted, true}} {
		lines := c.Step(now, change.is).Lines
		require.Len(t, lines, 1, "%T", change.is)
		require.Equal(t, change.used, lines[0].Record.MayBeUsed, "%T", change.is)
		require.Equal(t, until, lines[0].Record.SetUpUntil, "%T", change.is)
	}
}

// A volume is detached, and attached again, while it is being refreshed: the record says at once that what is up is
// void, and keeps the bound of the call.
func TestVoidIsRecordedWhileACallIsUnderWay(t *testing.T) {
	limits := core.Limits{SetUp: time.Minute, TearDown: time.Minute, LateWindow: time.Minute}
	wanted := func(tie string) core.Wanted {
		want := []core.Param{{Name: "attachment", Value: tie, OnChange: core.OnChangeVoid}}
		return core.Wanted{
			Pod: "p", Rungs: []core.Rung{{Key: "a", Pod: "p", Intent: true, Limits: limits, Want: want}}, Complete: true,
		}
	}
	c, now := core.New(core.Start{Now: second, Boot: "b"}), second
	c.Step(now, core.AllSynced{})
	b := c.Step(now, wanted("first"))
	b = c.Step(now, done(b.Start[0].ID, ""))
	b = c.Step(now, core.Completed{Op: b.Start[0].ID, Result: core.Result{
		Outcome: hal.Done, Fingerprint: "m", RefreshBy: now.Add(time.Hour),
	}})
	for ; len(b.Start) == 0; b = c.Step(now, core.Wake{}) {
		now = c.NextWake()
	}
	require.Equal(t, core.Refresh, b.Start[0].Verb)
	lines := c.Step(now, wanted("second")).Lines
	require.Len(t, lines, 1)
	require.NotContains(t, []string{"first", "second"}, lines[0].Record.Rung.Want[0].Value)
	require.Equal(t, now.Add(2*time.Minute), lines[0].Record.SetUpUntil)
}

// A leg that comes while the device is being set up is in the device's record before its own line is written.
func TestANewLegIsRecordedAboveItFirst(t *testing.T) {
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	one := legs()
	one[1].Below, one[1].Intent, one[3].Intent = []hal.Key{"session1"}, true, true
	b := c.Step(second, core.Wanted{Pod: "p", Rungs: one[:3], Complete: true})
	b = c.Step(second, done(b.Start[0].ID, "sid1"))
	for b.Start[0].Verb == core.Inspect {
		b = c.Step(second, done(b.Start[0].ID, ""))
	}
	require.Equal(t, hal.Key("device"), b.Start[0].Key)
	all := slices.Clone(one)
	all[1].Below = []hal.Key{"session1", "session2"}
	lines := c.Step(second, core.Wanted{Pod: "p", Rungs: all, Complete: true}).Lines
	require.NotEmpty(t, lines)
	require.Equal(t, hal.Key("device"), lines[0].Key)
	require.Equal(t, []hal.Key{"session1", "session2"}, lines[0].Record.Rung.Below)
}
