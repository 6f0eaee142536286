package sim

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models the maps that the device mapper makes of the paths to one disk. Each gets the lowest number that is
// free. What is asked of a map a path that is active answers. While the sessions of all such paths fail, it waits. Once
// they are given up, which is soon for a path of a map, it fails, unless the map queues. What multipathd(8) does is in
// multipathd.go.

// pathMap is what a map is to the kernel.
type pathMap struct {
	wwid    string
	paths   []*path
	queues  bool        // while no path is active
	fails   bool        // somebody has made it fail, so it queues no more
	conn    *connection // of all mounts of it
	server  *share      // silent while what is asked of it waits
	claimed bool        // somebody has it for himself alone
	gone    bool
	foreign bool // it is a device of another kind
}

// path is a disk as a map has it.
type path struct {
	device hal.Device
	disk   *blockDevice // nil if the kernel has forgotten it
	failed bool
}

const (
	mapperMajor = 252
	// pathReplacement is how long a session keeps what is asked of its disks if one is a path (multipath.conf(5),
	// fast_io_fail_tmo).
	pathReplacement = 5 * time.Second
)

type hostMultipath struct{ *host }

var (
	callMaps       = newCallSite("multipath.maps", hal.ClassSyscall, false)
	callAssemble   = newCallSite("multipath.assemble", hal.ClassHelper, true)
	callRemoveMap  = newCallSite("multipath.remove", hal.ClassHelper, true)
	callResize     = newCallSite("multipath.resize", hal.ClassHelper, true)
	callFailQueued = newCallSite("multipath.fail", hal.ClassHelper, true)
)

func (h hostMultipath) Maps(c hal.Call) ([]hal.MultipathMap, error) {
	k := h.enter(callMaps, "", c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return nil, k.done(errno)
	}
	return h.w.MultipathMaps(), k.done(0)
}

// MultipathMaps are the maps that the kernel has.
func (w *World) MultipathMaps() []hal.MultipathMap {
	var all []hal.MultipathMap
	for _, b := range w.maps {
		if !b.multi.foreign {
			all = append(all, w.showMap(b))
		}
	}
	slices.SortFunc(all, func(a, b hal.MultipathMap) int { return int(a.Device.Minor) - int(b.Device.Minor) })
	return all
}

// showMap is what the kernel has of a map.
func (w *World) showMap(b *blockDevice) hal.MultipathMap {
	m := hal.MultipathMap{
		UUID: b.mapUUID(), WWID: b.multi.wwid, Name: strings.TrimPrefix(b.mapUUID(), "mpath-"),
		Node: strings.TrimPrefix(b.path, "/dev/"), Device: b.device, Sequence: b.sequence, Size: b.size,
		Queues: b.multi.queues,
	}
	if w.isUsed(b) {
		m.Opens = 1
	}
	for _, p := range b.multi.paths {
		is := hal.MultipathPath{Device: p.device, Active: !p.failed}
		if p.disk != nil {
			is.Name = strings.TrimPrefix(p.disk.path, "/dev/")
		}
		m.Paths = append(m.Paths, is)
	}
	slices.SortFunc(m.Paths, func(a, b hal.MultipathPath) int { return int(a.Device.Minor) - int(b.Device.Minor) })
	return m
}

// mapUUID names a map by its disk, as multipathd does.
func (b *blockDevice) mapUUID() string {
	name := b.multi.wwid
	for i, kind := range []string{"eui.", "naa."} {
		if rest, is := strings.CutPrefix(name, kind); is {
			name = fmt.Sprint(2+i) + rest
		}
	}
	return "mpath-" + name
}

// makeMap has the kernel make a map of a disk.
func (w *World) makeMap(by actor, m *pathMap, of *medium) {
	n := uint32(0)
	for slices.ContainsFunc(w.maps, func(b *blockDevice) bool { return b.device.Minor == n }) {
		n++
	}
	b := &blockDevice{medium: of, path: fmt.Sprintf("/dev/dm-%d", n), multi: m, size: of.size}
	m.server = &share{name: "map of " + m.wwid}
	w.maps = append(w.maps, b)
	w.plugBlock(b, hal.Device{Major: mapperMajor, Minor: n})
	m.conn = &connection{dev: b.device, isDisk: true, share: m.server}
	w.tell(by, Effect{Kind: EffectMapMade, Path: b.path, Volume: m.wwid, Outcome: hal.Done})
}

// unmap has the kernel forget a map.
func (w *World) unmap(by actor, b *blockDevice) {
	b.multi.breaks(LosesDevice)
	b.multi.gone = true
	if at, _, errno := w.look(b.path, walkNoLastLink); errno == 0 && at.n.parent != nil {
		at.n.detach()
	}
	w.maps = slices.DeleteFunc(w.maps, func(other *blockDevice) bool { return other == b })
	w.answer(b.multi.server)
	w.tell(by, Effect{Kind: EffectMapRemoved, Path: b.path, Volume: b.multi.wwid, Outcome: hal.Done})
}

// mapWith is the map that has a disk as a path, nil for none.
func (w *World) mapWith(disk *blockDevice) *blockDevice {
	for _, b := range w.maps {
		if slices.ContainsFunc(b.multi.paths, func(p *path) bool { return p.disk == disk }) {
			return b
		}
	}
	return nil
}

func (m *pathMap) breaks(how DiskFailure) {
	if m.conn.failed == NoDiskFailure {
		m.conn.fail(how)
	}
}

// isDead: what is asked of the path fails. isBlocked: it waits.
func (p *path) isDead() bool {
	return p.disk == nil || p.disk.scsi.isGone || p.disk.scsi.way.gone || p.disk.scsi.way.state == free
}

func (p *path) isBlocked() bool { return p.disk != nil && p.disk.scsi.way.state == failed }

// answers is what becomes of who reads or writes the map now.
func (m *pathMap) answers(w *World) syscall.Errno {
	waits := m.queues
	for _, p := range m.paths {
		switch {
		case p.failed:
		case !p.isBlocked():
			return 0
		default:
			waits = true
		}
	}
	switch {
	case m.gone || m.foreign || !waits:
		return syscall.EIO
	default:
		w.hungAt = m.server
		return hangs
	}
}

// pathsChange has all maps follow what has become of their paths.
func (w *World) pathsChange() {
	for _, b := range slices.Clone(w.maps) {
		m := b.multi
		for _, p := range m.paths {
			switch {
			case p.isDead():
				p.failed = true
			case p.failed && !p.isBlocked() && w.runsMultipathd():
				p.failed = false
				m.queues = w.doesQueue(m.wwid) && !m.fails
			}
			if p.disk != nil && !p.failed && p.disk.medium != b.medium {
				m.breaks(AnswersErrors)
				b.medium = p.disk.medium
			}
		}
		switch m.answers(w) {
		case 0:
			w.answer(m.server)
		case hangs:
			if !m.server.isSilent {
				w.silence(m.server, 0)
			}
		default:
			m.breaks(AnswersErrors)
			w.answer(m.server)
		}
	}
}

// mapNamed is the map that has the UUID of m; ENODEV if that is another one, nil if there is none.
func (w *World) mapNamed(m hal.MultipathMap) (*blockDevice, syscall.Errno) {
	i := slices.IndexFunc(w.maps, func(b *blockDevice) bool { return !b.multi.foreign && b.mapUUID() == m.UUID })
	switch {
	case i < 0:
		return nil, 0
	case w.showMap(w.maps[i]).Is() != m.Is():
		return nil, syscall.ENODEV
	}
	return w.maps[i], 0
}

// changes is a call that does something to a map.
func (h hostMultipath) changes(site *callSite, c hal.Call, m hal.MultipathMap,
	do func(by actor, b *blockDevice, part bool) syscall.Errno,
) error {
	w := h.w
	k := h.enter(site, m.UUID, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	errno = k.inKernel(site.op+" "+m.UUID, func(by actor) syscall.Errno {
		b, errno := w.mapNamed(m)
		if errno != 0 {
			return errno
		}
		return do(by, b, part)
	})
	if errno == 0 && (part || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

func (h hostMultipath) Remove(c hal.Call, m hal.MultipathMap, flush bool) error {
	w := h.w
	return h.changes(callRemoveMap, c, m, func(by actor, b *blockDevice, part bool) syscall.Errno {
		switch {
		case b == nil:
			w.forgets(m.WWID)
			return 0
		case flush && !w.showMap(b).IsUp():
			return syscall.EIO
		case w.isUsed(b):
			return syscall.EBUSY
		case flush && b.multi.answers(w) != 0:
			return b.multi.answers(w)
		case !part:
			w.unmap(by, b)
			w.forgets(b.multi.wwid)
			w.makesAgain(b.multi.wwid)
		}
		return 0
	})
}

func (h hostMultipath) FailQueued(c hal.Call, m hal.MultipathMap) error {
	return h.changes(callFailQueued, c, m, func(_ actor, b *blockDevice, _ bool) syscall.Errno {
		if b != nil {
			b.multi.queues, b.multi.fails = false, true
			h.w.pathsChange()
		}
		return 0
	})
}

// Resize asks the disk by each path, and has multipathd do the rest.
func (h hostMultipath) Resize(c hal.Call, m hal.MultipathMap) error {
	return h.changes(callResize, c, m, func(_ actor, b *blockDevice, part bool) syscall.Errno {
		switch {
		case b == nil:
			return syscall.ENODEV
		case !h.w.showMap(b).IsUp():
			return syscall.EIO
		case slices.ContainsFunc(b.multi.paths, func(p *path) bool { return !p.failed && p.isBlocked() }):
			h.w.hungAt = b.multi.server
			if !h.w.hungAt.isSilent {
				return syscall.EIO
			}
			return hangs
		}
		for _, p := range b.multi.paths {
			if !p.failed {
				p.disk.size = b.medium.size
			}
		}
		switch {
		case slices.ContainsFunc(b.multi.paths, func(p *path) bool { return p.disk != nil && p.disk.size != b.medium.size }):
			return syscall.EAGAIN
		case b.medium.size == b.size, part:
			return 0
		case !h.w.runsMultipathd():
			return syscall.ENXIO
		}
		b.size = b.medium.size
		return 0
	})
}

func (w *World) hashMaps(h uint64) uint64 {
	for _, b := range w.maps {
		h = fold(h ^ hashString(b.path+" "+b.multi.wwid) ^ b.sequence ^ uint64(b.size))
		for _, p := range b.multi.paths {
			if p.failed {
				h = fold(h ^ uint64(p.device.Minor))
			}
		}
	}
	for _, wwid := range w.kept {
		h = fold(h ^ hashString("kept "+wwid))
	}
	return h
}
