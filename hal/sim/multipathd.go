package sim

import (
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models multipathd(8). Unasked it makes the maps of disks that it has kept the names of, or of all disks if
// it is greedy, and takes each new path into the map that there is. What it was asked for it does, also if nobody waits
// for it. A reboot ends all maps, and keeps the names.

// mapper is what the node has of multipathd.
type mapper struct {
	maps       []*blockDevice // that the kernel has
	kept       []string       // WWIDs; on the disk of the node
	outlasted  []string       // kept from before a boot, or of a map that was not made
	multipathd daemonState
	configured daemonState // what it does when it runs
	queueing   []string    // WWIDs of disks whose maps queue
	late       []string    // WWIDs of disks whose maps were made when nobody waited for them
	downs      uint64      // counted, as each ends by itself
}

// daemonState is what multipathd does.
type daemonState uint8

const (
	makesKept daemonState = iota // maps of disks that it has kept, and what it is asked for
	makesAll
	isDown
)

const (
	// lateMapMost is how late a map is made, remadeMost how soon after its end one is made again, and downMost how long
	// multipathd does not run.
	lateMapMost = 20 * time.Second
	remadeMost  = 10 * time.Second
	downMost    = time.Minute
)

var (
	// siteMap: a map that multipathd was asked for is made late.
	siteMap = newSite("multipath.late")
	// siteRemade: a map that was removed is made again.
	siteRemade = newSite("multipath.remade")
	// siteMultipathd: multipathd does not run when it is asked for something.
	siteMultipathd = newSite("multipath.daemon")
)

func (w *World) runsMultipathd() bool { return w.multipathd != isDown }

// SetQueueing has the map of a disk queue while it has no path, from its making on.
func (w *World) SetQueueing(wwid string) { w.queueing = append(w.queueing, wwid) }

func (w *World) doesQueue(wwid string) bool {
	return wwid == w.WWID("patient") || slices.Contains(w.queueing, wwid)
}

// isLeftOut: the configuration has no map made of a disk.
func (w *World) isLeftOut(wwid string) bool { return wwid == w.WWID("hidden") }

// forgets has multipathd forget the name of a disk.
func (w *World) forgets(wwid string) {
	w.kept = slices.DeleteFunc(w.kept, func(other string) bool { return other == wwid })
}

func (w *World) keeps(wwid string) {
	if !slices.Contains(w.kept, wwid) {
		w.kept = append(w.kept, wwid)
	}
}

// seesDisk is multipathd, which is told of a disk.
func (w *World) seesDisk(by actor, b *blockDevice) {
	has := slices.ContainsFunc(w.maps, func(m *blockDevice) bool { return m.multi.wwid == b.scsi.wwid })
	switch {
	case !w.runsMultipathd() || w.isLeftOut(b.scsi.wwid):
	case has || w.multipathd == makesAll || slices.Contains(w.kept, b.scsi.wwid):
		w.takesPaths(by, b.scsi.wwid)
	}
}

// seesDisks is multipathd, which looks at all disks.
func (w *World) seesDisks() {
	for _, b := range w.scsiDisks {
		w.seesDisk(actor{}, b)
	}
	w.pathsChange()
}

// takesPaths makes the map of a disk of all paths that nobody uses, or adds those that it lacks. It makes none if one
// of them can't be opened.
func (w *World) takesPaths(by actor, wwid string) (isThere bool) {
	i := slices.IndexFunc(w.maps, func(m *blockDevice) bool { return m.multi.wwid == wwid })
	isPath := func(d *blockDevice) bool { return d.scsi.wwid == wwid && !w.isUsed(d) }
	if i < 0 && slices.ContainsFunc(w.scsiDisks, func(d *blockDevice) bool {
		return isPath(d) && d.scsi.way.state == free
	}) {
		return false
	}
	for _, d := range w.scsiDisks {
		if !isPath(d) {
			continue
		}
		if i < 0 {
			w.makeMap(by, &pathMap{wwid: wwid, queues: w.doesQueue(wwid)}, d.medium)
			i = len(w.maps) - 1
		}
		m := w.maps[i].multi
		m.paths = append(m.paths, &path{device: d.device, disk: d})
	}
	if i >= 0 {
		w.keeps(wwid)
	}
	w.pathsChange()
	return true
}

// losesPath: the kernel has forgotten a disk.
func (w *World) losesPath(by actor, disk *blockDevice) {
	b := w.mapWith(disk)
	if b == nil {
		return
	}
	m := b.multi
	rest := slices.DeleteFunc(slices.Clone(m.paths), func(p *path) bool { return p.disk == disk })
	switch {
	case w.runsMultipathd() && len(rest) > 0:
		m.paths = rest
	case w.runsMultipathd() && !w.isUsed(b):
		w.unmap(by, b)
	default:
		for _, p := range m.paths {
			if p.disk == disk {
				p.disk, p.failed = nil, true
			}
		}
	}
	w.pathsChange()
}

// makesAgain draws whether multipathd makes the map of a disk once more, since its paths are there.
func (w *World) makesAgain(wwid string) {
	if !w.happens(MapRemade, siteRemade, wwid) {
		return
	}
	boot := w.boot
	w.sched.at(w.sched.now.Add(w.time(siteRemade, wwid+" is made", 0, remadeMost)), siteRemade.hash^hashString(wwid), nil,
		func() {
			if w.boot == boot && !w.off && w.runsMultipathd() {
				w.takesPaths(actor{}, wwid)
			}
		})
}

// Assemble has multipathd take disks.
func (h hostMultipath) Assemble(c hal.Call, disks []hal.SCSIDisk) error {
	w := h.w
	object := hal.WWIDOf(disks)
	k := h.enter(callAssemble, object, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	k.dies = func(by actor) { w.daemon(object, lateMapMost, func() { _ = w.assemble(by, disks, false) }) }
	errno = k.inKernel("multipath assemble "+object, func(by actor) syscall.Errno { return w.assemble(by, disks, part) })
	if errno == 0 && (part || k.fault == FailFull) || errno == fails {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// fails is the answer of multipathd that it has not done what it was asked for.
const fails = syscall.Errno(1<<16 + 1)

// assemble has multipathd make a map. With part, it is only told of the name.
func (w *World) assemble(by actor, disks []hal.SCSIDisk, part bool) syscall.Errno {
	found, errno := w.pathsOf(disks)
	if errno != 0 {
		return errno
	}
	wwid := disks[0].WWID
	missing := slices.DeleteFunc(found, func(b *blockDevice) bool { return w.mapWith(b) != nil })
	switch {
	case len(missing) == 0:
		return 0
	case slices.ContainsFunc(missing, w.isUsed):
		return syscall.EBUSY
	case !w.runsMultipathd() || w.stopsMultipathd(wwid):
		return syscall.ENXIO
	case w.isLeftOut(wwid):
		return syscall.EPERM
	}
	w.keeps(wwid)
	switch {
	case part:
		w.outlasted = append(w.outlasted, wwid)
	case w.happens(MapLate, siteMap, wwid):
		boot := w.boot
		w.sched.at(w.sched.now.Add(w.time(siteMap, wwid+" is made", 0, lateMapMost)), siteMap.hash^hashString(wwid), nil,
			func() {
				if w.boot == boot && !w.off && w.runsMultipathd() {
					w.late = append(w.late, wwid)
					w.takesPaths(actor{}, wwid)
				}
			})
		return syscall.EAGAIN
	case !w.takesPaths(by, wwid):
		return fails
	}
	return 0
}

// pathsOf are the disks, or why they are not the paths of one.
func (w *World) pathsOf(disks []hal.SCSIDisk) (all []*blockDevice, errno syscall.Errno) {
	if len(disks) == 0 || disks[0].WWID == "" ||
		slices.ContainsFunc(disks, func(d hal.SCSIDisk) bool { return d.WWID != disks[0].WWID }) {
		return nil, syscall.EINVAL
	}
	for _, d := range disks {
		b := w.blockNamed("/dev/" + d.Name)
		if b == nil || b.scsi == nil || b.show().Is() != d.Is() {
			return nil, syscall.ENODEV
		}
		switch b.scsi.answers(w) {
		case 0:
		case hangs:
			return nil, hangs
		default:
			return nil, syscall.EIO
		}
		if b.serial != d.WWID {
			return nil, syscall.ENODEV
		}
		all = append(all, b)
	}
	for _, b := range all {
		if m := w.mapWith(b); m != nil && m.multi.wwid != disks[0].WWID {
			return nil, syscall.ESTALE
		}
	}
	return all, 0
}

// stopsMultipathd draws whether multipathd does not run for a while.
func (w *World) stopsMultipathd(object string) bool {
	if !w.happens(MultipathdDown, siteMultipathd, object) {
		return false
	}
	w.multipathd = isDown
	w.downs++
	nth := w.downs
	w.sched.at(w.sched.now.Add(w.time(siteMultipathd, object, time.Second, downMost)), siteMultipathd.hash, nil, func() {
		if w.downs == nth && w.multipathd == isDown {
			w.multipathd = w.configured
			w.startsMultipathd()
		}
	})
	return true
}

// startsMultipathd is multipathd, which begins: maps are again as its configuration has them.
func (w *World) startsMultipathd() {
	for _, b := range w.maps {
		if w.runsMultipathd() {
			b.multi.fails, b.multi.queues = false, w.doesQueue(b.multi.wwid)
		}
	}
	w.seesDisks()
}

// bootsMultipath is a boot: there is no map.
func (w *World) bootsMultipath() {
	w.maps, w.outlasted = nil, slices.Clone(w.kept)
	w.downs++
	w.multipathd = w.configured
}

// IsGreedy reports whether multipathd makes maps of all disks.
func (w *World) IsGreedy() bool { return w.configured == makesAll }

// SetMultipathd has multipathd run and make what it is asked for ("on"), or all maps ("greedy"), or not run ("off").
func (w *World) SetMultipathd(how string) {
	w.downs++
	w.multipathd = map[string]daemonState{"on": makesKept, "greedy": makesAll, "off": isDown}[how]
	if w.runsMultipathd() {
		w.configured = w.multipathd
	}
	w.startsMultipathd()
}

// Reconfigure is a person who has multipathd look at all disks again.
func (w *World) Reconfigure() { w.seesDisks() }

// WWIDs are those of the disks that multipathd keeps.
func (w *World) WWIDs() []string { return slices.Clone(w.kept) }

// WasLate reports whether a map of a disk was made when nobody waited for it any more.
func (w *World) WasLate(wwid string) bool { return slices.Contains(w.late, wwid) }

// HasOutlasted reports whether multipathd keeps the name of a disk from before the node booted, or of a map that it
// failed to make: nothing but its list tells of it.
func (w *World) HasOutlasted(wwid string) bool { return slices.Contains(w.outlasted, wwid) }

// Grow has a disk of an array be twice as large as it was.
func (w *World) Grow(disk string) {
	if m := w.mediumOf(w.WWID(disk)); m != nil {
		m.size = 2 * blockSize
	}
}

// Unplug is a person who has the kernel forget the disk at a path, whoever uses it.
func (w *World) Unplug(path string) {
	if b := w.blockNamed(path); b != nil && b.scsi != nil {
		w.unplug(actor{}, b)
	}
}

// MakeDevice is a person who makes a device of the device mapper that is no map of paths.
func (w *World) MakeDevice(name string) {
	w.makeMap(actor{}, &pathMap{wwid: name, foreign: true}, &medium{})
}

// Pause waits for nothing: what has become of a path is noticed at once.
func (*World) Pause() bool { return false }
