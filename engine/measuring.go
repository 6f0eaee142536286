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

// measuring asks again and again how full volumes are: those of claims, those with a limit that nothing else looks
// after, and those whose health the node knows. It asks also what is wrong with them, if their driver or the node can
// say, and drivers what is wrong with their storage. It asks a driver one thing at a time, and so of each kind of
// volumes without one: who is silent keeps nobody else waiting. It changes nothing, and core knows nothing of it.
type measuring struct {
	*port
	objects *objects                                // whose volumes they are
	facts   func(driver string) *plugin.DriverFacts // whether a driver can say
	// connected are the drivers that can be called.
	connected func() []string
	// is called each time that a driver, or the node, says that something is wrong with a volume
	abnormal func(top hal.Key, what []hal.HealthEntry)

	known map[hal.Key]measured // by the rung at the top of a volume; who can't say is not in it
	// asking is what is asked next, by driver, or by kind where there is none; "" is the driver's storage. Invariant: an
	// actor with a question under way is in it.
	asking  map[string][]hal.Key
	storage map[string]ailing // what drivers say of their storage; who can't is not in it
}

// ailing is what a driver said last is wrong with its storage.
type ailing struct {
	asked question          // the question
	wrong []hal.HealthEntry // the answer
}

// measured is what was said last of one volume.
type measured struct {
	full   question          // how full it is
	usage  hal.Usage         // the answer; zero if there is none
	well   question          // what is wrong with it
	wrong  []hal.HealthEntry // the answer
	isOver bool              // it held more than its limit when it was said last how much it holds
}

// question is one question about a volume, as it was asked last. Each waits for itself: a driver that fails one of them
// still answers the other.
type question struct {
	at    hal.Instant   // when it was answered, or failed; 0 if nothing counted yet
	why   string        // it failed; for people
	asked hal.Instant   // when it ended last, also if its answer did not count
	wait  time.Duration // before it is asked again, beyond the period; 0 unless it failed
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
	still, turn := map[hal.Key]measured{}, m.storageTurn()
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
			v, _ := m.core.Rung(n.top)
			of, has := m.known[n.top]
			full, well := m.questions(v.Kind, v.Actor, &of)
			if has {
				still[n.top] = of
			}
			if _, isAsking := m.asking[actor]; !isAsking && (full != nil || well != nil) {
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

// storageTurn is the drivers to ask about their storage. It forgets what those said that can't any more.
func (m *measuring) storageTurn() map[string][]hal.Key {
	turn := map[string][]hal.Key{}
	for _, driver := range slices.Sorted(maps.Keys(m.storage)) {
		if !m.saysStorage(driver) {
			delete(m.storage, driver)
		}
	}
	for _, driver := range m.connected() {
		if _, isAsking := m.asking[driver]; !isAsking && m.saysStorage(driver) && m.isDue(m.storage[driver].asked) {
			turn[driver] = []hal.Key{""}
		}
	}
	return turn
}

func (m *measuring) saysStorage(driver string) bool {
	facts := m.facts(driver)
	return facts != nil && facts.StorageHealth && m.cfg.VolumeSources.StorageHealth() != nil
}

// askStorage asks a driver about its storage, and then what is next.
func (m *measuring) askStorage(driver string) {
	storageHealth := m.cfg.VolumeSources.StorageHealth()
	m.h.Runtime.Go(func() {
		wrong, err := storageHealth(&m.h, hal.Call{Deadline: m.h.Runtime.Now().Add(measureTimeout)}, driver)
		m.h.Runtime.Post(func() {
			is := m.storage[driver]
			m.ends(&is.asked, err, true, m.h.Runtime.Now())
			if err == nil {
				if !slices.Equal(troubles(is.wrong), troubles(wrong)) {
					m.emit(DriverStorage{driver, wrong})
				}
				is.wrong = wrong
			}
			if m.storage == nil {
				m.storage = map[string]ailing{}
			}
			m.storage[driver] = is
			m.ask(driver)
		})
	})
}

// troubles names what an answer complains of, to compare two of them: neither messages nor their order count.
func troubles(all []hal.HealthEntry) []string {
	names := make([]string, 0, len(all))
	for _, of := range all {
		names = append(names, of.Status+" "+of.Reason+" "+of.Concerns)
	}
	slices.Sort(names)
	return names
}

// storageHealth is what is wrong with the storage of a driver, nil if nothing was said.
func (m *measuring) storageHealth(driver string) *Health {
	is, has := m.storage[driver]
	if !has {
		return nil
	}
	return &Health{Problems: is.wrong, Why: is.asked.why, Age: m.h.Runtime.Now().Sub(is.asked.at)}
}

// asks tells whom to ask about a volume. False: it stands for no claim, has no limit, and the node does not know its
// health; it is not up; or nobody can say.
func (m *measuring) asks(n named) (actor string, is bool) {
	if n.problem != nil {
		return "", false
	}
	v, ok := m.core.Rung(n.top)
	isMeant := ok && (m.objects.claimOf(n.pv) != "" || m.cfg.VolumeSources.Limit(v.Kind, v.Made) != 0 ||
		v.Actor == "" && m.cfg.VolumeSources.Health(v.Kind) != nil)
	if !isMeant || v.State != core.Present {
		return "", false
	}
	full, well := m.canSay(v.Kind, v.Actor)
	return cmp.Or(v.Actor, "/"+string(v.Kind)), full != nil || well != nil // no driver has such a name
}

// measure and health ask the two questions.
type (
	measure = func(*hal.Host, hal.Call, []core.Param) (hal.Usage, error)
	health  = func(*hal.Host, hal.Call, []core.Param) ([]hal.HealthEntry, error)
)

// canSay are the questions that somebody can answer about a volume; nil is none.
func (m *measuring) canSay(kind core.Kind, driver string) (measure, health) {
	full, well := m.cfg.VolumeSources.Measure(kind), m.cfg.VolumeSources.Health(kind)
	if driver == "" {
		return full, well
	}
	facts := m.facts(driver)
	if facts == nil || !facts.VolumeStats {
		full = nil
	}
	if facts == nil || !facts.VolumeHealth {
		well = nil
	}
	return full, well
}

// questions are what is asked now of a volume of which this is known. It forgets the answers that nobody can give any
// more.
func (m *measuring) questions(kind core.Kind, driver string, of *measured) (measure, health) {
	full, well := m.canSay(kind, driver)
	if full == nil {
		of.full, of.usage = question{}, hal.Usage{}
	} else if !m.isDue(of.full) {
		full = nil
	}
	if well == nil {
		of.well, of.wrong = question{}, nil
	} else if !m.isDue(of.well) {
		well = nil
	}
	return full, well
}

// isDue tells whether it is time to ask a question. Half a period is enough, as it may have been asked late in the last
// turn.
func (m *measuring) isDue(q question) bool {
	return q.asked == 0 || m.h.Runtime.Now() >= q.asked.Add(m.cfg.MeasureEvery/2+q.wait)
}

// ask asks an actor about the next volume that is up and that nobody works on.
func (m *measuring) ask(actor string) {
	for len(m.asking[actor]) > 0 && !m.stopping {
		key := m.asking[actor][0]
		m.asking[actor] = m.asking[actor][1:]
		if key == "" {
			m.askStorage(actor)
			return
		}
		since := m.core.Seq()
		made, _, isBusy, isUp := m.core.PresentRung(key, since)
		v, _ := m.core.Rung(key)
		of := m.known[key]
		full, well := m.questions(v.Kind, v.Actor, &of)
		if isBusy || !isUp || full == nil && well == nil {
			continue
		}
		made = slices.Clone(made)
		// It is no operation on the rung: what hangs is in nobody's way.
		m.h.Runtime.Go(func() {
			var usage hal.Usage
			var wrong []hal.HealthEntry
			var noUsage, noHealth error
			if full != nil {
				usage, noUsage = full(&m.h, hal.Call{Deadline: m.h.Runtime.Now().Add(measureTimeout)}, made)
			}
			if well != nil {
				wrong, noHealth = well(&m.h, hal.Call{Deadline: m.h.Runtime.Now().Add(measureTimeout)}, made)
			}
			m.h.Runtime.Post(func() {
				_, _, hasChanged, isUp := m.core.PresentRung(key, since)
				counts := isUp && !hasChanged // else it may be said of what is below its path
				of, now := m.known[key], m.h.Runtime.Now()
				if full != nil && m.ends(&of.full, noUsage, counts, now) {
					of.usage = usage
					m.limits(key, &of, m.cfg.VolumeSources.Limit(v.Kind, made))
				}
				if well != nil && m.ends(&of.well, noHealth, counts, now) {
					if of.wrong = wrong; len(wrong) > 0 {
						m.abnormal(key, wrong)
					}
				}
				m.known[key] = of
				m.ask(actor)
			})
		})
		return
	}
	delete(m.asking, actor)
}

// ends notes that a question has ended now, and tells if its answer counts.
func (m *measuring) ends(q *question, err error, counts bool, now hal.Instant) bool {
	if q.asked = now; !counts {
		return false
	}
	if q.at, q.why = now, ""; err != nil {
		q.why, q.wait = err.Error(), min(max(2*q.wait, m.cfg.MeasureEvery), measureRarely)
	} else {
		q.wait = 0
	}
	return true
}

// health is what is wrong with a volume, nil if nothing was said.
func (m *measuring) health(top hal.Key) *Health {
	of := m.known[top]
	if of.well.at == 0 {
		return nil
	}
	return &Health{Problems: of.wrong, Why: of.well.why, Age: m.h.Runtime.Now().Sub(of.well.at)}
}

// limits says if a volume has come to hold more than its limit, or less again.
func (m *measuring) limits(key hal.Key, of *measured, limit int64) {
	if of.full.why != "" {
		return
	}
	is, was := OverLimit{key, of.usage.Bytes.Used, limit}, of.isOver
	switch of.isOver = limit > 0 && is.Used > limit; {
	case of.isOver && !was:
		m.emit(is)
	case was && !of.isOver:
		m.emit(WithinLimit(is))
	}
}

// usage is what is known of a volume, nil for nothing.
func (m *measuring) usage(top hal.Key) *Usage {
	of := m.known[top]
	if of.full.at == 0 {
		return nil
	}
	u := &Usage{
		Bytes: amount(of.usage.Bytes), Inodes: amount(of.usage.Inodes), Why: of.full.why,
		Age: m.h.Runtime.Now().Sub(of.full.at),
	}
	if of.isOver && u.Why == "" {
		u.Why = fmt.Sprintf("it holds %d bytes, more than its limit of %d; remove files there, as volnode does not stop it "+
			"from growing", of.usage.Bytes.Used, of.usage.Bytes.Total)
	}
	return u
}

func amount(is hal.Amount) *Amount {
	if is == (hal.Amount{}) {
		return nil
	}
	return &Amount{is.Total, is.Available, is.Used}
}
