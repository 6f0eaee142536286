package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// driver is what is known of one driver name. It is kept when nobody registers it any more: its volumes may be there.
type driver struct {
	name  string              // Invariant: it is the key in registry.byName
	by    *socket             // whose registration is in force, nil if none is
	facts *plugin.DriverFacts // what its process said last; nil before the first meeting
	life  *peerLife           // the process that was met last; nil before the first
	// the id of the socket that serves, or did before the start, while an older one waits; "" if none does
	server      string
	isConnected bool        // to the process of life
	since       hal.Instant // it is connected, or is not, since then
	isMeeting   bool        // there is one meeting at a time
	isAsking    bool        // whether it still answers
	armed       hal.Instant // the earliest call of pursue that is queued, 0 for none
	answer      answer      // its last
	silent      hal.Instant // since when it has not answered though it was asked, 0 if it has
}

// peerLife is one life of a driver's process, as of one Connect: which it is may become known after its end. Owner
// only.
type peerLife struct {
	instance string // "" until a meeting told it
	isLost   bool   // its connection has broken
	isGone   bool   // it is dead, with all that it started
}

// errMisnamed is a refusal: the endpoint that a plugin registers is not its driver's.
type errMisnamed struct{ error }

// checkEvery is how often the driver that serves is asked whether it still answers, while another endpoint of its name
// waits.
const checkEvery = 5 * time.Second

// pursue does what is due for a driver: it meets the one that is to serve it. It is called after each change that
// matters, and once too often does no harm.
func (r *registry) pursue(d *driver) {
	if d.isMeeting || r.stopping {
		return
	}
	now := r.h.Runtime.Now()
	candidates := r.of(d)
	if d.by != nil && len(candidates) > 1 {
		r.check(d, now)
	}
	next := hal.Instant(0)
	for _, s := range candidates {
		from, ok := r.meetFrom(d, s)
		if ok && from <= now {
			r.meet(d, s)
			return
		}
		if ok && (next == 0 || from < next) {
			next = from
		}
	}
	if d.by != nil && d.isConnected && len(candidates) > 1 {
		next = now.Add(checkEvery)
	}
	r.pursueAt(d, next)
}

// pursueYoung looks, soon after a start, at the drivers that wait for the answer of another socket.
func (r *registry) pursueYoung() {
	if r.h.Runtime.Now() < r.began.Add(OlderFirst) {
		for _, name := range slices.Sorted(maps.Keys(r.byName)) {
			r.pursue(r.byName[name])
		}
	}
}

func (r *registry) pursueAt(d *driver, at hal.Instant) {
	if at == 0 || d.armed != 0 && d.armed <= at {
		return
	}
	d.armed = at
	r.h.Runtime.At(at, func() {
		if d.armed == at {
			d.armed = 0
			r.pursue(d)
		}
	})
}

// meetFrom returns from when on the driver at a socket's endpoint is to be met; false if it need not be.
func (r *registry) meetFrom(d *driver, s *socket) (hal.Instant, bool) {
	switch {
	case s == d.by:
		return s.due, !d.isConnected || s.isHeard && !s.isMet
	case d.by != nil && !d.isConnected:
		return max(s.due, d.since.Add(AwayAfter)), true
	case d.by != nil:
		return max(s.due, d.silent.Add(SilentAfter)), d.silent != 0
	case r.awaits(d, s):
		return max(s.due, r.began.Add(OlderFirst)), true
	}
	return s.due, true
}

// meet connects to the driver at a socket's endpoint, interviews it, and has it serve if all is well. Until then calls
// go where they went.
func (r *registry) meet(d *driver, s *socket) {
	gen, info, life, known := s.gen, s.info, &peerLife{}, ""
	if s == d.by && s.isMet {
		known = d.life.instance
	}
	events := hal.PeerEvents{Lost: func() { r.peerLost(d, life) }, Gone: func() { r.peerGone(d, life) }}
	d.isMeeting = true
	r.h.Runtime.Go(func() {
		instance, facts, err := r.interview(info, known, events)
		call := r.introduction()
		r.h.Runtime.Post(func() {
			d.isMeeting = false
			life.instance = instance
			switch {
			case r.stopping:
			case s.gen != gen || !s.still(info) || !r.mayServe(d, s):
				r.h.Drivers.Disconnect(hal.Candidate(d.name))
			case err != nil:
				r.h.Drivers.Disconnect(hal.Candidate(d.name))
				r.missed(d, s, err, call)
			default:
				r.takeIn(d, s, life, facts)
			}
			r.pursue(d)
		})
	})
}

// still reports whether a socket registers what it did: its plugin may have answered again during a meeting, with
// another endpoint, or with what can't be taken.
func (s *socket) still(info hal.PluginInfo) bool {
	return s.info.Name == info.Name && s.info.Endpoint == info.Endpoint
}

// mayServe reports whether a socket may serve the driver now: it does, or nobody does any more.
func (r *registry) mayServe(d *driver, s *socket) bool {
	from, ok := r.meetFrom(d, s)
	return s == d.by || ok && from <= r.h.Runtime.Now()
}

// missed notes a meeting that failed. volnode tries again after a wait. A registration in force stays in force.
func (r *registry) missed(d *driver, s *socket, err error, call hal.Call) {
	wait := backoff(s.attempts, reconnectMax)
	s.attempts++
	s.due = r.h.Runtime.Now().Add(wait)
	if r.failed(s, err) {
		r.emit(DriverUnreachable{s.path, s.why, wait})
	}
	if misnamed, ok := errors.AsType[errMisnamed](err); ok && s != d.by {
		r.refuse(s, s.info.Socket, misnamed, call)
	}
}

// takeIn makes a socket the one that serves its driver, and the process that was met the one that is called. facts is
// nil if it is the same as before.
func (r *registry) takeIn(d *driver, s *socket, life *peerLife, facts *plugin.DriverFacts) {
	now := r.h.Runtime.Now()
	r.h.Drivers.Rename(hal.Candidate(d.name), d.name)
	former := d.by
	d.by, d.life, d.isConnected, d.since, d.answer = s, life, !life.isLost, now, answer{"connect", hal.CodeOK, now}
	s.isMet, s.attempts, s.due, s.why, d.silent = s.isHeard, 0, 0, "", 0
	if facts != nil {
		d.facts, d.answer.method = facts, "NodeGetCapabilities"
	}
	switch {
	case former == nil:
		r.emit(DriverRegistered{d.name, s.path, d.facts.NodeID})
	case former != s:
		former.since, former.isMet = now, false
		r.emit(DriverMoved{d.name, s.path, former.path})
	default:
		r.emit(DriverConnected{d.name, s.path})
	}
	r.notesServer(d)
	if s.isMet && !s.isTaken {
		s.isTaken = true
		r.accept(s, 0)
	}
	if life.isGone {
		r.peerGone(d, life)
	}
	// The pods first: what they want by the driver's facts is known before its rungs move again.
	r.met(d.name)
	step(r.port, core.Registered{Actor: d.name})
}

// peerLost: the driver's connection has broken. The registration stays in force; the driver is met again as soon as it
// can be reached.
func (r *registry) peerLost(d *driver, life *peerLife) {
	life.isLost = true
	if d.life != life || d.by == nil || !d.isConnected {
		return
	}
	d.isConnected, d.since = false, r.h.Runtime.Now()
	r.emit(DriverDisconnected{d.name, d.by.path})
	r.pursue(d)
}

func (r *registry) peerGone(d *driver, life *peerLife) {
	life.isGone = true
	step(r.port, core.ActorGone{Actor: d.name, Instance: life.instance})
	if len(r.of(d)) <= 1 { // no other process of that name may have been given something
		r.releaseGiven(d.name)
	}
}

// unreached: a call could not be sent. The process may be another one by now.
func (r *registry) unreached(name string) {
	d := r.byName[name]
	if d == nil || d.by == nil || !d.isConnected {
		return
	}
	d.by.due = max(d.by.due, d.since.Add(registerRetry))
	r.peerLost(d, d.life)
}

// check asks the driver that serves whether it still answers, since another endpoint of its name waits. Any status will
// do.
func (r *registry) check(d *driver, now hal.Instant) {
	if !d.isConnected || d.isAsking || now < d.answer.at.Add(checkEvery) {
		return
	}
	d.isAsking = true
	life, instance, call := d.life, r.instance(d.name), r.introduction()
	r.h.Runtime.Go(func() {
		_, err := r.h.CSIIdentity.PluginInfo(call, d.name, &csi.GetPluginInfoRequest{})
		r.h.Runtime.Post(func() {
			d.isAsking = false
			if d.silent == 0 && d.life == life {
				d.silent = r.h.Runtime.Now() // not from when it was asked: the agent itself may have been stopped
			}
			last := answer{}
			last.take(r.h.Runtime.Now(), "GetPluginInfo", err)
			r.hears(d.name, instance, last)
		})
	})
}

// answer is the last answer to a call of a driver; the zero value is none.
type answer struct {
	method string      // "NodeStageVolume"
	code   hal.Code    // CodeOK too
	at     hal.Instant // when it came
}

// text is the answer for people: "NodeStageVolume: OK".
func (a answer) text() string {
	if a.at == 0 {
		return ""
	}
	return a.method + ": " + a.code.String()
}

// take notes the end of a call that a driver has answered. Any status is an answer.
func (a *answer) take(now hal.Instant, method string, err error) {
	code := hal.CodeOK
	if e, ok := errors.AsType[*hal.Error](err); ok {
		if e.Reply != hal.ReplyStatus {
			return
		}
		code = e.Code
	}
	*a = answer{method, code, now}
}

// hears takes in the last answer of a process.
func (r *registry) hears(name, instance string, a answer) {
	if d := r.byName[name]; d != nil && a.at != 0 && r.instance(name) == instance {
		d.answer, d.silent = a, 0
	}
}

// interview runs as a task: it connects, and asks the driver's name, node id and capabilities, unless the process is
// the known one.
func (r *registry) interview(info hal.PluginInfo, known string, events hal.PeerEvents) (string,
	*plugin.DriverFacts, error,
) {
	f, call, at := &plugin.DriverFacts{Name: info.Name}, r.introduction, hal.Candidate(info.Name)
	peer, err := r.h.Drivers.Connect(call(), at, info.Endpoint, events)
	if err != nil || peer.Instance != "" && peer.Instance == known {
		return peer.Instance, nil, err
	}
	name, err := r.h.CSIIdentity.PluginInfo(call(), at, &csi.GetPluginInfoRequest{})
	if err != nil {
		return "", nil, err
	}
	if name.GetName() != info.Name {
		return "", nil, errMisnamed{fmt.Errorf("the plugin registers as %q, but its CSI endpoint says %q",
			info.Name, name.GetName())}
	}
	node, err := r.h.CSINode.Info(call(), at, &csi.NodeGetInfoRequest{})
	if err != nil {
		return "", nil, err
	}
	if node.GetNodeId() == "" {
		return "", nil, fmt.Errorf("NodeGetInfo of %s: the node id is empty", info.Name)
	}
	f.NodeID = r.ears.said.Clean(node.GetNodeId()) // it is only shown
	f.Topology = node.GetAccessibleTopology().GetSegments()
	caps, err := r.h.CSINode.Capabilities(call(), at, &csi.NodeGetCapabilitiesRequest{})
	if err != nil {
		return "", nil, err
	}
	for _, c := range caps.GetCapabilities() {
		switch c.GetRpc().GetType() {
		case csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME:
			f.StageUnstage = true
		case csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER:
			f.SingleNodeMultiWriter = true
		case csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP:
			f.VolumeMountGroup = true
		case csi.NodeServiceCapability_RPC_GET_VOLUME_STATS:
			f.VolumeStats = true
		case csi.NodeServiceCapability_RPC_GET_VOLUME_HEALTH:
			f.VolumeHealth = true
		case csi.NodeServiceCapability_RPC_GET_STORAGE_HEALTH:
			f.StorageHealth = true
		default: // what the engine makes no use of
		}
	}
	return peer.Instance, f, nil
}

// releaseGiven forgets which secrets a driver was given in an earlier life and no record of this one names: the process
// that was given them has ended.
func (r *registry) releaseGiven(driver string) {
	named := map[string]bool{}
	for _, v := range r.core.View() {
		for _, name := range plugin.SecretsOf(v.Made) {
			named[name] = named[name] || v.Actor == driver
		}
	}
	r.ears.said.Release(driver, func(name string) bool { return named[name] })
}
