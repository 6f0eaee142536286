package linux

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// records is the database of open-iscsi: a file for each interface, and one for each record of a target. iscsiadm(8)
// could write them, but it takes secrets as arguments, which everybody may read; and of targets whose portal group is
// not known, it keeps one record for all interfaces. Each file is replaced as a whole, so iscsiadm, which has a lock of
// its own, reads an earlier one or a later one.
type records struct{ dir string }

// databases are where it may be: from open-iscsi 2.1.10 on, as Fedora had it long before, and up to then.
var databases = []string{"/var/lib/iscsi", "/etc/iscsi"}

// databaseIn is the first of these that is there.
func databaseIn(dirs []string) (records, error) {
	for _, dir := range dirs {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return records{dir}, nil
		}
	}
	return records{}, because(syscall.ENXIO, "there is no "+strings.Join(dirs, " and no ")+"; install open-iscsi")
}

// configDir has iscsid.conf and initiatorname.iscsi, wherever the database is.
const configDir = "/etc/iscsi"

// setting is one line of a record: "node.startup = manual".
type setting struct{ name, value string }

// settings are the lines of a record. Of two with one name, open-iscsi takes the later.
type settings []setting

// parseSettings reads what open-iscsi does: lines without a value say nothing.
func parseSettings(text []byte) (all settings) {
	for line := range bytes.Lines(text) {
		name, value, _ := strings.Cut(string(line), "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if name != "" && name[0] != '#' && !strings.ContainsAny(name, " \t") && value != "" {
			all = all.with(name, value)
		}
	}
	return all
}

// with changes a setting, or adds it; "" takes it away.
func (s settings) with(name, value string) settings {
	s = slices.DeleteFunc(slices.Clone(s), func(is setting) bool { return is.name == name })
	if value == "" {
		return s
	}
	return append(s, setting{name, value})
}

// of are the settings whose names begin so.
func (s settings) of(prefix string) settings {
	return slices.DeleteFunc(slices.Clone(s), func(is setting) bool { return !strings.HasPrefix(is.name, prefix) })
}

func (s settings) value(name string) string {
	if i := slices.IndexFunc(s, func(is setting) bool { return is.name == name }); i >= 0 {
		return s[i].value
	}
	return ""
}

func (s settings) text() []byte {
	var b bytes.Buffer
	b.WriteString("# BEGIN RECORD of volnode\n")
	for _, is := range s {
		fmt.Fprintf(&b, "%s = %s\n", is.name, is.value)
	}
	b.WriteString("# END RECORD\n")
	return b.Bytes()
}

// interfaceOf has the settings of the interface that a login is to be made by. open-iscsi has two that no file is of.
func (r records) interfaceOf(l loginRequest) (settings, error) {
	var from settings
	switch text, err := os.ReadFile(r.dir + "/ifaces/" + l.From); {
	case err == nil:
		from = parseSettings(text).of("iface.")
	case errors.Is(err, syscall.ENOENT) && (l.From == "default" || l.From == "iser"):
		from = settings{{"iface.transport_name", map[string]string{"default": "tcp", "iser": "iser"}[l.From]}}
	case errors.Is(err, syscall.ENOENT):
		return nil, because(syscall.ENOENT, fmt.Sprintf("no interface has the name %s; see iscsiadm -m iface", l.From))
	default:
		return nil, err
	}
	if l.Initiator != "" {
		from = from.with("iface.initiatorname", l.Initiator)
	}
	return from.with("iface.iscsi_ifacename", l.Record.Interface), nil
}

// recordOf has the settings of a record: those of iscsid.conf(5), and over them those that are volnode's to say. tag is
// the number of the target's portal group.
func recordOf(l loginRequest, iface, conf settings, tag string) settings {
	portal := netip.MustParseAddrPort(l.Record.Portal) // it was checked
	all := slices.DeleteFunc(conf.of("node."), func(is setting) bool {
		return strings.HasPrefix(is.name, "node.session.auth.") && is.name != "node.session.auth.chap_algs"
	})
	for _, is := range slices.Concat(iface, settings{
		{"node.name", l.Record.Target},
		{"node.tpgt", tag},
		{"node.startup", "manual"},
		{"node.leading_login", "No"},
		{"node.discovery_type", "static"},
		{"node.session.nr_sessions", "1"},
		{"node.session.scan", "manual"},
		{"node.session.initial_login_retry_max", strconv.Itoa(hal.LoginAttempts)},
		{"node.conn[0].address", portal.Addr().String()},
		{"node.conn[0].port", strconv.Itoa(int(portal.Port()))},
		{"node.conn[0].startup", "manual"},
		{"node.conn[0].timeo.login_timeout", strconv.Itoa(int(hal.LoginTime.Seconds()))},
		{"node.session.auth.authmethod", "None"},
	}) {
		all = all.with(is.name, is.value)
	}
	for _, name := range chapSettings {
		if value := l.CHAP[name]; value != "" {
			all = all.with(name, value).with("node.session.auth.authmethod", "CHAP")
		}
	}
	return all
}

// write writes the record of a login, and its interface.
func (r records) write(l loginRequest, iface, conf settings, tag string) error {
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.replace(r.dir+"/ifaces/"+l.Record.Interface, l.Record, iface.text()); err != nil {
		return err
	}
	dirTag := tag
	if tag == anyTag {
		dirTag = "1" // iscsiadm reads the tag in the file alone
	}
	at := r.portalDir(l.Record, dirTag) + "/" + l.Record.Interface
	for _, other := range r.files(l.Record) {
		if other != at {
			if err := removeRecord(other); err != nil {
				return err
			}
		}
	}
	return r.replace(at, l.Record, recordOf(l, iface, conf, tag).text())
}

// remove removes a record, and its interface once no record uses that.
func (r records) remove(of hal.ISCSIRecord) error {
	unlock, err := r.lock()
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	for _, file := range r.files(of) {
		if err := removeRecord(file); err != nil {
			return err
		}
	}
	if err := removeFile(r.next(of)); err != nil {
		return err
	}
	if others, _ := filepath.Glob(r.dir + "/nodes/*/*/" + of.Interface); len(others) > 0 { // the pattern is well formed
		return nil
	}
	return removeFile(r.dir + "/ifaces/" + of.Interface)
}

// provide sees that the interface of a session is there, or iscsiadm does not end it.
func (r records) provide(of hal.ISCSIRecord) error {
	unlock, err := r.lock()
	if err != nil {
		return err
	}
	defer unlock()
	file := r.dir + "/ifaces/" + of.Interface
	if _, err := os.Stat(file); !errors.Is(err, syscall.ENOENT) {
		return err
	}
	return r.replace(file, of, settings{
		{"iface.iscsi_ifacename", of.Interface}, {"iface.transport_name", "tcp"},
	}.text())
}

// lock keeps other helpers away: one may remove the interface that another needs. It ends with this process.
func (r records) lock() (unlock func(), err error) {
	fd, err := unix.Open(r.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return func() { unix.Close(fd) }, nil
}

// own are the records of agents. What is no record of one is none.
func (r records) own() (all []hal.ISCSIRecord) {
	files, _ := filepath.Glob(r.dir + "/nodes/*/*/" + hal.OwnInterface + "*") // the pattern is well formed
	for _, file := range files {
		dir, name := filepath.Split(file)
		part := strings.Split(filepath.Base(dir), ",") // address, port, tag
		address, err := netip.ParseAddr(part[0])
		if err != nil || len(part) != 3 {
			continue
		}
		of := hal.ISCSIRecord{
			Target: filepath.Base(filepath.Dir(filepath.Dir(file))), Interface: name,
			Portal: net.JoinHostPort(address.String(), part[1]),
		}
		if checkRecord(of) == nil {
			all = append(all, of)
		}
	}
	return all
}

// portalDir is the directory for records of a target at a portal.
func (r records) portalDir(of hal.ISCSIRecord, tag string) string {
	portal := netip.MustParseAddrPort(of.Portal) // it was checked
	return fmt.Sprintf("%s/nodes/%s/%s,%d,%s", r.dir, of.Target, portal.Addr(), portal.Port(), tag)
}

// files are those of a record: one, but for a target whose portal group has got another number.
func (r records) files(of hal.ISCSIRecord) []string {
	all, _ := filepath.Glob(r.portalDir(of, "*") + "/" + of.Interface) // the pattern is well formed
	return all
}

// next is where the next file of a record is written. It has the same name each time, so that what a dead helper leaves
// is found. iscsiadm looks at no file in that directory.
func (r records) next(of hal.ISCSIRecord) string {
	return fmt.Sprintf("%s/.volnode-%x", r.dir, sha256.Sum256([]byte(of.Target+" "+of.Portal+" "+of.Interface)))
}

// mostReplaced bounds the races with others who remove a directory that has become empty.
const mostReplaced = 5

// replace puts a file in its place, as a whole, for root alone.
func (r records) replace(file string, of hal.ISCSIRecord, text []byte) error {
	if has, err := os.ReadFile(file); err == nil && bytes.Equal(has, text) {
		return os.Chmod(file, 0o600)
	}
	next := r.next(of)
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	for range mostReplaced {
		if err = os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			continue
		}
		if err = os.Rename(next, file); !errors.Is(err, syscall.ENOENT) {
			break
		}
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return nil
}

// removeRecord removes a file, and its directories if nothing else is in them.
func removeRecord(file string) error {
	if err := removeFile(file); err != nil {
		return err
	}
	_ = unix.Rmdir(filepath.Dir(file))               // of the portal
	_ = unix.Rmdir(filepath.Dir(filepath.Dir(file))) // of the target
	return nil
}

// removeFile removes a file that may be gone.
func removeFile(file string) error {
	if err := os.Remove(file); !errors.Is(err, syscall.ENOENT) {
		return err
	}
	return nil
}
