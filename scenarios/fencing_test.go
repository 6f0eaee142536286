package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// isAttachedOnce has the volume be of a driver that attaches, as the agent was told, and its attachment known.
func (r *run) isAttachedOnce(then func(*storagev1.VolumeAttachment)) {
	is := &storagev1.VolumeAttachment{}
	is.Name, is.UID = attachmentName("d", "v"), "first"
	driver := &storagev1.CSIDriver{}
	driver.Name = "d"
	r.news = map[string][]news{}
	r.attached["d^v"] = &attachment{object: is, times: 1}
	r.hears(hal.Changed{Applied: []any{driver, is}})
	_ = r.w.RunFor(time.Second)
	then(is)
}

// TestTakenOnceItsAttachmentHasEnded: a volume of a pod that is wanted all along goes if the setup that made it began
// with an attachment that has ended, and only then.
func TestTakenOnceItsAttachmentHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		isAgain, isNews, isTaken bool // it is published again after that; with another uid; and may be taken
	}{
		"what the first has made":  {false, true, true},
		"what the other has made":  {true, true, false},
		"what was told once again": {false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.isAttachedOnce(func(is *storagev1.VolumeAttachment) {
				p := r.runs()
				p.isRunning, p.isSteady = false, true
				r.holds(sim.EffectStaged)
				r.sends(1, publish)
				r.effect(sim.Effect{
					Kind: sim.EffectEnded, Driver: "d", Volume: "v", Method: publish, Key: thePublish,
					Target: target, Call: 1,
				})
				other := is.DeepCopy()
				if c.isNews {
					other.UID = "other"
				}
				r.hears(hal.Changed{Applied: []any{other}})
				_ = r.w.RunFor(time.Hour)
				r.byPath[stagePath].tie = other.UID
				if c.isAgain {
					r.sends(2, publish)
				}
				r.sends(3, unpublish)
			})
			if c.isTaken {
				require.Nil(t, r.violation)
				return
			}
			require.Equal(t, "S22", r.violation.Property, "%v", r.violation)
		})
	}
}

// TestTakenOnceItsAttachmentHasEndedBeforeAStart: a start tells by the record of a setup that its attachment has ended,
// though nobody tells it of that one.
func TestTakenOnceItsAttachmentHasEndedBeforeAStart(t *testing.T) {
	for name, c := range map[string]struct {
		changes []time.Duration // after the setup; the start comes after a minute
		isTaken bool
	}{
		"it has ended":                {[]time.Duration{time.Second}, true},
		"it has ended and come again": {[]time.Duration{time.Second, time.Hour}, true},
		"it is as it was":             {nil, false},
		"it began before the setup":   {[]time.Duration{-time.Second}, false},
		"it ends after the start":     {[]time.Duration{time.Hour}, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.isAttachedOnce(func(is *storagev1.VolumeAttachment) {
				_ = r.w.RunFor(time.Hour)
				p := r.runs()
				p.isRunning, p.isSteady = false, true
				r.holds(sim.EffectStaged)
				r.byPath[stagePath].tie = is.UID
				r.sends(1, publish)
				began := r.byPath[target].began
				r.effect(sim.Effect{
					Kind: sim.EffectEnded, Driver: "d", Volume: "v", Method: publish, Key: thePublish,
					Target: target, Call: 1,
				})
				for _, after := range c.changes {
					r.attached["d^v"].changes = append(r.attached["d^v"].changes, began.Add(after))
				}
				r.bornAt = began.Add(time.Minute)
				r.sends(2, unpublish)
			})
			if c.isTaken {
				require.Nil(t, r.violation)
				return
			}
			require.NotNil(t, r.violation)
			require.Equal(t, "S22", r.violation.Property, "%v", r.violation)
		})
	}
}

// TestOnlyACallOfALostJournalMixesUp: what a call of an earlier life mounts is taken for a stranger's only if nothing
// knows of the call any more.
func TestOnlyACallOfALostJournalMixesUp(t *testing.T) {
	for name, c := range map[string]struct {
		isLost, isOpen bool
		run            uint32
		want           bool
	}{
		"the journal is lost":         {true, false, 0, true},
		"the journal is there":        {false, false, 0, false},
		"the call came after that":    {true, true, 0, false},
		"the call is of this life":    {true, false, 1, false},
		"all is as it should be here": {false, true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.holds(sim.EffectStaged)
			p := r.byPath[stagePath]
			if c.isOpen {
				p.calls = []openCall{{id: 7, method: stage}}
			}
			r.isBegun, r.root.forgotten = true, c.isLost
			r.mixesUp(&sim.Effect{Kind: sim.EffectMount, Actor: "d", Run: c.run, Call: 7, Path: stagePath})
			require.Equal(t, c.want, p.isMixedUp)
		})
	}
}

// TestTakenIfNothingTellsItsAttachment: what was made before the journal was lost may be of an earlier attachment, for
// all that the agent can know.
func TestTakenIfNothingTellsItsAttachment(t *testing.T) {
	for name, c := range map[string]struct{ isLost, isOlder, isTaken bool }{
		"the journal is lost":        {true, true, true},
		"the journal is there":       {false, true, false},
		"it was made since the loss": {true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.isAttachedOnce(func(is *storagev1.VolumeAttachment) {
				p := r.runs()
				p.isRunning, p.isSteady, r.root.forgotten = false, true, c.isLost
				r.holds(sim.EffectStaged)
				r.byPath[stagePath].tie = is.UID
				r.sends(1, publish)
				r.effect(sim.Effect{
					Kind: sim.EffectEnded, Driver: "d", Volume: "v", Method: publish, Key: thePublish,
					Target: target, Call: 1,
				})
				if r.bornAt = r.byPath[target].began; c.isOlder {
					r.bornAt++
				}
				r.sends(2, unpublish)
			})
			if c.isTaken {
				require.Nil(t, r.violation)
				return
			}
			require.Equal(t, "S22", r.violation.Property, "%v", r.violation)
		})
	}
}

// TestBootIsKnownByARecordAlone: what is mounted at a boot before the agent begins is another's if a record of the
// place is of another boot. Names on the node tell of no boot.
func TestBootIsKnownByARecordAlone(t *testing.T) {
	for _, isTrace := range []bool{false, true} {
		r := bare(t)
		r.holds(sim.EffectPublished)
		r.byPath[target].isTrace = isTrace
		r.w.MakeDir(target)
		require.Zero(t, r.w.MountForeign(target))
		require.Equal(t, !isTrace, r.foreign[r.w.MountsAt(target)[0].ID].isOther)
		require.Equal(t, isTrace, r.byPath[target].isMixedUp)
	}
}

// TestUnseenEndOfALostCall: that a call which only a lost journal knew of takes a volume away is seen where it is
// mounted, and nowhere else.
func TestUnseenEndOfALostCall(t *testing.T) {
	for fingerprint, isSeen := range map[string]bool{"no mount, dir": false, "mount 9 dev 9:9 root / type ext4": true} {
		r := bare(t)
		r.holds(sim.EffectStaged)
		p := r.byPath[stagePath]
		p.forgotten = []uint64{7}
		r.effect(sim.Effect{
			Kind: sim.EffectUnstaged, Actor: "d", Call: 7, Driver: "d", Volume: "v", Method: unstage,
			Key: theStage, Staging: stagePath, Path: stagePath,
		})
		require.True(t, p.isUndone && p.isTouched)
		require.Equal(t, isSeen, p.mustBeSeen(&core.Belief{State: core.Present, Fingerprint: fingerprint}))
	}
}

// TestEndOfContainersIsHeardByWhoLives: an agent that is away when containers end may think that they run, for their
// pod may be wanted again by then; and so may one that has not been told that the pod is deleted, or does not know yet
// that nobody names it.
func TestEndOfContainersIsHeardByWhoLives(t *testing.T) {
	for name, c := range map[string]struct{ isAway, isTold, isEarly, isNamed, mayRun bool }{
		"the agent is told":                   {isTold: true},
		"the agent has not been told yet":     {mayRun: true},
		"the agent is away":                   {isAway: true, isTold: true, mayRun: true},
		"its source has said all by and by":   {isTold: true, isEarly: true},
		"its source names the pod by then":    {isTold: true, isEarly: true, isNamed: true, mayRun: true},
		"its source names it as it is before": {isEarly: true, isNamed: true, mayRun: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			p := r.runs()
			r.holds(sim.EffectPublished)
			r.m, r.cfg.NoRuntime, r.byPath[target].mayBeUsed = &engine.VolumeManager{}, true, true
			if c.isAway {
				r.w.Restarts(false)
				r.w.KillAgent()
				r.m = &engine.VolumeManager{}
			}
			if c.isTold {
				p.told = nil
			}
			r.synced = !c.isEarly
			if r.stops(p, 0); c.isEarly {
				require.True(t, r.mayRun(r.byPath[target]))
				if c.isNamed {
					r.tells(p.object, false)
				}
				r.synced = true
				r.tellsUnnamed()
			}
			require.False(t, p.isRunning)
			require.Equal(t, c.mayRun, r.mayRun(r.byPath[target]))
		})
	}
}

// TestWhatNobodyWasToldOfEndsWithItsLife: an agent believes that a volume is up, and dies. Only if it had told a waiter
// that the pod is ready may containers use that volume.
func TestWhatNobodyWasToldOfEndsWithItsLife(t *testing.T) {
	for _, isSaid := range []bool{false, true} {
		r := bare(t)
		p := r.runs()
		r.holds(sim.EffectPublished)
		at := r.byPath[target]
		at.mayBeUsed, at.isSaid, p.given = true, isSaid, nil
		r.forgetsUnsaid()
		r.sends(1, unpublish)
		require.Equal(t, isSaid, r.violation != nil)
	}
}

// TestWhoComesAgainHasNotWhatTheFormerHad: containers of a pod that comes again have what it is given, and nothing that
// the one before had.
func TestWhoComesAgainHasNotWhatTheFormerHad(t *testing.T) {
	for name, c := range map[string]struct{ isHeard, isAway, isKnown, isGiven, mayGo bool }{
		"the agent has heard of the end":           {isHeard: true, mayGo: true},
		"nobody has told it":                       {},
		"the agent before has":                     {isHeard: true, isAway: true},
		"it has not heard that the pod is deleted": {isHeard: true, isKnown: true},
		"the pod is given the volume again":        {isHeard: true, isGiven: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			p := r.runs()
			r.holds(sim.EffectPublished)
			r.m, r.cfg.NoRuntime = &engine.VolumeManager{}, true
			if p.isRunning = false; c.isHeard {
				r.tellGone(p)
			}
			r.byPath[target].mayBeUsed = true
			if !c.isKnown {
				p.told = nil
			}
			if c.isAway {
				r.w.Restarts(false)
				r.w.KillAgent()
				r.w.StartAgent()
			}
			r.tells(p.object, false)
			if p.isRunning = true; !c.isGiven {
				p.given = nil
			}
			r.sends(1, unpublish)
			if c.mayGo {
				require.Nil(t, r.violation)
				return
			}
			require.Equal(t, "S7", r.violation.Property)
		})
	}
}

// TestTiedToAnAttachmentThatIsNotToldYet: the agent can't know of a later attachment than it was told of. It knows that
// an earlier one has ended, and, once it was told that there is none, that nothing is of it.
func TestTiedToAnAttachmentThatIsNotToldYet(t *testing.T) {
	for name, c := range map[string]struct {
		isGone       bool // as the agent was told
		told, tie    int
		isTiedToOver bool
	}{
		"a later one":                    {told: 1, tie: 2},
		"the one that was told":          {told: 2, tie: 2},
		"an earlier one":                 {told: 2, tie: 1, isTiedToOver: true},
		"none":                           {told: 2, isTiedToOver: true},
		"a later one, and it is told of": {told: 3, tie: 2, isTiedToOver: true},
		"a later one, and none is told":  {told: 1, tie: 2, isGone: true, isTiedToOver: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.isAttachedOnce(func(first *storagev1.VolumeAttachment) {
				p := r.runs()
				r.attached["d^v"].times = 3
				is := first.DeepCopy()
				is.UID = attachmentUID("d", "v", c.told)
				r.hears(hal.Changed{Removed: []any{first}, Applied: []any{is}})
				if c.isGone {
					r.hears(hal.Changed{Removed: []any{is}})
				}
				r.holds(sim.EffectStaged)
				r.byPath[stagePath].tie = attachmentUID("d", "v", c.tie)
				if c.tie == 0 {
					r.byPath[stagePath].tie = ""
				}
				require.Equal(t, c.isTiedToOver, r.tiedOtherwise(p, p.uses[0]) != nil)
			})
		})
	}
}
