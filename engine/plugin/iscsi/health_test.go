package iscsi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

func TestAVolumeSaysWhatIsWrongWithItsDisk(t *testing.T) {
	n := node()
	ops, _ := up(t, n, of())
	bind := ops[len(ops)-1]
	require.Equal(t, Kind, bind.Kind)
	says := func() string {
		all, err := health(n.HAL(), hal.Call{}, bind.Params)
		require.NoError(t, err)
		if len(all) == 0 {
			return ""
		}
		require.Len(t, all, 1)
		require.NotEmpty(t, all[0].Message)
		return all[0].Status + " " + all[0].Reason
	}
	require.Empty(t, says())
	n.World.LosePortal(portal, 0)
	require.NoError(t, n.World.RunFor(time.Minute))
	require.Equal(t, "INACCESSIBLE PortalSilent", says())
	n.World.RestorePortal(portal)
	require.NoError(t, n.World.RunFor(time.Minute))
	require.Empty(t, says())
	require.True(t, n.World.LogOutByHand(iqn))
	require.Equal(t, "INACCESSIBLE SessionGone", says())
	require.Equal(t, hal.Done, logIn(n.HAL(), ops[0]).Outcome)
	require.Equal(t, "INACCESSIBLE DiskGone", says(), "the mount is of the one before")

	// What a start has found has no session yet.
	all, err := health(n.HAL(), hal.Call{}, nil)
	require.NoError(t, err)
	require.Empty(t, all)
}
