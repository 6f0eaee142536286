package sim

import (
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// lastMoment is what a call that acts as late as it may leaves of Settle: in it a doubled one acts once more, be it
// that instants are rounded up to milliseconds.
const lastMoment = 2 * time.Millisecond

// LateWindow is how long after its deadline a call may still act: the simulator's Z.
const LateWindow = 120 * time.Second

// rpcState is how far an RPC has got.
type rpcState uint8

const (
	rpcSent rpcState = iota
	rpcStarted
	rpcActed
	rpcEnded
)

// request is what the model needs of an RPC's message.
type request struct {
	method   string
	volume   string
	staging  string
	target   string
	readOnly bool
	group    string // volume_mount_group
	block    bool
	inline   bool
	name     string // CreateVolume
	made     string // the socket that it is for; "" is any
	secrets  map[string]string
	effects  bool // it changes something
	message  any  // the request itself, of those that bring something up
}

// rpc is one request to a driver. It may act until it has ended, whoever waits.
type rpc struct {
	request
	w        *World
	id       uint64
	d        *driver
	process  uint32
	inc      *incarnation
	call     hal.Call
	deadline hal.Instant // of the world's clock; 0 is none
	site     *callSite
	subject  subject
	begin    uint64
	fault    Fault
	dies     bool // the agent dies once it has acted
	state    rpcState
	orphan   bool // its driver is dead, and a child of it goes on
	isHidden bool // what it mounts does not reach the host
	repeat   bool // it acts once more
	replied  bool // it was answered, and acts nevertheless
	// isRegistrar: it goes to the driver's registrar.
	isRegistrar bool

	task     *task // that waits
	park     uint32
	answered bool // the task has, or is about to get, the answer
	code     hal.Code
	text     string // of an error
	reply    hal.Reply
	result   result
}

// result is what the reply of an RPC carries, other than its code.
type result struct {
	volume string
	driver *driver
	health []hal.HealthEntry // of a volume, or of the storage
}

func (r *rpc) describe(e *Effect) {
	e.Actor = r.d.name
	e.Run, e.Op, e.Key, e.Call = r.inc.number, r.call.Op, r.call.Key, r.id
	e.Endpoint = r.d.endpoint
	e.Driver, e.Method, e.Volume, e.Staging, e.Target = r.d.name, r.method, r.volume, r.staging, r.target
	if e.Code == 0 {
		e.Code = r.code
	}
	e.Text = r.text
	e.Deadline = r.deadline
	e.Late = r.inc.dead || r.deadline != 0 && r.w.sched.now > r.deadline
}

func (r *rpc) tell(kind EffectKind, outcome hal.Outcome) {
	r.w.tell(actor{rpc: r}, Effect{Kind: kind, Outcome: outcome})
}

// note adds a trace record.
func (r *rpc) note(m Mark) {
	r.w.trace.add(Record{
		Cause: r.begin, At: r.w.sched.now, Run: r.inc.number, Op: r.call.Op, Mark: m, What: r.site.name,
		Object: r.subject.name,
		Code:   r.code, Fault: r.fault, hash: r.site.hash ^ r.subject.hash,
	})
}

// left is the time in which the call may still act.
func (r *rpc) left() time.Duration {
	end := r.deadline
	if end == 0 {
		end = r.w.sched.now
	}
	return max(end.Add(LateWindow-lastMoment).Sub(r.w.sched.now), 0)
}

// later schedules f, unless the call ends before.
func (r *rpc) later(wait time.Duration, f func()) {
	r.w.sched.at(r.w.sched.now.Add(wait), r.subject.hash^r.id, nil, func() {
		if r.state != rpcEnded {
			f()
		}
	})
}

func (r *rpc) between(at *site, lo, hi time.Duration) time.Duration {
	return time.Duration(r.w.chooser.Between(r.subject.id(at), int64(lo), int64(max(lo, hi))))
}

const (
	// Slowness is how much longer than usual a driver works on a call that is slow.
	Slowness = 100
	// SlowMost is how long it works on one at most.
	SlowMost = Slowness * executeMost

	connectionDies = time.Minute // of a connection whose peer says nothing
	// interceptedLeast is how long a call that something else has answered goes on at least.
	interceptedLeast = time.Second
	executeMost      = 3 * time.Second
	executeSlowMost  = 5 * time.Minute
)

// send lets the request leave the agent; what becomes of it was drawn before.
func (r *rpc) send() {
	w := r.w
	w.rpcCount++
	r.id = w.rpcCount
	w.rpcs = append(w.rpcs, r)
	if r.effects {
		w.tell(actor{rpc: r}, Effect{Kind: EffectSent, Outcome: hal.Unknown, Message: r.message})
		r.message = nil
		if v := r.d.volume(r.volume); v != nil && (r.method == "NodeStageVolume" || r.method == "NodePublishVolume") {
			v.setUpUntil = max(v.setUpUntil, r.deadline.Add(LateWindow))
		}
	}
	wait := r.between(r.site.arrive, fastest, rpcMost)
	if r.fault == Dropped {
		r.later(wait, r.end)
		return
	}
	if r.fault == Late {
		from := max(r.untilDeadline(), 0)
		wait = r.between(r.site.late, from, from+LateWindow-2*lastMoment)
	}
	r.later(wait, r.arrive)
}

// untilDeadline is 0 without a deadline.
func (r *rpc) untilDeadline() time.Duration {
	if r.deadline == 0 {
		return 0
	}
	return r.deadline.Sub(r.w.sched.now)
}

var siteQueue = newSite("driver.queue")

// busy says whether another operation on the volume runs in this driver.
func (d *driver) busy(not *rpc) bool {
	for _, r := range d.w.rpcs {
		if r != not && r.d == d && r.process == d.process && r.effects && r.volume == not.volume &&
			r.state == rpcStarted {
			return true
		}
	}
	return false
}

// waits: a driver that does one thing at a time keeps the call until another has ended. It may have lost its turn by
// then.
func (r *rpc) waits() bool {
	d := r.d
	if !d.is.Queues || !r.effects || !d.works(r) {
		return false
	}
	d.queue = append(d.queue, r)
	r.later(r.left(), r.end)
	return true
}

// works says whether the driver carries out another operation with effects.
func (d *driver) works(not *rpc) bool {
	return slices.ContainsFunc(d.w.rpcs, func(r *rpc) bool {
		return r != not && r.d == d && r.process == d.process && r.effects && r.state == rpcStarted
	})
}

// next takes one of the calls that wait, not always the oldest.
func (d *driver) next() {
	if len(d.queue) == 0 || d.works(nil) {
		return
	}
	s := d.w.subject(siteQueue, d.name)
	i := int(d.w.chooser.Between(s.id(siteQueue), 0, int64(len(d.queue)-1)))
	r := d.queue[i]
	d.queue = slices.Delete(d.queue, i, i+1)
	r.later(fastest, r.arrive)
}

// serves counts a call of the driver's life, and says whether it dies of it.
func (d *driver) serves() bool {
	if d.is.CrashesOn == 0 || d.w.calm || d.served >= d.is.CrashesOn {
		return false
	}
	d.served++
	return d.served == d.is.CrashesOn
}

// arrive is the request reaching the driver.
func (r *rpc) arrive() {
	w := r.w
	switch {
	case !r.d.lives(r.isRegistrar, r.process):
		r.broken()
		r.end()
		return
	case r.fault == DriverCrash && r.subject.nth&1 == 0:
		r.restartDriver()
		return
	case r.effects && r.d.is.Serial && r.d.busy(r) && r.fault == ErrorNone:
		r.answer(r.errorCode()) // it looks at the request before it looks whether the volume is busy
		r.tell(EffectAnswered, hal.Done)
		r.end()
		return
	case r.effects && r.d.is.Serial && r.d.busy(r):
		r.fault = NoFault
		r.answer(hal.CodeAborted)
		r.end()
		return
	case r.isRegistrar && r.d.broken != Works: // it is another process
	case r.d.broken == Hangs:
		r.state = rpcStarted
		r.later(r.left(), r.end)
		return
	case r.d.broken == Refuses || r.d.broken == Fails || r.d.broken == Denies && r.method == "NodePublishVolume":
		r.fault = NoFault
		r.answer(map[Breakage]hal.Code{
			Refuses: hal.CodeUnavailable, Fails: hal.CodeInternal,
			Denies: hal.CodeFailedPrecondition,
		}[r.d.broken])
		r.end()
		return
	case r.d.broken == Busy && r.effects:
		r.code = busyCodes[r.between(r.site.code, 0, time.Duration(len(busyCodes)-1))]
		r.fault, r.text = NoFault, ErrorTexts(ErrorNone)[0]
		r.answer(r.code)
		r.end()
		return
	case r.waits():
		return
	}
	r.state = rpcStarted
	r.d.learns(r)
	if r.effects {
		r.tell(EffectStarted, hal.Unknown)
		if r.d.serves() {
			r.fault = DriverCrash
		}
	}
	most := executeMost
	if r.d.is.Slow {
		most = executeSlowMost
	}
	if !r.effects {
		most = rpcMost
	}
	wait := r.between(r.site.execute, fastest, most)
	if r.fault == Slow {
		wait *= Slowness
	}
	if r.fault == Stalled {
		from := max(r.untilDeadline(), 0)
		wait = r.between(r.site.late, from, from+LateWindow-2*lastMoment)
	}
	// An operation may outlast its deadline, but not the time after which nobody expects it to act.
	w.sched.at(w.sched.now.Add(min(wait, max(r.left(), fastest))), r.subject.hash^r.id, nil, func() {
		if r.state == rpcStarted && !r.orphan {
			r.act()
		}
	})
}

func (r *rpc) restartDriver() {
	d := r.d
	if r.isRegistrar {
		d.endRegistrar()
		d.startRegistrarIn(r.w.time(siteBackoff, d.name, time.Second, restartMost))
		return
	}
	d.dies()
	d.startIn(r.w.time(siteDriverStart, d.name, time.Second, restartMost))
}

// act carries the operation out, and answers.
func (r *rpc) act() {
	if r.hung(r.act) {
		return
	}
	amount := whole
	failed := hal.CodeOK
	if r.actsBehind() {
		return
	}
	switch r.fault {
	case ErrorNone:
		amount, failed = nothing, r.errorCode()
	case ErrorPart:
		amount, failed = part, r.errorCode()
	case ErrorFull:
		failed = r.errorCode()
	case Stalled:
		if r.subject.nth&1 == 1 {
			amount, failed = nothing, hal.CodeDeadlineExceeded
		}
	default: // the others do not change what is done
	}
	if r.effects && (r.d.broken == Partly || r.d.broken == Wholly) {
		amount, failed, r.text = whole, hal.CodeUnknown, ErrorTexts(ErrorNone)[0]
		if r.d.broken == Partly {
			amount = part
		}
	}
	code := r.d.perform(r, amount)
	if failed != hal.CodeOK && code == hal.CodeOK {
		code = failed
	}
	if !r.replied {
		r.code = code
	}
	r.state = rpcActed
	if r.effects {
		r.note(MarkEffect)
		r.tell(EffectActed, hal.Done)
	}
	switch {
	case r.replied:
		r.end()
	case r.dies && !r.inc.dead && !r.w.isSpared():
		r.w.down = CrashAfter
		r.w.sched.dying = r.inc
		r.end()
	case r.fault == DriverCrash:
		r.restartDriver()
	case r.fault == Doubled && !r.repeat:
		r.repeat, r.state = true, rpcStarted // a driver that does one thing at a time has not done with it
		r.later(r.between(r.site.late, fastest, r.left()), r.act)
	case r.fault == Lost || r.fault == Doubled:
		r.end()
	default:
		r.answer(code)
		r.end()
	}
}

// actsBehind: a driver of that kind, or what stands before it, answers with an error at once, and what was asked for is
// done afterwards.
func (r *rpc) actsBehind() bool {
	isBehind := (r.fault == ErrorPart || r.fault == ErrorFull) && (r.d.is.ActsBehind || r.d.is.ActsUntold)
	if !isBehind && r.fault != Intercepted || r.replied {
		return false
	}
	r.code = r.errorCode()
	r.answer(r.code)
	r.replied = true
	r.tell(EffectAnswered, hal.Done)
	least := fastest
	if !isBehind {
		least = min(interceptedLeast, r.left())
	}
	r.later(r.between(r.site.late, least, r.left()), r.act)
	return true
}

// busyCodes are what a driver says whose mounts are busy.
var busyCodes = [...]hal.Code{hal.CodeUnknown, hal.CodeInternal, hal.CodeFailedPrecondition}

// errorCodes are the statuses that a driver fails with. All of them leave the effect open; they end the call.
func errorCodes() [8]hal.Code {
	return [...]hal.Code{
		hal.CodeInternal, hal.CodeResourceExhausted, hal.CodeUnauthenticated, hal.CodeDataLoss,
		hal.CodePermissionDenied, hal.CodeUnknown,
		hal.CodeDeadlineExceeded, hal.CodeAlreadyExists,
	}
}

func (r *rpc) errorCode() hal.Code {
	codes := ErrorCodes(r.fault)
	code := codes[r.w.chooser.Between(r.subject.id(r.site.code), 0, int64(len(codes)-1))]
	if code == hal.CodeUnknown {
		texts := ErrorTexts(r.fault)
		r.text = texts[r.w.chooser.Between(r.subject.id(r.site.text), 0, int64(len(texts)-1))]
	}
	return code
}

// orphanActs is the effect of a call whose driver is dead.
func (r *rpc) orphanActs() {
	if r.state == rpcEnded || r.state == rpcStarted && r.hung(r.orphanActs) {
		return
	}
	if r.state == rpcStarted {
		r.d.perform(r, whole)
		r.state = rpcActed
		r.note(MarkEffect)
		r.tell(EffectActed, hal.Done)
	}
	r.end()
}

// end: the call can act no more.
func (r *rpc) end() {
	if r.state == rpcEnded {
		return
	}
	w := r.w
	r.state = rpcEnded
	w.rpcs = slices.DeleteFunc(w.rpcs, func(k *rpc) bool { return k == r })
	if r.d.is.Queues {
		r.d.queue = slices.DeleteFunc(r.d.queue, func(k *rpc) bool { return k == r })
		r.d.next()
	}
	if r.effects {
		r.tell(EffectEnded, hal.Unknown)
	}
	if r.deadline == 0 && r.reply == hal.ReplyNone { // nobody else would end the wait
		r.code = hal.CodeUnavailable
		w.sched.at(w.sched.now.Add(connectionDies), r.subject.hash^r.id, r.inc, r.deliver)
	}
	if r.orphan {
		r.d.seenGone()
	}
}
