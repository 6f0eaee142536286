package dealings

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
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
	r *world.Run
}

// HearDrivers has r hear what the agent hears by h of drivers.
func HearDrivers(r *world.Run, h *hal.Host) {
	d := heardDrivers{h.Watches, h.Drivers, h.Registration, r}
	h.Watches, h.Drivers, h.Registration = d, d, d
}

func (d heardDrivers) PluginSockets(dir string, f func(hal.SocketEvent)) {
	d.Watches.PluginSockets(dir, func(e hal.SocketEvent) {
		g := &d.r.Registrars
		changesDriver(g, driverOfSocket(d.r, e.Path), d.r.W.Now())
		delete(g.Told, e.Path)
		if e.Present {
			g.Notices[e.Path]++
		}
		f(e)
	})
}

func (d heardDrivers) Connect(c hal.Call, name, endpoint string, events hal.PeerEvents) (hal.Peer, error) {
	g, lost, driver := &d.r.Registrars, events.Lost, hal.DriverOf(name)
	g.Meets[endpoint] = d.r.W.Now()
	// Each meeting has its own words.
	maps.DeleteFunc(g.Told, func(socket string, _ *world.Words) bool { return driverOfSocket(d.r, socket) == driver })
	events.Lost = func() {
		changesDriver(g, driver, d.r.W.Now())
		lost()
	}
	return d.Drivers.Connect(c, name, endpoint, events)
}

func (d heardDrivers) Info(c hal.Call, socket string) (hal.PluginInfo, error) {
	info, err := d.Registration.Info(c, socket)
	if err == nil {
		d.r.Registrars.Answered[info.Name] = d.r.W.Now()
	}
	return info, err
}

func (d heardDrivers) Notify(c hal.Call, socket, made string, registered bool, reason string) error {
	if registered {
		tellsAgain(d.r, socket)
	}
	return d.Registration.Notify(c, socket, made, registered, reason)
}

// tellsAgain is a part of L7: a registrar that does not hear that its driver was taken is told again, ever more slowly.
func tellsAgain(r *world.Run, socket string) {
	n := r.Registrars.Told[socket]
	if n == nil {
		n = &world.Words{}
		r.Registrars.Told[socket] = n
	}
	r.Judges("L7")
	if n.Count++; n.Count > firstTold && r.W.Now().Sub(n.Last) < askingWait {
		r.Fail("L7", "pace of Notify", driverOfSocket(r, socket), "the agent tells the registrar at "+socket+
			" again, after "+r.W.Now().Sub(n.Last).String()+", that it accepted the driver")
	}
	n.Last = r.W.Now()
}

// changesDriver notes that something has changed by which the agent may ask who a driver is, or connect to it.
func changesDriver(g *world.Registrars, driver string, now hal.Instant) { g.Changed[driver] = now }

// Connects judges an attempt to make a driver known. What the agent hears after it has begun one, however long that
// takes, is a reason for another.
func Connects(r *world.Run, e *sim.Effect) {
	g, driver := &r.Registrars, e.Driver
	if driver == "" {
		driver = driverOfSocket(r, e.Path)
	}
	n, began, wait, changed := g.Asked[e.Path], e.At, askingWait, g.Changed[driver]
	if e.Method == Connect {
		began, wait, changed = g.Meets[e.Path], meetingWait, max(changed, g.Answered[driver])
	}
	isCalm := changed.Add(lagging) < e.At // what the agent hears late of a change does not set it off now
	if n == nil || changed >= n.Recent[0] {
		n = &world.Series{Began: e.At}
		g.Asked[e.Path] = n
	}
	if e.Method != Connect && g.Notices[e.Path] > 0 { // each notice is a reason to ask
		g.Notices[e.Path]--
		n.Began, n.Count = e.At, 0
	}
	r.Judges("L7")
	n.Count++
	lasts, why := e.At.Sub(n.Began), ""
	switch {
	case n.Count > firstMeetings+int(lasts/wait):
		why = fmt.Sprintf("%d times within %s", n.Count, lasts)
	case e.Method == Connect && slices.Contains(r.W.Connections(), hal.Candidate(driver)):
		why = "and still has the connection of an earlier meeting"
	case e.Method == Connect && isCalm && n.Recent[1] != 0 && e.At.Sub(n.Recent[1]) < meetingLeast:
		why = "again after " + e.At.Sub(n.Recent[1]).String()
	}
	if why != "" {
		r.Fail("L7", "pace of "+e.Method, driver,
			"the agent asks who is at "+e.Path+" "+why+"; nothing has changed for driver "+driver)
	}
	n.Recent = [2]hal.Instant{began, e.At}
}

// IsMet: the agent has got through to a driver, so its waits begin again.
func IsMet(r *world.Run, driver string) {
	for path, n := range r.Registrars.Asked { // the order does not matter
		if driverOfSocket(r, path) == driver {
			n.Began, n.Count = r.W.Now(), 0
		}
	}
}

// Connect stands for the exchange in which the agent meets a driver.
const Connect = "connect"

// KeepsNoMore is a part of L7: in calm the agent has a connection to each driver that is registered, and no other.
func KeepsNoMore(r *world.Run) bool {
	r.Judges("L7")
	for _, name := range r.W.Connections() {
		isDriver := slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool { return d.Name == name })
		if !isDriver || !r.Registrars.Registered[name] {
			r.Fail("L7", "connection", hal.DriverOf(name),
				"the agent keeps the connection "+name+", and calls nobody over it")
			return false
		}
	}
	return true
}

// TellsRegistrars is a part of L13: in calm each registrar has been told that its driver was taken, however often it
// has missed that before. The upstream one is not ready before that.
func TellsRegistrars(r *world.Run) bool {
	r.Judges("L13")
	if unheard(r) != "" && !r.Until(r.W.Now().Add(tellingAgain)) {
		return false
	}
	name := unheard(r)
	if name != "" {
		r.Fail("L13", "told", name, "driver "+name+" is registered, and the agent did not tell its registrar so")
	}
	return name == ""
}

// unheard is a driver that is registered, and whose registrar was not told that it was taken; "" if there is none.
func unheard(r *world.Run) string {
	for _, d := range r.W.Drivers() {
		if d.Up && r.Registrars.Registered[d.Name] && r.W.Registers(d.Socket) && !d.Accepted {
			return d.Name
		}
	}
	return ""
}
