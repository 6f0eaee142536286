package dealings

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is L17: a driver whose object has requiresRepublish is sent NodePublishVolume again for each volume that is
// published, about once a minute, and its stage stays as it is.

// The times between two publishes.
const (
	renewsAtMost  = time.Minute           // apart
	renewsAtLeast = 66*time.Second + lags // apart, while nothing fails
	AllRenewed    = 5 * time.Minute       // after which all have been, also those that fail at first
	lags          = 4 * time.Second       // a call of a driver in calm, and the line for it
)

// Renewing reports whether a driver wants its publishes repeated.
func Renewing(r *world.Run, driver string) bool {
	object := r.Heard.Drivers[driver]
	return object != nil && object.Spec.RequiresRepublish != nil && *object.Spec.RequiresRepublish
}

// Renews notes a publish that is sent because its driver wants it repeated: the driver has the volume at that path.
func Renews(r *world.Run, p *world.Place, e *sim.Effect) bool {
	if e.Method != world.Publish || !p.IsHeld || !Renewing(r, p.Driver) {
		return false
	}
	p.Renewals++
	r.Actual.Renewals++
	return true
}

// IsRenewal reports whether an operation that is planned is one.
func IsRenewal(r *world.Run, o *core.Op) bool {
	return o.Verb == core.Refresh && (wantsRenewal(r, o.Key) || hasTokens(r, o))
}

// hasTokens reports whether an operation is on a volume that has tokens, which are renewed in time.
func hasTokens(r *world.Run, o *core.Op) bool {
	p := r.ByUID[o.Pod]
	isToken := func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }
	return p != nil && slices.ContainsFunc(p.Object.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && string(o.Key) == "projected/"+string(p.Uid)+"/"+v.Name &&
			slices.ContainsFunc(v.Projected.Sources, isToken)
	})
}

// wantsRenewal reports whether a rung is a publish that its driver holds, and wants repeated.
func wantsRenewal(r *world.Run, key hal.Key) bool {
	p := r.Places[key]
	return p != nil && p.IsPublish && p.IsHeld && Renewing(r, p.Driver)
}

// IsRenewing reports whether such a publish was sent a moment ago, so that it has not ended yet as all of them do.
func IsRenewing(r *world.Run, key hal.Key) bool {
	return wantsRenewal(r, key) && r.W.Now() < r.Places[key].Began.Add(2*lags)
}

// RenewsInVain reports whether the driver of a publish wants it repeated, and its filesystem is gone under the
// containers: it can't mount there again, and answers with an error each time, until they have ended.
func RenewsInVain(r *world.Run, b *core.Belief) bool {
	at := r.Places[b.Key]
	return wantsRenewal(r, b.Key) && b.State == core.Present && !b.HasChild && r.W.IsDead(at.Path)
}

// AnyRenews reports whether a driver wants that.
func AnyRenews(r *world.Run) bool {
	for _, d := range r.W.Drivers() {
		if Renewing(r, d.Name) {
			return true
		}
	}
	return false
}

// Renewals is how often each place was published again.
func Renewals(r *world.Run) map[*world.Place]int {
	all := map[*world.Place]int{}
	for _, p := range r.List {
		all[p] = p.Renewals
	}
	return all
}

// RenewsInTime is L17 of one driver, after a time of calm in which everything was as wanted.
func RenewsInTime(r *world.Run, driver string, before map[*world.Place]int, calm time.Duration) bool {
	for _, p := range r.List {
		if p.Driver != driver || !p.IsPublish || !p.IsHeld || !Renewing(r, p.Driver) || r.W.IsDead(p.Path) {
			continue
		}
		r.Judges("L17")
		n, least, most := p.Renewals-before[p], int(calm/renewsAtLeast)-1, int(calm/renewsAtMost)+1
		if n < least || n > most {
			r.Fail("L17", "renewals", string(p.Key), fmt.Sprintf("driver %s wants its publishes repeated: volume %s was "+
				"published again %d times in %s of calm, and is to be so %d to %d times", p.Driver, p.Volume, n, calm, least,
				most))
			return false
		}
	}
	return true
}
