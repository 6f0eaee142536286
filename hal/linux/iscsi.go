package linux

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/volnode/volnode/hal"
)

// iscsi is hal.ISCSI. Who needs an answer of the kernel alone asks sysfs; iscsiadm(8) has iscsid log in and out.
type iscsi struct{ host *Host }

func (i *iscsi) Sessions(c hal.Call) (all []hal.ISCSISession, err error) {
	err = i.host.within(c, hal.ClassSyscall, "iscsi sessions", "", func() error {
		found, err := sessionsIn("/sys")
		if err != nil {
			return failure(hal.ClassSyscall, "iscsi sessions", "", err)
		}
		for _, s := range found {
			all = append(all, s.ISCSISession)
		}
		return nil
	})
	return all, err
}

func (i *iscsi) Records(c hal.Call) (all []hal.ISCSIRecord, err error) {
	err = i.host.within(c, hal.ClassFile, "iscsi records", "", func() error {
		for _, dir := range databases {
			all = append(all, records{dir}.own()...)
		}
		return nil
	})
	return all, err
}

func (i *iscsi) Login(c hal.Call, l hal.ISCSILogin) error {
	object := l.Target + " " + l.Portal
	return i.host.within(c, hal.ClassHelper, "iscsi login", object, func() error {
		err := checkLogin(l)
		if err == nil {
			_, err = i.host.help(c, hal.ClassHelper, "iscsi login", object, request{Login: &loginRequest{
				Record: l.ISCSIRecord, From: l.From, Initiator: l.Initiator, CHAP: maps.Clone(l.CHAP.Reveal()),
			}})
			return err
		}
		return failure(hal.ClassHelper, "iscsi login", object, err)
	})
}

func (i *iscsi) Logout(c hal.Call, r hal.ISCSIRecord, id uint32) error {
	object := r.Target + " " + r.Portal
	return i.host.within(c, hal.ClassHelper, "iscsi logout", object, func() error {
		if err := checkRecord(r); err != nil {
			return failure(hal.ClassHelper, "iscsi logout", object, err)
		}
		_, err := i.host.help(c, hal.ClassHelper, "iscsi logout", object, request{Logout: &logoutRequest{r, id}})
		return err
	})
}

// Names become arguments of a program, and parts of paths. RFC 7143, section 4.2.7, has what an iSCSI name is made of.
var (
	nodeName      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:_-]{0,222}$`)
	interfaceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.:_-]{0,63}$`)
)

func checkRecord(r hal.ISCSIRecord) error {
	portal, err := netip.ParseAddrPort(r.Portal)
	switch {
	case !nodeName.MatchString(r.Target):
		return because(syscall.EINVAL, fmt.Sprintf("%q is no iSCSI name", r.Target))
	case err != nil || portal.Addr().Zone() != "" || portal.Port() == 0:
		return because(syscall.EINVAL, fmt.Sprintf("the portal %q is no address with a port", r.Portal))
	case portal.String() != r.Portal:
		return because(syscall.EINVAL, fmt.Sprintf("write the portal %s as %s", r.Portal, portal))
	case !interfaceName.MatchString(r.Interface) || !strings.HasPrefix(r.Interface, hal.OwnInterface):
		return because(syscall.EINVAL, fmt.Sprintf("%q is no interface of an agent: it begins with %s", r.Interface,
			hal.OwnInterface))
	}
	return nil
}

// chapSettings are what credentials consist of. Those of this node come first, and must be there.
var chapSettings = []string{
	"node.session.auth.username", "node.session.auth.password",
	"node.session.auth.username_in", "node.session.auth.password_in",
}

// mostCHAP bounds a value, in bytes: open-iscsi keeps as much.
const mostCHAP = 255

func checkLogin(l hal.ISCSILogin) error {
	if err := checkRecord(l.ISCSIRecord); err != nil {
		return err
	}
	if !interfaceName.MatchString(l.From) {
		return because(syscall.EINVAL, fmt.Sprintf("%q is no name of an interface", l.From))
	}
	if l.Initiator != "" && !nodeName.MatchString(l.Initiator) {
		return because(syscall.EINVAL, fmt.Sprintf("the initiator %q is no iSCSI name", l.Initiator))
	}
	chap := l.CHAP.Reveal()
	for name, value := range chap {
		switch {
		case !slices.Contains(chapSettings, name):
			return because(syscall.EINVAL, fmt.Sprintf("%q is no setting of credentials", name))
		case value == "" || len(value) > mostCHAP || value != strings.TrimSpace(value) ||
			strings.ContainsFunc(value, unicode.IsControl):
			return because(syscall.EINVAL, fmt.Sprintf("%s must have 1 to %d bytes, no control characters, and no white "+
				"space around it", name, mostCHAP))
		}
	}
	for i, name := range chapSettings {
		_, has := chap[name]
		_, hasOther := chap[chapSettings[i^1]]
		if !has && (hasOther || i < 2 && len(chap) > 0) {
			return because(syscall.EINVAL, "the credentials lack "+name)
		}
	}
	return nil
}

// session is a session with what only this package needs.
type session struct {
	hal.ISCSISession
	tag string // the number of the target's portal group
}

// sessionsIn reads sysfs (Documentation/ABI of open-iscsi, sysfs-documentation). Sessions come and go meanwhile.
func sessionsIn(sys string) (all []session, err error) {
	names, err := namesIn(sys + "/class/iscsi_session")
	for _, name := range names {
		id, err := strconv.ParseUint(strings.TrimPrefix(name, "session"), 10, 32)
		if err != nil {
			continue
		}
		if s, isThere := readSession(sys + "/class/iscsi_session/" + name); isThere {
			s.ID = uint32(id)
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b session) int { return cmp.Compare(a.ID, b.ID) })
	return all, err
}

// readSession reads the session of a directory. One that iscsid has just begun to make has no target or no portal yet,
// and is no record's.
func readSession(dir string) (s session, isThere bool) {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return s, false
	}
	device := filepath.Dir(filepath.Dir(dir)) // …/host3/session1
	host, err := strconv.ParseUint(strings.TrimPrefix(filepath.Base(filepath.Dir(device)), "host"), 10, 32)
	connections, _ := filepath.Glob(device + "/connection*/iscsi_connection/connection*") // it has one
	if err != nil || len(connections) == 0 {
		return s, false
	}
	s.Host = uint32(host)
	s.Target = attribute(dir, "targetname")
	s.Interface = attribute(dir, "ifacename")
	s.Initiator = attribute(dir, "initiatorname")
	s.State = attribute(dir, "state")
	s.tag = attribute(dir, "tpgt")
	address, port := attribute(connections[0], "persistent_address"), attribute(connections[0], "persistent_port")
	if ip, err := netip.ParseAddr(address); err == nil {
		address = ip.String() // of an IPv6 address there are many ways to write it
	}
	s.Portal = net.JoinHostPort(address, port)
	return s, s.Target != "" && address != "" && port != "" && s.State != ""
}

// attribute is one of sysfs, "" if it is not there, or not set.
func attribute(dir, name string) string {
	text, err := os.ReadFile(dir + "/" + name)
	if value := strings.TrimSpace(string(text)); err == nil && value != "(null)" {
		return value
	}
	return ""
}

// namesIn lists a directory of sysfs. One that is missing has none: the kernel lacks that part, or it is not loaded.
func namesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if gone(err) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
