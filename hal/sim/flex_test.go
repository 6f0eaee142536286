package sim_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const flexDriver = "example.com/fs"

// flexWorld is a world with a driver, and a directory of a volume. Its n-th call with effects meets the fault.
func flexWorld(t *testing.T, at string, fault sim.Fault) *sim.World {
	w := benign(t, sim.Config{Script: func(id sim.ID, can []sim.Fault) sim.Fault {
		if id.Site == at && id.Nth == 0 {
			return fault
		}
		return sim.NoFault
	}})
	w.InstallFlex(flexDriver, "polite")
	w.MakeDir(root + "/v")
	return w
}

func TestManners(t *testing.T) {
	const dir = root + "/v"
	for _, c := range []struct {
		site   string
		fault  sim.Fault
		errno  syscall.Errno
		mounts int
		holds  int
	}{
		{"flex.mounts", sim.NoFault, 0, 1, 1},
		{"flex.mounts", sim.DriverLies, 0, 0, 0},
		{"flex.mounts", sim.MountsElsewhere, 0, 0, 1},
		{"flex.mounts", sim.DriverGarbles, syscall.EBADMSG, 1, 1},
		{"flex.mount/fault", sim.FailNone, syscall.EIO, 0, 0},
		{"flex.mount/fault", sim.FailPart, syscall.EIO, 0, 1},
		{"flex.mount/fault", sim.FailFull, syscall.EIO, 1, 1},
		{"flex.mount/fault", sim.Hang, 0, 1, 1},
	} {
		w := flexWorld(t, c.site, c.fault)
		h := w.Host()
		w.Do(func() {
			err := h.Flex.Mount(hal.Call{}, flexDriver, dir, nil)
			require.True(t, err == nil && c.errno == 0 || hal.Is(err, c.errno), "%v: %v", c.fault, err)
			if c.errno != 0 {
				require.Equal(t, hal.Unknown, hal.OutcomeOf(err), "%v", c.fault)
			}
			require.Len(t, w.MountsAt(dir), c.mounts, "%v", c.fault)
			require.Len(t, w.FlexHolds(), c.holds, "%v", c.fault)
			require.NoError(t, h.Flex.Unmount(hal.Call{}, flexDriver, dir))
			require.Empty(t, w.MountsAt(dir))
			require.Empty(t, w.FlexHolds())
			require.Empty(t, w.MountsWithin("/mnt"))
		})
	}
	for _, c := range []struct {
		site   string
		fault  sim.Fault
		errno  syscall.Errno
		mounts int
		holds  int
	}{
		{"flex.unmounts", sim.DriverLies, 0, 1, 0},
		{"flex.unmounts", sim.DriverGarbles, syscall.EBADMSG, 0, 0},
		{"flex.unmount/fault", sim.FailNone, syscall.EIO, 1, 1},
		{"flex.unmount/fault", sim.FailPart, syscall.EIO, 0, 1},
		{"flex.unmount/fault", sim.FailFull, syscall.EIO, 0, 0},
	} {
		w := flexWorld(t, c.site, c.fault)
		h := w.Host()
		w.Do(func() {
			require.NoError(t, h.Flex.Mount(hal.Call{}, flexDriver, dir, nil))
			err := h.Flex.Unmount(hal.Call{}, flexDriver, dir)
			require.True(t, err == nil && c.errno == 0 || hal.Is(err, c.errno), "%v: %v", c.fault, err)
			require.Len(t, w.MountsAt(dir), c.mounts, "%v", c.fault)
			require.Len(t, w.FlexHolds(), c.holds, "%v", c.fault)
		})
		w.Reboot()
		require.NoError(t, w.RunFor(time.Hour))
		require.Empty(t, w.FlexHolds())
	}
}

func TestADriverThatHangsOutlivesItsCaller(t *testing.T) {
	w := flexWorld(t, "flex.mount/fault", sim.Hang)
	h := w.Host()
	w.Go(func() { _ = h.Flex.Mount(hal.Call{Key: "k"}, flexDriver, root+"/v", nil) })
	require.NoError(t, w.RunFor(time.Second/10))
	require.Empty(t, w.MountsAt(root+"/v"))
	w.KillAgent()
	require.NoError(t, w.RunFor(time.Hour))
	require.Len(t, w.MountsAt(root+"/v"), 1, "it died with its helper, and had begun")
	require.Len(t, w.FlexHolds(), 1)
}
