package core_test

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// TestMain makes the state machine's default size what fits into every test run: -rapid.checks and -rapid.steps ask for
// more.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{
		"rapid.checks": "2000", "rapid.steps": "80",
		"rapid.nofailfile": "true",
	} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// TestMachine steps core with random events against the world of world_test.go, checks its promises after each step,
// and at the end lets the faults stop: then everything wanted must come up, everything else must go, and nothing may be
// left.
func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"":         m.check,
			"want":     m.want,
			"unwant":   m.unwant,
			"run":      m.run,
			"exit":     m.exit,
			"end":      m.end,
			"end ":     m.end, // twice as often as the others
			"act":      m.act,
			"answer":   m.answer,
			"driver":   m.driver,
			"lose":     m.lose,
			"time":     m.time,
			"sync":     m.sync,
			"die":      m.die,
			"nonsense": m.nonsense,
			"plan":     m.plan,
		})
		m.heal()
	})
}

// machine drives one core in one world.
type machine struct {
	*world
	t       *rapid.T
	c       *core.Core
	synced  bool
	waiters core.Waiter
	healed  bool // faults have stopped
}

func newMachine(t *rapid.T) *machine {
	m := &machine{t: t, world: newWorld(t)}
	m.c = core.New(core.Start{Now: m.now, Boot: m.boot})
	m.spec("")
	return m
}

// step is one Step with what its caller owes: lines into the journal, operations started. Sometimes the event comes
// twice, sometimes a clone goes first.
func (m *machine) step(e core.Event) {
	m.t.Logf("%s %s", m.now, told(e))
	var expected *core.Batch
	if m.coin(8) {
		before := m.c.View()
		b := m.c.Clone().Step(m.now, e)
		expected = &b
		require.Equal(m.t, before, m.c.View(), "a step of the clone changed the original")
	}
	b := m.c.Step(m.now, e)
	m.last = b
	require.Empty(m.t, m.c.Illegal())
	if expected != nil {
		require.Equal(m.t, *expected, b, "the clone decides otherwise")
	}
	if at := m.c.NextWake(); at != 0 && at <= m.now {
		m.t.Fatalf("NextWake %s is not after %s", at, m.now)
	}
	if _, ok := e.(core.Await); !ok && m.coin(8) {
		before := m.c.View()
		again := m.c.Step(m.now, e)
		require.Equal(m.t, core.Batch{}, again, "repeating the event does something")
		require.Equal(m.t, before, m.c.View(), "repeating the event changes something")
	}
	m.perform(b)
}

// told prints an event in a line.
func told(e core.Event) string {
	w, ok := e.(core.Wanted)
	if !ok {
		return fmt.Sprintf("%T%+v", e, e)
	}
	text := fmt.Sprintf("wanted by %s, complete %t:", w.Pod, w.Complete)
	for _, r := range w.Rungs {
		text += fmt.Sprintf(" %s%v", r.Key, r.Want)
	}
	return text
}

func written(rec core.Record) string {
	return fmt.Sprintf("%s in %s, %q, setup %s, tear down %s, up %t", rec.Phase, rec.Boot, rec.Fingerprint,
		rec.SetUpUntil, rec.TearDownUntil, rec.MayBeUsed)
}

// perform writes and starts what a batch asks for. Sometimes the journal can't be written.
func (m *machine) perform(b core.Batch) {
	m.lines = append(m.lines, b.Lines...)
	for _, l := range b.Lines {
		m.t.Logf("  line %s drop=%t sync=%t %s", l.Key, l.Drop, l.Sync, written(l.Record))
		if l.Drop {
			m.checkDrop(l.Key)
		}
	}
	sync := false
	for _, l := range b.Lines {
		sync = sync || l.Sync
	}
	if sync && !m.healed && m.coin(30) {
		var ops []hal.OpID
		for _, op := range b.Start {
			ops = append(ops, op.ID)
		}
		m.step(core.Refused{Ops: ops, Reason: "disk full"})
		return
	}
	if sync {
		m.durable = len(m.lines)
	}
	for _, op := range b.Start {
		m.t.Logf("  start %s by %s", op, op.Deadline)
		m.checkStart(op)
		m.start(op)
	}
}

func (m *machine) want(t *rapid.T) {
	uid := rapid.SampledFrom(podNames).Draw(t, "pod")
	p := m.pods[uid]
	if !p.wanted && !p.running {
		p.volumes = rapid.SliceOfNDistinct(rapid.SampledFrom(volumeNames), 1, 2, rapid.ID[string]).Draw(t, "volumes")
	}
	p.wanted = true
	p.complete = !m.chance(t, 8, "incomplete")
	m.tellPod(uid)
	if m.chance(t, 6, "change") {
		v := m.volumes[p.volumes[0]]
		if m.chance(t, 2, "rebuild") {
			v.opt += "x"
		} else {
			v.token += "x"
		}
		for _, other := range podNames {
			if m.pods[other].wanted {
				m.tellPod(other)
			}
		}
	}
}

// tellPod hands core what a pod wants, of volumes whose objects are readable: none, while it is incomplete.
func (m *machine) tellPod(uid core.PodUID) {
	p := m.pods[uid]
	e := core.Wanted{Pod: uid, Complete: p.complete}
	for _, name := range p.volumes {
		if p.complete {
			e.Rungs = append(e.Rungs, m.volumes[name].rungs(uid)...)
		}
	}
	m.step(e)
}

func (m *machine) unwant(t *rapid.T) {
	uid := rapid.SampledFrom(podNames).Draw(t, "pod")
	m.pods[uid].wanted = false
	m.step(core.Unwanted{Pod: uid})
	if !m.pods[uid].running {
		m.step(core.Gone{Pod: uid})
	}
}

// run starts containers once the pod is ready.
func (m *machine) run(t *rapid.T) {
	uid := rapid.SampledFrom(podNames).Draw(t, "pod")
	m.waiters++
	m.step(core.Await{Waiter: m.waiters, Pod: uid, For: core.PodReady})
	ready := len(m.last.Wake) > 0
	if ready != m.c.Ready(uid) {
		t.Fatalf("woken %t, ready %t", ready, m.c.Ready(uid))
	}
	if !ready {
		m.step(core.Forget{Waiter: m.waiters})
		return
	}
	p := m.pods[uid]
	if !p.wanted {
		t.Fatalf("pod %s is ready and not wanted", uid)
	}
	for _, name := range p.volumes {
		top := m.volumes[name].rungs(uid)[0]
		if truth := m.truth[top.Key]; truth == "" {
			t.Fatalf("pod %s is ready, %s is not there", uid, top.Key)
		}
	}
	p.running = true
}

func (m *machine) exit(t *rapid.T) {
	uid := rapid.SampledFrom(podNames).Draw(t, "pod")
	if p := m.pods[uid]; p.running && !p.wanted {
		p.running = false
		m.step(core.Gone{Pod: uid})
	}
}

func (m *machine) end(t *rapid.T) {
	ids := m.flying()
	if len(ids) == 0 {
		t.Skip("nothing in flight")
	}
	id := rapid.SampledFrom(ids).Draw(t, "op")
	m.complete(id, m.reply(t, id))
}

// complete ends an operation.
func (m *machine) complete(id hal.OpID, res core.Result) {
	delete(m.inflight, id)
	m.step(core.Completed{Op: id, Result: res})
}

// act lets an abandoned call take its lock, or act.
func (m *machine) act(t *rapid.T) {
	if len(m.pending) == 0 {
		t.Skip("nothing abandoned")
	}
	i := rapid.IntRange(0, len(m.pending)-1).Draw(t, "call")
	if k := m.pending[i]; m.isLocking(k.volume) && !k.lock && !m.isLocked(k.volume) && m.chance(t, 2, "lock") {
		k.lock = true
		return
	}
	if m.mayAct(m.pending[i]) {
		m.effect(i)
	}
}

// answer brings the late answer of an abandoned call.
func (m *machine) answer(t *rapid.T) {
	if len(m.pending) == 0 {
		t.Skip("nothing abandoned")
	}
	i := rapid.IntRange(0, len(m.pending)-1).Draw(t, "call")
	k := m.pending[i]
	if !m.mayAct(k) {
		t.Skip("another has the lock")
	}
	m.effect(i)
	if k.op != 0 {
		m.step(core.Answered{Op: k.op})
	}
}

// driver kills or registers a driver. A death with its cgroup empty ends all that it was asked to do.
func (m *machine) driver(t *rapid.T) {
	name := rapid.SampledFrom([]string{"d", "e"}).Draw(t, "driver")
	if m.chance(t, 2, "register only") {
		m.step(core.Registered{Actor: name})
		return
	}
	was := m.instance(name)
	m.lives[name]++
	for i := len(m.pending) - 1; i >= 0; i-- {
		if m.pending[i].instance == was {
			m.forgetCall(i)
		}
	}
	for _, id := range m.flying() {
		if f := m.inflight[id]; f.instance == was {
			f.lock, f.isDead = false, true
		}
	}
	m.step(core.ActorGone{Actor: name, Instance: was})
}

// lose unmounts something behind core's back; the watch on the mount table tells it.
func (m *machine) lose(t *rapid.T) {
	for _, v := range m.c.View() {
		if v.State == core.Present && v.Step == 0 && m.chance(t, 4, "this") {
			m.truth[v.Key] = ""
			m.step(core.Observed{Key: v.Key, Since: m.c.Seq()})
			return
		}
	}
}

func (m *machine) time(t *rapid.T) {
	d := rapid.SampledFrom([]time.Duration{
		time.Millisecond, 400 * time.Millisecond, 5 * time.Second, time.Minute,
		5 * time.Minute,
	}).Draw(t, "by")
	m.advance(m.now.Add(d))
}

// advance lets time pass, with a Wake at each instant that core asks for. Abandoned calls act at the last at their
// bound.
func (m *machine) advance(end hal.Instant) {
	for {
		at := end
		if wake := m.c.NextWake(); wake != 0 {
			at = min(at, max(wake, m.now))
		}
		m.lastActs(at)
		m.now = at
		m.step(core.Wake{})
		if at == end {
			return
		}
	}
}

func (m *machine) sync(*rapid.T) {
	if !m.synced {
		m.synced = true
		m.step(core.AllSynced{})
	}
}

// die kills the agent, sometimes the node; the next one starts from what of the journal is left.
func (m *machine) die(t *rapid.T) {
	if m.chance(t, 2, "not this time") {
		t.Skip("lives on")
	}
	start := m.restart(t)
	m.t.Logf("%s restart, boot %s, found %v, children %v", m.now, start.Boot, start.Found, start.Children)
	for _, rec := range start.Records {
		m.t.Logf("  record %s %s", rec.Rung.Key, written(rec))
	}
	m.c, m.synced = core.New(start), false
	m.step(core.Wake{})
	for _, v := range m.c.Pods() {
		if p := m.pods[v.UID]; !p.running && !p.wanted {
			m.step(core.Gone{Pod: v.UID})
		}
	}
	for _, uid := range podNames {
		if m.pods[uid].wanted {
			m.tellPod(uid)
		}
	}
	for _, child := range start.Children {
		if m.chance(t, 2, "child ends") {
			m.endChild(child.Key)
		}
	}
}

// nonsense sends what no caller should.
func (m *machine) nonsense(t *rapid.T) {
	key := hal.Key(rapid.SampledFrom([]string{"stage/a", "publish/a/p", "none"}).Draw(t, "key"))
	id := hal.OpID(rapid.Uint64Range(1<<40, 1<<41).Draw(t, "op"))
	m.step(rapid.SampledFrom([]core.Event{
		core.Completed{Op: id, Result: core.Result{Outcome: hal.Done}},
		core.Answered{Op: id},
		core.ActorGone{Actor: "none", Instance: "1"},
		core.ActorGone{Actor: "d"},
		core.Registered{Actor: "none"},
		core.Observed{Key: key, Fingerprint: "odd", Since: 0},
		core.ChildGone{Key: key + "x"},
		core.Refused{Ops: []hal.OpID{id}},
		core.Forget{Waiter: 1 << 40},
		core.Unwanted{Pod: "none"},
		core.Gone{Pod: "none"},
		core.Wake{},
	}).Draw(t, "event"))
}

func (m *machine) plan(*rapid.T) {
	before, at := m.c.View(), m.c.NextWake()
	m.c.Plan(core.Unwanted{Pod: "p"}, core.Gone{Pod: "p"}, core.AllSynced{})
	require.Equal(m.t, before, m.c.View())
	require.Equal(m.t, at, m.c.NextWake())
}

// heal stops all faults: from here every operation ends Done. Within the bound of the laws, all that is wanted is up
// and all else gone; then, with nothing wanted, nothing is left.
func (m *machine) heal() {
	m.healed = true
	m.sync(nil)
	for _, uid := range podNames {
		p := m.pods[uid]
		if p.wanted {
			p.complete = true
		}
		m.oneClaim(uid)
		p.running = false
		if !p.wanted {
			m.step(core.Unwanted{Pod: uid})
		} else {
			m.tellPod(uid)
		}
		m.step(core.Gone{Pod: uid}) // nothing stands in the way of a rebuild
	}
	for _, key := range m.childKeys() {
		m.endChild(key)
	}
	m.toRest()
	m.check(nil)
	for _, uid := range podNames {
		if p := m.pods[uid]; p.wanted && !m.c.Ready(uid) {
			m.t.Fatalf("pod %s is not ready after all faults stopped:\n%s", uid, m.show())
		}
	}
	for _, v := range m.c.View() {
		if v.Desired != "wanted" {
			m.t.Fatalf("%s is %s and still here after all faults stopped:\n%s", v.Key, v.Desired, m.show())
		}
	}
	for _, uid := range podNames {
		m.pods[uid].wanted = false
		m.step(core.Unwanted{Pod: uid})
		m.step(core.Gone{Pod: uid})
	}
	m.toRest()
	m.waiters++
	m.step(core.Await{Waiter: m.waiters, For: core.AllGone})
	require.Equal(m.t, []core.Waiter{m.waiters}, m.last.Wake)
	require.Empty(m.t, m.c.View())
	require.Empty(m.t, m.c.Pods())
	require.Empty(m.t, m.records(len(m.lines)))
	for key, fp := range m.truth {
		require.Empty(m.t, fp, "%s was left behind", key)
	}
}

// toRest runs until nothing is in flight and no wait is left but refreshes, within the bound of the laws and without a
// storm of calls: 30 for each rung, and an inspection and a call each 2 s while an abandoned call has the lock of its
// driver, which answers ABORTED (law 2.3: that costs backoff, of 4 s at the longest).
func (m *machine) toRest() {
	n := hal.Instant(len(m.c.View()))
	limit := m.now.Add(4*time.Minute) + 2*(n+1)*hal.Instant(122*time.Second)
	ops, locked := 0, time.Duration(0)
	for m.now < limit {
		for ids := m.flying(); len(ids) > 0; ids = m.flying() {
			if ops++; ops > (30+2*int(locked/(2*time.Second)))*(len(m.c.View())+4) {
				m.t.Fatalf("a storm of calls:\n%s", m.show())
			}
			m.done(ids[0])
		}
		at := m.c.NextWake()
		if at == 0 {
			return
		}
		if m.isLocked("d^a") {
			locked += at.Sub(m.now)
		}
		m.advance(at)
	}
}

func (m *machine) show() string {
	text := ""
	for _, v := range m.c.View() {
		text += fmt.Sprintf("%s %s %s: %s\n", v.Key, v.Desired, v.State, v.Why)
	}
	return text
}
