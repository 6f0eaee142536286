package sim

import (
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is registrars. The registrar of a driver is a process beside it, as kubernetes-csi/node-driver-registrar
// is: it makes the registration socket, answers who the driver is, and ends as soon as it is told that the driver was
// not taken. Somebody starts it again after a while, if at all.

var (
	siteRegister    = newSite("driver.register")
	siteAgain       = newSite("driver.register-again")
	siteLost        = newSite("driver.socket-lost")
	siteRegistrar   = newSite("driver.registrar-lives")
	siteMisregister = newSite("driver.misregister")
	siteBackoff     = newSite("driver.registrar-backoff")
)

// A registrar that has ended is started again with these backoffs (the kubelet's crash loop).
const (
	crashLoopLeast = 10 * time.Second
	crashLoopMost  = 5 * time.Minute
)

// startRegistrar begins a life of the registrar. Its socket stands a moment later.
func (d *driver) startRegistrar() {
	w := d.w
	if d.hasRegistrar || w.off || d.retired {
		return
	}
	d.hasRegistrar, d.accepted = true, false
	d.registrar++
	d.misregisters = w.happens(Misregisters, siteMisregister, d.name)
	wait := w.time(siteRegister, d.name, fastest, 5*time.Second)
	if w.happens(RegistersLate, siteRegister, d.name) {
		wait = w.time(siteRegister, d.name, time.Second, restartMost)
	}
	d.registerIn(wait)
	if w.happens(RegistersTwice, siteAgain, d.name) {
		d.registerIn(wait + w.time(siteAgain, d.name, time.Millisecond, restartMost))
	}
}

func (d *driver) startRegistrarIn(wait time.Duration) {
	boot := d.w.boot
	d.w.sched.at(d.w.sched.now.Add(wait), siteBackoff.hash^hashString(d.name), nil, func() {
		if d.w.boot == boot {
			d.startRegistrar()
		}
	})
}

// registerIn makes the registration socket. It may get lost, and is made again then.
func (d *driver) registerIn(wait time.Duration) {
	w, life := d.w, d.registrar
	w.sched.at(w.sched.now.Add(wait), siteRegister.hash^hashString(d.name), nil, func() {
		if !d.hasRegistrar || d.registrar != life || d.isSucceeded() {
			return
		}
		d.register()
		if !w.happens(SocketLost, siteLost, d.name) {
			return
		}
		w.sched.at(w.sched.now.Add(w.time(siteLost, d.name, time.Second, restartMost)), siteLost.hash, nil, func() {
			if d.hasRegistrar && d.registrar == life && !w.isSpared() {
				d.loseSocket()
				d.registerIn(w.time(siteLost, d.name, time.Second, restartMost))
			}
		})
	})
}

// register makes the registration socket, in place of what is there.
func (d *driver) register() {
	d.listen(d.socket)
	if at, _, errno := d.w.walk(d.socket, walkNoLastLink); errno == 0 {
		at.n.life, at.n.isRegistrar = d.registrar, true
	}
}

// isSucceeded: the next version of the driver has the registration socket at the same path.
func (d *driver) isSucceeded() bool {
	return slices.ContainsFunc(d.w.drivers, func(o *driver) bool {
		return o != d && o.socket == d.socket && d.replaced
	})
}

// endRegistrar kills the registrar. Its socket is removed or left behind.
func (d *driver) endRegistrar() {
	if !d.hasRegistrar {
		return
	}
	d.hasRegistrar = false
	d.close(d.socket)
	for _, r := range slices.Clone(d.w.rpcs) {
		if r.d == d && r.isRegistrar {
			r.broken()
			r.end()
		}
	}
}

// refused: the registrar was told that the driver was not taken. It ends, and is started again after a while, but for
// one that nobody looks after: that stays away until calm, when a person has seen to what was refused. One that was
// refused without a reason stays away for good: nobody can know what to mend.
func (d *driver) refused() {
	w := d.w
	w.event("driver.refused", d.name)
	w.tell(actor{}, Effect{Kind: EffectRefused, Actor: d.name, Driver: d.name, Path: d.socket, Outcome: hal.Done})
	d.isUnattended = w.happens(RegistrarLost, siteBackoff, d.name)
	w.sched.at(w.sched.now.Add(fastest), siteBackoff.hash^hashString(d.name), nil, func() {
		d.endRegistrar()
		if !d.isUnattended {
			d.startRegistrarIn(w.time(siteBackoff, d.name, crashLoopLeast, crashLoopMost))
		}
	})
}

// mendRegistrars has people see to the registrars that volnode refused for a reason.
func (w *World) mendRegistrars() {
	for _, d := range w.drivers {
		if d.misregisters {
			d.endRegistrar()
			d.isUnattended, d.misregisters = false, false
			d.startRegistrarIn(time.Second)
		}
	}
}

// LoseSocket removes the registration socket of a driver that lives. The driver does not make it again by itself.
func (w *World) LoseSocket(name string) { w.mustDriver(name).loseSocket() }

// LoseSocketOf is LoseSocket of one version of a driver; the oldest is 0.
func (w *World) LoseSocketOf(name string, version int) { w.version(name, version).loseSocket() }

func (d *driver) loseSocket() {
	w := d.w
	if at, _, errno := w.walk(d.socket, walkNoLastLink); errno == 0 && at.n.server == d {
		w.event("driver.socket-lost", d.socket)
		_ = w.removeOne(actor{}, d.socket) // it was there a moment ago
	}
}

// FindSocket makes the registration socket of a driver's registrar that lives again, as a registrar does when it is
// started again.
func (w *World) FindSocket(name string) {
	if d := w.mustDriver(name); d.hasRegistrar {
		d.register()
	}
}
