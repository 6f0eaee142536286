package scenarios

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/world"
)

// TestOnlyALostJournalExcusesAStart: a start that knows nothing of a stage that is up breaks S15, but for one thing:
// the journal was lost, and no name on the node tells of the stage.
func TestOnlyALostJournalExcusesAStart(t *testing.T) {
	for name, c := range map[string]struct{ isLost, isNamed, isExcused bool }{
		"the journal is lost and nothing is named":    {true, false, true},
		"the journal is lost and a directory is left": {true, true, false},
		"the journal is there":                        {false, false, false},
		"the journal is there, and a directory":       {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			holds(r, sim.EffectStaged)
			r.Root.Forgotten = c.isLost
			if c.isNamed {
				r.W.MakeDir(path.Dir(stagePath))
			}
			stepped(r, core.New(core.Start{Now: 1, Boot: "b"}))
			require.Equal(t, c.isExcused, r.ByPath[stagePath].IsUnseen)
			if c.isExcused {
				require.Nil(t, r.Violation)
				return
			}
			require.NotNil(t, r.Violation)
			require.Equal(t, "S15", r.Violation.Property)
		})
	}
}

// TestOnlyACallOfALostJournalStrands: what a call brings is nobody's volume only if the call began before the journal
// was lost.
func TestOnlyACallOfALostJournalStrands(t *testing.T) {
	for name, c := range map[string]struct {
		isLost bool
		call   uint64
		kind   sim.EffectKind
		want   bool
	}{
		"a stage by a call that is forgotten":    {true, 1, sim.EffectStaged, true},
		"a stage by a call that came later":      {true, 2, sim.EffectStaged, false},
		"an unstage by a call that is forgotten": {true, 1, sim.EffectUnstaged, false},
		"a stage, and the journal is there":      {false, 1, sim.EffectStaged, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			sends(r, 1, world.Stage)
			if c.isLost {
				judges.Forgets(r)
			}
			p := r.ByPath[stagePath]
			require.Equal(t, c.isLost, p.IsTouched, "only a lost journal leaves the call to nobody")
			judges.Betrays(r, &sim.Effect{
				Kind: c.kind, Actor: "d", Run: 1, Call: c.call, Key: theStage, Method: world.Stage,
				Path: stagePath,
			})
			require.Equal(t, c.want, p.IsStranded)
		})
	}
}

// TestLitterOfAnAnsweredCall: only a lost journal leaves the agent unaware of what a call makes after its answer, and
// only of calls that came before.
func TestLitterOfAnAnsweredCall(t *testing.T) {
	for name, c := range map[string]struct{ isLost, isLater, want bool }{
		"the journal is lost":         {isLost: true, want: true},
		"the journal is there":        {},
		"it was lost before the call": {isLost: true, isLater: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			sends(r, 1, world.Stage)
			p := r.ByPath[stagePath]
			if p.Calls = nil; !c.isLater {
				p.Untold = []uint64{1}
			}
			if c.isLost {
				judges.Forgets(r)
			}
			p.Untold = []uint64{1}
			r.Core = core.New(core.Start{})
			judges.Betrays(r, &sim.Effect{
				Kind: sim.EffectActed, Actor: "d", Run: 1, Call: 1, Key: theStage,
				Path: stagePath,
			})
			require.Equal(t, c.want, p.Littered != 0)
		})
	}
}

// TestStrandedAsItIsTakenDown: of what a forgotten call brings without a mount after its driver was asked to let go,
// that teardown does not hear.
func TestStrandedAsItIsTakenDown(t *testing.T) {
	tearsDown := core.Belief{State: core.Unknown, InFlight: true, Verb: core.TearDown}
	for name, c := range map[string]struct {
		isMounted, isAskedSince bool
		belief                  core.Belief
		want                    bool
	}{
		"a teardown is under way":       {belief: tearsDown, want: true},
		"a teardown has ended":          {belief: core.Belief{IsGone: true}, want: true},
		"a mount is seen":               {belief: tearsDown, isMounted: true},
		"the driver is asked since":     {belief: tearsDown, isAskedSince: true},
		"an inspection is under way":    {belief: core.Belief{State: core.Unknown, InFlight: true, Verb: core.Inspect}},
		"it is to be taken down, later": {belief: core.Belief{State: core.Unknown}},
		"a teardown may still act":      {belief: core.Belief{State: core.Absent, TearDownOpen: 1}, want: true},
		"it is to be undone again":      {belief: core.Belief{State: core.Absent, SetUpOpen: 1}},
		"it is wanted":                  {belief: core.Belief{State: core.Absent, IsWanted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			sends(r, 1, world.Stage)
			judges.Forgets(r)
			p := r.ByPath[stagePath]
			if c.isMounted {
				r.W.MakeDir(stagePath)
				require.Zero(t, r.W.MountForeign(stagePath))
			}
			judges.Betrays(r, &sim.Effect{
				Kind: sim.EffectStaged, Actor: "d", Run: 1, Call: 1, Key: theStage, Method: world.Stage,
				Path: stagePath,
			})
			if c.isAskedSince {
				sends(r, 2, world.Unstage)
			}
			require.Equal(t, c.want, judges.EndsUnheard(p, &c.belief))
		})
	}
}

// TestOnlyWhatNothingNamesIsTakenForAStrangers: a person must tell whose a mount is that only a lost journal told of,
// and neither a data file nor the device of its stage.
func TestOnlyWhatNothingNamesIsTakenForAStrangers(t *testing.T) {
	for name, c := range map[string]struct{ isNamed, isStaged, isLost, want bool }{
		"nothing names it":             {isLost: true, want: true},
		"a data file names it":         {isLost: true, isNamed: true},
		"its stage shows what it is":   {isLost: true, isStaged: true},
		"the journal is there":         {},
		"the journal and the file are": {isNamed: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			holds(r, sim.EffectStaged)
			holds(r, sim.EffectPublished)
			for _, at := range []string{target, stagePath} {
				r.W.MakeDir(at)
				if at == target || c.isStaged {
					require.Zero(t, r.W.MountForeign(at))
				}
			}
			if p := r.ByPath[target]; c.isNamed {
				r.W.WriteFile(path.Dir(p.Path)+"/vol_data.json", []byte("{}"))
			}
			clear(r.Foreign) // they are of the driver
			r.ByPath[target].IsMixedUp = false
			if c.isLost {
				judges.Forgets(r)
			}
			require.Equal(t, c.want, r.ByPath[target].IsMixedUp)
		})
	}
}

// TestOnlyWhatNobodyHasSeenIsLostUnsaid: that an emptyDir was taken away is to be told (S29), unless the journal was
// lost, and nobody has looked at it since.
func TestOnlyWhatNobodyHasSeenIsLostUnsaid(t *testing.T) {
	for name, c := range map[string]struct{ isLost, isSeen, isToTell bool }{
		"the journal is there":             {false, false, true},
		"the journal is lost":              {true, false, false},
		"a life has seen it since":         {true, true, true},
		"a life has seen it, with records": {false, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			p := &world.Pod{Uid: "u", IsRunning: true, Given: []world.Use{scratchUse()}}
			r.Pods = append(r.Pods, p)
			r.W.MakeDir(scratchPath)
			if c.isLost {
				judges.Forgets(r)
			}
			if c.isSeen {
				judges.RefineDirectory(r, scratchRung, &core.Belief{Kind: emptydir.Kind, State: core.Present, Path: scratchPath})
			}
			judges.Loses(r, p, scratchPath)
			require.Equal(t, c.isToTell, r.Lost[scratchPath] == p)
		})
	}
}
