package sim

import (
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models an array on the storage network: targets, the portals at which they answer, and the disks that they
// have under numbers (LUNs). An array gives a number to another disk without a word to the node, whose disk of that
// name then reads and writes the other one.

// fabric is the storage network, and what the node has of it.
type fabric struct {
	targets   []*target
	portals   []*portal
	media     []*medium // the disks of all arrays
	sessions  []*session
	records   []hal.ISCSILogin // of open-iscsi; on the disk of the node
	scsiDisks []*blockDevice   // that the kernel has
	lastID    uint32           // of a session in this boot
	holds     []*holder
	raws      []*Raw       // that containers have open
	fcHosts   []hal.FCHost // the Fibre Channel ports of the node
	fcPorts   []*fcPort    // of others, as the kernel knows them
	mapper
}

// target is an iSCSI target, or a Fibre Channel port of an array.
type target struct {
	name    string
	portals []*portal
	isFC    bool
	isLost  bool              // of Fibre Channel: it is not on the fabric now
	downs   uint64            // counted, as each may end by itself
	luns    []lun             // sorted by number
	chap    map[string]string // what it wants to hear, by the names of [hal.ISCSILogin]; nil for none
	// admits are the initiators that it lets in, and what it wants to hear of each; nil for all, and chap.
	admits map[string]map[string]string
}

// lun is a disk under a number.
type lun struct {
	number uint64
	medium *medium
}

// portal is an address at which targets answer.
type portal struct {
	address string
	server  *share // silent or not; it has no mounts
	downs   uint64 // counted, as each may end by itself
}

var (
	// sitePortal: a portal goes down after a login.
	sitePortal = newSite("portal.down")
	// siteReturns: how long after it is up again a session has logged in.
	siteReturns = newSite("portal.returns")
)

// AddTarget gives the network a target that answers at portals.
func (w *World) AddTarget(name string, portals ...string) {
	t := &target{name: name}
	for _, address := range portals {
		t.portals = append(t.portals, w.portalAt(address))
	}
	w.targets = append(w.targets, t)
}

// SetCHAP has a target ask for credentials, nil for none, from its next login on.
func (w *World) SetCHAP(target string, chap map[string]string) {
	if t := w.targetNamed(target); t != nil {
		t.chap = chap
	}
}

// AddSANDisk gives an array a disk that is known by its WWID, and that holds a filesystem, something else, or nothing,
// as [World.AddBlockDevice] has it. It has no number yet.
func (w *World) AddSANDisk(wwid, holds, uuid string) {
	m := &medium{serial: wwid, size: blockSize + int64(len(w.media))<<20} // no two are of one size
	w.media = append(w.media, m)
	m.fill(holds, uuid, hal.Device{Major: scsiMajor}, wwid)
}

// MapLUN gives a number of a target to a disk, "" for none. Sessions that are up read and write that one from then on.
func (w *World) MapLUN(name string, number uint64, wwid string) {
	t := w.targetNamed(name)
	if t == nil {
		return
	}
	w.event("array.maps", name+" "+wwid)
	i, known := slices.BinarySearchFunc(t.luns, number, func(l lun, n uint64) int { return int(l.number) - int(n) })
	if known {
		t.luns = slices.Delete(t.luns, i, i+1)
	}
	to := w.mediumOf(wwid)
	if to != nil {
		t.luns = slices.Insert(t.luns, i, lun{number, to})
	}
	for _, b := range w.scsiDisks {
		if b.scsi.way.target == t && b.scsi.lun == number {
			b.scsi.reads(b, to)
		}
	}
	w.pathsChange()
}

// LUNOf is the disk that a target has under a number, "" if none.
func (w *World) LUNOf(name string, number uint64) (wwid string) {
	if t := w.targetNamed(name); t != nil {
		if m := t.disk(number); m != nil {
			return m.serial
		}
	}
	return ""
}

// SANDiskHolds is what a disk of an array holds, and the uuid of that.
func (w *World) SANDiskHolds(wwid string) (holds, uuid string) {
	if m := w.mediumOf(wwid); m != nil {
		return m.holds, m.uuid
	}
	return "no disk", ""
}

// SANDiskSizes is the size of a disk of an array, and that of the filesystem on it as it was made; in bytes.
func (w *World) SANDiskSizes(wwid string) (disk, filesystem int64) {
	if m := w.mediumOf(wwid); m != nil {
		return m.size, m.made
	}
	return 0, 0
}

// SANFlawOf is what is wrong with the filesystem on a disk of an array.
func (w *World) SANFlawOf(wwid string) Flaw {
	if m := w.mediumOf(wwid); m != nil {
		return m.flaw
	}
	return NoFlaw
}

// MendSANDisk is a person who mends that filesystem, unless it is mounted.
func (w *World) MendSANDisk(wwid string) {
	isMounted := slices.ContainsFunc(slices.Concat(w.scsiDisks, w.maps), func(b *blockDevice) bool {
		return b.serial == wwid && w.isMounted(b)
	})
	if m := w.mediumOf(wwid); m != nil && !isMounted {
		m.flaw = NoFlaw
	}
}

// ReleaseSANDisk is a person who has the device give up a disk that is made of it; nothing is on the disk then.
func (w *World) ReleaseSANDisk(wwid string) {
	if m := w.mediumOf(wwid); m != nil && m.holds == HeldByDevice {
		m.holds = ""
	}
}

// SANDiskAt is the disk of an array whose filesystem is mounted at a path, "" if none is.
func (w *World) SANDiskAt(path string) (wwid string) {
	stack := w.mounts.stack(path)
	for _, m := range w.media {
		if m.sb != nil && len(stack) > 0 && stack[len(stack)-1].root.sb == m.sb {
			return m.serial
		}
	}
	return ""
}

// LosePortal has a portal answer nobody for some time; 0 is until [World.RestorePortal].
func (w *World) LosePortal(address string, d time.Duration) {
	p := w.portalAt(address)
	p.downs++
	nth := p.downs
	w.silence(p.server, 0)
	for _, s := range w.sessions {
		if s.portal == p {
			w.fails(s)
		}
	}
	if d > 0 {
		w.sched.at(w.sched.now.Add(d), sitePortal.hash^hashString(address), nil, func() {
			if p.downs == nth {
				w.RestorePortal(address)
			}
		})
	}
}

// RestorePortal has a portal answer again: its sessions log in soon.
func (w *World) RestorePortal(address string) {
	p := w.portalAt(address)
	if !p.server.isSilent {
		return
	}
	w.answer(p.server)
	for _, s := range w.sessions {
		if s.portal == p {
			w.comesBack(s)
		}
	}
}

// RestorePortals is RestorePortal of all.
func (w *World) RestorePortals() {
	for _, p := range w.portals {
		w.RestorePortal(p.address)
	}
}

// IsPortalAway reports whether a portal answers nobody, or a session at it has not come back yet. That of a Fibre
// Channel port is its name, and it is away as [World.IsFCAway] has it.
func (w *World) IsPortalAway(address string) bool {
	if t := w.targetNamed(address); t != nil && t.isFC {
		return w.IsFCAway(wwpnOf(address))
	}
	p := w.portalAt(address)
	return p.server.isSilent ||
		slices.ContainsFunc(w.sessions, func(s *session) bool { return s.portal == p && s.state != loggedIn })
}

// IsSANAway is IsPortalAway of any.
func (w *World) IsSANAway() bool {
	return slices.ContainsFunc(w.portals, func(p *portal) bool { return w.IsPortalAway(p.address) })
}

func (w *World) targetNamed(name string) *target {
	if i := slices.IndexFunc(w.targets, func(t *target) bool { return t.name == name }); i >= 0 {
		return w.targets[i]
	}
	return nil
}

func (w *World) mediumOf(wwid string) *medium {
	if i := slices.IndexFunc(w.media, func(m *medium) bool { return m.serial == wwid }); i >= 0 {
		return w.media[i]
	}
	return nil
}

// portalAt is the portal that has an address, which is made.
func (w *World) portalAt(address string) *portal {
	if i := slices.IndexFunc(w.portals, func(p *portal) bool { return p.address == address }); i >= 0 {
		return w.portals[i]
	}
	p := &portal{address: address, server: &share{name: address}}
	w.portals = append(w.portals, p)
	return p
}

// disk is what a target has under a number, nil for none.
func (t *target) disk(number uint64) *medium {
	if i := slices.IndexFunc(t.luns, func(l lun) bool { return l.number == number }); i >= 0 {
		return t.luns[i].medium
	}
	return nil
}

// lets reports whether a target lets somebody log in.
func (t *target) lets(l hal.ISCSILogin) bool {
	wants, is := t.chap, true
	if t.admits != nil {
		wants, is = t.admits[initiatorOf(l)]
	}
	said := l.CHAP.Reveal()
	// What the target shows of itself is looked at by who asks for it.
	isSame := func(name string) bool { return said[name] == wants[name] }
	return is && isSame("node.session.auth.username") && isSame("node.session.auth.password") &&
		(said["node.session.auth.username_in"] == "" ||
			isSame("node.session.auth.username_in") && isSame("node.session.auth.password_in"))
}

func (w *World) hashFabric(h uint64) uint64 {
	for _, m := range w.media {
		h = m.hash(h)
	}
	for _, t := range w.targets {
		for _, l := range t.luns {
			h = fold(h ^ hashString(t.name+" "+l.medium.serial) ^ l.number)
		}
	}
	for _, s := range w.sessions {
		h = fold(h ^ hashString(s.Target+" "+s.Portal+" "+s.Interface+" "+s.state) ^ uint64(s.ID))
	}
	for _, b := range w.scsiDisks {
		h = fold(h ^ hashString(b.path+" "+b.scsi.wwid) ^ b.sequence)
	}
	h = w.hashFC(h)
	for _, l := range w.records {
		h = fold(h ^ hashString(l.Target+" "+l.Portal+" "+l.Interface))
	}
	for _, o := range w.holds {
		h = fold(h ^ hashString(o.name+" "+o.path) ^ o.of.sequence)
	}
	return w.hashMaps(h)
}
