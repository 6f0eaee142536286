package sim_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// TestOdometerMakesEveryCombination leaves two new names to a power cut; on the ordered disk the first is synced.
func TestOdometerMakesEveryCombination(t *testing.T) {
	for disk, want := range map[sim.Disk][]string{
		sim.DiskOrdered:  {"ab", "a"},
		sim.DiskMinimal:  {"ab", "b", "a", ""},
		sim.DiskVolatile: {""},
	} {
		all := &sim.Odometer{Inner: sim.Benign{}, Counts: sim.AtPowerCut}
		seen := map[string]bool{}
		for more := true; more; more = all.Next() {
			w := sim.New(sim.Config{Chooser: all, Profile: sim.Only(1<<15, sim.LostWrite), Disk: disk})
			w.Restarts(false)
			h := w.Host()
			w.Do(func() {
				require.NoError(t, h.Tree.Mkdir(hal.Call{}, root+"/a", 0o700))
				if disk == sim.DiskOrdered {
					require.NoError(t, h.Files.Sync(hal.Call{}, root))
				}
				require.NoError(t, h.Tree.Mkdir(hal.Call{}, root+"/b", 0o700))
			})
			w.CutPower()
			left := ""
			for _, name := range []string{"a", "b"} {
				if _, there := w.Exists(root + "/" + name); there {
					left += name
				}
			}
			seen[left] = true
			w.Close()
		}
		require.Len(t, seen, len(want), "%s: %v", disk, fmt.Sprint(seen))
		for _, left := range want {
			require.True(t, seen[left], "%s: %q", disk, left)
		}
	}
}
