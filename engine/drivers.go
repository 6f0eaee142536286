package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// drivers is the registry of CSI drivers: one entry for each registration socket, and for each name the socket that serves it.
type drivers struct {
	sockets map[string]*socket
	serving map[string]*socket             // by driver name: the last that registered
	known   map[string]*plugin.DriverFacts // what a driver said last; it is not changed
	// meeting is the names under which a process is being connected to: until it has said who it is, calls may go to it or to the one before.
	meeting map[string]bool
}

// socket is one registration socket.
type socket struct {
	path     string
	gen      int // counts its events: what a task learnt of an earlier one is dropped
	present  bool
	facts    plugin.DriverFacts // Name is known once it has answered
	endpoint string
	attempts int
	again    bool // it will be registered anew
	isIdle   bool // it was taken in, and nothing has happened to it since
	why      string
}

const (
	registerTimeout  = 10 * time.Second
	registerRetry    = time.Second
	registerRetryMax = 30 * time.Second
)

func (d *drivers) init() {
	d.sockets, d.serving, d.known = map[string]*socket{}, map[string]*socket{}, map[string]*plugin.DriverFacts{}
	d.meeting = map[string]bool{}
}

// facts returns what a driver said of itself at its last registration in this run, nil if it has never registered. While it is away its volumes
// stay what they are, and calls to it are not sent.
func (d *drivers) facts(name string) *plugin.DriverFacts { return d.known[name] }

// instance names the process that serves a driver, "" if there is none or it is not known.
func (d *drivers) instance(name string) string {
	if s := d.serving[name]; s != nil && !d.meeting[name] {
		return s.facts.Instance
	}
	return ""
}

// registered returns the names of all registered drivers, sorted.
func (d *drivers) registered() []string { return slices.Sorted(maps.Keys(d.serving)) }

func (m *VolumeManager) socketEvent(e hal.SocketEvent) {
	s := m.drivers.sockets[e.Path]
	if s == nil {
		s = &socket{path: e.Path}
		m.drivers.sockets[e.Path] = s
	}
	s.gen++
	s.attempts = 0
	s.present, s.why, s.isIdle = e.Present, e.Problem, false
	switch {
	case e.Present:
		m.register(s)
	case e.Problem != "":
		// It stays in the status, so that somebody can see why its driver does not come.
		m.deregister(s)
		m.log(LevelWarn, "plugin socket refused", "socket", e.Path, "why", e.Problem)
	default:
		m.deregister(s)
		delete(m.drivers.sockets, e.Path)
	}
}

// deregister forgets what a socket served. A driver that another socket serves by now stays.
func (m *VolumeManager) deregister(s *socket) {
	name := s.facts.Name
	if m.drivers.serving[name] != s {
		return
	}
	delete(m.drivers.serving, name)
	m.h.Drivers.Disconnect(name)
	m.log(LevelInfo, "driver deregistered", "driver", name, "socket", s.path)
	m.fallBack(name)
}

// fallBack registers anew the other sockets under which a driver was taken in: of two versions of it, the one that registered last may be the first
// to go, with its socket or without. One that is just being registered goes on with that.
func (m *VolumeManager) fallBack(name string) {
	for _, path := range slices.Sorted(maps.Keys(m.drivers.sockets)) {
		if s := m.drivers.sockets[path]; s.isIdle && s.facts.Name == name && m.drivers.serving[name] != s {
			m.register(s)
		}
	}
}

// register asks the plugin at a socket who it is, and meets the driver that it names. Any failure starts it over, after a wait.
func (m *VolumeManager) register(s *socket) {
	s.isIdle = false
	gen := s.gen
	m.h.Runtime.Go(func() {
		info, err := m.h.Registration.Info(m.introduction(), s.path)
		if err == nil {
			if err = acceptable(info); err != nil {
				m.refuse(s.path, err)
			}
		}
		m.h.Runtime.Post(func() {
			switch {
			case s.gen != gen || m.stopping:
			case err != nil:
				m.retryRegister(s, err)
			case m.drivers.meeting[info.Name]:
				m.retryRegister(s, fmt.Errorf("driver %s is just being registered", info.Name))
			default:
				m.meet(s, info)
			}
		})
	})
}

// meet connects to a driver and takes it in. There is one meeting of a name at a time, so that it is known whom its connection leads to.
func (m *VolumeManager) meet(s *socket, info hal.PluginInfo) {
	gen, life := s.gen, &peerLife{}
	m.drivers.meeting[info.Name] = true
	m.h.Runtime.Go(func() {
		facts, err := m.introduce(s.path, info, func() { m.peerGone(life) })
		m.h.Runtime.Post(func() {
			delete(m.drivers.meeting, info.Name)
			m.peerKnown(life, facts)
			current := s.gen == gen && !m.stopping
			if err != nil || !current {
				m.part(s, info.Name)
			}
			switch {
			case !current:
			case err != nil:
				m.retryRegister(s, err)
			default:
				m.takeIn(s, facts, info.Endpoint)
			}
		})
	})
}

// takeIn makes a socket the one that serves its driver.
func (m *VolumeManager) takeIn(s *socket, facts plugin.DriverFacts, endpoint string) {
	if s.facts.Name != facts.Name {
		m.deregister(s) // what it served before, it serves no more
	}
	s.facts, s.endpoint, s.why, s.attempts, s.isIdle = facts, endpoint, "", 0, true
	m.drivers.serving[facts.Name], m.drivers.known[facts.Name] = s, &facts
	m.log(LevelInfo, "driver registered", "driver", facts.Name, "socket", s.path, "node", facts.NodeID)
	// The pods first: what they want by the driver's facts is known before its rungs move again.
	m.objects.changed(m, driverRef(facts.Name))
	m.populateStale()
	m.step(core.Registered{Actor: facts.Name})
}

// part ends a connection to a process that was not taken in: no call goes to it. A driver that another socket serves has lost its connection by this,
// and is registered anew.
func (m *VolumeManager) part(s *socket, name string) {
	m.h.Drivers.Disconnect(name)
	if m.drivers.serving[name] == s {
		m.deregister(s)
	} else {
		m.unreached(name)
	}
}

// unreached registers a driver anew to which a call could not be sent though its socket is there: its process may be another by now, without its
// registration socket having changed.
func (m *VolumeManager) unreached(driver string) {
	s := m.drivers.serving[driver]
	if s == nil || s.again {
		return
	}
	s.again = true
	gen := s.gen
	m.h.Runtime.At(m.h.Runtime.Now().Add(registerRetry), func() {
		s.again = false
		if s.gen == gen && !m.drivers.meeting[driver] && !m.stopping {
			s.gen++
			m.register(s)
		}
	})
}

func (m *VolumeManager) retryRegister(s *socket, err error) {
	s.why = err.Error()
	wait := min(registerRetry<<min(s.attempts, 5), registerRetryMax)
	s.attempts++
	m.log(LevelWarn, "registration failed", "socket", s.path, "why", s.why, "retry", wait.String())
	if m.drivers.serving[s.facts.Name] == s {
		m.fallBack(s.facts.Name)
	}
	gen := s.gen
	m.h.Runtime.At(m.h.Runtime.Now().Add(wait), func() {
		if s.gen == gen && !m.stopping {
			m.register(s)
		}
	})
}

// peerLife is one life of a driver's process, as of one Connect: which it is may become known after its end. Owner only.
type peerLife struct {
	facts plugin.DriverFacts
	gone  bool
}

func (m *VolumeManager) peerGone(life *peerLife) {
	life.gone = true
	m.step(core.ActorGone{Actor: life.facts.Name, Instance: life.facts.Instance})
}

func (m *VolumeManager) peerKnown(life *peerLife, facts plugin.DriverFacts) {
	life.facts = facts
	if life.gone {
		m.peerGone(life)
	}
}

// introduction is a call that makes a driver known.
func (m *VolumeManager) introduction() hal.Call {
	return hal.Call{Deadline: m.h.Runtime.Now().Add(registerTimeout)}
}

// refuse tells a plugin that it was not taken, from a task. That it could not be told changes nothing: it is asked again.
func (m *VolumeManager) refuse(socketPath string, why error) {
	_ = m.h.Registration.Notify(m.introduction(), socketPath, false, why.Error())
}

// introduce runs as a task: connect, the driver's own name, node id and capabilities, and the answer to the plugin.
func (m *VolumeManager) introduce(socketPath string, info hal.PluginInfo, gone func()) (plugin.DriverFacts, error) {
	facts, err := m.interview(info, gone)
	if err != nil {
		m.refuse(socketPath, err)
		return facts, err
	}
	return facts, m.h.Registration.Notify(m.introduction(), socketPath, true, "")
}

func (m *VolumeManager) interview(info hal.PluginInfo, gone func()) (plugin.DriverFacts, error) {
	f, call := plugin.DriverFacts{Name: info.Name}, m.introduction
	peer, err := m.h.Drivers.Connect(call(), info.Name, info.Endpoint, gone)
	if err != nil {
		return f, err
	}
	f.Instance = peer.Instance
	name, err := m.h.CSIIdentity.PluginInfo(call(), info.Name, &csi.GetPluginInfoRequest{})
	if err != nil {
		return f, err
	}
	if name.GetName() != info.Name {
		return f, fmt.Errorf("the plugin registers as %q and its CSI endpoint says it is %q", info.Name, name.GetName())
	}
	node, err := m.h.CSINode.Info(call(), info.Name, &csi.NodeGetInfoRequest{})
	if err != nil {
		return f, err
	}
	if node.GetNodeId() == "" {
		return f, fmt.Errorf("NodeGetInfo of %s: the node id is empty", info.Name)
	}
	f.NodeID = node.GetNodeId()
	caps, err := m.h.CSINode.Capabilities(call(), info.Name, &csi.NodeGetCapabilitiesRequest{})
	if err != nil {
		return f, err
	}
	for _, c := range caps.GetCapabilities() {
		switch c.GetRpc().GetType() {
		case csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME:
			f.StageUnstage = true
		case csi.NodeServiceCapability_RPC_SINGLE_NODE_MULTI_WRITER:
			f.SingleNodeMultiWriter = true
		case csi.NodeServiceCapability_RPC_VOLUME_MOUNT_GROUP:
			f.VolumeMountGroup = true
		default: // what the engine makes no use of
		}
	}
	return f, nil
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
	if !slices.ContainsFunc(info.Versions, func(v string) bool { return strings.HasPrefix(strings.TrimPrefix(v, "v"), "1.") }) {
		return fmt.Errorf("driver %s supports the CSI versions %v, and none of them is 1.x", info.Name, info.Versions)
	}
	return nil
}
