package flex

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/flex"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what people do to FlexVolume drivers, and what must be true of what pods have of them.
//
// S21: a pod that is reported ready finds what its driver has mounted, read-only or not.
//
// S27: a driver is told what the pod and the PersistentVolume ask for.
//
// L1: in calm, no driver holds anything of a pod that is gone.

// run is what a run notes of FlexVolumes.
type run struct {
	world.PlainRun
	isHunted bool
	isAway   bool // the second driver of hunts is not there, or can't be served
}

// begin installs the drivers, and draws what people do to the second one.
func begin(g world.Planner) {
	r := g.Run()
	h := of(r)
	h.isHunted = true
	r.W.InstallFlex(steady, "polite")
	r.W.InstallFlex(late, "polite")
	does := g.Pick("workload.flex-away", late, 0, 4, 1, 1, 1)
	if does == 0 {
		return
	}
	g.At(g.Time("workload.flex-time", late, 0, cases.Chaos), late, func() {
		switch h.isAway = true; does {
		case 1:
			r.W.RemoveFlexDriver(late)
		case 2:
			r.W.InstallFlex(late, "attaches")
		case 3:
			r.W.InstallFlex(late, "no-unmount")
			h.isAway = false
		}
		for _, p := range r.Pods {
			h.delays(r, p)
		}
	})
}

// of is what a run notes of FlexVolumes.
func of(r *world.Run) *run {
	for _, m := range r.Rooms {
		if h, is := m.(*run); is {
			return h
		}
	}
	return &run{}
}

// delays: who wants a volume of the driver that is away waits for it.
func (h *run) delays(r *world.Run, p *world.Pod) {
	for _, u := range p.Uses {
		if h.isAway && isOf(u) && strings.HasPrefix(u.Spec, hal.FlexDirectory(late)+"/") {
			r.Faults(p, u)
		}
	}
}

func isOf(u world.Use) bool { return u.Room != nil && u.Room.Source.Name == "flexVolume" }

// Mends is people who put back the driver.
func (h *run) Mends(r *world.Run) {
	if h.isHunted {
		r.W.InstallFlex(late, "polite")
		h.isAway = false
	}
}

// Told notes that the agent hears of a pod.
func (h *run) Told(r *world.Run, p *world.Pod, _ *corev1.Pod) { h.delays(r, p) }

// Sees is S27 of a driver that is to mount.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	if e.Kind != sim.EffectDriven || e.Method != "mount" {
		return
	}
	p := r.PodOf(e.Target)
	if p == nil || !p.IsSteady {
		return // somebody has edited or deleted it meanwhile
	}
	r.Judges("S27")
	told := map[string]string{}
	for _, o := range e.Message.([]hal.Option) {
		told[o.Key] = o.Value
	}
	for _, u := range p.Uses {
		if u.Path == e.Target && isOf(u) {
			if why := misunderstood(p, u, told); why != "" {
				r.Fail("S27", "flex", p.Name, "the driver "+e.Driver+" is to mount "+u.Name+" of pod "+p.Name+", and is told "+why)
			}
			return
		}
	}
	r.Fail("S27", "flex", p.Name, "the driver "+e.Driver+" is to mount at "+e.Target+", where pod "+p.Name+
		" has no volume")
}

// misunderstood says how what a driver is told differs from what a pod asks for, "" if it does not.
func misunderstood(p *world.Pod, u world.Use, told map[string]string) string {
	want := map[string]string{
		"kubernetes.io/pod.name": p.Object.Name, "kubernetes.io/pod.namespace": p.Object.Namespace,
		"kubernetes.io/serviceAccount.name": p.Object.Spec.ServiceAccountName,
	}
	if group := world.GroupOf(p.Object); group != "" {
		want["kubernetes.io/mounterArgs.FsGroup"] = group
	}
	maps.Copy(want, u.Told)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if is, has := told[key]; !has || is != want[key] {
			return fmt.Sprintf("that %s is %q, and not %q", key, is, want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(told)) {
		if _, is := want[key]; !is {
			return fmt.Sprintf("that %s is %q, of which nobody has said anything", key, told[key])
		}
	}
	return ""
}

// LetsIn is S21 of a pod that is reported ready.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		if !isOf(u) {
			continue
		}
		stack := r.W.MountsAt(u.Path)
		if len(stack) == 0 {
			continue // S21 says so
		}
		r.Judges("S21")
		if why := misfit(u, stack[len(stack)-1]); why != "" {
			r.Fail("S21", "flex", p.Name, "pod "+p.Name+" is reported ready, and the mount of "+u.Name+" "+why)
			return false
		}
	}
	return true
}

// misfit says how a mount differs from what a pod asks for, "" if it does not.
func misfit(u world.Use, m hal.Mount) string {
	switch {
	case m.Source != "flex":
		return "is of " + m.Source + ", and not its driver's"
	case m.ReadOnly != u.ReadOnly:
		return map[bool]string{true: "is writable", false: "is read-only"}[u.ReadOnly]
	}
	return ""
}

// Reports is L1, once all is as wanted.
func (h *run) Reports(r *world.Run, _ *world.Pod, _ world.Use, _ *engine.VolumeStatus) bool {
	for _, held := range r.W.FlexHolds() {
		r.Judges("L1")
		if p := r.PodOf(held.Dir); p == nil || !p.IsWanted && !p.IsRunning {
			r.Fail("L1", "flex", held.Dir, "the driver "+held.Driver+" still holds "+held.Dir+", and its pod is gone")
			return false
		}
	}
	return true
}

// Waits: nobody mends the driver of hunts that is not there, for a while.
func (h *run) Waits(_ *world.Run, b *core.Belief) bool {
	return h.isAway && b.Kind == flex.Kind && strings.Contains(string(b.Key), "/"+hal.FlexDirectory(late)+"/")
}
