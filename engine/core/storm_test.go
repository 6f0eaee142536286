package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// A driver that says the same for an hour, whatever it is asked, gets calls at the pace of backoff: some while the wait
// doubles, one in four seconds for ten minutes if it answers, then one in two minutes.
func TestNoStorm(t *testing.T) {
	const (
		pace     = 10 + int(time.Hour/(2*time.Minute-20*time.Second))
		answered = int(10 * time.Minute / (4*time.Second - 400*time.Millisecond))
	)
	replies := map[string]core.Result{
		"never sent": {Outcome: hal.NotDone},
		"refused":    {Outcome: hal.NotDone, Answer: core.Failed, Instance: "i", Blocked: true},
		"aborted":    {Outcome: hal.NotDone, Answer: core.Aborted, Instance: "i"},
		"denied":     {Outcome: hal.NotDone, Answer: core.Failed, Instance: "i", BelowUnknown: true},
		"failed": {
			Outcome: hal.Unknown, Answer: core.Final, Instance: "i", BelowUnknown: true, UndoFirst: true,
			Failed: true,
		},
		"exists":      {Outcome: hal.Unknown, Answer: core.Failed, Instance: "i", UndoFirst: true},
		"status":      {Outcome: hal.Unknown, Answer: core.Failed, Instance: "i"},
		"lost":        {Outcome: hal.Unknown, Fenced: true, Instance: "i"},
		"short":       {Outcome: hal.Done, Answer: core.Final, Instance: "i", Fingerprint: "m", Short: "a leg"},
		"always late": {Outcome: hal.Done, Answer: core.Final, Instance: "i", Fingerprint: "m", RefreshBy: 1},
	}
	for name, reply := range replies {
		for _, side := range []string{
			"publish is set up", "stage is set up", "publish is torn down",
			"stage is torn down",
		} {
			if side[len(side)-5:] != "limbs" && reply.Outcome == hal.Done {
				continue
			}
			t.Run(name+", "+side, func(t *testing.T) {
				each := pace
				if reply.Answer != core.NoAnswer {
					each += answered
				}
				if reply.UndoFirst {
					each *= 2 // a setup and its undo
				}
				calls := sayFor(side, reply, time.Hour)
				require.LessOrEqual(t, calls["publish"], 3*each, "three publishes: %v", calls)
				require.LessOrEqual(t, calls["stage"], each+3, "one stage: %v", calls)
			})
		}
	}
}

// sayFor has three pods want a volume, or leave it, while their driver answers one sort of call always the same. It
// returns the calls by kind.
func sayFor(side string, reply core.Result, d time.Duration) map[core.Kind]int {
	var kind core.Kind
	var word string
	_, _ = fmt.Sscan(side, &kind, &word)
	now := hal.Instant(time.Second)
	c := core.New(core.Start{Now: now, Boot: "b"})
	calls := map[core.Kind]int{}
	var queue []core.Op
	step := func(e core.Event) { queue = append(queue, c.Step(now, e).Start...) }
	answer := func(faulty bool) {
		for len(queue) > 0 && calls["stage"]+calls["publish"] < 100_000 {
			op := queue[0]
			queue = queue[1:]
			res := core.Result{Outcome: hal.Done, Fingerprint: op.Fingerprint}
			if op.Verb == core.SetUp || op.Verb == core.Refresh {
				res.Fingerprint = "m"
			}
			if op.Verb != core.Inspect {
				if faulty {
					calls[op.Kind]++
				}
				if faulty && op.Kind == kind && (op.Verb == core.TearDown) == (word == "is torn down") {
					res = reply
				}
			}
			step(core.Completed{Op: op.ID, Result: res})
		}
	}
	step(core.AllSynced{})
	v := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}
	for _, uid := range podNames {
		step(core.Wanted{Pod: uid, Rungs: v.rungs(uid), Complete: true})
	}
	if word == "is torn down" {
		answer(false)
		for _, uid := range podNames {
			step(core.Unwanted{Pod: uid})
			step(core.Gone{Pod: uid})
		}
	}
	for end := now.Add(d); ; {
		answer(true)
		at := c.NextWake()
		if at == 0 || at > end {
			return calls
		}
		now = at
		step(core.Wake{})
	}
}
