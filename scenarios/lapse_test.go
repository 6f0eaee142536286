package scenarios

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
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
			r.holds(sim.EffectStaged)
			r.root.forgotten = c.isLost
			if c.isNamed {
				r.w.MakeDir(path.Dir(stagePath))
			}
			r.stepped(core.New(core.Start{Now: 1, Boot: "b"}))
			require.Equal(t, c.isExcused, r.byPath[stagePath].isUnseen)
			if c.isExcused {
				require.Nil(t, r.violation)
				return
			}
			require.NotNil(t, r.violation)
			require.Equal(t, "S15", r.violation.Property)
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
			r.sends(1, stage)
			if c.isLost {
				r.forgets()
			}
			p := r.byPath[stagePath]
			require.Equal(t, c.isLost, p.isTouched, "only a lost journal leaves the call to nobody")
			r.betrays(&sim.Effect{
				Kind: c.kind, Actor: "d", Run: 1, Call: c.call, Key: theStage, Method: stage,
				Path: stagePath,
			})
			require.Equal(t, c.want, p.isStranded)
		})
	}
}

// TestLitterOfAnAnsweredCall: only a lost journal leaves the agent unaware of what a call makes after its answer, and only
// of calls that came before.
func TestLitterOfAnAnsweredCall(t *testing.T) {
	for name, c := range map[string]struct{ isLost, isLater, want bool }{
		"the journal is lost":         {isLost: true, want: true},
		"the journal is there":        {},
		"it was lost before the call": {isLost: true, isLater: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.sends(1, stage)
			p := r.byPath[stagePath]
			if p.calls = nil; !c.isLater {
				p.untold = []uint64{1}
			}
			if c.isLost {
				r.forgets()
			}
			p.untold = []uint64{1}
			r.core = core.New(core.Start{})
			r.betrays(&sim.Effect{Kind: sim.EffectActed, Actor: "d", Run: 1, Call: 1, Key: theStage, Path: stagePath})
			require.Equal(t, c.want, p.littered != 0)
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
			r.sends(1, stage)
			r.forgets()
			p := r.byPath[stagePath]
			if c.isMounted {
				r.w.MakeDir(stagePath)
				require.Zero(t, r.w.MountForeign(stagePath))
			}
			r.betrays(&sim.Effect{
				Kind: sim.EffectStaged, Actor: "d", Run: 1, Call: 1, Key: theStage, Method: stage,
				Path: stagePath,
			})
			if c.isAskedSince {
				r.sends(2, unstage)
			}
			require.Equal(t, c.want, p.endsUnheard(&c.belief))
		})
	}
}

// TestOnlyWhatNothingNamesIsTakenForAStrangers: a person must tell whose a mount is that only a lost journal told of, and
// neither a data file nor the device of its stage.
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
			r.holds(sim.EffectStaged)
			r.holds(sim.EffectPublished)
			for _, at := range []string{target, stagePath} {
				r.w.MakeDir(at)
				if at == target || c.isStaged {
					require.Zero(t, r.w.MountForeign(at))
				}
			}
			if p := r.byPath[target]; c.isNamed {
				r.w.WriteFile(path.Dir(p.path)+"/vol_data.json", []byte("{}"))
			}
			clear(r.foreign) // they are of the driver
			r.byPath[target].isMixedUp = false
			if c.isLost {
				r.forgets()
			}
			require.Equal(t, c.want, r.byPath[target].isMixedUp)
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
			p := &pod{uid: "u", isRunning: true, given: []use{{name: "scratch", path: scratchPath}}}
			r.pods = append(r.pods, p)
			r.w.MakeDir(scratchPath)
			if c.isLost {
				r.forgets()
			}
			if c.isSeen {
				r.refineDirectory(scratchRung, &core.Belief{State: core.Present, Path: scratchPath})
			}
			r.loses(p, scratchPath)
			require.Equal(t, c.isToTell, r.lost[scratchPath] == p)
		})
	}
}
