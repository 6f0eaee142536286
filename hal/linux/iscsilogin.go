package linux

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// loginRequest is hal.ISCSILogin for a helper child.
type loginRequest struct {
	Record    hal.ISCSIRecord
	From      string
	Initiator string
	CHAP      map[string]string
}

type logoutRequest struct {
	Record hal.ISCSIRecord
	ID     uint32
}

const openISCSI = "open-iscsi (Debian, Ubuntu) or iscsi-initiator-utils"

func iscsiadm() (string, error) {
	program, err := programOf("iscsiadm", openISCSI)
	if errors.Is(err, syscall.ENOENT) {
		return "", because(syscall.ENXIO, err.Error())
	}
	return program, err
}

// login is Login in a helper child. A login without effect leaves no record.
func login(l loginRequest) (hal.Outcome, error) {
	program, err := iscsiadm()
	if err != nil {
		return hal.NotDone, err
	}
	db, err := databaseIn(databases)
	if err != nil {
		return hal.NotDone, err
	}
	text, err := os.ReadFile(configDir + "/iscsid.conf")
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return hal.NotDone, err
	}
	conf := parseSettings(text)
	iface, err := db.interfaceOf(l)
	if err != nil {
		return hal.NotDone, err
	}
	is, isThere, err := sessionOf(l.Record)
	if err != nil {
		return hal.NotDone, err
	}
	if isThere {
		if err := db.write(l, iface, conf, cmp.Or(is.tag, anyTag)); err != nil {
			return hal.Unknown, err
		}
		return hal.Done, nil
	}
	outcome, err := newSession(program, db, l, iface, conf)
	if outcome == hal.NotDone {
		err = errors.Join(err, db.remove(l.Record))
	}
	return outcome, err
}

func newSession(program string, db records, l loginRequest, iface, conf settings) (hal.Outcome, error) {
	tag, err := tagOf(l, iface)
	if err == nil {
		err = db.write(l, iface, conf, tag)
	}
	if err != nil {
		return hal.NotDone, err
	}
	if outcome, err := iscsidLogsIn(program, l); err != nil {
		return outcome, err
	}
	_, isThere, err := sessionOf(l.Record)
	if err == nil && !isThere {
		err = because(syscall.EALREADY, "iscsid is busy with an earlier login")
	}
	if err != nil {
		return hal.Unknown, err
	}
	return hal.Done, nil
}

// sessionOf is the first session of a record.
func sessionOf(r hal.ISCSIRecord) (is session, isThere bool, err error) {
	all, err := sessionsIn("/sys")
	if at := slices.IndexFunc(all, func(s session) bool { return s.ISCSIRecord == r }); at >= 0 {
		return all[at], true, err
	}
	return session{}, false, err
}

func iscsidLogsIn(program string, l loginRequest) (hal.Outcome, error) {
	said, code, err := run(program, []string{
		"-m", "node", "-T", l.Record.Target, "-p", l.Record.Portal, "-I", l.Record.Interface, "--login",
	})
	for _, secret := range l.CHAP {
		said = strings.ReplaceAll(said, secret, "***")
	}
	if err != nil {
		return hal.Unknown, because(syscall.EIO, program+": "+err.Error()+" "+said)
	}
	if code == iscsiErrFatalLogin && len(l.CHAP) > 0 {
		return hal.NotDone, because(syscall.EACCES, ended(program, said, code))
	}
	return iscsiadmEnded(program, said, code, iscsiErrSessionExists)
}

// logout is Logout in a helper child. Nobody can begin to use a disk while it logs out.
func logout(l logoutRequest) (hal.Outcome, error) {
	sessions, err := sessionsIn("/sys")
	if err != nil {
		return hal.NotDone, err
	}
	at := slices.IndexFunc(sessions, func(s session) bool { return s.ID == l.ID && l.ID != 0 })
	if at >= 0 {
		if s := sessions[at]; s.ISCSIRecord != l.Record {
			return hal.NotDone, because(syscall.ESTALE, fmt.Sprintf("session %d is of %s at %s by %s", s.ID, s.Target,
				s.Portal, s.Interface))
		}
		if outcome, err := endSession(sessions[at]); err != nil {
			return outcome, err
		}
	}
	for _, dir := range databases {
		if err := (records{dir}).remove(l.Record); err != nil {
			return hal.Unknown, err
		}
	}
	return hal.Done, nil
}

func endSession(s session) (hal.Outcome, error) {
	disks, err := disksIn("/sys", atHost(s.Host))
	if err != nil {
		return hal.NotDone, err
	}
	for _, d := range disks {
		held, err := claim(d)
		switch {
		case err == nil:
			defer held.Close()
		case !errors.Is(err, syscall.ENXIO):
			return hal.NotDone, err
		}
	}
	program, err := iscsiadm()
	if err != nil {
		return hal.NotDone, err
	}
	db, err := databaseIn(databases)
	if err == nil {
		err = db.provide(s.ISCSIRecord)
	}
	if err != nil {
		return hal.NotDone, err
	}
	said, code, err := run(program, []string{"-m", "session", "-r", strconv.FormatUint(uint64(s.ID), 10), "--logout"})
	if err != nil {
		return hal.Unknown, because(syscall.EIO, program+": "+err.Error()+" "+said)
	}
	return iscsiadmEnded(program, said, code, iscsiErrNoSession, iscsiErrNoObjects, iscsiErrSysfs)
}

// Exit statuses of iscsiadm(8), by their names in open-iscsi, include/iscsi_err.h.
const (
	iscsiErrNoSession     = 2  // SESS_NOT_FOUND
	iscsiErrSessionExists = 15 // SESS_EXISTS
	iscsiErrFatalLogin    = 19 // FATAL_LOGIN: iscsid does not take the target's credentials, or finds no target
	iscsiErrNoObjects     = 21 // NO_OBJS_FOUND
	iscsiErrSysfs         = 22 // SYSFS_LOOKUP: the session is gone
)

// iscsiErrors is what those say that are no success. The ones that are missing are EIO.
var iscsiErrors = map[int]syscall.Errno{
	4:  syscall.ECONNREFUSED, // TRANS
	8:  syscall.ETIMEDOUT,    // TRANS_TIMEOUT
	11: syscall.ETIMEDOUT,    // PDU_TIMEOUT
	12: syscall.ENXIO,        // TRANS_NOT_FOUND
	13: syscall.EPERM,        // ACCESS
	19: syscall.ENOENT,       // FATAL_LOGIN
	20: syscall.ENXIO,        // ISCSID_NOTCONN
	24: syscall.EACCES,       // LOGIN_AUTH_FAILED
	27: syscall.EOPNOTSUPP,   // OP_NOT_SUPP
	28: syscall.EBUSY,        // BUSY
}

// iscsiUnknown are those after which iscsid may still act, or has acted: INTERNAL, LOGOUT, ISCSID_COMM_ERR and
// CHILD_TERMINATED. After all others it has given up.
var iscsiUnknown = []int{9, 10, 18, 31}

// iscsiAdvice says what a person can do.
var iscsiAdvice = map[int]string{
	12: "the kernel lacks this transport; load its module (modprobe iscsi_tcp): ",
	20: "iscsid does not run; start it (systemctl start iscsid): ",
}

// iscsiadmEnded is what the exit status of iscsiadm(8) says. What it writes is for people.
func iscsiadmEnded(program, said string, code int, fine ...int) (hal.Outcome, error) {
	outcome := hal.NotDone
	switch {
	case code == 0 || slices.Contains(fine, code):
		return hal.Done, nil
	case slices.Contains(iscsiUnknown, code):
		outcome = hal.Unknown
	}
	return outcome, because(cmp.Or(iscsiErrors[code], syscall.EIO), iscsiAdvice[code]+ended(program, said, code))
}
