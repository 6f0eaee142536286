package sim

import (
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file is the storage network in the words of package haltest.

// nodeInitiator is the iSCSI name of the node.
const nodeInitiator = "iqn.2026-01.example:node"

var portalAddresses = []string{"", "10.0.1.2:3260", "10.0.2.2:3260", "[fd00::1:2]:3260", "10.0.1.2:3261"}

// Portal is the address of a portal: 1 and 3 are on one cable.
func (w *World) Portal(n int) string { return portalAddresses[n] }

// MakeTarget makes a target that lets nobody in.
func (w *World) MakeTarget(target string, portals ...int) {
	var all []string
	for _, n := range portals {
		all = append(all, w.Portal(n))
	}
	w.AddTarget(target, all...)
	w.targetNamed(target).admits = map[string]map[string]string{}
}

// Admit has a target let an initiator in, by credentials if there are any.
func (w *World) Admit(target, initiator string, chap map[string]string) {
	w.targetNamed(target).admits[initiator] = maps.Clone(chap)
}

// PutLUN gives a target a disk under a number, "" for none. It is made, blank, when it is first named.
func (w *World) PutLUN(target string, lun uint64, disk string) {
	if disk == "" {
		w.MapLUN(target, lun, "")
		return
	}
	if w.mediumOf(w.WWID(disk)) == nil {
		w.AddSANDisk(w.WWID(disk), "", "")
	}
	w.MapLUN(target, lun, w.WWID(disk))
}

// WWID is what a disk says of itself.
func (*World) WWID(disk string) string { return "naa.6001405" + disk }

// SetPortal cuts the cable of a portal, for long if it is "dead", or joins it.
func (w *World) SetPortal(n int, how string) {
	cable := []int{n}
	if n != 2 {
		cable = []int{1, 3, 4}
	}
	for _, n := range cable {
		p := w.portalAt(w.Portal(n))
		switch how {
		case "up":
			w.answer(p.server)
		default:
			w.LosePortal(p.address, 0)
		}
		for _, s := range w.sessions {
			switch {
			case s.portal != p:
			case how == "dead" && s.state == failed:
				w.givesUp(&s.way)
			case how == "up":
				w.isUpAgain(&s.way)
			}
		}
	}
}

// Claim is a process that has a disk for itself alone.
func (w *World) Claim(path string) (release func(), err error) {
	b, errno := w.blockAt(path)
	switch {
	case errno != 0:
		return nil, errno
	case b.conn() == nil || w.isUsed(b):
		return nil, syscall.EBUSY
	case b.multi != nil:
		b.multi.claimed = true
		return func() { b.multi.claimed = false }, nil
	}
	b.scsi.claimed = true
	return func() { b.scsi.claimed = false }, nil
}

// Settle waits for nothing: a disk can be used as soon as it is there.
func (*World) Settle() {}

// Records lists what the initiator has on its disk.
func (w *World) Records() []string {
	var all []string
	for _, l := range w.records {
		line := l.Target + " " + l.Portal + " " + l.Interface
		if len(l.CHAP.Reveal()) > 0 {
			line += " with credentials"
		}
		all = append(all, line)
		if of := "interface " + l.Interface; !slices.Contains(all, of) {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, strings.Compare)
	return slices.Compact(all)
}

// initiatorOf is the iSCSI name that the node has in a session.
func initiatorOf(l hal.ISCSILogin) string {
	if l.Initiator != "" {
		return l.Initiator
	}
	return nodeInitiator
}
