package csi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
)

// What is staged for one group is published for no other one: pods that share it have come and gone meanwhile.
func TestAPublishIsOfTheGroupOfItsStage(t *testing.T) {
	for _, c := range []struct {
		staged, wanted string
		is             bool
	}{{"", "", true}, {"2000", "2000", true}, {"", "2000", false}, {"2000", "", false}, {"2000", "2001", false}} {
		o := publishOp(core.Param{Name: plugin.ParamGroup, Value: c.wanted})
		if c.staged != "" {
			o.Below[0].Facts = append(o.Below[0].Facts, core.Fact{Name: plugin.ParamGroup, Value: c.staged})
		}
		w := work{o: o}
		require.Equal(t, !c.is, w.isOnOther(), "%+v", c)
		w.o.Verb = core.Refresh
		require.False(t, w.isOnOther(), "it is up as it is")
	}
}
