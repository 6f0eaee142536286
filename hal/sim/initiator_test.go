package sim_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const (
	iqn    = "iqn.2026-01.example:disks"
	portal = "10.0.0.1:3260"
)

var own = hal.ISCSIRecord{Target: iqn, Portal: portal, Interface: hal.OwnInterface}

// sanWorld has a target with a blank disk, and one with a filesystem.
func sanWorld(t *testing.T) (*sim.World, hal.Host) {
	w := sim.New(sim.Config{})
	t.Cleanup(w.Close)
	w.AddTarget(iqn, portal)
	w.AddSANDisk("naa.1", "", "")
	w.AddSANDisk("naa.2", "ext4", "22222222-2222-4222-8222-222222222222")
	w.MapLUN(iqn, 0, "naa.1")
	w.MapLUN(iqn, 1, "naa.2")
	return w, w.Host()
}

// does runs f as a task of the agent, and lets d pass.
func does(t *testing.T, w *sim.World, d time.Duration, f func()) {
	t.Helper()
	ended := false
	w.Go(func() { f(); ended = true })
	require.NoError(t, w.RunFor(d))
	require.True(t, ended, "it has ended")
}

// TestASession is a session, its disks, and the end of both.
func TestASession(t *testing.T) {
	w, h := sanWorld(t)
	does(t, w, time.Minute, func() {
		require.NoError(t, h.ISCSI.Login(hal.Call{}, hal.ISCSILogin{ISCSIRecord: own}))
		require.NoError(t, h.ISCSI.Login(hal.Call{}, hal.ISCSILogin{ISCSIRecord: own}), "it has one")
		all, err := h.ISCSI.Sessions(hal.Call{})
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.True(t, all[0].IsUp())
		at := hal.SCSIAddress{Host: all[0].Host, LUN: 1}
		require.NoError(t, h.SCSI.Scan(hal.Call{}, at))
		require.NoError(t, h.SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: all[0].Host, LUN: 9}), "there is none")
		disks, err := h.SCSI.Disks(hal.Call{}, all[0].Host)
		require.NoError(t, err)
		require.Len(t, disks, 1, "only what was asked for")
		require.Equal(t, "sdb", disks[0].Name)
		is, err := h.Blocks.Probe(hal.Call{}, "/dev/sdb")
		require.NoError(t, err)
		require.Equal(t, disks[0].Is(), is.Is())
		require.Equal(t, "ext4", is.Type)
		require.Equal(t, disks[0].WWID, is.Says)

		w.MakeDir("/mnt/a")
		require.NoError(t, h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: "/dev/sdb", Target: "/mnt/a"}))
		require.Equal(t, "naa.2", w.SANDiskAt("/mnt/a"))
		require.ErrorIs(t, h.ISCSI.Logout(hal.Call{}, own, all[0].ID), syscall.EBUSY)
		require.ErrorIs(t, h.SCSI.Remove(hal.Call{}, disks[0], true), syscall.EBUSY)
		require.Zero(t, w.UnmountTop("/mnt/a"))

		w.MapLUN(iqn, 1, "naa.1")
		is, err = h.Blocks.Probe(hal.Call{}, "/dev/sdb")
		require.NoError(t, err)
		require.NotEqual(t, disks[0].WWID, is.Says, "the array has another disk there")
		require.NoError(t, h.SCSI.Remove(hal.Call{}, disks[0], true))
		require.NoError(t, h.ISCSI.Logout(hal.Call{}, own, all[0].ID))
		require.Empty(t, w.ISCSISessions())
		require.Empty(t, w.ISCSIRecords())
	})
}

// TestAPortalGoesDown is what a session does without its portal: what is asked of its disks waits, and then fails.
func TestAPortalGoesDown(t *testing.T) {
	w, h := sanWorld(t)
	does(t, w, time.Minute, func() {
		require.NoError(t, h.ISCSI.Login(hal.Call{}, hal.ISCSILogin{ISCSIRecord: own}))
		require.NoError(t, h.SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: 2, LUN: 1}))
		w.MakeDir("/mnt/a")
		require.NoError(t, h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: "/dev/sdb", Target: "/mnt/a"}))
	})
	w.LosePortal(portal, 0)
	does(t, w, 3*time.Minute, func() {
		begun := w.Now()
		_, err := h.Blocks.Probe(hal.Call{}, "/dev/sdb")
		require.ErrorIs(t, err, syscall.ENXIO)
		require.Greater(t, w.Now().Sub(begun), time.Minute, "it has waited for the replacement timer")
	})
	w.RestorePortal(portal)
	does(t, w, time.Minute, func() {
		require.True(t, w.ISCSISessions()[0].IsUp())
		_, err := h.Blocks.Probe(hal.Call{}, "/dev/sdb")
		require.NoError(t, err)
		require.Equal(t, sim.AnswersErrors, w.DiskFailed("/mnt/a"), "the filesystem has failed")
	})
	w.LosePortal(portal, 0)
	w.RestorePortal(portal)
	require.NoError(t, w.RunFor(time.Minute))
	require.True(t, w.ISCSISessions()[0].IsUp())
}

// TestLoginsThatFail are the errors of a login. None has made a session.
func TestLoginsThatFail(t *testing.T) {
	w, h := sanWorld(t)
	w.SetCHAP(iqn, map[string]string{"node.session.auth.username": "u", "node.session.auth.password": "long secret"})
	w.LosePortal("10.0.0.9:3260", 0)
	w.AddTarget("iqn.2026-01.example:other", "10.0.0.2:3260")
	does(t, w, 5*time.Minute, func() {
		for _, c := range []struct {
			record hal.ISCSIRecord
			errno  syscall.Errno
		}{
			{own, syscall.EACCES},
			{hal.ISCSIRecord{Target: iqn, Portal: "10.0.0.2:3260"}, syscall.ENOENT},
			{hal.ISCSIRecord{Target: iqn, Portal: "10.0.0.3:3260"}, syscall.ECONNREFUSED},
			{hal.ISCSIRecord{Target: iqn, Portal: "10.0.0.9:3260"}, syscall.ETIMEDOUT},
		} {
			err := h.ISCSI.Login(hal.Call{}, hal.ISCSILogin{ISCSIRecord: c.record})
			require.ErrorIs(t, err, c.errno)
			require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
		}
		require.Empty(t, w.ISCSISessions())
		require.ErrorIs(t, h.SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: 2}), syscall.ENODEV)
	})
}
