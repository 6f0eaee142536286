package core_test

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// check holds core's beliefs against the truth.
func (m *machine) check(*rapid.T) {
	for _, v := range m.c.View() {
		if v.State == core.Present && v.Step == 0 && v.Child == "" && m.truth[v.Key] != v.Fingerprint {
			m.t.Fatalf("%s is believed to be %q and is %q", v.Key, v.Fingerprint, m.truth[v.Key])
		}
		if v.State == core.Present && m.mayCome(v.Key, core.TearDown) {
			m.t.Fatalf("%s is believed to stand while a teardown may still act", v.Key)
		}
	}
	for _, p := range m.c.Pods() {
		if p.Ready && !p.Wanted {
			m.t.Fatalf("pod %s is ready and not wanted", p.UID)
		}
	}
}

// mayCome reports whether an abandoned call of that side may still act on key.
func (m *machine) mayCome(key hal.Key, v core.Verb) bool {
	return slices.ContainsFunc(m.pending, func(k *abandoned) bool {
		return k.key == key && (k.verb == core.TearDown) == (v == core.TearDown)
	})
}

// isAlive reports whether key is there, or something may still act on it.
func (m *machine) isAlive(key hal.Key) bool {
	return m.truth[key] != "" || m.mayCome(key, core.SetUp) || m.mayCome(key, core.TearDown) || m.children[key] != nil
}

func (m *machine) how(key hal.Key) string {
	return fmt.Sprintf("it is %q; a setup may come: %t, a teardown: %t; helper: %t", m.truth[key],
		m.mayCome(key, core.SetUp),
		m.mayCome(key, core.TearDown), m.children[key] != nil)
}

// checkDrop: a rung is forgotten only when it is down and nothing can act on it any more.
func (m *machine) checkDrop(key hal.Key) {
	if m.isAlive(key) {
		m.t.Fatalf("%s is forgotten: %s", key, m.how(key))
	}
}

// checkStart holds an operation against the laws at the moment it starts.
func (m *machine) checkStart(op core.Op) {
	spec := m.spec(op.Key)
	for _, id := range m.flying() {
		f := m.inflight[id]
		if f.Key != op.Key && (f.Verb == core.Inspect || op.Verb == core.Inspect) {
			continue
		}
		if f.Key == op.Key {
			m.t.Fatalf("%s beside %s on the same rung", op, f.Op)
		}
		if slices.Contains(spec.Below, f.Key) || slices.Contains(m.spec(f.Key).Below, op.Key) {
			m.t.Fatalf("%s beside %s, one stands on the other", op, f.Op)
		}
	}
	if m.children[op.Key] != nil {
		m.t.Fatalf("%s while a helper works on it", op)
	}
	if op.Verb == core.Inspect {
		return
	}
	m.checkAnnounced(op, spec)
	if op.Verb == core.TearDown {
		m.checkTearDown(op, spec)
		return
	}
	if m.mayCome(op.Key, core.TearDown) {
		m.t.Fatalf("%s while a teardown may still act on it", op)
	}
	if m.left[op.Key] {
		m.t.Fatalf("%s over what a teardown may have left", op)
	}
	for _, below := range spec.Below {
		if m.truth[below] == "" || m.mayCome(below, core.TearDown) {
			m.t.Fatalf("%s on %s, which is %q, a teardown may come: %t", op, below, m.truth[below],
				m.mayCome(below, core.TearDown))
		}
	}
	if spec.Exclusive == "" || op.Verb == core.Refresh {
		return
	}
	for key, other := range m.specs {
		if other.Volume == spec.Volume && other.Kind == spec.Kind && key != op.Key &&
			(m.truth[key] != "" || m.mayCome(key, core.SetUp)) {
			m.t.Fatalf("%s while %s is %q and may come: %t", op, key, m.truth[key], m.mayCome(key, core.SetUp))
		}
	}
}

// checkAnnounced: what may have effects that a start can't list is durable in the journal before, with the bound of its
// call.
func (m *machine) checkAnnounced(op core.Op, spec core.Rung) {
	if !spec.Intent {
		return
	}
	rec, ok := m.records(m.durable)[op.Key]
	until := op.Deadline.Add(spec.Limits.LateWindow)
	switch {
	case !ok:
		m.t.Fatalf("%s without a durable record", op)
	case op.Verb == core.TearDown && (rec.Phase != core.Leaving || rec.TearDownUntil < until):
		m.t.Fatalf("%s with the record %+v", op, rec)
	case op.Verb != core.TearDown && (rec.Phase != core.Intent || rec.SetUpUntil < until):
		m.t.Fatalf("%s with the record %+v", op, rec)
	}
}

// checkTearDown: nothing goes down before every source is synced, under a container, or under something that is not
// gone for good.
func (m *machine) checkTearDown(op core.Op, spec core.Rung) {
	if !m.synced {
		m.t.Fatalf("%s before every source is synced", op)
	}
	if p := m.pods[spec.Pod]; spec.Pod != "" && p.running && m.isOf(p, op.Key) {
		m.t.Fatalf("%s while containers run on it", op)
	}
	for key, above := range m.specs {
		if !slices.Contains(above.Below, op.Key) {
			continue
		}
		if m.isAlive(key) {
			m.t.Fatalf("%s under %s: %s", op, key, m.how(key))
		}
	}
}

// isOf reports whether key is the top rung of one of the pod's volumes.
func (m *machine) isOf(p *podModel, key hal.Key) bool {
	return slices.ContainsFunc(p.volumes, func(name string) bool {
		return slices.ContainsFunc(podNames,
			func(uid core.PodUID) bool { return m.volumes[name].rungs(uid)[0].Key == key })
	})
}

// spec returns what a key stands for; it never changes but for its parameters.
func (m *machine) spec(key hal.Key) core.Rung {
	if _, ok := m.specs[key]; !ok {
		for _, v := range m.volumes {
			for _, uid := range podNames {
				for _, r := range v.rungs(uid) {
					m.specs[r.Key] = r
				}
			}
		}
	}
	return m.specs[key]
}
