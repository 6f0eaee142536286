package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// restartAs breaks or mends the driver and connects to its new process.
func (k *client) restartAs(b sim.Breakage) {
	k.w.BreakDriver("d", b)
	k.connect()
}

func TestMountsOfANamespaceOfItsOwnAreNotSeenOnTheHost(t *testing.T) {
	k := driverWorld(t, sim.Config{}, sim.Polite())
	k.restartAs(sim.Hides)
	require.True(t, k.w.Drivers()[0].Hides)
	require.NoError(t, k.stage())
	require.NoError(t, k.publish(false), "the driver sees what it has staged")
	require.Empty(t, k.w.MountsAt(root+"/s"))
	require.Empty(t, k.w.MountsAt(root+"/p/mount"))
	require.Len(t, k.w.Published(), 1)

	k.restartAs(sim.Works)
	k.code(hal.CodeFailedPrecondition, k.publish(false)) // its mounts ended with its process
	require.NoError(t, k.stage())
	require.NoError(t, k.publish(false))
	require.True(t, k.w.Shows("d", "v", root+"/p/mount"))
}

func TestAnUnmountInANamespaceOfItsOwnLeavesTheHostsMount(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		p := sim.Polite()
		p.KeepsNodes = keeps
		k := driverWorld(t, sim.Config{}, p)
		require.NoError(t, k.stage())
		require.NoError(t, k.publish(false))
		k.restartAs(sim.Hides)
		require.NoError(t, k.unpublish())
		require.Empty(t, k.w.Published(), "it lets go of what it sees")
		if keeps {
			require.Len(t, k.w.MountsAt(root+"/p/mount"), 1)
		} else {
			require.Empty(t, k.w.MountsAt(root+"/p/mount"),
				"a directory that is removed takes the mounts of other namespaces with it")
		}
		require.NoError(t, k.unstage())
		require.Empty(t, k.w.Staged())
		require.Len(t, k.w.MountsAt(root+"/s"), 1)
	}
}
