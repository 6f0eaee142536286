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
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// isAttachedOnce has the volume be of a driver that attaches, as the agent was told, and its attachment known.
func isAttachedOnce(r *world.Run, then func(*storagev1.VolumeAttachment)) {
	is := &storagev1.VolumeAttachment{}
	is.Name, is.UID = dealings.AttachmentName("d", "v"), "first"
	driver := &storagev1.CSIDriver{}
	driver.Name = "d"
	r.News = map[string][]world.News{}
	r.Attached["d^v"] = &world.Attachment{Object: is, Times: 1}
	judges.Hears(r, hal.Changed{Applied: []any{driver, is}})
	_ = r.W.RunFor(time.Second)
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
			isAttachedOnce(r, func(is *storagev1.VolumeAttachment) {
				p := runs(r)
				p.IsRunning, p.IsSteady = false, true
				holds(r, sim.EffectStaged)
				sends(r, 1, world.Publish)
				judges.Effect(r, sim.Effect{
					Kind: sim.EffectEnded, Driver: "d", Volume: "v", Method: world.Publish, Key: thePublish,
					Target: target, Call: 1,
				})
				other := is.DeepCopy()
				if c.isNews {
					other.UID = "other"
				}
				judges.Hears(r, hal.Changed{Applied: []any{other}})
				_ = r.W.RunFor(time.Hour)
				r.ByPath[stagePath].Tie = other.UID
				if c.isAgain {
					sends(r, 2, world.Publish)
				}
				sends(r, 3, world.Unpublish)
			})
			if c.isTaken {
				require.Nil(t, r.Violation)
				return
			}
			require.Equal(t, "S22", r.Violation.Property, "%v", r.Violation)
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
			isAttachedOnce(r, func(is *storagev1.VolumeAttachment) {
				_ = r.W.RunFor(time.Hour)
				p := runs(r)
				p.IsRunning, p.IsSteady = false, true
				holds(r, sim.EffectStaged)
				r.ByPath[stagePath].Tie = is.UID
				sends(r, 1, world.Publish)
				began := r.ByPath[target].Began
				judges.Effect(r, sim.Effect{
					Kind: sim.EffectEnded, Driver: "d", Volume: "v", Method: world.Publish, Key: thePublish,
					Target: target, Call: 1,
				})
				for _, after := range c.changes {
					r.Attached["d^v"].Changes = append(r.Attached["d^v"].Changes, began.Add(after))
				}
				r.BornAt = began.Add(time.Minute)
				sends(r, 2, world.Unpublish)
			})
			if c.isTaken {
				require.Nil(t, r.Violation)
				return
			}
			require.NotNil(t, r.Violation)
			require.Equal(t, "S22", r.Violation.Property, "%v", r.Violation)
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
			holds(r, sim.EffectStaged)
			p := r.ByPath[stagePath]
			if c.isOpen {
				p.Calls = []world.OpenCall{{Id: 7, Method: world.Stage}}
			}
			r.IsBegun, r.Root.Forgotten = true, c.isLost
			judges.MixesUp(r, &sim.Effect{Kind: sim.EffectMount, Actor: "d", Run: c.run, Call: 7, Path: stagePath})
			require.Equal(t, c.want, p.IsMixedUp)
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
			isAttachedOnce(r, func(is *storagev1.VolumeAttachment) {
				p := runs(r)
				p.IsRunning, p.IsSteady, r.Root.Forgotten = false, true, c.isLost
				holds(r, sim.EffectStaged)
				r.ByPath[stagePath].Tie = is.UID
				sends(r, 1, world.Publish)
				judges.Effect(r, sim.Effect{
					Kind: sim.EffectEnded, Driver: "d", Volume: "v", Method: world.Publish, Key: thePublish,
					Target: target, Call: 1,
				})
				if r.BornAt = r.ByPath[target].Began; c.isOlder {
					r.BornAt++
				}
				sends(r, 2, world.Unpublish)
			})
			if c.isTaken {
				require.Nil(t, r.Violation)
				return
			}
			require.Equal(t, "S22", r.Violation.Property, "%v", r.Violation)
		})
	}
}

// TestBootIsKnownByARecordAlone: what is mounted at a boot before the agent begins is another's if a record of the
// place is of another boot. Names on the node tell of no boot.
func TestBootIsKnownByARecordAlone(t *testing.T) {
	for _, isTrace := range []bool{false, true} {
		r := bare(t)
		holds(r, sim.EffectPublished)
		r.ByPath[target].IsTrace = isTrace
		r.W.MakeDir(target)
		require.Zero(t, r.W.MountForeign(target))
		require.Equal(t, !isTrace, r.Foreign[r.W.MountsAt(target)[0].ID].IsOther)
		require.Equal(t, isTrace, r.ByPath[target].IsMixedUp)
	}
}

// TestUnseenEndOfALostCall: that a call which only a lost journal knew of takes a volume away is seen where it is
// mounted, and nowhere else.
func TestUnseenEndOfALostCall(t *testing.T) {
	for fingerprint, isSeen := range map[string]bool{"no mount, dir": false, "mount 9 dev 9:9 root / type ext4": true} {
		r := bare(t)
		holds(r, sim.EffectStaged)
		p := r.ByPath[stagePath]
		p.Forgotten = []uint64{7}
		judges.Effect(r, sim.Effect{
			Kind: sim.EffectUnstaged, Actor: "d", Call: 7, Driver: "d", Volume: "v", Method: world.Unstage,
			Key: theStage, Staging: stagePath, Path: stagePath,
		})
		require.True(t, p.IsUndone && p.IsTouched)
		require.Equal(t, isSeen, judges.MustBeSeen(p, &core.Belief{State: core.Present, Fingerprint: fingerprint}))
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
			p := runs(r)
			holds(r, sim.EffectPublished)
			r.M, r.Cfg.NoRuntime, r.ByPath[target].MayBeUsed = &engine.VolumeManager{}, true, true
			if c.isAway {
				r.W.Restarts(false)
				r.W.KillAgent()
				r.M = &engine.VolumeManager{}
			}
			if c.isTold {
				p.Told = nil
			}
			r.Synced = !c.isEarly
			if judges.Stops(r, p, 0); c.isEarly {
				require.True(t, r.MayRun(r.ByPath[target]))
				if c.isNamed {
					judges.Tells(r, p.Object, false)
				}
				r.Synced = true
				judges.TellsUnnamed(r)
			}
			require.False(t, p.IsRunning)
			require.Equal(t, c.mayRun, r.MayRun(r.ByPath[target]))
		})
	}
}

// TestWhatNobodyWasToldOfEndsWithItsLife: an agent believes that a volume is up, and dies. Only if it had told a waiter
// that the pod is ready may containers use that volume.
func TestWhatNobodyWasToldOfEndsWithItsLife(t *testing.T) {
	for _, isSaid := range []bool{false, true} {
		r := bare(t)
		p := runs(r)
		holds(r, sim.EffectPublished)
		at := r.ByPath[target]
		at.MayBeUsed, at.IsSaid, p.Given = true, isSaid, nil
		r.ForgetsUnsaid()
		sends(r, 1, world.Unpublish)
		require.Equal(t, isSaid, r.Violation != nil)
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
			p := runs(r)
			holds(r, sim.EffectPublished)
			r.M, r.Cfg.NoRuntime = &engine.VolumeManager{}, true
			if p.IsRunning = false; c.isHeard {
				judges.TellGone(r, p)
			}
			r.ByPath[target].MayBeUsed = true
			if !c.isKnown {
				p.Told = nil
			}
			if c.isAway {
				r.W.Restarts(false)
				r.W.KillAgent()
				r.W.StartAgent()
			}
			judges.Tells(r, p.Object, false)
			if p.IsRunning = true; !c.isGiven {
				p.Given = nil
			}
			sends(r, 1, world.Unpublish)
			if c.mayGo {
				require.Nil(t, r.Violation)
				return
			}
			require.Equal(t, "S7", r.Violation.Property)
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
			isAttachedOnce(r, func(first *storagev1.VolumeAttachment) {
				p := runs(r)
				r.Attached["d^v"].Times = 3
				is := first.DeepCopy()
				is.UID = dealings.AttachmentUID("d", "v", c.told)
				judges.Hears(r, hal.Changed{Removed: []any{first}, Applied: []any{is}})
				if c.isGone {
					judges.Hears(r, hal.Changed{Removed: []any{is}})
				}
				holds(r, sim.EffectStaged)
				r.ByPath[stagePath].Tie = dealings.AttachmentUID("d", "v", c.tie)
				if c.tie == 0 {
					r.ByPath[stagePath].Tie = ""
				}
				require.Equal(t, c.isTiedToOver, dealings.TiedOtherwise(r, p, p.Uses[0]) != nil)
			})
		})
	}
}
