package sim

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models the iSCSI initiator of the node: its sessions, and iscsid(8). A session whose portal is gone keeps
// what is asked of its disks until the replacement timer ends; then it fails that, and goes on trying to log in. A
// reboot ends all sessions, and keeps the records. What iscsid was asked for it does, also if nobody waits for it.

// session is one session that the kernel has.
type session struct {
	hal.ISCSISession
	way
	portal *portal
}

// The states of a session, and of any other way to disks.
const (
	loggedIn = "LOGGED_IN"
	failed   = "FAILED"
	free     = "FREE"
)

// replacement is how long a session keeps what is asked of its disks (iscsid.conf(5),
// node.session.timeo.replacement_timeout).
const replacement = 120 * time.Second

// returnsMost is how long a session may take to log in once its portal answers.
const returnsMost = 30 * time.Second

type hostISCSI struct{ *host }

var (
	callSessions = newCallSite("iscsi.sessions", hal.ClassSyscall, false)
	callRecords  = newCallSite("iscsi.records", hal.ClassFile, false)
	callLogin    = newCallSite("iscsi.login", hal.ClassHelper, true)
	callLogout   = newCallSite("iscsi.logout", hal.ClassHelper, true)
	siteDaemon   = newSite("iscsi.daemon")
)

func (h hostISCSI) Sessions(c hal.Call) ([]hal.ISCSISession, error) {
	k := h.enter(callSessions, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	return h.w.ISCSISessions(), k.done(0)
}

func (h hostISCSI) Records(c hal.Call) ([]hal.ISCSIRecord, error) {
	k := h.enter(callRecords, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	return h.w.ISCSIRecords(), k.done(0)
}

// ISCSISessions are the sessions that the kernel has.
func (w *World) ISCSISessions() []hal.ISCSISession {
	var all []hal.ISCSISession
	for _, s := range w.sessions {
		is := s.ISCSISession
		is.State = s.state
		all = append(all, is)
	}
	return all
}

// ISCSIRecords are the records of agents that open-iscsi has.
func (w *World) ISCSIRecords() []hal.ISCSIRecord {
	var all []hal.ISCSIRecord
	for _, l := range w.records {
		if strings.HasPrefix(l.Interface, hal.OwnInterface) {
			all = append(all, l.ISCSIRecord)
		}
	}
	return all
}

// Login waits for a portal that is down as long as iscsid does.
func (h hostISCSI) Login(c hal.Call, l hal.ISCSILogin) error {
	w := h.w
	k := h.enter(callLogin, l.Target+" "+l.Portal, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part, until, isWaiting := k.fault == FailPart, w.sched.now.Add(hal.LoginMost), false
	k.most = hal.LoginMost
	k.dies = func(by actor) { w.daemon(l.Target, hal.LoginMost, func() { _ = w.login(by, l) }) }
	if errno := badLogin(l); errno != 0 {
		return k.done(errno)
	}
	errno = k.inKernel("iscsi login "+l.Target, func(by actor) syscall.Errno {
		if part {
			w.writeRecord(l)
			return 0
		}
		at := w.portalAt(l.Portal).server
		_, has := hal.SessionOf(w.ISCSISessions(), l.ISCSIRecord)
		switch {
		case has, !at.isSilent:
			return w.login(by, l)
		case w.sched.now >= until:
			return syscall.ETIMEDOUT
		}
		w.hungAt = at
		if !isWaiting {
			isWaiting = true
			w.sched.at(until, callLogin.hash^hashString(l.Target), nil, func() { w.retry(at) })
		}
		return hangs
	})
	if errno == 0 && (part || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// daemon has iscsid do what it was asked for by somebody who has died, if it had heard all of that.
func (w *World) daemon(object string, most time.Duration, act func()) {
	if !w.happens(ChildLives, siteDaemon, object) {
		return
	}
	boot := w.boot
	w.sched.at(w.sched.now.Add(w.time(siteDaemon, object+" acts", 0, most)), siteDaemon.hash^hashString(object), nil,
		func() {
			if w.boot == boot && !w.off {
				act()
			}
		})
}

func (w *World) writeRecord(l hal.ISCSILogin) {
	i := slices.IndexFunc(w.records, func(r hal.ISCSILogin) bool { return r.ISCSIRecord == l.ISCSIRecord })
	if i < 0 {
		w.records = append(w.records, l)
	} else {
		w.records[i] = l
	}
}

// badLogin is what no login can be: half of a pair of credentials, or an interface that the node does not have.
func badLogin(l hal.ISCSILogin) syscall.Errno {
	chap := l.CHAP.Reveal()
	has := func(name string) bool { return chap["node.session.auth."+name] != "" }
	switch {
	case has("username") != has("password") || has("username_in") != has("password_in") ||
		has("username_in") && !has("username"):
		return syscall.EINVAL
	case l.From != "" && l.From != "default":
		return syscall.ENOENT
	}
	return 0
}

// login makes the session of a record, if it has none, and writes the record.
func (w *World) login(by actor, l hal.ISCSILogin) syscall.Errno {
	if _, is := hal.SessionOf(w.ISCSISessions(), l.ISCSIRecord); is {
		w.writeRecord(l)
		return 0
	}
	p, t := w.portalAt(l.Portal), w.targetNamed(l.Target)
	switch {
	case p.server.isSilent:
		return syscall.ETIMEDOUT
	case !slices.ContainsFunc(w.targets, func(t *target) bool { return slices.Contains(t.portals, p) }):
		return syscall.ECONNREFUSED
	case t == nil || !slices.Contains(t.portals, p):
		return syscall.ENOENT
	case !t.lets(l):
		return syscall.EACCES
	}
	w.writeRecord(l)
	w.lastID++
	s := &session{portal: p, way: way{
		target: t, server: &share{name: "session of " + l.Target}, at: hal.SCSIAddress{Host: w.freeHost()}, state: loggedIn,
	}}
	s.ISCSISession = hal.ISCSISession{
		ISCSIRecord: l.ISCSIRecord, ID: w.lastID, Initiator: initiatorOf(l), Host: s.at.Host,
	}
	w.sessions = append(w.sessions, s)
	w.tell(by, Effect{Kind: EffectLoggedIn, Path: l.Portal, Volume: l.Target, Text: l.Interface, Outcome: hal.Done})
	w.losesPortal(s)
	return 0
}

// losesPortal draws whether the portal of a session that was just made goes down.
func (w *World) losesPortal(s *session) {
	if !w.happens(PortalDown, sitePortal, s.Portal) {
		return
	}
	after := w.time(sitePortal, s.Portal+" after", time.Second, meddleMost)
	w.sched.at(w.sched.now.Add(after), sitePortal.hash^hashString(s.Target), nil, func() {
		if !w.off && !w.calm && !s.portal.server.isSilent {
			w.LosePortal(s.Portal, w.time(sitePortal, s.Portal, time.Second, silentMost))
		}
	})
}

// freeHost is the number that the kernel gives to the next host: the lowest that is free.
func (w *World) freeHost() uint32 {
	for n := uint32(2); ; n++ {
		isTaken := slices.ContainsFunc(w.fcHosts, func(is hal.FCHost) bool { return is.Host == n }) ||
			slices.ContainsFunc(w.sessions, func(s *session) bool { return s.Host == n })
		if !isTaken {
			return n
		}
	}
}

// fails: the portal of a session is gone.
func (w *World) fails(s *session) {
	if s.state != loggedIn {
		return
	}
	w.waits(&s.way)
	nth := s.since
	most := replacement
	if slices.ContainsFunc(w.disksOf(&s.way), func(b *blockDevice) bool { return w.mapWith(b) != nil }) {
		most = pathReplacement
	}
	w.sched.at(w.sched.now.Add(most), hashString(s.server.name), nil, func() {
		if s.since == nth && !s.gone {
			w.givesUp(&s.way)
		}
	})
}

// comesBack has a session log in again.
func (w *World) comesBack(s *session) {
	nth := s.since
	w.sched.at(w.sched.now.Add(w.time(siteReturns, s.Target, 0, returnsMost)), siteReturns.hash^hashString(s.Portal), nil,
		func() {
			l := slices.IndexFunc(w.records, func(r hal.ISCSILogin) bool { return r.ISCSIRecord == s.ISCSIRecord })
			isLet := l < 0 || s.target.lets(w.records[l])
			if s.gone || s.state == loggedIn || s.portal.server.isSilent || !isLet {
				return
			}
			if s.since != nth && s.state != free {
				return
			}
			w.isUpAgain(&s.way)
		})
}

func (h hostISCSI) Logout(c hal.Call, r hal.ISCSIRecord, id uint32) error {
	w := h.w
	k := h.enter(callLogout, r.Target+" "+r.Portal, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	k.most = hal.LoginMost
	k.dies = func(by actor) { w.daemon(r.Target, hal.LoginMost, func() { _ = w.logout(by, r, id, true) }) }
	errno = k.inKernel("iscsi logout "+r.Target, func(by actor) syscall.Errno { return w.logout(by, r, id, part) })
	if errno == 0 && (part || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// logout ends a session, and removes its record; with part, that stays.
func (w *World) logout(by actor, r hal.ISCSIRecord, id uint32, part bool) syscall.Errno {
	if i := slices.IndexFunc(w.sessions, func(s *session) bool { return s.ID == id }); i >= 0 {
		s := w.sessions[i]
		switch {
		case s.ISCSIRecord != r:
			return syscall.ESTALE
		case slices.ContainsFunc(w.disksOf(&s.way), w.isUsed):
			return syscall.EBUSY
		}
		w.endSession(by, s)
	}
	if !part {
		w.records = slices.DeleteFunc(w.records, func(l hal.ISCSILogin) bool { return l.ISCSIRecord == r })
	}
	return 0
}

// endSession ends a session, and with it the disks that it has.
func (w *World) endSession(by actor, s *session) {
	for _, b := range w.disksOf(&s.way) {
		w.unplug(by, b)
	}
	s.gone = true
	s.since++
	w.sessions = slices.DeleteFunc(w.sessions, func(other *session) bool { return other == s })
	w.answer(s.server)
	w.tell(by, Effect{Kind: EffectLoggedOut, Path: s.Portal, Volume: s.Target, Text: s.Interface, Outcome: hal.Done})
}

// LogInByHand is a person who makes a session, by the interface that he has.
func (w *World) LogInByHand(target, portal string) syscall.Errno {
	l := hal.ISCSILogin{ISCSIRecord: hal.ISCSIRecord{Target: target, Portal: portal, Interface: "default"}}
	if t := w.targetNamed(target); t != nil {
		l.CHAP = hal.NewSecret(t.chap)
	}
	return w.login(actor{}, l)
}

// LogOutByHand is a person who ends all sessions with a target, whoever uses them. It reports whether there was one.
func (w *World) LogOutByHand(target string) (was bool) { return w.LogOutAtByHand(target, "") }

// LogOutAtByHand is LogOutByHand of those at one portal, "" for all.
func (w *World) LogOutAtByHand(target, portal string) (was bool) {
	for _, s := range slices.Clone(w.sessions) {
		if s.Target == target && (portal == "" || s.Portal == portal) {
			w.endSession(actor{}, s)
			was = true
		}
	}
	return was
}

// RemoveISCSIRecords is a person who removes all records of open-iscsi. Sessions stay.
func (w *World) RemoveISCSIRecords() { w.records = nil }

// OwnSessions are the sessions of agents that the kernel has.
func (w *World) OwnSessions() []hal.ISCSISession {
	return slices.DeleteFunc(w.ISCSISessions(), func(s hal.ISCSISession) bool {
		return !strings.HasPrefix(s.Interface, hal.OwnInterface)
	})
}

// bootsInitiator is a boot: there is no session.
func (w *World) bootsInitiator() {
	for _, s := range w.sessions {
		s.gone = true
	}
	w.sessions, w.scsiDisks, w.lastID = nil, nil, 0
	w.bootsMultipath()
	w.bootsFC()
}
