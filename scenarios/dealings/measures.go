package dealings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is L18: who can say how full the volume of a claim is, and what is wrong with it, is asked each minute
// while the volume is up, and drivers what is wrong with their storage. The status says what was said.

// MeasureEvery is how often volumes are asked in worlds that ask at all.
const MeasureEvery = time.Minute

// fewHung is how many questions in a row may hang until they come ever more rarely.
const fewHung = 3

// measuredRarely is how long it takes at most until a volume is asked again whose question failed.
const measuredRarely = time.Hour + 2*MeasureEvery

// measures looks at a question to how full a volume is: it is about what the agent knows, where that is, and was not
// asked a moment ago.
func measures(r *world.Run, e *sim.Effect) {
	r.Judges("L18")
	if e.Driver != "" && e.Volume == "" {
		asksApart(r, e, hal.Key("storage of "+e.Driver))
		return
	}
	key, others := hal.Key(""), hal.Key("")
	r.Core.Beliefs(func(b core.Belief) {
		switch {
		case b.Path != e.Path+e.Target:
		case b.Pod != "" && (e.Driver == "" || b.Volume == e.Driver+"^"+e.Volume):
			key = b.Key
		default:
			others = b.Key
		}
	})
	if key == "" {
		if others != "" { // if nothing is there, it has gone since the agent chose it
			measuredWrong(r, e, "what is there is "+string(others))
		}
		return
	}
	if e.Method == "NodeGetVolumeHealth" {
		key = "health of " + key // a question of its own
	}
	asksApart(r, e, key)
}

// asksApart: a question was not asked a moment ago.
func asksApart(r *world.Run, e *sim.Effect, key hal.Key) {
	if r.Measured == nil {
		r.Measured = map[hal.Key]world.Measure{}
	}
	m, has := r.Measured[key]
	apart, least := e.At.Sub(m.At), MeasureEvery/2
	if m.At = e.At; r.W.HangsAt(e.Path) {
		m.Hung++
	} else {
		m.Hung = 0
	}
	if m.Hung > fewHung { // each may have left a process
		least = fewHung * MeasureEvery
	}
	// A question that was decided before a stall is asked after it.
	isLate := r.W.StalledUntil() > 0 && r.W.StalledUntil().Add(time.Second) >= m.At.Add(-apart)
	if has && apart < least && !isLate {
		measuredWrong(r, e, fmt.Sprintf("that was asked %s before", apart))
	}
	r.Measured[key] = m
}

func measuredWrong(r *world.Run, e *sim.Effect, why string) {
	at := e.Path + e.Target
	r.Fail("L18", "question", at, fmt.Sprintf("the agent asks %s how %s %s is (%s), and %s", e.Driver, e.Volume, at,
		e.Method, why))
}

// SaysHowFull: after a time of calm, the status says of each volume of a claim how full it is, if whom it asks answers.
// What nobody can tell of is not said.
func SaysHowFull(r *world.Run, s engine.Status, answers func(driver string) bool) bool {
	volumes := map[hal.Key]engine.RungStatus{}
	for _, rung := range s.Rungs {
		volumes[rung.Key] = rung
	}
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			if v.Claim == "" {
				if !saysWhatItHolds(r, r.ByUID[p.UID], v) {
					return false
				}
				continue
			}
			if v.State != engine.Ready || len(v.Keys) == 0 {
				continue
			}
			driver, handle, isCSI := strings.Cut(volumes[v.Keys[0]].Volume, "^")
			want := r.W.UsageAt(v.Path).Bytes.Total
			if isCSI = isCSI && strings.HasPrefix(string(v.Keys[0]), "csi."); isCSI {
				want = sim.VolumeSize(driver, handle)
			} else {
				driver = ""
			}
			isUnmeasured := strings.HasPrefix(string(v.Keys[0]), "emptydir/") || world.IsRawOfDisk(v.Keys[0])
			if !answers(driver) || want == 0 || isUnmeasured {
				continue
			}
			r.Judges("L18")
			u := v.Usage
			switch {
			case u != nil && u.Why != "" && u.Age < measuredRarely: // it failed before the calm
			case u == nil || u.Bytes == nil || u.Inodes == nil:
				return saidWrong(r, v, "nothing is said")
			case u.Bytes.Total != want:
				return saidWrong(r, v, fmt.Sprintf("%d bytes are said, of %d", u.Bytes.Total, want))
			case u.Age > 2*MeasureEvery+lags:
				return saidWrong(r, v, fmt.Sprintf("what is said is of %s ago", u.Age))
			}
		}
	}
	return true
}

// SaysSame: the status has what a driver says is wrong. What it may quote of secrets is masked, or withheld.
func SaysSame(want []hal.HealthEntry, is *engine.Health) bool {
	return is != nil && slices.EqualFunc(want, is.Problems, func(a, b hal.HealthEntry) bool {
		isWithheld := b.Reason == "" && strings.HasPrefix(b.Message, "message withheld: ")
		isMasked := strings.Contains(b.Message, "***")
		return a.Status == b.Status && a.Concerns == b.Concerns &&
			(isWithheld || a.Reason == b.Reason && (isMasked || strings.HasPrefix(b.Message, a.Message)))
	})
}

// SaysStorage: after a time of calm, the status says of each driver what it says is wrong with its storage, if it
// answers, and so did the last event of that.
func SaysStorage(r *world.Run, s engine.Status, answers func(driver string) bool) bool {
	for _, d := range s.Drivers {
		if !d.Registered || !answers(d.Name) {
			continue
		}
		r.Judges("L18")
		want, is, told := r.W.StorageHealthOf(d.Name), d.Storage, r.Registrars.Storage[d.Name]
		switch {
		case is != nil && is.Why != "" && is.Age < measuredRarely: // it failed before the calm
		case !SaysSame(want, is) || is.Why != "" || is.Age > 2*MeasureEvery+lags,
			len(told) != len(want) || len(want) > 0 && told[0].Status != want[0].Status:
			r.Fail("L18", "status", d.Name, fmt.Sprintf("driver %s says %v of its storage, the status %+v, and the last "+
				"event %v", d.Name, want, is, told))
			return false
		}
	}
	return true
}

// SaysHealth: after a time of calm, the status says of each volume of a claim what its driver says is wrong with it, if
// it answers, and an event of the pod says it if anything is.
func SaysHealth(r *world.Run, s engine.Status, answers func(driver string) bool) bool {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			if v.Claim == "" || v.State != engine.Ready || len(v.Keys) == 0 {
				continue
			}
			place := r.Places[v.Keys[0]]
			if place == nil || place.Driver == "" || !answers(place.Driver) {
				continue
			}
			r.Judges("L18")
			want, is := r.W.HealthOf(place.Driver, place.Volume), v.Health
			isTold := slices.ContainsFunc(p.Events, func(e engine.PodEventStatus) bool {
				return e.Volume == v.Name && e.Reason == engine.ReasonVolumeConditionAbnormal && e.Last <= 2*MeasureEvery+lags &&
					strings.HasPrefix(e.Message, want[0].Status)
			})
			switch {
			case is != nil && is.Why != "" && is.Age < measuredRarely: // it failed before the calm
			case !SaysSame(want, is) || is.Why != "" || is.Age > 2*MeasureEvery+lags:
				return saidWrong(r, v, fmt.Sprintf("the driver says %v of its health, and the status %+v", want, is))
			case len(want) > 0 && !isTold:
				return saidWrong(r, v, fmt.Sprintf("the driver says %v of its health, and no event does", want))
			}
		}
	}
	return true
}

// saysWhatItHolds is SaysHowFull of an emptyDir on disk with a limit: what it holds, and that this is too much.
func saysWhatItHolds(r *world.Run, p *world.Pod, v engine.VolumeStatus) bool {
	if p == nil || !p.IsWanted || p.Writer != nil || v.State != engine.Ready || r.W.IsDead(v.Path) {
		return true
	}
	at := slices.IndexFunc(p.Object.Spec.Volumes, func(o corev1.Volume) bool { return o.Name == v.Name })
	if at < 0 || p.Told != p.Object {
		return true
	}
	is := p.Object.Spec.Volumes[at].EmptyDir
	if is == nil || is.SizeLimit == nil || is.Medium != "" {
		return true
	}
	r.Judges("L18")
	limit, used, u := is.SizeLimit.Value(), r.W.Occupied(v.Path).Bytes.Used, v.Usage
	switch {
	case u != nil && u.Bytes != nil && u.Bytes.Total == limit && u.Bytes.Used == used && (u.Why != "") == (used > limit):
	case u != nil && u.Why != "" && u.Bytes == nil && u.Age < measuredRarely: // it failed before the calm
	default:
		return saidWrong(r, v, fmt.Sprintf("it holds %d bytes, and may hold %d; %+v is said", used, limit, u))
	}
	return true
}

func saidWrong(r *world.Run, v engine.VolumeStatus, why string) bool {
	r.Fail("L18", "status", string(v.Keys[0]), "how full volume "+v.Name+" is, of claim "+strconv.Quote(v.Claim)+": "+why)
	return false
}
