package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is the registrations of CSI drivers: which sockets exist, what they say, and which of them serves a driver.
// meeting.go connects.
//
// A registration is valid until its socket is removed. Whether the driver can be reached is another matter: see
// [driver]. Of several sockets that register one name, the first serves, and the others wait until it has gone. At a
// start the first is the one that served, else the one whose socket is oldest.

// registry is the registrations of CSI drivers.
type registry struct {
	*port
	ears ears                // through which drivers are asked
	met  func(driver string) // is called when the facts of a driver are known

	sockets []*socket          // sorted by path
	byName  map[string]*driver // all that have registered in this run, or have volumes
	began   hal.Instant        // when the sockets were first asked for
}

// socket is one registration socket.
type socket struct {
	path     string         // Invariant: it stays the same
	made     int64          // orders sockets by when they were made
	gen      int            // counts its events: what a task learnt of an earlier one is dropped
	info     hal.PluginInfo // what the plugin behind it said last, if it is acceptable; Name is "" until then
	endpoint string         // of info, as it is shown
	isHeard  bool           // the plugin has answered since the socket's last event
	isMet    bool           // and the driver at its endpoint was interviewed since
	attempts int            // to ask the plugin, or to meet the driver, that failed in a row
	due      hal.Instant    // the driver is not met before
	since    hal.Instant    // it registers this name since then
	why      string         // what failed last
	isTold   bool           // the plugin knows that it was refused, since the socket's last event
	isTaken  bool           // the plugin was accepted; volnode notifies it, or has done so
}

const (
	registerTimeout  = 10 * time.Second
	registerRetry    = time.Second
	registerRetryMax = 30 * time.Second
	// reconnectMax is the longest wait between two attempts to reach a driver: nothing tells that its endpoint is there
	// again.
	reconnectMax   = 10 * time.Second
	loggedAttempts = 6
	// OlderFirst is how long a start waits for the answers of older sockets before a younger one may serve their
	// driver.
	OlderFirst = 2 * time.Second
	// AwayAfter is how long a driver can't be reached before another endpoint of its name may take over.
	AwayAfter = 5 * time.Second
	// SilentAfter is how long a driver that can be reached leaves checks without an answer before another endpoint of
	// its name may take over.
	SilentAfter = 30 * time.Second
)

func newRegistry(p *port, e ears) *registry {
	return &registry{port: p, ears: e, byName: map[string]*driver{}}
}

// named returns the driver of a name, which may be new.
func (r *registry) named(name string) *driver {
	if r.byName[name] == nil {
		r.byName[name] = &driver{name: name}
	}
	return r.byName[name]
}

// facts returns what a driver said of itself when it was last met in this run, nil if it never was. While it is away
// its volumes stay what they are.
func (r *registry) facts(name string) *plugin.DriverFacts {
	if known := r.byName[name]; known != nil {
		return known.facts
	}
	return nil
}

// instance names the process that serves a driver, "" if there is none or it is not known.
func (r *registry) instance(name string) string {
	if known := r.byName[name]; known != nil && known.by != nil {
		return known.life.instance
	}
	return ""
}

// registered returns the names of all registered drivers, sorted.
func (r *registry) registered() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(r.byName)) {
		if r.byName[name].by != nil {
			names = append(names, name)
		}
	}
	return names
}

// connected returns the names of the drivers that can be called, sorted.
func (r *registry) connected() []string {
	return slices.DeleteFunc(r.registered(), func(name string) bool { return !r.byName[name].isConnected })
}

// id tells a socket from one that is made at the same path later.
func (s *socket) id() string { return strconv.FormatInt(s.made, 10) + " " + s.path }

// isBefore reports whether a socket comes before another one at a start.
func (d *driver) isBefore(a, b *socket) bool {
	return b.id() != d.server && (a.id() == d.server || a.made < b.made)
}

// of returns the sockets that register a name, in the order in which they may serve it: the one that does, the one that
// did, then by age.
func (r *registry) of(k *driver) []*socket {
	var all []*socket
	for _, s := range r.sockets {
		if s.info.Name == k.name && s != k.by {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *socket) int {
		switch {
		case k.isBefore(a, b):
			return -1
		case k.isBefore(b, a):
			return 1
		}
		return cmp.Compare(a.since, b.since)
	})
	if k.by != nil {
		all = slices.Insert(all, 0, k.by)
	}
	return all
}

// awaits reports whether a socket that comes before s may yet register its name: it has not been asked to its end since
// the start.
func (r *registry) awaits(k *driver, s *socket) bool {
	for _, o := range r.sockets {
		if k.isBefore(o, s) && o.info.Name == "" && o.why == "" {
			return true
		}
	}
	return false
}

// begin has the sockets watched.
func (r *registry) begin() {
	r.began = r.h.Runtime.Now()
	r.h.Watches.PluginSockets(r.cfg.registryDir(), r.socketEvent)
}

func (r *registry) socketEvent(e hal.SocketEvent) {
	at, isKnown := slices.BinarySearchFunc(r.sockets, e.Path,
		func(s *socket, path string) int { return cmp.Compare(s.path, path) })
	if !isKnown {
		r.sockets = slices.Insert(r.sockets, at, &socket{path: e.Path})
	}
	s := r.sockets[at]
	s.gen++
	s.made, s.attempts, s.why = e.Made, 0, r.ears.said.Clean(e.Problem)
	s.isHeard, s.isMet, s.isTaken, s.isTold = false, false, false, false
	switch {
	case e.Present:
		r.greet(s)
	case e.Problem != "":
		// It stays in the status, so that somebody can see why its driver does not come.
		r.withdraw(s)
		r.emit(SocketRefused{e.Path, s.why})
	default:
		r.sockets = slices.Delete(r.sockets, at, at+1)
		r.emit(SocketGone{e.Path})
		r.withdraw(s)
	}
}

// greet asks the plugin at a socket who it is, until it answers. One that does not answer is not refused: it may be
// restarting.
func (r *registry) greet(s *socket) {
	gen, call := s.gen, r.introduction()
	r.h.Runtime.Go(func() {
		info, err := r.h.Registration.Info(call, s.path)
		r.h.Runtime.Post(func() {
			switch {
			case s.gen != gen || r.stopping:
			case err != nil:
				r.greetAgain(s, err)
			default:
				r.introduced(s, info, call)
			}
			r.pursueYoung()
		})
	})
}

func (r *registry) greetAgain(s *socket, err error) {
	wait := backoff(s.attempts, registerRetryMax)
	s.attempts++
	if r.failed(s, err) {
		r.emit(RegistrationFailed{s.path, s.why, wait})
	}
	gen := s.gen
	r.h.Runtime.At(r.h.Runtime.Now().Add(wait), func() {
		if s.gen == gen && !r.stopping {
			r.greet(s)
		}
	})
}

// failed notes why a socket does not serve its driver. It reports whether that is an event: the first attempts in a row
// are, and what fails for hours is in the status.
func (r *registry) failed(s *socket, err error) bool {
	s.why = r.ears.wordsOf(err)
	return s.attempts <= loggedAttempts
}

func backoff(attempts int, most time.Duration) time.Duration {
	return min(registerRetry<<min(attempts, 5), most)
}

// introduced takes in what a plugin says of itself.
func (r *registry) introduced(s *socket, info hal.PluginInfo, call hal.Call) {
	err := acceptable(info)
	if s.info.Name != info.Name || err != nil {
		r.withdraw(s) // what it registered before, it registers no more
	}
	if err != nil {
		r.refuse(s, info.Socket, err, call)
		r.greetAgain(s, err)
		return
	}
	isNew := s.info.Name == ""
	s.endpoint = r.ears.said.Clean(info.Endpoint)
	s.info, s.isHeard, s.isMet, s.attempts, s.due, s.why = info, true, false, 0, 0, ""
	if isNew {
		s.since = r.h.Runtime.Now()
	}
	d := r.named(info.Name)
	if d.by == nil {
		d.server = r.core.Server(d.name)
	}
	if d.by != nil && d.by != s && isNew {
		r.emit(DriverContested{d.name, s.path, d.by.path})
	}
	r.notesServer(d)
	r.pursue(d)
}

// notesServer has the next start know who serves a driver, if that is not the one whose socket is oldest.
func (r *registry) notesServer(d *driver) {
	if d.by == nil {
		return
	}
	d.server = ""
	if slices.ContainsFunc(r.of(d), func(o *socket) bool { return o.made < d.by.made }) {
		d.server = d.by.id()
	}
	if r.core.Server(d.name) != d.server {
		step(r.port, core.Serves{Actor: d.name, By: d.server})
	}
}

// withdraw ends what a socket registers. A driver that it served is served by another one from now on, or is not
// registered.
func (r *registry) withdraw(s *socket) {
	d := r.byName[s.info.Name]
	s.info, s.endpoint = hal.PluginInfo{}, ""
	if d == nil {
		return
	}
	if d.by == s {
		d.by, d.isConnected = nil, false
		r.h.Drivers.Disconnect(d.name)
		r.emit(DriverDeregistered{d.name, s.path})
	}
	r.pursue(d)
	switch {
	case d.by != nil:
		r.notesServer(d)
	case len(r.of(d)) == 0 && r.core.Server(d.name) != "":
		step(r.port, core.Serves{Actor: d.name}) // nobody waits for its end any more
	}
}

// refuse tells a plugin that it was not taken. Its registrar may end by that, as the upstream one does, so a plugin
// hears it only of a first registration, once, and only of a reason that lies in what it says. It hears it soon after
// it has said so (the deadline of call), or never: another plugin may be behind the path by then, at the socket that it
// has made. A failure to notify it changes nothing.
func (r *registry) refuse(s *socket, made string, why error, call hal.Call) {
	if s.isTaken || s.isTold {
		return
	}
	s.isTold = true
	path, text := s.path, r.ears.wordsOf(why)
	r.h.Runtime.Go(func() { _ = r.h.Registration.Notify(call, path, made, false, text) })
}

// accept tells a plugin that it was taken, until it has heard: a registrar is not ready before that. Its driver is
// served whether it hears or not.
func (r *registry) accept(s *socket, attempt int) {
	gen := s.gen
	r.h.Runtime.Go(func() {
		err := r.h.Registration.Notify(r.introduction(), s.path, "", true, "")
		if err == nil {
			return
		}
		r.h.Runtime.At(r.h.Runtime.Now().Add(backoff(attempt, registerRetryMax)), func() {
			if s.gen == gen && !r.stopping {
				r.accept(s, attempt+1)
			}
		})
	})
}

// introduction is a call that makes a driver known.
func (r *registry) introduction() hal.Call {
	return hal.Call{Deadline: r.h.Runtime.Now().Add(registerTimeout)}
}

// acceptable checks what a plugin says of itself.
func acceptable(info hal.PluginInfo) error {
	if info.Type != "CSIPlugin" {
		return fmt.Errorf("plugin type %q is not CSIPlugin", info.Type)
	}
	if why := plugin.BadDriverName(info.Name); why != "" {
		return fmt.Errorf("driver name %q: %s", info.Name, why)
	}
	if !strings.HasPrefix(info.Endpoint, "/") {
		return fmt.Errorf("endpoint %q is not an absolute path", info.Endpoint)
	}
	if !slices.ContainsFunc(info.Versions,
		func(v string) bool { return strings.HasPrefix(strings.TrimPrefix(v, "v"), "1.") }) {
		return fmt.Errorf("driver %s supports CSI versions %v; volnode needs 1.x", info.Name, info.Versions)
	}
	return nil
}
