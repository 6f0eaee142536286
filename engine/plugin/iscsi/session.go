package iscsi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

func sessionVerbs() plugin.Verbs {
	return plugin.Verbs{SetUp: logIn, TearDown: logOut, Inspect: inspectSession}
}

// recordOf is what the session of a rung is of.
func recordOf(o core.Op) hal.ISCSIRecord {
	return hal.ISCSIRecord{
		Target: core.Value(o.Params, paramTarget), Portal: core.Value(o.Params, paramPortal),
		Interface: core.Value(o.Params, paramInterface),
	}
}

// find is the session of a rung, if the kernel has it.
func find(h *hal.Host, o core.Op) (s hal.ISCSISession, is bool, err error) {
	all, err := h.ISCSI.Sessions(op.Call(o))
	if err != nil {
		return s, false, err
	}
	s, is = hal.SessionOf(all, recordOf(o))
	return s, is, nil
}

// logIn makes the session. If there is one, its record gets the credentials that are wanted now: iscsid logs in with
// them the next time.
func logIn(h *hal.Host, o core.Op) core.Result {
	chap, r, ok := credentials(h, o)
	if !ok {
		return r
	}
	err := h.ISCSI.Login(op.Call(o), hal.ISCSILogin{
		ISCSIRecord: recordOf(o), From: core.Value(o.Params, paramFrom),
		Initiator: core.Value(o.Params, paramInitiator), CHAP: chap,
	})
	if err != nil {
		r := op.Failed(err)
		r.Fenced = r.Outcome == hal.Unknown
		r.Reason = loginAdvice(o, err)
		return r
	}
	s, is, err := find(h, o)
	switch {
	case err != nil:
		return op.Unknown("logged in, but volnode cannot look at the session: " + err.Error())
	case !is:
		return op.Unknown("logged in to " + recordOf(o).Target + ", but the session is gone: somebody has ended it, or it " +
			"failed; volnode logs in again")
	}
	r = core.Result{Outcome: hal.Done, Fingerprint: fingerprint(s)}
	if !s.IsUp() {
		r.Short = fmt.Sprintf("the portal %s does not answer (session %d is %s); iscsid goes on trying; look at the "+
			"network and the target", s.Portal, s.ID, s.State)
	}
	return r
}

// fingerprint tells a session from all others of a boot.
func fingerprint(s hal.ISCSISession) string { return "session " + strconv.FormatUint(uint64(s.ID), 10) }

// loginAdvice is what people read of a login that failed.
func loginAdvice(o core.Op, err error) string {
	r, secret := recordOf(o), core.Value(o.Params, plugin.ParamSecret)
	switch {
	case hal.Is(err, syscall.EACCES) && secret != "":
		return fmt.Sprintf("the target %s refuses the credentials of Secret %s, or this initiator: %s; correct one of them",
			r.Target, secret, err)
	case hal.Is(err, syscall.EACCES):
		return fmt.Sprintf("the target %s refuses this node: %s; it asks for credentials (chapAuthSession), or its access "+
			"list lacks the name of this initiator", r.Target, err)
	case hal.Is(err, syscall.ENOENT):
		return fmt.Sprintf("%s; correct the iqn, the portal or the interface", err)
	}
	return err.Error()
}

// credentials are those that the session is to have.
func credentials(h *hal.Host, o core.Op) (hal.Secret, core.Result, bool) {
	ref := core.Value(o.Params, plugin.ParamSecret)
	if ref == "" {
		return hal.Secret{}, core.Result{}, true
	}
	namespace, name, _ := strings.Cut(ref, "/")
	s, err := h.Cluster.Secret(op.Call(o), namespace, name)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return s, op.NotDone("the volume takes its credentials from Secret " + ref + ", but there is none; add it"), false
	case err != nil:
		return s, op.NotDone("Secret " + ref + ": volnode cannot read it: " + err.Error()), false
	}
	all, named := s.Reveal(), map[string]string{}
	for _, key := range chapKeys {
		value := all[key]
		switch {
		case value == "":
		case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) || len(value) > mostSecret:
			return s, op.NotDone(fmt.Sprintf("Secret %s: %s has characters that are not printable ASCII, or more than %d",
				ref, key, mostSecret)), false
		default:
			named[key] = value
		}
	}
	for _, need := range chapKeys[:2] {
		if named[need] == "" {
			return s, op.NotDone(fmt.Sprintf("Secret %s has no %s; add it", ref, need)), false
		}
	}
	return hal.NewSecret(named), core.Result{}, true
}

// chapKeys are the keys of a Secret with credentials that a session uses (K:G78): those of the node first, which it
// must have, then those by which the target proves who it is.
var chapKeys = []string{
	"node.session.auth.username", "node.session.auth.password",
	"node.session.auth.username_in", "node.session.auth.password_in",
}

// mostSecret is how long a name or a secret of a session may be (open-iscsi, AUTH_STR_MAX_LEN).
const mostSecret = 255

// logOut ends the session, unless a disk of it is in use, and removes its record.
func logOut(h *hal.Host, o core.Op) core.Result {
	s, _, err := find(h, o)
	if err != nil {
		return op.NotDone(err.Error())
	}
	err = h.ISCSI.Logout(op.Call(o), recordOf(o), s.ID)
	if hal.Is(err, syscall.EBUSY) && unmap(h, o, s) {
		err = h.ISCSI.Logout(op.Call(o), recordOf(o), s.ID)
	}
	if err != nil {
		r := op.Failed(err)
		r.Fenced = r.Outcome == hal.Unknown
		if hal.Is(err, syscall.EBUSY) {
			r.Reason = fmt.Sprintf("a disk of session %d is in use: %s; unmount it; volnode tries again", s.ID, err)
		}
		return r
	}
	return core.Result{Outcome: hal.Done}
}

// unmap removes the maps that multipathd has made of disks of a session, and that nobody has open. It reports whether
// there was one.
func unmap(h *hal.Host, o core.Op, s hal.ISCSISession) (did bool) {
	disks, err := h.SCSI.Disks(op.Call(o), s.Host)
	if err != nil {
		return false
	}
	maps, err := h.Multipath.Maps(op.Call(o))
	if err != nil {
		return false
	}
	for _, m := range maps {
		if m.Opens == 0 && slices.ContainsFunc(disks, m.HasPath) && h.Multipath.Remove(op.Call(o), m, true) == nil {
			did = true
		}
	}
	return did
}

func inspectSession(h *hal.Host, o core.Op) core.Result {
	s, is, err := find(h, o)
	switch {
	case err != nil:
		return op.NotDone(err.Error())
	case !is:
		return core.Result{Outcome: hal.Done}
	}
	return core.Result{Outcome: hal.Done, Fingerprint: fingerprint(s)}
}
