package sim_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const otherPortal = "10.0.0.2:3260"

// pathsWorld has a target at two portals, with two disks, and both of them by each.
func pathsWorld(t *testing.T, c sim.Config) (w *sim.World, h hal.Host, one, two []hal.SCSIDisk) {
	w = sim.New(c)
	t.Cleanup(w.Close)
	w.AddTarget(iqn, portal, otherPortal)
	w.AddSANDisk("naa.1", "", "")
	w.AddSANDisk("naa.2", "ext4", "22222222-2222-4222-8222-222222222222")
	w.MapLUN(iqn, 0, "naa.1")
	w.MapLUN(iqn, 1, "naa.2")
	h = w.Host()
	does(t, w, time.Minute, func() {
		for _, at := range []string{portal, otherPortal} {
			record := own
			record.Portal = at
			require.NoError(t, h.ISCSI.Login(hal.Call{}, hal.ISCSILogin{ISCSIRecord: record}))
		}
		for _, s := range w.ISCSISessions() {
			require.NoError(t, h.SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: s.Host}))
			require.NoError(t, h.SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: s.Host, LUN: 1}))
			disks, err := h.SCSI.Disks(hal.Call{}, s.Host)
			require.NoError(t, err)
			one, two = append(one, disks[0]), append(two, disks[1])
		}
	})
	return w, h, one, two
}

// drawn is a world in which one fault always happens.
func drawn(f sim.Fault) sim.Config {
	return sim.Config{Profile: sim.Only(1<<16, f), Chooser: sim.Seeded(1)}
}

func TestAMapIsMadeLate(t *testing.T) {
	w, h, one, _ := pathsWorld(t, drawn(sim.MapLate))
	does(t, w, time.Second, func() {
		require.ErrorIs(t, h.Multipath.Assemble(hal.Call{}, one), syscall.EAGAIN)
		require.Empty(t, w.MultipathMaps())
	})
	require.NoError(t, w.RunFor(time.Minute))
	require.Len(t, w.MultipathMaps(), 1)
	require.Len(t, w.MultipathMaps()[0].Paths, 2)
	does(t, w, time.Second, func() { require.NoError(t, h.Multipath.Assemble(hal.Call{}, one)) })
}

func TestMultipathdDoesNotRunForAWhile(t *testing.T) {
	w, h, one, _ := pathsWorld(t, drawn(sim.MultipathdDown))
	does(t, w, time.Second, func() {
		require.ErrorIs(t, h.Multipath.Assemble(hal.Call{}, one), syscall.ENXIO)
	})
	require.Empty(t, w.WWIDs())
}

// A map that is made again is another one, and goes with its paths.
func TestARemovedMapIsMadeAgain(t *testing.T) {
	w, h, one, _ := pathsWorld(t, drawn(sim.MapRemade))
	var m hal.MultipathMap
	does(t, w, time.Second, func() {
		require.NoError(t, h.Multipath.Assemble(hal.Call{}, one))
		m = w.MultipathMaps()[0]
		require.NoError(t, h.Multipath.Remove(hal.Call{}, m, true))
		require.NoError(t, h.Multipath.Remove(hal.Call{}, m, true), "it is gone")
	})
	require.NoError(t, w.RunFor(time.Minute))
	again := w.MultipathMaps()
	require.Len(t, again, 1)
	require.Equal(t, m.Node, again[0].Node)
	require.NotEqual(t, m.Is(), again[0].Is())
	does(t, w, time.Second, func() {
		require.ErrorIs(t, h.Multipath.Remove(hal.Call{}, m, true), syscall.ENODEV)
		require.NoError(t, h.Multipath.Remove(hal.Call{}, again[0], true))
		for _, d := range one {
			require.NoError(t, h.SCSI.Remove(hal.Call{}, d, true))
		}
	})
	require.NoError(t, w.RunFor(time.Minute))
	require.Empty(t, w.MultipathMaps())
}

func TestMapsHaveTheLowestNamesThatAreFree(t *testing.T) {
	w, h, one, two := pathsWorld(t, sim.Config{})
	does(t, w, time.Second, func() {
		require.NoError(t, h.Multipath.Assemble(hal.Call{}, one))
		require.NoError(t, h.Multipath.Assemble(hal.Call{}, two))
		all := w.MultipathMaps()
		require.Equal(t, []string{"dm-0", "dm-1"}, []string{all[0].Node, all[1].Node})
		require.NoError(t, h.Multipath.Remove(hal.Call{}, all[0], true))
		require.NoError(t, h.Multipath.Assemble(hal.Call{}, one))
		require.Equal(t, "naa.1", w.MultipathMaps()[0].WWID)
		require.Equal(t, "dm-0", w.MultipathMaps()[0].Node)
	})
}

// What is asked of a map that queues waits while it has no path: until one is back, or until it is made to fail.
func TestAMapThatQueuesKeepsItsReadersWaiting(t *testing.T) {
	for name, ends := range map[string]func(*sim.World, hal.Host, hal.MultipathMap) syscall.Errno{
		"a path comes back": func(w *sim.World, _ hal.Host, _ hal.MultipathMap) syscall.Errno {
			w.RestorePortal(portal)
			return 0
		},
		"it fails": func(_ *sim.World, h hal.Host, m hal.MultipathMap) syscall.Errno {
			_ = h.Multipath.FailQueued(hal.Call{}, m)
			return syscall.EIO
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, h, _, two := pathsWorld(t, sim.Config{})
			w.SetQueueing("naa.2")
			does(t, w, time.Second, func() { require.NoError(t, h.Multipath.Assemble(hal.Call{}, two)) })
			w.LosePortal(portal, 0)
			w.LosePortal(otherPortal, 0)
			require.NoError(t, w.RunFor(time.Minute))
			m := w.MultipathMaps()[0]
			require.True(t, m.Queues)
			require.False(t, m.IsUp())
			var err error
			hasEnded := false
			w.Go(func() { _, err = h.Blocks.Probe(hal.Call{}, "/dev/"+m.Node); hasEnded = true })
			require.NoError(t, w.RunFor(time.Hour))
			require.False(t, hasEnded)
			does(t, w, time.Second, func() {
				require.ErrorIs(t, h.Multipath.Remove(hal.Call{}, m, true), syscall.EIO)
			})
			var want syscall.Errno
			does(t, w, time.Minute, func() { want = ends(w, h, m) })
			require.True(t, hasEnded)
			if want == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, want)
			}
		})
	}
}

// A mounted map serves while one path does.
func TestAMountedMapOutlivesAPath(t *testing.T) {
	w, h, _, two := pathsWorld(t, sim.Config{})
	w.MakeDir("/mnt/a")
	does(t, w, time.Second, func() {
		require.NoError(t, h.Multipath.Assemble(hal.Call{}, two))
		require.NoError(t, h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: "/dev/dm-0", Target: "/mnt/a"}))
	})
	require.Equal(t, "naa.2", w.SANDiskAt("/mnt/a"))
	w.LosePortal(portal, 0)
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, sim.NoDiskFailure, w.DiskFailed("/mnt/a"))
	w.LosePortal(otherPortal, 0)
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, sim.AnswersErrors, w.DiskFailed("/mnt/a"))
	require.Zero(t, w.UnmountTop("/mnt/a"))
	w.RestorePortals()
	require.NoError(t, w.RunFor(time.Minute))
	does(t, w, time.Second, func() {
		require.NoError(t, h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: "/dev/dm-0", Target: "/mnt/a"}))
	})
	require.Equal(t, sim.NoDiskFailure, w.DiskFailed("/mnt/a"))
}
