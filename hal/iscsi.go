package hal

import (
	"slices"
	"time"
)

// ISCSI is the iSCSI initiator of the node: the sessions of its kernel, and iscsid(8), which makes them. ENXIO, with a
// text, if the node has no initiator, or lacks a part of it; a node without sessions needs none.
type ISCSI interface {
	// Sessions lists the sessions that the kernel has, whoever has made them, by their numbers. It asks the kernel's
	// memory alone, and waits for no target: of class syscall. A node without an initiator has none.
	Sessions(c Call) ([]ISCSISession, error)
	// Records lists the records of agents, whose interfaces begin with [OwnInterface]: each of what has a session, or had
	// one, or was to have one. Of class file. A node without an initiator has none.
	Records(c Call) ([]ISCSIRecord, error)
	// Login has iscsid make the session of a record, which it writes first: with l.CHAP, which no argument of a program,
	// no environment and no file for others than root ever holds. If the record has a session, it only brings the record
	// up to date, from which iscsid logs in again after a failure. Of class helper: iscsid goes on with a login for up to
	// [LoginMost] after its caller has died.
	//
	// EACCES, NotDone: the target refuses this initiator, or its credentials. ENOENT, NotDone: the portal has no such
	// target, or no interface has the name l.From. ECONNREFUSED and ETIMEDOUT, NotDone: no target answers at the portal.
	// EINVAL, NotDone: a name is none, the portal is not written as package net/netip does, or half of the credentials is
	// missing. After NotDone there is no record. EALREADY, Unknown: iscsid still works on an earlier login.
	Login(c Call, l ISCSILogin) error
	// Logout ends the session that has the number id, unless it is gone, or id is 0; then it removes the record, and its
	// interface once no record uses that. EBUSY, NotDone: a disk of the session is in use (see [SCSI.Remove]), and Detail
	// names it. ESTALE, NotDone: the session is not of that record. Of class helper.
	Logout(c Call, r ISCSIRecord, id uint32) error
}

// LoginMost is how long iscsid tries to log in, by the settings of the records that [ISCSI.Login] writes:
// [LoginAttempts] of [LoginTime] each, and a little.
const (
	LoginAttempts = 3
	LoginTime     = 10 * time.Second
	LoginMost     = LoginAttempts*LoginTime + 5*time.Second
)

// ISCSIRecord names what has one session: a target, at one portal, by one interface of the node. open-iscsi keeps a
// record of each.
type ISCSIRecord struct {
	Target    string // its iSCSI name: "iqn.2026-01.example:disks"
	Portal    string // address:port, an IPv6 address in brackets
	Interface string // of the records of open-iscsi; an agent's begin with [OwnInterface]
}

// OwnInterface begins the names of the interfaces that agents make for their sessions: so a session says whose it is.
const OwnInterface = "volnode"

// ISCSILogin is one session to be made.
type ISCSILogin struct {
	ISCSIRecord
	From      string // the interface of the node whose settings Interface has: "default"
	Initiator string // the iSCSI name that the node has in this session; "" for that of From
	// CHAP has the credentials, by the names of their settings (iscsid.conf(5)): "node.session.auth.username". Empty for a
	// session without.
	CHAP Secret
}

// ISCSISession is a session that the kernel has.
type ISCSISession struct {
	ISCSIRecord
	ID        uint32 // never twice in one boot
	Initiator string // the iSCSI name that the node has in it
	Host      uint32 // of the SCSI devices of the session
	// State is the kernel's: "LOGGED_IN"; "FAILED" while it tries to log in again; "FREE" once it has given up for now,
	// and what is written to the disks fails.
	State string
}

// IsUp reports whether the target answers.
func (s ISCSISession) IsUp() bool { return s.State == "LOGGED_IN" }

// SessionOf is the session of a record, the one that is up first; false if there is none.
func SessionOf(all []ISCSISession, r ISCSIRecord) (ISCSISession, bool) {
	of := slices.DeleteFunc(slices.Clone(all), func(s ISCSISession) bool { return s.ISCSIRecord != r })
	if up := slices.IndexFunc(of, ISCSISession.IsUp); up >= 0 {
		return of[up], true
	}
	if len(of) == 0 {
		return ISCSISession{}, false
	}
	return of[0], true
}
