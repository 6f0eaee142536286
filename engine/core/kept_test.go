package core_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// What is unique is a rung's while a pod has it, and then for as long as its facts are kept, over a start too; the next
// one gets it once the owner is gone.
func TestWhatIsUniqueHasOneRung(t *testing.T) {
	rung := func(name string, pod core.PodUID) core.Rung {
		return core.Rung{
			Key: hal.Key("device/" + name), Kind: "device", Volume: "volume " + name, Pod: pod, Intent: true,
			Want: []core.Param{{Name: core.ParamOwner, Value: "pv " + name}},
		}
	}
	disk := core.Result{Outcome: hal.Done, Fingerprint: "d", Facts: []core.Fact{{Name: core.FactUnique, Value: "naa.1"}}}
	var kept []core.Record
	// up has a pod want a device, and its setup find the disk. It returns the device as core sees it then.
	up := func(c *core.Core, name string, pod core.PodUID) core.View {
		wanted := core.Wanted{Pod: pod, Rungs: []core.Rung{rung(name, "")}, Complete: true}
		for ops := c.Step(second, wanted).Start; len(ops) > 0; {
			result := done(ops[0].ID, "")
			if ops[0].Verb == core.SetUp {
				result.Result = disk
			}
			b := c.Step(second, result)
			for _, l := range b.Lines {
				if l.Record.Rung.Kind == core.KindKept {
					kept = append(kept, l.Record)
				}
			}
			ops = b.Start
		}
		v, _ := c.Rung(rung(name, "").Key)
		return v
	}
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	require.Equal(t, core.Present, up(c, "a", "p").State)
	require.Len(t, kept, 1)
	refused := up(c, "b", "q")
	require.Equal(t, core.Absent, refused.State)
	require.Contains(t, refused.Reason, "volume b is naa.1, which volume a has")

	c = core.New(core.Start{Now: second, Boot: "c", Records: kept}) // a boot, and the pods of a are gone
	c.Step(second, core.AllSynced{})
	require.Contains(t, up(c, "b", "q").Reason, "volume b is naa.1, which volume a has")

	c = core.New(core.Start{Now: second, Boot: "d", Records: kept})
	c.Step(second, core.AllSynced{})
	c.Step(second, core.OwnerGone{Owner: "pv a"})
	require.Equal(t, core.Present, up(c, "b", "q").State)
	require.Equal(t, core.Present, up(c, "b", "r").State, "it is its own")
}
