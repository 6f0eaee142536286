package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/sim"
)

// What a story asks of the journal and cannot be done is an error of its author, and not passed over.
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

// TestOfAnotherBootAMountTells: that what an old copy of the journal records of another boot is up in this one is told by its mount, and by nothing else.
func TestOfAnotherBootAMountTells(t *testing.T) {
	for name, c := range map[string]struct{ isEarlier, isMounted, want bool }{
		"the copy is of this boot":               {false, false, false},
		"it is of another, and a mount is there": {true, true, false},
		"it is of another, and none is":          {true, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			r.holds(sim.EffectPublished)
			p := r.byPath[target]
			p.isEarlier, p.isTouched = c.isEarlier, true
			if c.isMounted {
				r.w.MakeDir(target)
				require.Zero(t, r.w.MountForeign(target))
			}
			r.stepped(core.New(core.Start{Now: 1, Boot: "b"}))
			require.Equal(t, c.want, p.isOutdated)
			require.False(t, p.isEarlier, "the next start knows what this one has found")
		})
	}
}

// A pod that keeps a volume which it does not have any more takes room for two.
func TestWhoKeepsFormerVolumesNeedNotFit(t *testing.T) {
	r := bare(t)
	p := r.runs()
	require.False(t, r.keepsFormer(p), "nothing is up")
	r.holds(sim.EffectPublished)
	require.False(t, r.keepsFormer(p), "what is up is what it has")
	p.uses[0].volume = "another"
	require.True(t, r.keepsFormer(p))
	r.holds(sim.EffectUnpublished)
	require.False(t, r.keepsFormer(p), "it has gone")
}
