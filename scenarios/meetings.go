package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is the part of L7 that is about drivers: how often the agent asks who they are and connects to them, and
// what it keeps open.

// The engine waits one second after a failure, doubled up to ten seconds for an endpoint and thirty for a registrar.
// What is allowed here is a little more.
const (
	firstMeetings = 8 // while the waits grow
	meetingWait   = 9 * time.Second
	askingWait    = 27 * time.Second
	meetingLeast  = 900 * time.Millisecond // between two connections to one endpoint
	// while the waits grow before a registrar is told again that its driver was taken.
	firstTold    = 6
	tellingAgain = 45 * time.Second // the longest of them, and a call that is not answered
)

// heardDrivers notes what the agent hears of drivers, when it hears it. That may be long after the change: a notice may
// be late, or the agent has stood still, and then it hears of everything at once.
type heardDrivers struct {
	hal.Watches
	hal.Drivers
	hal.Registration
	r *run
}

// hearDrivers has r hear what the agent hears by h of drivers.
func (r *run) hearDrivers(h *hal.Host) {
	d := heardDrivers{h.Watches, h.Drivers, h.Registration, r}
	h.Watches, h.Drivers, h.Registration = d, d, d
}

func (d heardDrivers) PluginSockets(dir string, f func(hal.SocketEvent)) {
	d.Watches.PluginSockets(dir, func(e hal.SocketEvent) {
		g := &d.r.registrars
		g.changesDriver(d.r.driverOfSocket(e.Path), d.r.w.Now())
		delete(g.told, e.Path)
		if e.Present {
			g.notices[e.Path]++
		}
		f(e)
	})
}

func (d heardDrivers) Connect(c hal.Call, name, endpoint string, events hal.PeerEvents) (hal.Peer, error) {
	g, lost, driver := &d.r.registrars, events.Lost, hal.DriverOf(name)
	g.meets[endpoint] = d.r.w.Now()
	// Each meeting has its own words.
	maps.DeleteFunc(g.told, func(socket string, _ *words) bool { return d.r.driverOfSocket(socket) == driver })
	events.Lost = func() {
		g.changesDriver(driver, d.r.w.Now())
		lost()
	}
	return d.Drivers.Connect(c, name, endpoint, events)
}

func (d heardDrivers) Info(c hal.Call, socket string) (hal.PluginInfo, error) {
	info, err := d.Registration.Info(c, socket)
	if err == nil {
		d.r.registrars.answered[info.Name] = d.r.w.Now()
	}
	return info, err
}

func (d heardDrivers) Notify(c hal.Call, socket, made string, registered bool, reason string) error {
	if registered {
		d.r.tellsAgain(socket)
	}
	return d.Registration.Notify(c, socket, made, registered, reason)
}

// tellsAgain is a part of L7: a registrar that does not hear that its driver was taken is told again, ever more slowly.
func (r *run) tellsAgain(socket string) {
	n := r.registrars.told[socket]
	if n == nil {
		n = &words{}
		r.registrars.told[socket] = n
	}
	r.judges("L7")
	if n.count++; n.count > firstTold && r.w.Now().Sub(n.last) < askingWait {
		r.fail("L7", "pace of Notify", r.driverOfSocket(socket), "the registrar at "+socket+" is told again after "+
			r.w.Now().Sub(n.last).String()+" that its driver was taken")
	}
	n.last = r.w.Now()
}

// words is how often a registrar was told that its driver was taken, and when last.
type words struct {
	count int
	last  hal.Instant
}

// changesDriver notes that something has changed by which the agent may ask who a driver is, or connect to it.
func (g *registrars) changesDriver(driver string, now hal.Instant) { g.changed[driver] = now }

// connects judges an attempt to make a driver known. What the agent hears after it has begun one, however long that
// takes, is a reason for another.
func (r *run) connects(e *sim.Effect) {
	g, driver := &r.registrars, e.Driver
	if driver == "" {
		driver = r.driverOfSocket(e.Path)
	}
	n, began, wait, changed := g.asked[e.Path], e.At, askingWait, g.changed[driver]
	if e.Method == connect {
		began, wait, changed = g.meets[e.Path], meetingWait, max(changed, g.answered[driver])
	}
	isCalm := changed.Add(lagging) < e.At // what the agent hears late of a change does not set it off now
	if n == nil || changed >= n.recent[0] {
		n = &series{began: e.At}
		g.asked[e.Path] = n
	}
	if e.Method != connect && g.notices[e.Path] > 0 { // each notice is a reason to ask
		g.notices[e.Path]--
		n.began, n.count = e.At, 0
	}
	r.judges("L7")
	n.count++
	lasts, why := e.At.Sub(n.began), ""
	switch {
	case n.count > firstMeetings+int(lasts/wait):
		why = fmt.Sprintf("%d times within %s", n.count, lasts)
	case e.Method == connect && slices.Contains(r.w.Connections(), hal.Candidate(driver)):
		why = "and still has the connection of an earlier meeting"
	case e.Method == connect && isCalm && n.recent[1] != 0 && e.At.Sub(n.recent[1]) < meetingLeast:
		why = "again after " + e.At.Sub(n.recent[1]).String()
	}
	if why != "" {
		r.fail("L7", "pace of "+e.Method, driver,
			"the agent asks who is at "+e.Path+" "+why+"; nothing has changed for driver "+driver)
	}
	n.recent = [2]hal.Instant{began, e.At}
}

// isMet: the agent has got through to a driver, so its waits begin again.
func (r *run) isMet(driver string) {
	for path, n := range r.registrars.asked { // the order does not matter
		if r.driverOfSocket(path) == driver {
			n.began, n.count = r.w.Now(), 0
		}
	}
}

const connect = "connect"

// keepsNoMore is a part of L7: in calm the agent has a connection to each driver that is registered, and no other.
func (r *run) keepsNoMore() bool {
	r.judges("L7")
	for _, name := range r.w.Connections() {
		isDriver := slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool { return d.Name == name })
		if !isDriver || !r.registrars.registered[name] {
			r.fail("L7", "connection", hal.DriverOf(name),
				"the agent keeps a connection as "+name+" though nobody is met, and it calls nobody by it")
			return false
		}
	}
	return true
}

// tellsRegistrars is a part of L13: in calm each registrar has been told that its driver was taken, however often it
// has missed that before. The upstream one is not ready before that.
func (r *run) tellsRegistrars() bool {
	r.judges("L13")
	if r.unheard() != "" && !r.until(r.w.Now().Add(tellingAgain)) {
		return false
	}
	name := r.unheard()
	if name != "" {
		r.fail("L13", "told", name, "driver "+name+" is registered, and its registrar was not told that it was taken")
	}
	return name == ""
}

// unheard is a driver that is registered, and whose registrar was not told that it was taken; "" if there is none.
func (r *run) unheard() string {
	for _, d := range r.w.Drivers() {
		if d.Up && r.registrars.registered[d.Name] && r.w.Registers(d.Socket) && !d.Accepted {
			return d.Name
		}
	}
	return ""
}
