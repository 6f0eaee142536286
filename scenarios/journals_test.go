package scenarios

import (
	"path"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// What a scenario asks of the journal and cannot be done is an error of its author, and not passed over.
func TestStoriesOfJournalsThatMakeNoSense(t *testing.T) {
	const pod = "# a journal\npod default/web uses scratch\nat 0s apply all\nwithin 30s expect pod default/web ready\n"
	for text, want := range map[string]string{
		"after 1s copy journal\nafter 1s restore journal\n":                            "the agent lives",
		"after 1s kill agent for 1m\nafter 1s restore journal\n":                       "no journal was copied",
		"after 1s forget journal\n":                                                    "the agent lives",
		"after 1s spoil journal\n":                                                     "the agent lives",
		"after 1s kill agent for 1m\nafter 1s forget journal\nafter 1s copy journal\n": "there is no journal",
	} {
		s, err := Parse("journal.txt", pod+text)
		require.NoError(t, err)
		o := RunScenario(s, false, nil, nil)
		require.NotNil(t, o.Violation, text)
		require.Contains(t, o.Violation.Story, want, text)
	}
}

// TestOfAnotherBootAWholeLadderTells: that what an old copy of the journal records of another boot is up in this one is
// told by the mounts of a publish and of its stage, and by nothing else.
func TestOfAnotherBootAWholeLadderTells(t *testing.T) {
	for name, c := range map[string]struct {
		isEarlier bool
		mounted   []string
		want      bool
	}{
		"the copy is of this boot":      {want: false},
		"nothing is mounted":            {isEarlier: true, want: true},
		"the publish alone":             {isEarlier: true, mounted: []string{target}, want: true},
		"the stage alone":               {isEarlier: true, mounted: []string{stagePath}, want: true},
		"the publish and what is below": {isEarlier: true, mounted: []string{target, stagePath}, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			holds(r, sim.EffectStaged)
			holds(r, sim.EffectPublished)
			p := r.ByPath[target]
			p.IsEarlier, p.IsTouched = c.isEarlier, true
			for _, at := range c.mounted {
				r.W.MakeDir(at)
				require.Zero(t, r.W.MountForeign(at))
			}
			stepped(r, core.New(core.Start{Now: 1, Boot: "b"}))
			require.Equal(t, c.want, p.IsOutdated)
			require.False(t, p.IsEarlier, "the next start knows what this one has found")
		})
	}
}

// A pod that keeps a volume which it does not have any more takes room for two.
func TestWhoKeepsFormerVolumesNeedNotFit(t *testing.T) {
	r := bare(t)
	p := runs(r)
	require.False(t, workload.KeepsFormer(r, p), "nothing is up")
	holds(r, sim.EffectPublished)
	require.False(t, workload.KeepsFormer(r, p), "what is up is what it has")
	p.Uses[0].Volume = "another"
	require.True(t, workload.KeepsFormer(r, p))
	holds(r, sim.EffectUnpublished)
	require.False(t, workload.KeepsFormer(r, p), "it has gone")
	r.Root.Forgotten = true
	r.Core = core.New(core.Start{Orphans: []core.Rung{{
		Key: "csi.publish/d^v/u/pv", Kind: "csi.publish", Pod: "u", Volume: "d^v",
	}}})
	require.True(t, workload.KeepsFormer(r, p), "the agent can't know that, as its journal is lost")
	p.Uses[0].Volume = "v"
	require.False(t, workload.KeepsFormer(r, p), "it has it again")
}

// What a broken driver keeps from going takes room that a pod has not; the pod's own records are its own.
func TestWhatABrokenDriverKeepsTakesRoom(t *testing.T) {
	want := func(pod core.PodUID, volume string) core.Record {
		key := hal.Key("csi.stage/d^" + volume)
		if pod == "" {
			return core.Record{Rung: core.Rung{Key: key, Volume: "d^" + volume}}
		}
		return core.Record{Rung: core.Rung{
			Key: hal.Key("csi.publish/d^" + volume + "/" + string(pod)), Volume: "d^" + volume, Pod: pod,
			Below: []hal.Key{key},
		}}
	}
	const room = 3000
	serves := core.Record{Rung: core.Rung{Key: "serves/d", Kind: core.KindServes, Actor: "d"}, Phase: core.Leaving}
	for name, c := range map[string]struct {
		broken  string
		records []core.Record
		takes   int
		found   []core.Rung
		keeps   bool // the containers of another pod can't end, as they hang on what a broken driver serves
	}{
		"nothing":             {"d", nil, 0, nil, false},
		"who serves a driver": {"", []core.Record{serves}, journal.WorstSize(serves), nil, false},
		"a driver that works": {"", []core.Record{want("", "other")}, 0, nil, false},
		"its own": {
			"d",
			[]core.Record{want("u", "v"), want("", "v")},
			0,
			nil, false,
		},
		"another pod's, on its own stage": {
			"d",
			[]core.Record{want("p", "v"), want("", "v")},
			journal.WorstSize(want("p", "v")), nil, false,
		},
		"what has room for another publish": {
			"d",
			[]core.Record{want("p", "other"), want("", "other")},
			journal.WorstSize(want("", "other")) + room, nil, false,
		},
		"a volume that it does not have now": {
			"d",
			[]core.Record{want("", "other")},
			journal.WorstSize(want("", "other")) + room, nil, false,
		},
		"what has no record yet": {
			"d",
			[]core.Record{want("", "v")},
			cases.LadderRoom / 2,
			[]core.Rung{want("p", "v").Rung},
			false,
		},
		"what was found of its own": {
			"d", nil, 0,
			[]core.Rung{want("u", "v").Rung, want("", "v").Rung},
			false,
		},
		"of a driver that works, of a pod that runs": {
			"",
			[]core.Record{want("p", "other"), want("", "other")},
			journal.WorstSize(want("", "other")) + room, nil, true,
		},
		"of a pod that runs, on its own stage": {
			"",
			[]core.Record{want("p", "v"), want("", "v")},
			journal.WorstSize(want("p", "v")), nil, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			p := runs(r)
			r.Broken = c.broken
			if c.keeps {
				r.ByUID["p"] = &world.Pod{Uid: "p", IsRunning: true}
			}
			h := r.W.Host()
			r.W.Do(func() {
				j, _, err := journal.Open(&h, hal.Call{}, judges.JournalDir, 16<<10,
					func(rec core.Record) core.Record { return rec },
					func([]core.Record) error { return nil })
				require.NoError(t, err)
				for _, rec := range c.records {
					line := core.Line{Key: rec.Rung.Key, Record: rec, Sync: true}
					if rec.Rung.Pod == "" && rec.Phase != core.Leaving {
						line.Room = room
					}
					require.NoError(t, j.Append(&h, hal.Call{}, []core.Line{line}))
				}
			})
			r.Core = core.New(core.Start{Orphans: c.found})
			require.Equal(t, int64(c.takes), workload.TakenByOthers(r, p))
		})
	}
}

// TestAHostPathTellsNothingOfTheRootDirectory: where a journal was made is told by what volnode's own places are called
// in it, and by nothing else.
func TestAHostPathTellsNothingOfTheRootDirectory(t *testing.T) {
	const rest = "at 0s apply all\nwithin 30s expect pod default/web ready\nafter 1s kill agent for 1m\nafter 1s " +
		"make the journal one of root directory /srv/volnode\n"
	for volume, isOther := range map[string]bool{"host:" + lang.RootDir + "/pods": false, "scratch": true} {
		s, err := Parse("journal.txt", "# a journal\npod default/web uses "+volume+"\n"+rest)
		require.NoError(t, err)
		o := RunScenario(s, false, nil, nil)
		if isOther {
			require.Nil(t, o.Violation, volume)
			continue
		}
		require.NotNil(t, o.Violation, volume)
		require.Contains(t, o.Violation.Story, "there is no record that would be another one", volume)
	}
}

// TestARecordThatIsOutdatedStaysSoUntilItsVolumeIsUp: a driver that is asked once more for what it has published, or
// publishes it again, tells the agent nothing of what containers run there, unless the agent takes it for up.
func TestARecordThatIsOutdatedStaysSoUntilItsVolumeIsUp(t *testing.T) {
	for name, isHeld := range map[string]bool{"it was published all along": true, "it comes up again": false} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			runs(r)
			holds(r, sim.EffectStaged)
			holds(r, sim.EffectPublished)
			p := r.ByPath[target]
			p.IsHeld, p.IsOutdated = isHeld, true
			holds(r, sim.EffectPublished)
			require.True(t, p.IsOutdated)
			sends(r, 1, world.Unpublish)
			require.Nil(t, r.Violation)
		})
	}
}

// TestOnlyWhatNothingNamesMayBeLeft: what a driver holds without a mount may be left by who was never told of it since
// the journal was lost.
func TestOnlyWhatNothingNamesMayBeLeft(t *testing.T) {
	for name, c := range map[string]struct{ isLost, isTold, want bool }{
		"the journal is lost, and no name was left": {isLost: true, want: true},
		"a name was left":      {isLost: true, isTold: true},
		"the journal is there": {},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			holds(r, sim.EffectStaged)
			r.Core, r.Root.Forgotten, r.ByPath[stagePath].IsTold = core.New(core.Start{}), c.isLost, c.isTold
			require.Equal(t, c.want, judges.IsUnseeable(r, &sim.Held{Driver: "d", Volume: "v", Path: stagePath}))
		})
	}
}

// TestAWishTellsOfNothing: that a pod wants a volume, and that the agent looks at its place, and sets up what is not
// there, does not tell it what a driver holds from before.
func TestAWishTellsOfNothing(t *testing.T) {
	r := bare(t)
	believe(r)
	holds(r, sim.EffectStaged)
	p := r.ByPath[stagePath]
	p.IsTold, p.IsTouched = false, true
	batch := r.Core.Step(2, core.Wanted{
		Pod: "p", Complete: true,
		Rungs: []core.Rung{{Key: theStage, Kind: "csi.stage", Intent: true}},
	})
	require.Len(t, batch.Start, 1)
	require.Equal(t, core.Inspect, batch.Start[0].Verb)
	judges.Refine(r, theStage)
	require.False(t, p.IsTold)
	batch = r.Core.Step(3, core.Completed{Op: batch.Start[0].ID, Result: core.Result{Outcome: hal.Done}})
	require.Len(t, batch.Start, 1)
	require.Equal(t, core.SetUp, batch.Start[0].Verb)
	judges.Refine(r, theStage)
	require.False(t, p.IsTold)
	r.Core.Step(4, core.Completed{Op: batch.Start[0].ID, Result: core.Result{Outcome: hal.Unknown}})
	judges.Refine(r, theStage)
	require.True(t, p.IsTold, "the setup may have told the driver")
}

// TestTheDataFileOfAPublishNamesItsStage: of its own volume, and of no other.
func TestTheDataFileOfAPublishNamesItsStage(t *testing.T) {
	for handle, want := range map[string]bool{"v": true, "another": false} {
		r := bare(t)
		holds(r, sim.EffectStaged)
		holds(r, sim.EffectPublished)
		data := csi.VolData{DriverName: "d", VolumeHandle: handle}
		r.W.WriteFile(path.Dir(target)+"/vol_data.json", data.Marshal())
		require.Equal(t, want, judges.IsNamedAbove(r, r.ByPath[stagePath]))
		require.False(t, judges.IsNamedAbove(r, r.ByPath[target]), "it is no stage")
	}
}
