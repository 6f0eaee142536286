package judges

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/world"
)

// Eventless is L12: what keeps a volume of a wanted pod from being up as wanted is an event of the pod. While an
// operation is under way, none is asked for: it may be the first. Nor is one of a volume that the manifest does not
// name: it may have had another name. Why a volume can't be served is an event after a while: in calm.
func Eventless(r *world.Run, s *engine.Status, isCalm bool) bool {
	r.Judges("L12")
	rungs, named := map[hal.Key]*engine.RungStatus{}, map[core.PodUID][]string{}
	for k := range s.Rungs {
		rungs[s.Rungs[k].Key] = &s.Rungs[k]
	}
	for _, p := range r.Pods {
		named[p.Uid] = names(p)
	}
	for p := range s.Pods {
		for v := range s.Pods[p].Volumes {
			name := s.Pods[p].Volumes[v].Name
			isFormer := slices.ContainsFunc(s.Pods[p].Volumes[:v], func(o engine.VolumeStatus) bool { return o.Name == name })
			if !s.Pods[p].Wanted || isFormer || !slices.Contains(named[s.Pods[p].UID], name) {
				continue
			}
			if why := eventless(&s.Pods[p], &s.Pods[p].Volumes[v], rungs, isCalm); why != "" {
				r.Fail("L12", "events", string(s.Pods[p].UID),
					"no event tells of volume "+s.Pods[p].Volumes[v].Name+" of pod "+string(s.Pods[p].UID)+": "+why)
				return false
			}
		}
	}
	return true
}

// waitsForClaim is what the status says of a volume whose claim another pod has.
const waitsForClaim = "ReadWriteOncePod claim"

// mostOfOne is how many events of one volume with one reason are kept.
const mostOfOne = 5

// longHung is how long an operation takes at most until it is an event that it hangs: one of a driver has a deadline.
const longHung = 5 * time.Minute

// podless is what a text has beside a rung once it is known whose it is.
var podless = regexp.MustCompile(` of pod \S+`)

// eventless is what is wrong with a volume, and is no event; "" if all is.
func eventless(p *engine.PodStatus, v *engine.VolumeStatus, rungs map[hal.Key]*engine.RungStatus, isCalm bool) string {
	tells := func(why string) bool {
		isClaimed := strings.Contains(why, waitsForClaim) // who has the claim may have changed
		return slices.ContainsFunc(p.Events, func(e engine.PodEventStatus) bool {
			isOf := e.Volume == v.Name || e.Volume == v.PV // as it is called while its claim is not there
			if isClaimed && isOf && strings.Contains(e.Message, waitsForClaim) {
				return true
			}
			return isOf && e.Type == engine.TypeWarning && e.Count > 0 && e.First >= e.Last &&
				e.Message != "" &&
				strings.Contains(podless.ReplaceAllString(why, ""), podless.ReplaceAllString(e.Message, ""))
		})
	}
	if mostOfOne <= len(slices.DeleteFunc(slices.Clone(p.Events), func(e engine.PodEventStatus) bool {
		return e.Volume != v.Name || e.Reason != engine.ReasonFailedMount
	})) {
		return "" // what lasts may have been pushed out
	}
	switch {
	case isCalm && v.State == engine.Blocked && len(v.Keys) == 0 && !tells(v.Why):
		return v.Why
	case len(v.Keys) == 0 || rungs[v.Keys[0]] == nil || rungs[v.Keys[0]].Desired != "wanted":
		return ""
	}
	for _, key := range v.Keys {
		k := rungs[key]
		switch {
		case k == nil, k.Step != "" && !(isCalm && k.State == engine.Stuck && k.Age > longHung):
			continue
		case k.Step != "" && !tells(core.HangsWhy):
			return fmt.Sprintf("%s hangs in %s for %s", key, k.Step, k.Age)
		case k.Step != "":
			continue
		}
		isTrouble := k.Attempts > 0 && k.Why != "" || k.State == engine.Blocked || k.State == engine.Stuck ||
			strings.Contains(k.Next, "rebuild pending") || strings.Contains(k.Next, waitsForClaim)
		if isTrouble && !tells(k.Why+"; "+k.Next) {
			return fmt.Sprintf("%s is %s: %s; %s", key, k.State, k.Why, k.Next)
		}
	}
	return ""
}
