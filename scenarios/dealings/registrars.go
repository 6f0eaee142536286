package dealings

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file judges how the engine treats drivers and their registrars: S24, S25 and L13.

const (
	// Reach is how long a driver that runs, and whose registration socket stands, may be without a connection when
	// nothing goes wrong any more: a notice that is late, a call that is slow, and the longest wait between two
	// attempts.
	Reach = 2 * time.Minute
	// excused is for how long a fault of a call that makes a driver known excuses that another endpoint is taken for
	// it.
	excused = 2 * time.Minute
)

// NewRegistrars is that no driver has registered yet.
func NewRegistrars() world.Registrars {
	return world.Registrars{
		Registered: map[string]bool{}, Connected: map[string]bool{}, Serving: map[string]string{},
		Storage:     map[string][]hal.HealthEntry{},
		Unreachable: map[string]hal.Instant{},
		Since:       map[string]hal.Instant{}, Left: map[string]hal.Instant{}, IsStopgap: map[string]bool{},
		Former: map[string]string{}, Asked: map[string]*world.Series{},
		Changed: map[string]hal.Instant{}, Answered: map[string]hal.Instant{},
		Notices: map[string]int{}, Told: map[string]*world.Words{}, Meets: map[string]hal.Instant{},
	}
}

// Forget is the end of a life of the agent. The next life asks the oldest socket first. An endpoint that serves because
// a fault hid an older one need not be its choice; and a driver that has died and registered again has a younger socket
// than one that waited for it: either of the two may serve.
func Forget(g *world.Registrars, drivers []sim.DriverState) {
	for driver := range g.IsStopgap {
		delete(g.Serving, driver)
	}
	clear(g.IsStopgap)
	clear(g.Former)
	clear(g.Asked)
	clear(g.Answered)
	clear(g.Notices)
	clear(g.Told)
	g.Registered, g.Connected = map[string]bool{}, map[string]bool{}
	g.Storage = map[string][]hal.HealthEntry{}
	for _, d := range drivers {
		made, stands := g.Since[d.Socket]
		if !stands || g.Serving[d.Name] != d.Endpoint {
			continue
		}
		for _, other := range drivers {
			if since, waits := g.Since[other.Socket]; waits && other.Name == d.Name && other.Endpoint != d.Endpoint &&
				since <= made {
				g.Former[d.Name] = d.Endpoint
				delete(g.Serving, d.Name)
			}
		}
	}
}

// RemembersServers: the agent has been told by its journal who served while an older one waited.
func RemembersServers(r *world.Run) {
	g := &r.Registrars
	for _, d := range r.W.Drivers() {
		if g.Former[d.Name] == d.Endpoint && r.W.MadeBy(d.Socket) == d.Endpoint &&
			strings.HasSuffix(r.Core.Server(d.Name), " "+d.Socket) {
			g.Serving[d.Name] = d.Endpoint
		}
	}
}

// Hears takes in an event of the engine about a driver.
func Hears(g *world.Registrars, e engine.Event, now hal.Instant) {
	switch e := e.(type) {
	case engine.DriverRegistered:
		delete(g.IsStopgap, e.Driver)
		if now <= g.Unreachable[e.Driver] {
			g.IsStopgap[e.Driver] = true
			delete(g.Serving, e.Driver) // however late the first call comes that shows which one was taken
		}
		g.Registered[e.Driver], g.Connected[e.Driver] = true, true
	case engine.DriverConnected:
		g.Connected[e.Driver] = true
	case engine.DriverStorage:
		g.Storage[e.Driver] = e.Problems
	case engine.DriverMoved:
		g.Connected[e.Driver] = true
		if now <= g.Unreachable[e.Driver] {
			delete(g.Serving, e.Driver) // however late the first call comes that shows it
		}
	case engine.DriverDisconnected:
		g.Connected[e.Driver] = false
	case engine.DriverDeregistered:
		g.Registered[e.Driver], g.Connected[e.Driver] = false, false
	}
}

// Meets looks at an effect.
func Meets(r *world.Run, e *sim.Effect) {
	g := &r.Registrars
	switch e.Kind {
	case sim.EffectSent:
		calls(r, e)
	case sim.EffectAsked:
		Connects(r, e)
	case sim.EffectMeasured:
		measures(r, e)
	case sim.EffectDriverUp:
		g.Since[e.Endpoint] = e.At
		changesDriver(g, e.Driver, e.At)
	case sim.EffectDriverDown:
		changesDriver(g, e.Driver, e.At)
		delete(g.Since, e.Endpoint)
		g.Left[e.Driver] = e.At
		if g.Serving[e.Driver] == e.Endpoint {
			delete(g.Serving, e.Driver)
		}
	case sim.EffectMade, sim.EffectRemoved:
		socketChanges(r, e)
	case sim.EffectRefused:
		refuses(r, e)
	default:
	}
}

// calls is S24. Which endpoint serves is shown by the first call of a volume; it does so until its process or its
// registration socket is gone.
func calls(r *world.Run, e *sim.Effect) {
	if world.Contrary[e.Method] == "" || e.Endpoint == "" || e.Driver == r.Broken {
		return
	}
	r.Judges("S24")
	g := &r.Registrars
	now := g.Serving[e.Driver]
	if now == e.Endpoint {
		return
	}
	if now != "" && e.At > g.Unreachable[e.Driver] {
		r.Fail("S24", "sent "+e.Method, string(e.Key),
			e.Method+" of volume "+e.Volume+" goes to "+e.Endpoint+", and "+now+" serves the driver and answers")
	}
	delete(g.Serving, e.Driver)
	for _, d := range r.W.Drivers() {
		if _, stands := g.Since[d.Socket]; stands && d.Endpoint == e.Endpoint && r.W.MadeBy(d.Socket) == d.Endpoint {
			g.Serving[e.Driver] = e.Endpoint // else its registration has ended, and the agent is about to hear so
		}
	}
}

func socketChanges(r *world.Run, e *sim.Effect) {
	if !strings.HasPrefix(e.Path, lang.RootDir+"/plugins_registry/") {
		return
	}
	for _, d := range r.W.Drivers() {
		if d.Socket != e.Path {
			continue
		}
		changesDriver(&r.Registrars, d.Name, e.At)
		if e.Kind == sim.EffectMade {
			r.Registrars.Since[e.Path] = e.At
			continue
		}
		delete(r.Registrars.Since, e.Path)
		if r.Registrars.Serving[d.Name] == d.Endpoint {
			delete(r.Registrars.Serving, d.Name)
		}
	}
}

// refuses is S25.
func refuses(r *world.Run, e *sim.Effect) {
	r.Judges("S25")
	if !slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool {
		return d.Socket == e.Path && d.Misregisters
	}) {
		r.Fail("S25", "refused", e.Driver,
			"the agent refuses driver "+e.Driver+", and its registrar says nothing that the agent can't accept")
	}
}

// Unreaches notes a fault of a call that makes a driver known.
func Unreaches(r *world.Run, i sim.Injected) {
	site := strings.TrimSuffix(i.Site, "/fault")
	if site == "watch.plugin-sockets" {
		for _, d := range r.W.Drivers() {
			changesDriver(&r.Registrars, d.Name, r.W.Now())
		}
	}
	switch site {
	case "runtime.pause":
		if r.W.Now().Sub(r.Registrars.Begun) > engine.OlderFirst {
			return // else the agent stands still while sockets that are older have their time to answer
		}
		fallthrough
	case "drivers.connect", "csi.plugin-info", "csi.node-info", "csi.node-capabilities", "registration.info",
		"watch.plugin-sockets":
		for _, d := range r.W.Drivers() {
			r.Registrars.Unreachable[d.Name] = r.W.Now().Add(excused)
		}
	}
}

// HasRival reports whether several sockets register a driver.
func HasRival(r *world.Run, driver string) bool {
	sockets := r.W.Entries(lang.RootDir + "/plugins_registry")
	return len(slices.DeleteFunc(sockets, func(name string) bool { return !strings.HasPrefix(name, driver) })) > 1
}

// NotesAgain: the registrar of who serves a driver has made its socket once more while an older one waits. The journal
// says so by both, for the next start.
func NotesAgain(r *world.Run, since hal.Instant) bool {
	return slices.ContainsFunc(r.W.Drivers(), func(d sim.DriverState) bool {
		made, stands := r.Registrars.Since[d.Socket]
		return stands && made > since && strings.HasSuffix(r.Core.Server(d.Name), " "+d.Socket)
	})
}
