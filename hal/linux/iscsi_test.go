package linux

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// record is one that all is right with.
var record = hal.ISCSIRecord{Target: "iqn.2026-01.example:disks", Portal: "192.0.2.1:3260", Interface: "volnode-1"}

var credentials = map[string]string{
	"node.session.auth.username": "user", "node.session.auth.password": "two words = # one",
}

// sysfs makes files, and the links that lead from a class to a device.
func sysfs(t *testing.T, links, files map[string]string) string {
	t.Helper()
	sys := t.TempDir()
	for file, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(sys+"/"+file), 0o755))
		require.NoError(t, os.WriteFile(sys+"/"+file, []byte(text+"\n"), 0o644))
	}
	for link, target := range links {
		require.NoError(t, os.MkdirAll(filepath.Dir(sys+"/"+link), 0o755))
		require.NoError(t, os.Symlink(sys+"/"+target, sys+"/"+link))
	}
	return sys
}

func TestSessionsAreReadFromSysfs(t *testing.T) {
	const nine = "devices/platform/host3/session9/iscsi_session/session9"
	const ten = "devices/pci0000:00/host12/session10/iscsi_session/session10"
	const address = "/iscsi_connection/connection10:0/persistent_"
	const young = "devices/platform/host4/session11/iscsi_session/session11"
	sys := sysfs(t, map[string]string{
		"class/iscsi_session/session9": nine, "class/iscsi_session/session10": ten,
		"class/iscsi_session/session11": young, "class/iscsi_session/session12": "devices/gone",
	}, map[string]string{
		nine + "/targetname": "iqn.a", nine + "/ifacename": "volnode-1", nine + "/initiatorname": "iqn.me",
		nine + "/state": "LOGGED_IN", nine + "/tpgt": "7",
		"devices/platform/host3/session9/connection9:0/iscsi_connection/connection9:0/persistent_address": "192.0.2.1",
		"devices/platform/host3/session9/connection9:0/iscsi_connection/connection9:0/persistent_port":    "3260",
		ten + "/targetname": "iqn.b", ten + "/ifacename": "default", ten + "/initiatorname": "(null)",
		ten + "/state": "FAILED", ten + "/tpgt": "1",
		"devices/pci0000:00/host12/session10/connection10:0" + address + "address": "2001:DB8:0::1",
		"devices/pci0000:00/host12/session10/connection10:0" + address + "port":    "860",
		young + "/targetname": "iqn.c", young + "/state": "FREE",
		"devices/platform/host4/session11/connection11:0/iscsi_connection/connection11:0/persistent_address": "(null)",
	})
	all, err := sessionsIn(sys)
	require.NoError(t, err)
	require.Equal(t, []session{
		{tag: "7", ISCSISession: hal.ISCSISession{
			ISCSIRecord: hal.ISCSIRecord{Target: "iqn.a", Portal: "192.0.2.1:3260", Interface: "volnode-1"},
			ID:          9, Initiator: "iqn.me", Host: 3, State: "LOGGED_IN",
		}},
		{tag: "1", ISCSISession: hal.ISCSISession{
			ISCSIRecord: hal.ISCSIRecord{Target: "iqn.b", Portal: "[2001:db8::1]:860", Interface: "default"},
			ID:          10, Host: 12, State: "FAILED",
		}},
	}, all)
	all, err = sessionsIn(t.TempDir())
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestWhatCannotBeARecordIsRefused(t *testing.T) {
	good := hal.ISCSILogin{ISCSIRecord: record, From: "default", CHAP: hal.NewSecret(credentials)}
	require.NoError(t, checkLogin(good))
	with := func(change func(*hal.ISCSILogin)) hal.ISCSILogin {
		l := good
		change(&l)
		return l
	}
	chap := func(settings ...string) hal.Secret {
		data := map[string]string{}
		for i := 0; i < len(settings); i += 2 {
			data["node.session.auth."+settings[i]] = settings[i+1]
		}
		return hal.NewSecret(data)
	}
	for _, l := range []hal.ISCSILogin{
		with(func(l *hal.ISCSILogin) { l.Target = "" }),
		with(func(l *hal.ISCSILogin) { l.Target = "-d8" }),
		with(func(l *hal.ISCSILogin) { l.Target = "iqn.a/../b" }),
		with(func(l *hal.ISCSILogin) { l.Target = "iqn.a*" }),
		with(func(l *hal.ISCSILogin) { l.Target = strings.Repeat("a", 224) }),
		with(func(l *hal.ISCSILogin) { l.Portal = "192.0.2.1" }),
		with(func(l *hal.ISCSILogin) { l.Portal = "host:3260" }),
		with(func(l *hal.ISCSILogin) { l.Portal = "192.0.2.1:0" }),
		with(func(l *hal.ISCSILogin) { l.Portal = "[fe80::1%eth0]:3260" }),
		with(func(l *hal.ISCSILogin) { l.Portal = "[2001:DB8::1]:3260" }),
		with(func(l *hal.ISCSILogin) { l.Interface = "default" }),
		with(func(l *hal.ISCSILogin) { l.Interface = "volnode/1" }),
		with(func(l *hal.ISCSILogin) { l.From = ".." }),
		with(func(l *hal.ISCSILogin) { l.Initiator = "iqn a" }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("username", "user") }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("password", "secret") }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("username_in", "user", "password_in", "secret") }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("username", "u", "password", "s", "username_in", "user") }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("username", "u", "password", "s", "authmethod", "None") }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("username", "u", "password", "s\nnode.startup = automatic") }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("username", "u", "password", " s") }),
		with(func(l *hal.ISCSILogin) { l.CHAP = chap("username", "u", "password", strings.Repeat("s", 256)) }),
	} {
		err := checkLogin(l)
		require.ErrorIs(t, err, syscall.EINVAL, "%+v", l)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestAHelperIsAskedForZeroes(t *testing.T) {
	h, _ := startHost(t)
	none := hal.SCSIAddress{Host: 4_000_000_000}
	err := h.HAL().SCSI.Scan(hal.Call{}, none)
	e := requireHALError(t, err)
	require.Equal(t, syscall.ENODEV, e.Errno)
	require.Equal(t, hal.NotDone, e.Outcome)
	require.NoError(t, h.HAL().SCSI.Remove(hal.Call{}, hal.SCSIDisk{Address: none}, true))
	disks, err := h.HAL().SCSI.Disks(hal.Call{}, none.Host)
	require.NoError(t, err)
	require.Empty(t, disks)
	if err := h.HAL().SCSI.Scan(hal.Call{}, hal.SCSIAddress{}); err != nil { // no field of it says anything
		require.ErrorIs(t, err, syscall.ENODEV)
	}
}

func TestANodeWithoutAnInitiatorSaysWhatToInstall(t *testing.T) {
	if _, err := iscsiadm(); err == nil {
		t.Skip("this host has an initiator")
	}
	h, _ := startHost(t)
	err := h.HAL().ISCSI.Login(hal.Call{}, hal.ISCSILogin{ISCSIRecord: record, From: "default"})
	e := requireHALError(t, err)
	require.Equal(t, syscall.ENXIO, e.Errno)
	require.Equal(t, hal.NotDone, e.Outcome)
	require.Contains(t, e.Detail, "install open-iscsi")
	require.NoError(t, h.HAL().ISCSI.Logout(hal.Call{}, record, 0))
	sessions, err := h.HAL().ISCSI.Sessions(hal.Call{})
	require.NoError(t, err)
	require.Empty(t, sessions)
}

func TestAnExitStatusDecides(t *testing.T) {
	for code, want := range map[int]struct {
		errno   syscall.Errno
		outcome hal.Outcome
	}{
		0:  {0, hal.Done},
		15: {0, hal.Done},
		1:  {syscall.EIO, hal.NotDone},
		8:  {syscall.ETIMEDOUT, hal.NotDone},
		9:  {syscall.EIO, hal.Unknown},
		20: {syscall.ENXIO, hal.NotDone},
		24: {syscall.EACCES, hal.NotDone},
	} {
		outcome, err := iscsiadmEnded("iscsiadm", "it may say anything", code, iscsiErrSessionExists)
		require.Equal(t, want.outcome, outcome, code)
		require.Equal(t, want.errno, errnoOf(err), code)
	}
}

func TestDisksAreReadFromSysfs(t *testing.T) {
	const devices = "devices/platform/host3/session1/target3:0:0/"
	sys := sysfs(t, map[string]string{
		"class/scsi_device/3:0:0:10/device": devices + "3:0:0:10",
		"class/scsi_device/3:0:0:2/device":  devices + "3:0:0:2",
		"class/scsi_device/3:0:0:3/device":  devices + "3:0:0:3", // no disk
		"class/scsi_device/31:0:0:2/device": devices + "3:0:0:2",
	}, map[string]string{
		devices + "3:0:0:10/state": "running", devices + "3:0:0:10/block/sdb/dev": "8:16",
		devices + "3:0:0:10/block/sdb/diskseq": "12",
		devices + "3:0:0:2/state":              "blocked", devices + "3:0:0:2/wwid": "t10.A disk  ",
		devices + "3:0:0:2/block/sda/dev": "8:0", devices + "3:0:0:3/state": "running",
	})
	all, err := disksIn(sys, atHost(3))
	require.NoError(t, err)
	require.Equal(t, []hal.SCSIDisk{
		{
			Address: hal.SCSIAddress{Host: 3, LUN: 2}, Name: "sda", Device: hal.Device{Major: 8}, State: "blocked",
			WWID: "t10.A disk",
		},
		{
			Address: hal.SCSIAddress{Host: 3, LUN: 10}, Name: "sdb", Device: hal.Device{Major: 8, Minor: 16}, Sequence: 12,
			State: "running",
		},
	}, all)
}
