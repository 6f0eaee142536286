package sim

import (
	"slices"
	"strconv"
	"time"
)

// This file is how a driver's process changes: it restarts, is replaced behind its registration socket, or is upgraded
// to another version.

const (
	overlapMost = 10 * time.Minute // of two versions of one driver
	replaceMost = 30 * time.Second // without a process of the driver
)

var (
	siteUpgrade = newSite("driver.upgrade")
	siteReplace = newSite("driver.replace")
	siteVersion = newSite("driver.version")
	siteRival   = newSite("driver.rival")
	siteShared  = newSite("driver.socket-shared")
)

// RestartDriver kills a driver; it is back after a drawn time. Or else it is replaced, or upgraded.
func (w *World) RestartDriver(name string) {
	d := w.mustDriver(name)
	switch {
	case w.happens(DriverUpgraded, siteUpgrade, name):
		w.UpgradeDriver(name, w.time(siteUpgrade, name, time.Second, overlapMost))
	case w.happens(DriverReplaced, siteReplace, name):
		w.ReplaceDriver(name)
	case w.happens(DriverRival, siteRival, name):
		w.RivalDriver(name, w.time(siteRival, name, time.Second, overlapMost))
	default:
		d.dies()
		d.startIn(w.time(siteDriverStart, d.name, time.Second, restartMost))
	}
}

// ReplaceDriver puts another process in the place of a driver's plugin, at once or soon. Its registrar lives on: the
// registration socket does not change.
func (w *World) ReplaceDriver(name string) {
	d := w.mustDriver(name)
	if !d.up {
		return
	}
	w.event("driver.replaced", d.name)
	d.fall()
	d.startIn(w.time(siteReplace, d.name, fastest, replaceMost))
}

// ReplaceDriverBy is ReplaceDriver by a process that has STAGE_UNSTAGE_VOLUME or has not.
func (w *World) ReplaceDriverBy(name string, staging bool) {
	w.mustDriver(name).is.Staging = staging
	w.ReplaceDriver(name)
}

// StopPlugin kills a driver's process and not its registrar. It comes back after StartDriver.
func (w *World) StopPlugin(name string) { w.mustDriver(name).fall() }

// RivalDriver starts another process under a driver's name, with an endpoint of its own, which leaves after a while:
// nothing is to become of it as long as the driver serves.
func (w *World) RivalDriver(name string, stays time.Duration) {
	of := w.mustDriver(name)
	of.versions++
	d := of.another("rival-"+strconv.Itoa(of.versions), of.is)
	d.replaced = true // by the driver itself
	w.drivers = slices.Insert(w.drivers, 0, d)
	w.event("driver.rival", name)
	d.start()
	w.sched.at(w.sched.now.Add(stays), siteRival.hash^hashString(name), nil, d.retire)
}

// UpgradeDriver starts another version of a driver beside the one that serves: a process and sockets of its own,
// manners that may differ, the same name and volumes. The old one serves on, as far as it is asked, and ends after
// overlap.
func (w *World) UpgradeDriver(name string, overlap time.Duration) {
	old := w.mustDriver(name)
	old.versions++
	w.upgrade(old, w.versionOf(old, strconv.Itoa(old.versions)), overlap)
}

// ChangeDriver is UpgradeDriver to a version that is as the old one but for what change changes.
func (w *World) ChangeDriver(name string, overlap time.Duration, change func(is *Personality)) {
	old := w.mustDriver(name)
	old.versions++
	is := old.is
	change(&is)
	w.upgrade(old, is, overlap)
}

func (w *World) upgrade(old *driver, is Personality, overlap time.Duration) {
	name := old.name
	d := old.another(strconv.Itoa(old.versions), is)
	if w.happens(SocketShared, siteShared, name) {
		d.socket = old.socket
	}
	old.replaced = true
	w.drivers = append(w.drivers, d)
	w.event("driver.upgraded", name)
	d.start()
	w.sched.at(w.sched.now.Add(overlap), siteUpgrade.hash^hashString(name), nil, old.retire)
}

// another is another version of a driver, with sockets of its own.
func (d *driver) another(suffix string, is Personality) *driver {
	base := d.w.base
	return &driver{
		backend: d.backend, w: d.w, is: is, nodeID: d.nodeID, broken: d.broken,
		endpoint: base + "/plugins/" + d.name + "/csi-" + suffix + ".sock",
		socket:   base + "/plugins_registry/" + d.name + "-" + suffix + "-reg.sock",
	}
}

// versionOf draws the manners of a driver's next version. What its volumes look like on the node stays.
func (w *World) versionOf(old *driver, version string) Personality {
	p := old.is
	flip := func(trait string, is *bool) {
		*is = *is != w.happens(DriverNasty, siteVersion, old.name+" "+version+" "+trait)
	}
	flip("serial", &p.Serial)
	flip("forgetful", &p.Forgetful)
	flip("slow", &p.Slow)
	flip("not found", &p.NotFound)
	flip("watchful", &p.Watchful)
	flip("nameless", &p.Nameless)
	flip("multi-writer", &p.MultiWriter)
	if !p.FixedGroup {
		flip("mount group", &p.MountGroup)
	}
	return p
}

// retire ends a version for good.
func (d *driver) retire() {
	if d.retired {
		return
	}
	d.retired = true
	d.crash()
	d.w.event("driver.retired", d.name)
	d.w.drivers = slices.DeleteFunc(d.w.drivers, func(k *driver) bool { return k == d })
}

// version returns one of the versions of a driver that there are, the oldest is 0.
func (w *World) version(name string, n int) *driver {
	for _, d := range w.drivers {
		if d.name != name {
			continue
		}
		if n == 0 {
			return d
		}
		n--
	}
	panic("sim: there is no such version of driver " + strconv.Quote(name))
}

// StopVersion is StopDriver of one version of a driver; the oldest is 0.
func (w *World) StopVersion(name string, version int) { w.version(name, version).crash() }

// BreakVersion breaks one version of a driver, but for Hides; the oldest is 0. Works mends it.
func (w *World) BreakVersion(name string, version int, b Breakage) {
	w.version(name, version).broken = b
}

// dropOld ends, with a boot, the versions that others were to replace.
func (w *World) dropOld() {
	w.drivers = slices.DeleteFunc(w.drivers, func(d *driver) bool {
		d.retired = d.retired || d.replaced
		return d.retired
	})
}
