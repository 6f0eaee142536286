package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file judges how the engine treats drivers and their registrars: S24, S25 and L13.

const (
	// reach is how long a driver that runs, and whose registration socket stands, may be without a connection when
	// nothing goes wrong any more: a notice that is late, a call that is slow, and the longest wait between two
	// attempts.
	reach = 2 * time.Minute
	// excused is for how long a fault of a call that makes a driver known excuses that another endpoint is taken for
	// it.
	excused = 2 * time.Minute
)

// registrars is what is known of drivers and their registrars.
type registrars struct {
	registered map[string]bool   // by driver, as the present life of the agent has it
	connected  map[string]bool   // the same
	serving    map[string]string // the endpoint to which the last call of a driver went, while it serves
	// the endpoint that served in the life before and need not be the choice of this one
	former map[string]string
	// it was taken while a fault kept the agent from another one, which the next start may ask first
	isStopgap   map[string]bool
	unreachable map[string]hal.Instant // until when a fault excuses that a driver is not reached
	since       map[string]hal.Instant // since when an endpoint is served, or a registration socket stands
	// by driver: when an endpoint of it ended last, for which another one may have waited
	left     map[string]hal.Instant
	begun    hal.Instant            // since when the present life of the agent works
	calm     hal.Instant            // since when nothing goes wrong
	asked    map[string]*series     // by registration socket or endpoint: how often the agent has asked who is there
	changed  map[string]hal.Instant // by driver: when that may be asked again: something changed, or was heard
	answered map[string]hal.Instant // by driver: when a registrar said that it is its
	meets    map[string]hal.Instant // by endpoint: when the last attempt to connect to it began
	notices  map[string]int         // by registration socket: the notices of it that the agent has not asked on
	told     map[string]*words      // by registration socket: since its notice, or a meeting
}

func newRegistrars() registrars {
	return registrars{
		registered: map[string]bool{}, connected: map[string]bool{}, serving: map[string]string{},
		unreachable: map[string]hal.Instant{},
		since:       map[string]hal.Instant{}, left: map[string]hal.Instant{}, isStopgap: map[string]bool{},
		former: map[string]string{}, asked: map[string]*series{},
		changed: map[string]hal.Instant{}, answered: map[string]hal.Instant{},
		notices: map[string]int{}, told: map[string]*words{}, meets: map[string]hal.Instant{},
	}
}

// forget is the end of a life of the agent. The next life asks the oldest socket first. An endpoint that serves because
// a fault hid an older one need not be its choice; and a driver that has died and registered again has a younger socket
// than one that waited for it: either of the two may serve.
func (g *registrars) forget(drivers []sim.DriverState) {
	for driver := range g.isStopgap {
		delete(g.serving, driver)
	}
	clear(g.isStopgap)
	clear(g.former)
	clear(g.asked)
	clear(g.answered)
	clear(g.notices)
	clear(g.told)
	g.registered, g.connected = map[string]bool{}, map[string]bool{}
	for _, d := range drivers {
		made, stands := g.since[d.Socket]
		if !stands || g.serving[d.Name] != d.Endpoint {
			continue
		}
		for _, other := range drivers {
			if since, waits := g.since[other.Socket]; waits && other.Name == d.Name && other.Endpoint != d.Endpoint &&
				since <= made {
				g.former[d.Name] = d.Endpoint
				delete(g.serving, d.Name)
			}
		}
	}
}

// remembersServers: the agent has been told by its journal who served while an older one waited.
func (r *run) remembersServers() {
	g := &r.registrars
	for _, d := range r.w.Drivers() {
		if g.former[d.Name] == d.Endpoint && r.w.MadeBy(d.Socket) == d.Endpoint &&
			strings.HasSuffix(r.core.Server(d.Name), " "+d.Socket) {
			g.serving[d.Name] = d.Endpoint
		}
	}
}

// hears reads a line of the engine's log about a driver.
func (g *registrars) hears(message, driver string, now hal.Instant) {
	switch message {
	case "driver registered":
		delete(g.isStopgap, driver)
		if now <= g.unreachable[driver] {
			g.isStopgap[driver] = true
			delete(g.serving, driver) // however late the first call comes that shows which one was taken
		}
		g.registered[driver], g.connected[driver] = true, true
	case "driver connected":
		g.connected[driver] = true
	case "driver is served by another endpoint":
		g.connected[driver] = true
		if now <= g.unreachable[driver] {
			delete(g.serving, driver) // however late the first call comes that shows it
		}
	case "driver disconnected":
		g.connected[driver] = false
	case "driver deregistered":
		g.registered[driver], g.connected[driver] = false, false
	}
}

// meets looks at an effect.
func (r *run) meets(e *sim.Effect) {
	g := &r.registrars
	switch e.Kind {
	case sim.EffectSent:
		r.calls(e)
	case sim.EffectAsked:
		r.connects(e)
	case sim.EffectDriverUp:
		g.since[e.Endpoint] = e.At
		g.changesDriver(e.Driver, e.At)
	case sim.EffectDriverDown:
		g.changesDriver(e.Driver, e.At)
		delete(g.since, e.Endpoint)
		g.left[e.Driver] = e.At
		if g.serving[e.Driver] == e.Endpoint {
			delete(g.serving, e.Driver)
		}
	case sim.EffectMade, sim.EffectRemoved:
		r.socketChanges(e)
	case sim.EffectRefused:
		r.refuses(e)
	default:
	}
}

// calls is S24. Which endpoint serves is shown by the first call of a volume; it does so until its process or its
// registration socket is gone.
func (r *run) calls(e *sim.Effect) {
	if contrary[e.Method] == "" || e.Endpoint == "" || e.Driver == r.broken {
		return
	}
	r.judges("S24")
	g := &r.registrars
	now := g.serving[e.Driver]
	if now == e.Endpoint {
		return
	}
	if now != "" && e.At > g.unreachable[e.Driver] {
		r.fail("S24", "sent "+e.Method, string(e.Key),
			e.Method+" of volume "+e.Volume+" goes to "+e.Endpoint+", and "+now+" serves the driver and answers")
	}
	delete(g.serving, e.Driver)
	for _, d := range r.w.Drivers() {
		if _, stands := g.since[d.Socket]; stands && d.Endpoint == e.Endpoint && r.w.MadeBy(d.Socket) == d.Endpoint {
			g.serving[e.Driver] = e.Endpoint // else its registration has ended, and the agent is about to hear so
		}
	}
}

func (r *run) socketChanges(e *sim.Effect) {
	if !strings.HasPrefix(e.Path, lang.RootDir+"/plugins_registry/") {
		return
	}
	for _, d := range r.w.Drivers() {
		if d.Socket != e.Path {
			continue
		}
		r.registrars.changesDriver(d.Name, e.At)
		if e.Kind == sim.EffectMade {
			r.registrars.since[e.Path] = e.At
			continue
		}
		delete(r.registrars.since, e.Path)
		if r.registrars.serving[d.Name] == d.Endpoint {
			delete(r.registrars.serving, d.Name)
		}
	}
}

// refuses is S25.
func (r *run) refuses(e *sim.Effect) {
	r.judges("S25")
	if !slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool {
		return d.Socket == e.Path && d.Misregisters
	}) {
		r.fail("S25", "refused", e.Driver,
			"the registrar of "+e.Driver+" is told that its driver was not taken, and it says nothing that can't "+
				"be taken")
	}
}

// unreaches notes a fault of a call that makes a driver known.
func (r *run) unreaches(i sim.Injected) {
	site := strings.TrimSuffix(i.Site, "/fault")
	if site == "watch.plugin-sockets" {
		for _, d := range r.w.Drivers() {
			r.registrars.changesDriver(d.Name, r.w.Now())
		}
	}
	switch site {
	case "runtime.pause":
		if r.w.Now().Sub(r.registrars.begun) > engine.OlderFirst {
			return // else the agent stands still while sockets that are older have their time to answer
		}
		fallthrough
	case "drivers.connect", "csi.plugin-info", "csi.node-info", "csi.node-capabilities", "registration.info",
		"watch.plugin-sockets":
		for _, d := range r.w.Drivers() {
			r.registrars.unreachable[d.Name] = r.w.Now().Add(excused)
		}
	}
}

// isReached is L13: in calm, a driver that runs and whose registration socket stands is registered and connected.
func (r *run) isReached() bool {
	g := &r.registrars
	if r.w.IsStalled() || !r.alive() || r.w.Off() {
		g.begun = r.w.Now()
		return true
	}
	for _, d := range r.w.Drivers() {
		made, stands := g.since[d.Socket]
		up, isUp := g.since[d.Endpoint]
		if !stands || !isUp || d.Name == r.broken || d.Misregisters || !r.w.Registers(d.Socket) {
			continue
		}
		r.judges("L13")
		from := max(made, up, g.left[d.Name], g.begun, g.calm)
		if r.w.Now().Sub(from) > reach && !(g.registered[d.Name] && g.connected[d.Name]) {
			r.fail("L13", "reached", d.Name,
				"driver "+d.Name+" runs, and its registration socket stands, for "+reach.String()+
					", and it is not registered and connected: "+r.tellWhy(d.Name))
			return false
		}
	}
	return true
}

// hasRival reports whether several sockets register a driver.
func (r *run) hasRival(driver string) bool {
	sockets := r.w.Entries(lang.RootDir + "/plugins_registry")
	return len(slices.DeleteFunc(sockets, func(name string) bool { return !strings.HasPrefix(name, driver) })) > 1
}

// notesAgain: the registrar of who serves a driver has made its socket once more while an older one waits. The journal
// says so by both, for the next start.
func (r *run) notesAgain(since hal.Instant) bool {
	return slices.ContainsFunc(r.w.Drivers(), func(d sim.DriverState) bool {
		made, stands := r.registrars.since[d.Socket]
		return stands && made > since && strings.HasSuffix(r.core.Server(d.Name), " "+d.Socket)
	})
}
