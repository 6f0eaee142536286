package linux

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest/lio"
)

const (
	plainTarget = "iqn.2026-01.example:plain"
	chapTarget  = "iqn.2026-01.example:chap"
)

// chap are credentials with all that a record's line could misread.
var chap = map[string]string{
	"node.session.auth.username": "a user", "node.session.auth.password": `= two # "words" x\`,
	"node.session.auth.username_in": "#target", "node.session.auth.password_in": "their own secret",
}

// withTargets returns a host with an initiator, and targets: one with two disks at two portals, and one with
// credentials and one disk.
func withTargets(t *testing.T) (hal.Host, *lio.Node) {
	t.Helper()
	if !lio.Here() || testing.Short() {
		t.Skip("needs a machine of its own, and minutes: make e2e-vm")
	}
	n := lio.Start(t.TempDir())
	t.Cleanup(n.Close)
	n.MakeTarget(plainTarget, 1, 2, 3)
	n.PutLUN(plainTarget, 0, "one")
	n.PutLUN(plainTarget, 1, "two")
	n.Admit(plainTarget, lio.Initiator, nil)
	n.MakeTarget(chapTarget, 1)
	n.PutLUN(chapTarget, 5, "three")
	n.Admit(chapTarget, "iqn.2026-01.example:other", chap)
	h, _ := startHost(t)
	return h.HAL(), n
}

func plainAt(n int) hal.ISCSILogin {
	return hal.ISCSILogin{
		ISCSIRecord: hal.ISCSIRecord{Target: plainTarget, Portal: lio.Portal(n), Interface: "volnode-plain"}, From: "default",
	}
}

func withCHAP(settings map[string]string) hal.ISCSILogin {
	return hal.ISCSILogin{
		ISCSIRecord: hal.ISCSIRecord{Target: chapTarget, Portal: lio.Portal(1), Interface: "volnode-chap"},
		From:        "default", Initiator: "iqn.2026-01.example:other", CHAP: hal.NewSecret(settings),
	}
}

// logIn logs in, and returns the session.
func logIn(t *testing.T, h hal.Host, l hal.ISCSILogin) hal.ISCSISession {
	t.Helper()
	require.NoError(t, h.ISCSI.Login(hal.Call{}, l))
	all, err := h.ISCSI.Sessions(hal.Call{})
	require.NoError(t, err)
	s, is := hal.SessionOf(all, l.ISCSIRecord)
	require.True(t, is, "%+v", all)
	require.True(t, s.IsUp(), s.State)
	return s
}

// scanned has the kernel find a disk of a session.
func scanned(t *testing.T, h hal.Host, n *lio.Node, s hal.ISCSISession, lun uint64) hal.SCSIDisk {
	t.Helper()
	at := hal.SCSIAddress{Host: s.Host, LUN: lun}
	require.NoError(t, h.SCSI.Scan(hal.Call{}, at))
	n.Settle()
	all, err := h.SCSI.Disks(hal.Call{}, s.Host)
	require.NoError(t, err)
	i := slices.IndexFunc(all, func(d hal.SCSIDisk) bool { return d.Address == at })
	require.GreaterOrEqual(t, i, 0, "%+v", all)
	return all[i]
}

func requireFailure(t *testing.T, err error, errno syscall.Errno) *hal.Error {
	t.Helper()
	e := requireHALError(t, err)
	require.Equal(t, errno, e.Errno, e.Error())
	require.Equal(t, hal.NotDone, e.Outcome, e.Error())
	return e
}

func TestISCSIDiskServesAFilesystem(t *testing.T) {
	h, n := withTargets(t)
	s := logIn(t, h, plainAt(1))
	require.Equal(t, lio.Initiator, s.Initiator)
	require.FileExists(t, n.Database()+"/nodes/"+plainTarget+"/10.77.1.2,3260,7/volnode-plain")
	again := logIn(t, h, plainAt(1))
	require.Equal(t, s.ID, again.ID)
	none, err := h.SCSI.Disks(hal.Call{}, s.Host)
	require.NoError(t, err)
	require.Empty(t, none, "nobody has asked for a disk")

	d := scanned(t, h, n, s, 1)
	all, err := h.SCSI.Disks(hal.Call{}, s.Host)
	require.NoError(t, err)
	require.Equal(t, []hal.SCSIDisk{d}, all)
	require.Equal(t, n.WWID("two"), d.WWID)
	require.Equal(t, "running", d.State)
	path := "/dev/" + d.Name
	is, err := h.Blocks.Probe(hal.Call{}, path)
	require.NoError(t, err)
	require.Equal(t, d.Is(), is.Is())
	require.Equal(t, d.WWID, is.Says)
	require.True(t, is.IsBlank)
	require.NoError(t, h.Blocks.Format(hal.Call{}, hal.NewFilesystem{
		Path: path, Device: is.Is(), FSType: "ext4", UUID: "0b0c0d0e-0000-4000-8000-000000000001",
	}))
	point := t.TempDir()
	require.NoError(t, unix.Mount(path, point, "ext4", 0, ""))
	t.Cleanup(func() { _ = unix.Unmount(point, unix.MNT_DETACH) })
	require.NoError(t, os.WriteFile(point+"/file", []byte("content"), 0o600))

	for _, flush := range []bool{true, false} {
		e := requireFailure(t, h.SCSI.Remove(hal.Call{}, d, flush), syscall.EBUSY)
		require.Contains(t, e.Detail, point)
	}
	e := requireFailure(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID), syscall.EBUSY)
	require.Contains(t, e.Detail, d.Name)
	require.Contains(t, e.Detail, point)
	require.NoError(t, unix.Unmount(point, 0))

	other := d
	other.Sequence++
	requireFailure(t, h.SCSI.Remove(hal.Call{}, other, true), syscall.ENODEV)
	require.NoError(t, h.SCSI.Remove(hal.Call{}, d, true))
	require.NoError(t, h.SCSI.Remove(hal.Call{}, d, true))
	later := scanned(t, h, n, s, 1)
	require.NotEqual(t, d.Sequence, later.Sequence)
	requireFailure(t, h.SCSI.Remove(hal.Call{}, d, true), syscall.ENODEV)
	is, err = h.Blocks.Probe(hal.Call{}, "/dev/"+later.Name)
	require.NoError(t, err)
	require.Equal(t, "ext4", is.Type)

	// A disk that others have for themselves, as a device mapper does.
	held, err := unix.Open("/dev/"+later.Name, unix.O_RDONLY|unix.O_EXCL, 0)
	require.NoError(t, err)
	requireFailure(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID), syscall.EBUSY)
	unix.Close(held)

	stranger := s.ISCSIRecord
	stranger.Portal = lio.Portal(2)
	requireFailure(t, h.ISCSI.Logout(hal.Call{}, stranger, s.ID), syscall.ESTALE)
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID))
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID))
	sessions, err := h.ISCSI.Sessions(hal.Call{})
	require.NoError(t, err)
	require.Empty(t, sessions)
	require.Empty(t, n.Records())
	require.NoFileExists(t, "/dev/"+later.Name)
}

// wordsOfProcesses are the arguments and the environments of all processes. A thread of the kernel has none.
func wordsOfProcesses() (all []byte) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if arguments, _ := os.ReadFile(dir + "/cmdline"); len(arguments) > 0 {
			environment, _ := os.ReadFile(dir + "/environ") // it may have ended
			all = append(append(all, arguments...), environment...)
		}
	}
	return all
}

func TestISCSISecretsAreForRootAlone(t *testing.T) {
	h, n := withTargets(t)
	random := rand.Text()
	settings := map[string]string{
		"node.session.auth.username": "user", "node.session.auth.password": random,
	}
	n.Admit(chapTarget, "iqn.2026-01.example:third", settings)
	l := withCHAP(settings)
	l.Initiator = "iqn.2026-01.example:third"
	stop, looks := make(chan struct{}), make(chan int)
	go func() {
		count := 0
		for {
			select {
			case <-stop:
				looks <- count
				return
			default:
				if count++; bytes.Contains(wordsOfProcesses(), []byte(random)) {
					t.Error("a process shows the secret")
				}
			}
		}
	}()
	s := logIn(t, h, l)
	require.Equal(t, []string{
		"interface volnode-chap", chapTarget + " " + lio.Portal(1) + " volnode-chap with credentials",
	}, n.Records())
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, l.ISCSIRecord, s.ID))
	settings["node.session.auth.password"] += "x"
	err := h.ISCSI.Login(hal.Call{}, withCHAP(settings))
	close(stop)
	require.Greater(t, <-looks, 3)
	require.NotContains(t, err.Error(), random)
	require.Empty(t, n.Records())
	for _, dir := range []string{"/etc", "/run", "/var", "/tmp"} {
		for _, file := range filesBelow(t, dir) {
			if text, err := os.ReadFile(filepath.Join(dir, file)); err == nil && len(text) < 1<<20 {
				require.NotContains(t, string(text), random, file)
			}
		}
	}
}

func TestISCSICredentialsOfBothSides(t *testing.T) {
	h, n := withTargets(t)
	s := logIn(t, h, withCHAP(chap))
	require.Equal(t, "iqn.2026-01.example:other", s.Initiator)
	require.Equal(t, n.WWID("three"), scanned(t, h, n, s, 5).WWID)
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID))
	for _, name := range []string{"password", "password_in", "username", "username_in"} {
		wrong := map[string]string{}
		for key, value := range chap {
			wrong[key] = value
		}
		wrong["node.session.auth."+name] = "something else"
		start := time.Now()
		requireFailure(t, h.ISCSI.Login(hal.Call{}, withCHAP(wrong)), syscall.EACCES)
		require.Less(t, time.Since(start), hal.LoginTime, name)
	}
	requireFailure(t, h.ISCSI.Login(hal.Call{}, withCHAP(nil)), syscall.EACCES)
	require.Empty(t, n.Records())
}

func TestISCSIPortalsThatDoNotTakeALogin(t *testing.T) {
	h, n := withTargets(t)
	login := func(change func(*hal.ISCSILogin)) error {
		l := plainAt(1)
		change(&l)
		return h.ISCSI.Login(hal.Call{}, l)
	}
	requireFailure(t, login(func(l *hal.ISCSILogin) { l.Target += "-missing" }), syscall.ENOENT)
	requireFailure(t, login(func(l *hal.ISCSILogin) { l.From = "missing" }), syscall.ENOENT)
	requireFailure(t, login(func(l *hal.ISCSILogin) { l.Portal = lio.Portal(4) }), syscall.ECONNREFUSED)
	requireFailure(t, login(func(l *hal.ISCSILogin) { l.Initiator = "iqn.2026-01.example:no" }), syscall.EACCES)
	n.SetPortal(1, "down")
	start := time.Now()
	requireFailure(t, login(func(*hal.ISCSILogin) {}), syscall.ETIMEDOUT)
	require.Less(t, time.Since(start), hal.LoginTime+5*time.Second)
	n.SetPortal(1, "up")
	require.Empty(t, n.Records())

	// Without iscsid.
	n.StopInitiator()
	e := requireFailure(t, login(func(*hal.ISCSILogin) {}), syscall.ENXIO)
	require.Contains(t, e.Detail, "start it")
	require.Empty(t, n.Records())
	n.StartInitiator()
	s := logIn(t, h, plainAt(3)) // an IPv6 address
	require.Equal(t, lio.Portal(3), s.Portal)
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID))
	require.Empty(t, n.Records())
}

func TestISCSIDiskThatIsAnotherSaysSo(t *testing.T) {
	h, n := withTargets(t)
	d := scanned(t, h, n, logIn(t, h, plainAt(1)), 1)
	n.PutLUN(plainTarget, 1, "another")
	is, err := h.Blocks.Probe(hal.Call{}, "/dev/"+d.Name)
	if err != nil { // the first command of each kind learns that something has changed
		is, err = h.Blocks.Probe(hal.Call{}, "/dev/"+d.Name)
	}
	require.NoError(t, err)
	require.Equal(t, d.Is(), is.Is())
	require.Equal(t, n.WWID("another"), is.Says)
	all, err := h.SCSI.Disks(hal.Call{}, d.Address.Host)
	require.NoError(t, err)
	require.Equal(t, n.WWID("two"), all[0].WWID)
}

func TestISCSISessionThatFails(t *testing.T) {
	h, n := withTargets(t)
	s := logIn(t, h, plainAt(1))
	other := logIn(t, h, plainAt(2))
	require.NotEqual(t, s.Host, other.Host)
	d := scanned(t, h, n, s, 0)
	states := func() (string, string) {
		all, err := h.ISCSI.Sessions(hal.Call{})
		require.NoError(t, err)
		disks, err := h.SCSI.Disks(hal.Call{}, s.Host)
		require.NoError(t, err)
		is, _ := hal.SessionOf(all, s.ISCSIRecord)
		return is.State, disks[0].State
	}
	n.SetPortal(1, "down")
	session, disk := states()
	require.Equal(t, "FAILED", session)
	require.Equal(t, "blocked", disk)
	n.SetPortal(1, "up")
	session, disk = states()
	require.Equal(t, "LOGGED_IN", session)
	require.Equal(t, "running", disk)
	n.SetPortal(1, "dead")
	session, disk = states()
	require.Equal(t, "FREE", session)
	require.Equal(t, "transport-offline", disk)
	requireFailure(t, h.SCSI.Remove(hal.Call{}, d, true), syscall.EIO)
	require.NoError(t, h.SCSI.Remove(hal.Call{}, d, false))
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID))
	require.Len(t, n.Records(), 2)
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, other.ISCSIRecord, other.ID))
	require.Empty(t, n.Records())
}

// iscsid finds the record after it was started again.
func TestISCSISessionOutlivesItsDaemon(t *testing.T) {
	h, n := withTargets(t)
	s := logIn(t, h, withCHAP(chap))
	n.StopInitiator()
	n.StartInitiator()
	n.SetPortal(1, "down")
	n.SetPortal(1, "up")
	again := logIn(t, h, withCHAP(chap))
	require.Equal(t, s.ID, again.ID)
	require.Contains(t, n.Log(), "operational after recovery")
	require.NotContains(t, n.Log(), "Could not read data from db")
	require.NoError(t, h.ISCSI.Logout(hal.Call{}, s.ISCSIRecord, s.ID))
}
