package haltest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// sanNames is what a script knows of a [SAN] by names.
type sanNames struct {
	disks     map[string]string           // by WWID
	luns      map[string]hal.SCSIDisk     // by SESSION:LUN, as luns has listed them last
	first     map[string]uint32           // by SESSION, the number of the first one that it had
	sessions  map[uint32]int              // numbers of sessions, in the order in which they appear
	sequences map[uint64]int              // of disks, likewise
	maps      map[string]hal.MultipathMap // by disk, as maps has listed them last
	sizes     map[string]int64            // of maps by disk, as they were first
}

func newSANNames() sanNames {
	return sanNames{
		disks: map[string]string{}, luns: map[string]hal.SCSIDisk{}, first: map[string]uint32{},
		sessions: map[uint32]int{}, sequences: map[uint64]int{},
		maps: map[string]hal.MultipathMap{}, sizes: map[string]int64{},
	}
}

// numbered is the number of a key, the next one if it has none yet.
func numbered[K comparable](numbers map[K]int, key K) int {
	if numbers[key] == 0 {
		numbers[key] = len(numbers) + 1
	}
	return numbers[key]
}

// targetPrefix begins the iSCSI names of all targets and initiators of a script.
const targetPrefix = "iqn.2026-01.example:"

// noHost is the number of a SCSI host that is not there.
const noHost = 4_000_000_000

func (r *run) storage() SAN {
	s, is := r.world.(SAN)
	if !is {
		panic("haltest: this world has no iSCSI targets")
	}
	return s
}

// option is what a word KEY=VALUE says.
func (a args) option(key string) string {
	for _, word := range a {
		if value, is := strings.CutPrefix(word, key+"="); is {
			return value
		}
	}
	return ""
}

// initiator is the option "as".
func (a args) initiator() string {
	if name := a.option("as"); name != "" {
		return targetPrefix + name
	}
	return ""
}

// chap has the options "chap" and "back".
func (a args) chap() map[string]string {
	all := map[string]string{}
	for key, suffix := range map[string]string{"chap": "", "back": "_in"} {
		if user, secret, is := strings.Cut(a.option(key), ":"); is {
			all["node.session.auth.username"+suffix], all["node.session.auth.password"+suffix] = user, secret
		}
	}
	return all
}

// record is the one of a SESSION.
func (r *run) record(word string) hal.ISCSIRecord {
	at, iface, isNamed := strings.Cut(word, "/")
	target, portal, _ := strings.Cut(at, "@")
	n, err := strconv.Atoi(portal)
	if err != nil {
		panic("haltest: " + err.Error())
	}
	is := hal.ISCSIRecord{Target: targetPrefix + target, Portal: r.storage().Portal(n), Interface: hal.OwnInterface}
	if isNamed {
		is.Interface += "-" + iface
	}
	return is
}

// session is the one that the kernel has of a SESSION.
func (r *run) session(word string) hal.ISCSISession {
	if word == "none" {
		return hal.ISCSISession{Host: noHost}
	}
	all, err := r.host.ISCSI.Sessions(hal.Call{})
	if err != nil {
		panic("haltest: " + err.Error())
	}
	s, isThere := hal.SessionOf(all, r.record(word))
	if !isThere {
		s.Host = noHost
	}
	return s
}

var sanVerbs = map[string]verb{
	"target": func(r *run, a args) ([]string, error) {
		var portals []int
		for i := range a[1:] {
			portals = append(portals, int(a.number(i+1, 0)))
		}
		r.storage().MakeTarget(targetPrefix+a[0], portals...)
		return nil, nil
	},
	"admit": func(r *run, a args) ([]string, error) {
		r.storage().Admit(targetPrefix+a[0], cmp.Or(a.initiator(), NodeInitiator), a.chap())
		return nil, nil
	},
	"map": func(r *run, a args) ([]string, error) {
		if a.at(2) != "" {
			r.san.disks[r.storage().WWID(a[2])] = a[2]
		}
		r.storage().PutLUN(targetPrefix+a[0], uint64(a.number(1, 0)), a.at(2))
		return nil, nil
	},
	"portal": func(r *run, a args) ([]string, error) {
		r.storage().SetPortal(int(a.number(0, 0)), a[1])
		return nil, nil
	},
	"records": func(r *run, _ args) ([]string, error) {
		return r.named(r.storage().Records()), nil
	},
	"login": func(r *run, a args) ([]string, error) {
		err := r.host.ISCSI.Login(r.call(), hal.ISCSILogin{
			ISCSIRecord: r.record(a[0]), From: cmp.Or(a.option("from"), "default"), Initiator: a.initiator(),
			CHAP: hal.NewSecret(a.chap()),
		})
		r.san.first[a[0]] = cmp.Or(r.san.first[a[0]], r.session(a[0]).ID)
		return nil, err
	},
	"logout": func(r *run, a args) ([]string, error) {
		id := r.session(a[0]).ID
		switch {
		case a.at(1) == "zero":
			id = 0
		case a.at(1) == "first":
			id = r.san.first[a[0]]
		case a.option("of") != "":
			id = r.session(a.option("of")).ID
		}
		return nil, r.host.ISCSI.Logout(r.call(), r.record(a[0]), id)
	},
	"sessions": func(r *run, _ args) ([]string, error) {
		all, err := r.host.ISCSI.Sessions(r.call())
		var lines []string
		hosts := map[uint32]bool{}
		for _, s := range all {
			line := fmt.Sprintf("s%d %s %s %s as %s %s", numbered(r.san.sessions, s.ID), s.Target, s.Portal, s.Interface,
				s.Initiator, s.State)
			if hosts[s.Host] {
				line += " on the host of another"
			}
			hosts[s.Host] = true
			lines = append(lines, line)
		}
		return r.named(lines), err
	},
	"scan": func(r *run, a args) ([]string, error) {
		at := r.place(a[0])
		at.LUN = uint64(a.number(1, 0))
		if a.at(2) == "elsewhere" {
			at.Target += 7
		}
		return nil, r.host.SCSI.Scan(r.call(), at)
	},
	"luns": (*run).listLUNs,
	"forget": func(r *run, a args) ([]string, error) {
		d, isKnown := r.san.luns[a[0]+":"+a[1]]
		if !isKnown {
			d.Address = hal.SCSIAddress{Host: noHost}
		}
		if slices.Contains(a[2:], "other") {
			d.Sequence++
		}
		return nil, r.host.SCSI.Remove(r.call(), d, !slices.Contains(a[2:], "now"))
	},
	"says": func(r *run, a args) ([]string, error) {
		is, err := r.host.Blocks.Probe(r.call(), r.disks[a[0]].path)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("it says %s, the same device %t", r.wwid(is.Says), is.Is() == r.san.luns[a[0]].Is())},
			nil
	},
	"claim": func(r *run, a args) ([]string, error) {
		release, err := r.sanDisks().Claim(r.disks[a[0]].path)
		if err == nil {
			r.holds["claim "+a[0]] = release
		}
		return nil, err
	},
	"unclaim": func(r *run, a args) ([]string, error) {
		if release := r.holds["claim "+a[0]]; release != nil {
			release()
			delete(r.holds, "claim "+a[0])
			return nil, nil
		}
		return nil, syscall.ENOENT
	},
}

// listLUNs lists the disks of a session, or of a port, and gives them names.
func (r *run) listLUNs(a args) ([]string, error) {
	r.sanDisks().Settle()
	at := r.place(a[0])
	all, err := r.host.SCSI.Disks(r.call(), at.Host)
	var lines []string
	for _, d := range all {
		isAt := d.Address
		if isAt.LUN = 0; isAt != at && isPort(a[0]) {
			continue
		}
		name := fmt.Sprintf("%s:%d", a[0], d.Address.LUN)
		r.san.luns[name] = d
		r.disks[name] = &disk{path: "/dev/" + d.Name}
		r.names.disks["/dev/"+d.Name] = name
		line := fmt.Sprintf("lun %d is %s, q%d, %s", d.Address.LUN, r.wwid(d.WWID), numbered(r.san.sequences, d.Sequence),
			d.State)
		if isAt != at {
			line += " at " + d.Address.String()
		}
		lines = append(lines, line)
	}
	return lines, err
}

// wwid names the disk of a WWID.
func (r *run) wwid(text string) string { return cmp.Or(r.san.disks[text], fmt.Sprintf("%q", text)) }

// named has portals and names of a script's own in place of their long forms.
func (r *run) named(lines []string) []string {
	for i, line := range lines {
		for n := 1; n <= sanPortals; n++ {
			line = strings.ReplaceAll(line, " "+r.storage().Portal(n)+" ", fmt.Sprintf(" portal %d ", n))
		}
		lines[i] = strings.ReplaceAll(line, targetPrefix, "")
	}
	return lines
}

// sanPortals is how many portals a [SAN] has.
const sanPortals = 4
