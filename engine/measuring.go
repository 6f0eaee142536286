package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// measureTimeout is how long one volume may take to say how full it is.
const measureTimeout = 10 * time.Second

// measureRarely is how long it takes at most until one that failed is asked again: what hangs may leave a process each
// time.
const measureRarely = time.Hour

// measuring asks again and again how full volumes are: those of claims, and those with a limit that nothing else looks
// after. Of those of claims it asks also what is wrong with them, if their driver can say. Of a driver it asks one
// volume at a time, and so of each kind of volumes without one: who is silent keeps nobody else waiting. It changes
// nothing, and core knows nothing of it.
type measuring struct {
	*port
	objects *objects                                // whose volumes they are
	facts   func(driver string) *plugin.DriverFacts // whether a driver can say
	// is called each time that a driver says that something is wrong with a volume
	abnormal func(top hal.Key, what []hal.HealthEntry)

	known map[hal.Key]measured // by the rung at the top of a volume; who can't say is not in it
	// asking is what is asked next, by driver, or by kind where there is none. Invariant: an actor with a question
	// under way is in it.
	asking map[string][]hal.Key
}

// measured is what was said last of one volume.
type measured struct {
	is     hal.Usage     // zero if nothing was said
	at     hal.Instant   // when it was said, or was not; 0 if no answer counted yet
	why    string        // nothing was said; for people
	asked  hal.Instant   // when the last question ended, also one whose answer does not count
	wait   time.Duration // before it is asked again, beyond the period; 0 unless it failed
	health Health        // what is wrong with it
	said   hal.Instant   // when that was said, or was not; 0 if no answer counted yet
	// isOver: it held more than its limit when it was said last how much it holds.
	isOver bool
}

// begin asks for the first time one period from now.
func (m *measuring) begin() {
	if m.cfg.MeasureEvery > 0 {
		m.h.Runtime.At(m.h.Runtime.Now().Add(m.cfg.MeasureEvery), m.turn)
	}
}

// turn asks about each volume that is up. Actors with questions from the last turn go on with those.
func (m *measuring) turn() {
	if m.stopping {
		return
	}
	m.begin()
	still, turn := map[hal.Key]measured{}, map[string][]hal.Key{}
	for _, p := range m.core.Pods() {
		entry := m.objects.pods[p.UID]
		if entry == nil {
			continue
		}
		for _, n := range entry.volumes {
			actor, is := m.asks(n)
			if !is {
				continue
			}
			of, has := m.known[n.top]
			if has {
				still[n.top] = of
			}
			if has && m.h.Runtime.Now() < of.asked.Add(m.cfg.MeasureEvery/2+of.wait) { // it was asked late in the last turn
				continue
			}
			if _, isAsking := m.asking[actor]; !isAsking {
				turn[actor] = append(turn[actor], n.top)
			}
		}
	}
	m.known = still
	for _, actor := range slices.Sorted(maps.Keys(turn)) {
		m.asking[actor] = turn[actor]
		m.ask(actor)
	}
}

// asks tells whom to ask about a volume. False: it stands for no claim and has no limit, it is not up, or nobody can
// say.
func (m *measuring) asks(n named) (actor string, is bool) {
	if n.problem != nil {
		return "", false
	}
	v, ok := m.core.Rung(n.top)
	isMeant := ok && (m.objects.claimOf(n.pv) != "" || m.cfg.VolumeSources.Limit(v.Kind, v.Made) != 0)
	if !isMeant || v.State != core.Present {
		return "", false
	}
	measure, health := m.questions(v.Kind, v.Actor)
	return cmp.Or(v.Actor, "/"+string(v.Kind)), measure != nil || health != nil // no driver has such a name
}

// questions are what is asked of a volume; nil is not.
func (m *measuring) questions(kind core.Kind, driver string) (
	measure func(*hal.Host, hal.Call, []core.Param) (hal.Usage, error),
	health func(*hal.Host, hal.Call, []core.Param) ([]hal.HealthEntry, error),
) {
	measure, health = m.cfg.VolumeSources.Measure(kind), m.cfg.VolumeSources.Health(kind)
	if driver == "" {
		return measure, health
	}
	facts := m.facts(driver)
	if facts == nil || !facts.VolumeStats {
		measure = nil
	}
	if facts == nil || !facts.VolumeHealth {
		health = nil
	}
	return measure, health
}

// ask asks an actor about the next volume that is up and that nobody works on.
func (m *measuring) ask(actor string) {
	for len(m.asking[actor]) > 0 && !m.stopping {
		key := m.asking[actor][0]
		m.asking[actor] = m.asking[actor][1:]
		since := m.core.Seq()
		made, _, isBusy, isUp := m.core.PresentRung(key, since)
		v, _ := m.core.Rung(key)
		measure, health := m.questions(v.Kind, v.Actor)
		if isBusy || !isUp || measure == nil && health == nil {
			continue
		}
		made = slices.Clone(made)
		// It is no operation on the rung: what hangs is in nobody's way.
		m.h.Runtime.Go(func() {
			a := answers{isMeasured: measure != nil, isHealth: health != nil}
			if measure != nil {
				c := hal.Call{Deadline: m.h.Runtime.Now().Add(measureTimeout)}
				a.usage, a.noUsage = measure(&m.h, c, made)
			}
			if health != nil {
				c := hal.Call{Deadline: m.h.Runtime.Now().Add(measureTimeout)}
				a.health, a.noHealth = health(&m.h, c, made)
			}
			m.h.Runtime.Post(func() {
				of, now := m.known[key], m.h.Runtime.Now()
				if _, _, hasChanged, isUp := m.core.PresentRung(key, since); isUp && !hasChanged {
					of = m.heard(key, of, &a, now)
				} // else it may be said of what is below its path
				of.asked = now
				m.takes(key, of, m.cfg.VolumeSources.Limit(v.Kind, made))
				m.ask(actor)
			})
		})
		return
	}
	delete(m.asking, actor)
}

// answers is what was said of one volume.
type answers struct {
	isMeasured bool              // it was asked how full it is
	usage      hal.Usage         // what was said of that
	noUsage    error             // why that was not said
	isHealth   bool              // it was asked what is wrong with it
	health     []hal.HealthEntry // what was said of that
	noHealth   error             // why that was not said
}

// heard is what is known of a volume after the answers, which came at now.
func (m *measuring) heard(key hal.Key, of measured, a *answers, now hal.Instant) measured {
	failed := a.noUsage
	of.is, of.at, of.why = a.usage, 0, ""
	if a.isMeasured {
		of.at = now
	} else {
		failed = a.noHealth
	}
	if a.noUsage != nil {
		of.why = a.noUsage.Error()
	}
	switch {
	case !a.isHealth:
		of.health, of.said = Health{}, 0
	case a.noHealth != nil:
		of.health, of.said = Health{Why: a.noHealth.Error()}, now
	default:
		of.health, of.said = Health{Problems: a.health}, now
		if len(a.health) > 0 {
			m.abnormal(key, a.health)
		}
	}
	if of.wait = min(max(2*of.wait, m.cfg.MeasureEvery), measureRarely); failed == nil {
		of.wait = 0
	}
	return of
}

// health is what is wrong with a volume, nil if nothing was said.
func (m *measuring) health(top hal.Key) *Health {
	of, is := m.known[top]
	if !is || of.said == 0 {
		return nil
	}
	h := of.health
	h.Age = m.h.Runtime.Now().Sub(of.said)
	return &h
}

// takes notes what is known of a volume, and tells if it has come to hold more than its limit.
func (m *measuring) takes(key hal.Key, of measured, limit int64) {
	if of.at == of.asked && of.why == "" {
		is := OverLimit{key, of.is.Bytes.Used, limit}
		was := of.isOver
		switch of.isOver = limit > 0 && is.Used > limit; {
		case of.isOver && !was:
			m.emit(is)
		case was && !of.isOver:
			m.emit(WithinLimit(is))
		}
	}
	m.known[key] = of
}

// usage is what is known of a volume, nil for nothing.
func (m *measuring) usage(top hal.Key) *Usage {
	of, is := m.known[top]
	if !is || of.at == 0 {
		return nil
	}
	u := &Usage{
		Bytes: amount(of.is.Bytes), Inodes: amount(of.is.Inodes), Why: of.why, Age: m.h.Runtime.Now().Sub(of.at),
	}
	if of.isOver && u.Why == "" {
		u.Why = fmt.Sprintf("it holds %d bytes, more than its limit of %d; remove files there, as volnode does not stop it "+
			"from growing", of.is.Bytes.Used, of.is.Bytes.Total)
	}
	return u
}

func amount(is hal.Amount) *Amount {
	if is == (hal.Amount{}) {
		return nil
	}
	return &Amount{is.Total, is.Available, is.Used}
}
