package sim

import (
	"slices"
	"strconv"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is how a driver's process changes: it restarts, is replaced behind its registration socket, or is upgraded to another version.

const overlapMost = 10 * time.Minute // of two versions of one driver

var (
	siteUpgrade = newSite("driver.upgrade")
	siteReplace = newSite("driver.replace")
	siteVersion = newSite("driver.version")
)

// RestartDriver kills a driver; it is back after a drawn time. Or else it is replaced, or upgraded.
func (w *World) RestartDriver(name string) {
	d := w.mustDriver(name)
	switch {
	case w.happens(DriverUpgraded, siteUpgrade, name):
		w.UpgradeDriver(name, w.time(siteUpgrade, name, time.Second, overlapMost))
	case w.happens(DriverReplaced, siteReplace, name):
		w.ReplaceDriver(name)
	default:
		d.crash()
		d.startIn(w.time(siteDriverStart, d.name, time.Second, restartMost))
	}
}

// ReplaceDriver puts another process in the place of a driver's plugin at once. Its registrar lives on: the registration socket does not change.
func (w *World) ReplaceDriver(name string) {
	d := w.mustDriver(name)
	if !d.up {
		return
	}
	d.fall(d.endpoint)
	d.live()
	if at, _, errno := w.walk(d.socket, walkNoLastLink); errno == 0 && at.n.server == d {
		at.n.life = d.process
	}
	d.listen(d.endpoint)
	w.event("driver.replaced", d.name)
	w.tell(actor{}, Effect{Kind: EffectDriverUp, Actor: d.name, Driver: d.name, Outcome: hal.Done})
}

// UpgradeDriver starts another version of a driver beside the one that serves: a process and sockets of its own, manners that may differ, the same
// name and volumes. The old one serves on, as far as it is asked, and ends after overlap.
func (w *World) UpgradeDriver(name string, overlap time.Duration) {
	old := w.mustDriver(name)
	old.versions++
	w.upgrade(old, w.versionOf(old, strconv.Itoa(old.versions)), overlap)
}

// ChangeDriver is UpgradeDriver to a version that has STAGE_UNSTAGE_VOLUME or has not, and is as the old one in all else.
func (w *World) ChangeDriver(name string, staging bool, overlap time.Duration) {
	old := w.mustDriver(name)
	old.versions++
	is := old.is
	is.Staging = staging
	w.upgrade(old, is, overlap)
}

func (w *World) upgrade(old *driver, is Personality, overlap time.Duration) {
	name, v := old.name, strconv.Itoa(old.versions)
	d := &driver{
		backend: old.backend, w: w, is: is, nodeID: old.nodeID, broken: old.broken,
		endpoint: w.base + "/plugins/" + name + "/csi-" + v + ".sock", socket: w.base + "/plugins_registry/" + name + "-" + v + "-reg.sock",
	}
	old.replaced = true
	w.drivers = append(w.drivers, d)
	w.event("driver.upgraded", name)
	d.start()
	w.sched.at(w.sched.now.Add(overlap), siteUpgrade.hash^hashString(name), nil, old.retire)
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
	flip("mount group", &p.MountGroup)
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

// LoseSocket removes the registration socket of a driver that lives. The driver does not make it again by itself.
func (w *World) LoseSocket(name string) { w.mustDriver(name).loseSocket() }

func (d *driver) loseSocket() {
	w := d.w
	if at, _, errno := w.walk(d.socket, walkNoLastLink); errno == 0 && at.n.server == d {
		w.event("driver.socket-lost", d.socket)
		_ = w.removeOne(actor{}, d.socket) // it was there a moment ago
	}
}

// FindSocket makes the registration socket of a driver that lives anew, as its registrar does when it is started again.
func (w *World) FindSocket(name string) {
	if d := w.mustDriver(name); d.up {
		d.listen(d.socket)
	}
}

// dropOld ends, with a boot, the versions that others were to replace.
func (w *World) dropOld() {
	w.drivers = slices.DeleteFunc(w.drivers, func(d *driver) bool {
		d.retired = d.retired || d.replaced
		return d.retired
	})
}
