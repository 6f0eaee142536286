package sim

import (
	"strconv"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

// conn is one connection of an incarnation to a driver.
type conn struct {
	driver   string
	endpoint string
	d        *driver
	process  uint32
	lost     func() // nil once it was called
	gone     func() // nil once it was called
}

func (inc *incarnation) conn(driver string) *conn {
	for _, c := range inc.conns {
		if c.driver == driver {
			return c
		}
	}
	return nil
}

// never is the error of a call that was not sent.
func (k *call) never(method string, errno syscall.Errno) error {
	r := k.record(MarkReply)
	r.Outcome = hal.NotDone
	k.w.trace.add(r)
	return &hal.Error{
		Op: method, Object: k.subject.name, Class: hal.ClassRPC, Outcome: hal.NotDone, Reply: hal.ReplyNever,
		Errno:  errno,
		Detail: k.detail(),
	}
}

// asks tells of a question to how full a volume is, or what is wrong with it, or with the storage of its driver.
func (k *call) asks(at *callSite, driver string, q request) {
	if at == callStats || at == callHealth || at == callStorage {
		k.h.w.tell(actor{call: k}, Effect{
			Kind: EffectMeasured, Driver: driver, Method: q.method, Volume: q.volume, Target: q.target, Staging: q.staging,
		})
	}
}

// ask sends a request to the process behind a socket, or with endpoint "" to a connected driver, and waits for the
// answer.
func (h *host) ask(at *callSite, c hal.Call, driver, endpoint string, q request) (result, error) {
	w := h.w
	object := hal.DriverOf(driver)
	if endpoint != "" {
		object = endpoint
	}
	m := &w.menus.ask
	if q.effects {
		m = &w.menus.rpc
		object += "^" + q.volume
		if q.target != "" {
			object += " " + q.target
		}
	}
	k := h.enter(at, object, c, m)
	if k.expired = k.expired || c.Deadline != 0 && h.now() >= c.Deadline; k.expired {
		return result{}, k.never(q.method, syscall.ETIMEDOUT)
	}
	if q.method == getInfo {
		w.tell(actor{call: &k}, Effect{Kind: EffectAsked, Path: endpoint, Method: q.method})
	}
	k.asks(at, object, q)
	var own *conn
	if endpoint == "" {
		if own = h.inc.conn(driver); own == nil {
			return result{}, k.never(q.method, 0)
		}
		endpoint = own.endpoint
	}
	d, isRegistrar, errno := w.listener(endpoint)
	if errno != 0 {
		return result{}, k.never(q.method, errno)
	}
	if q.made != "" && q.made != w.madeOf(endpoint) {
		return result{}, k.never(q.method, syscall.ESTALE)
	}
	if own != nil && own.process != d.process {
		return result{}, k.never(q.method, 0) // another process answers there: it has to be connected to again
	}
	refusal := k.fault == Refused
	if refusal && (k.subject.hash+uint64(k.subject.nth))&1 == 0 {
		return result{}, k.never(q.method, syscall.ECONNREFUSED)
	}
	r := &rpc{
		request: q, w: w, d: d, process: d.process, inc: h.inc, call: c, site: at, subject: k.subject, begin: k.begin,
		fault: k.fault, task: w.sched.current, isHidden: d.isHidden, isRegistrar: isRegistrar,
	}
	if isRegistrar {
		r.process = d.registrar
	}
	r.park = r.task.parked
	if c.Deadline != 0 {
		r.deadline = h.instant(c.Deadline)
		w.sched.wake(r.deadline, k.subject.hash, r.task)
	}
	if refusal {
		r.code, r.reply = hal.CodeUnavailable, hal.ReplyStatus
		w.sched.at(w.sched.now.Add(fastest), k.subject.hash, r.inc, r.deliver)
		r.state = rpcEnded
	} else {
		r.send()
	}
	if (k.crash == CrashAfter || k.crash == PowerCut || k.crash == Reboot) && q.effects {
		// Half of these crashes come when the request is on its way, half when it has acted.
		if k.crash != CrashAfter || w.chooser.Pick(k.subject.id(at.moment), []uint32{1, 1}) == 0 {
			k.die()
		}
		r.dies = true
	}
	w.sched.park()
	return k.answer(r)
}

// answer is what the waiting task makes of the end of its wait.
func (k *call) answer(r *rpc) (result, error) {
	if k.crash == CrashReplied {
		k.w.dieSoon(k.h.inc)
	}
	if !r.answered && r.deadline != 0 && k.w.happens(Pause, siteTimedOut, k.subject.name) {
		// an answer that comes meanwhile is late
		k.sleep(k.w.time(siteTimedOut, k.subject.name, time.Millisecond, time.Second))
	}
	rec := k.record(MarkReply)
	var err error
	if r.answered {
		err = r.failure()
		rec.Code = r.code
	} else {
		err = &hal.Error{
			Op: r.method, Object: k.subject.name, Class: hal.ClassRPC, Outcome: hal.Unknown,
			Reply: hal.ReplyNone,
		}
	}
	rec.Outcome = hal.OutcomeOf(err)
	k.w.trace.add(rec)
	r.result.driver = r.d
	if k.w.trap == k.site.name {
		k.w.trap = ""
		panic(Trap)
	}
	return r.result, err
}

// Trap is what the code panics with that springs a trap.
const Trap = "a trap of the simulator"

// SetTrap makes the agent's code panic behind the next answer to a call of a driver ("csi.stage"), or when none came
// in time.
func (w *World) SetTrap(call string) { w.trap = call }

type hostDrivers struct{ *host }

var callConnect = newCallSite("drivers.connect", hal.ClassRPC, false)

func (h hostDrivers) Connect(c hal.Call, name, endpoint string, events hal.PeerEvents) (hal.Peer, error) {
	w := h.w
	k := h.enter(callConnect, hal.DriverOf(name), c, &w.menus.read)
	if errno, ok := k.acts(); !ok {
		return hal.Peer{}, k.never("connect", errno)
	}
	w.tell(actor{call: &k}, Effect{Kind: EffectAsked, Driver: hal.DriverOf(name), Path: endpoint, Method: "connect"})
	d, _, errno := w.listener(endpoint)
	if errno != 0 {
		return hal.Peer{}, k.never("connect", errno)
	}
	h.Disconnect(name)
	h.inc.conns = append(h.inc.conns, &conn{
		driver: name, endpoint: endpoint, d: d, process: d.process, lost: events.Lost, gone: events.Gone,
	})
	peer := hal.Peer{PID: d.pid}
	if !d.is.Nameless {
		peer.Instance = d.instance()
	}
	return peer, k.done(0)
}

func (h hostDrivers) Rename(from, to string) {
	if c := h.inc.conn(from); c != nil {
		h.Disconnect(to)
		c.driver = to
	}
}

func (h hostDrivers) Disconnect(driver string) {
	for i, c := range h.inc.conns {
		if c.driver == driver {
			h.inc.conns = append(h.inc.conns[:i], h.inc.conns[i+1:]...)
			return
		}
	}
}

type hostRegistration struct{ *host }

const getInfo = "GetInfo"

var (
	callInfo   = newCallSite("registration.info", hal.ClassRPC, false)
	callNotify = newCallSite("registration.notify", hal.ClassRPC, false)
)

func (h hostRegistration) Info(c hal.Call, socket string) (hal.PluginInfo, error) {
	at, _, errno := h.w.walk(socket, walkNoLastLink)
	if errno == 0 && (at.n.uid != 0 || at.n.mode&0o022 != 0) {
		return hal.PluginInfo{}, &hal.Error{
			Op: getInfo, Object: socket, Class: hal.ClassRPC, Outcome: hal.NotDone, Errno: syscall.EACCES,
			Reply: hal.ReplyNever,
		}
	}
	made := h.w.madeOf(socket)
	res, err := h.ask(callInfo, c, "", socket, request{method: getInfo})
	if err != nil {
		return hal.PluginInfo{}, err
	}
	d, version := res.driver, "1.0.0"
	if d.misregisters {
		version = "0.3.0"
	}
	return hal.PluginInfo{
		Type: "CSIPlugin", Name: d.name, Endpoint: d.endpoint, Versions: []string{version},
		Socket: made,
	}, nil
}

// madeOf names what is at a path.
func (w *World) madeOf(path string) string {
	at, _, errno := w.walk(path, walkNoLastLink)
	if errno != 0 {
		return "gone"
	}
	return strconv.FormatUint(at.n.serial, 10)
}

func (h hostRegistration) Notify(c hal.Call, socket, made string, registered bool, _ string) error {
	_, err := h.ask(callNotify, c, "", socket, request{
		method: "NotifyRegistrationStatus", readOnly: registered,
		made: made,
	})
	return err
}

type hostIdentity struct{ *host }

var (
	callPluginInfo = newCallSite("csi.plugin-info", hal.ClassRPC, false)
	callPluginCaps = newCallSite("csi.plugin-capabilities", hal.ClassRPC, false)
	callProbe      = newCallSite("csi.probe", hal.ClassRPC, false)
)

func (h hostIdentity) PluginInfo(
	c hal.Call, driver string, _ *csi.GetPluginInfoRequest,
) (*csi.GetPluginInfoResponse, error) {
	res, err := h.ask(callPluginInfo, c, driver, "", request{method: "GetPluginInfo"})
	if err != nil {
		return nil, err
	}
	return &csi.GetPluginInfoResponse{Name: res.driver.name, VendorVersion: "1"}, nil
}

func (h hostIdentity) PluginCapabilities(
	c hal.Call, driver string, _ *csi.GetPluginCapabilitiesRequest,
) (*csi.GetPluginCapabilitiesResponse, error) {
	if _, err := h.ask(callPluginCaps, c, driver, "", request{method: "GetPluginCapabilities"}); err != nil {
		return nil, err
	}
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{
		Type: &csi.PluginCapability_Service_{
			Service: &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE},
		},
	}}}, nil
}

func (h hostIdentity) Probe(c hal.Call, driver string, _ *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	if _, err := h.ask(callProbe, c, driver, "", request{method: "Probe"}); err != nil {
		return nil, err
	}
	return &csi.ProbeResponse{}, nil
}
