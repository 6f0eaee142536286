package image

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what people do to images, and what must be true of what pods have of them.
//
// S20: a pod that is reported ready finds all files of one version of its image, and no others: one that is no older
// than the pod, if it asks for the newest.
//
// S21: it finds them read-only, and without rights on the node.
//
// L1: in calm, the files of no image are there that no pod has, and those of one reference are there once.

// run is what a run notes of image volumes.
type run struct {
	world.PlainRun
	isHunted bool
	isAway   bool                        // the second image of hunts is not there, or damaged
	came     map[core.PodUID]hal.Instant // when the agent first heard of a pod
	harmed   map[*world.Pod]uint64       // somebody has deleted files that a pod has, after so many of its stops and one
}

// begin makes the images, and draws what people do to them.
func begin(g world.Planner) {
	r := g.Run()
	for _, m := range r.Rooms {
		if h, is := m.(*run); is {
			h.isHunted = true
		}
	}
	r.PutsImage(tools)
	r.PutsImage(model)
	r.PutsImage(fresh)
	for n := range 2 {
		if g.Pick("workload.image-put", tools, n, 2, 1) == 1 {
			g.At(g.Time("workload.image-time", tools, n, cases.Chaos), tools, func() {
				r.PutsImage(tools)
				r.PutsImage(fresh)
			})
		}
	}
	switch g.Pick("workload.image-away", model, 0, 3, 1, 1) {
	case 1:
		g.At(g.Time("workload.image-time", model, 0, cases.Chaos), model, func() { takes(r, r.RemovesImage) })
	case 2:
		g.At(g.Time("workload.image-time", model, 0, cases.Chaos), model, func() { takes(r, r.W.DamageImage) })
	}
}

// takes has something done to the second image, which delays the pods that want it.
func takes(r *world.Run, how func(string)) {
	how(model)
	for _, m := range r.Rooms {
		if h, is := m.(*run); is {
			h.isAway = true
			for _, p := range r.Pods {
				h.delays(r, p)
			}
		}
	}
}

func (h *run) delays(r *world.Run, p *world.Pod) {
	for _, u := range p.Uses {
		if h.isAway && u.Image == model {
			r.Faults(p, u)
		}
	}
}

// Mends is people who put back the image that they have removed, or that is damaged.
func (h *run) Mends(r *world.Run) {
	if h.isHunted {
		r.PutsImage(model)
		h.isAway = false
	}
}

// Told notes when the agent hears of a pod.
func (h *run) Told(r *world.Run, p *world.Pod, _ *corev1.Pod) {
	if _, is := h.came[p.Uid]; !is {
		h.came[p.Uid] = r.W.Now()
	}
	h.delays(r, p)
}

// imageOf is the source of a use, nil if it is none of this room.
func imageOf(p *world.Pod, u world.Use) *corev1.ImageVolumeSource {
	at := slices.IndexFunc(p.Object.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == u.Name })
	if at < 0 {
		return nil
	}
	return p.Object.Spec.Volumes[at].Image
}

// isNewest: the pod wants what the reference names when it comes (KEP 4639): its policy says so, or it has none and the
// reference names no one image.
func isNewest(is *corev1.ImageVolumeSource) bool {
	_, tag, _ := strings.Cut(path.Base(is.Reference), ":")
	return !strings.Contains(is.Reference, "@") && (is.PullPolicy == corev1.PullAlways ||
		is.PullPolicy == "" && (tag == "" || tag == "latest"))
}

// LetsIn is S20 and S21 of a pod that is reported ready.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		is := imageOf(p, u)
		stack := r.W.MountsAt(u.Path)
		if is == nil || len(stack) == 0 {
			continue // S21 says so
		}
		r.Judges("S21")
		m := stack[len(stack)-1]
		for _, flag := range []string{"nodev", "noexec", "nosuid"} {
			if !m.ReadOnly || !slices.Contains(m.Options, flag) {
				r.Fail("S21", "image", p.Name, "pod "+p.Name+" is reported ready, and the mount of "+u.Name+
					" is not read-only, or not "+flag)
				return false
			}
		}
		r.Judges("S20")
		since := hal.Instant(0)
		if isNewest(is) {
			since = h.came[p.Uid]
		}
		if r.ImageOf(is.Reference, filesIn(r.W, u.Path), since) == nil {
			r.Fail("S20", "image", p.Name, "pod "+p.Name+" is reported ready, and what is at "+u.Path+
				" are not the files of an image that "+is.Reference+" has named since")
			return false
		}
	}
	return true
}

// Sees is S28: what containers have of an image stays whole while they run.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	isRemoval := e.Kind == sim.EffectRemoved || e.Kind == sim.EffectRemovedTree
	if !isRemoval || !world.Below(e.Path, plugin.ImagesDir(lang.RootDir)) {
		return
	}
	for _, p := range r.Pods {
		for _, u := range p.Given {
			is := imageOf(p, u)
			switch {
			case is == nil || !p.IsRunning || len(r.W.MountsAt(u.Path)) == 0 || h.harmed[p] == p.Stops+1:
				continue
			case e.Actor == "": // somebody else
				h.harmed[p] = p.Stops + 1
				continue
			}
			r.Judges("S28")
			if r.ImageOf(is.Reference, filesIn(r.W, u.Path), 0) == nil {
				r.Fail("S28", "image", p.Name, "the files of "+u.Name+" of pod "+p.Name+", whose containers run, are deleted: "+
					e.Path)
			}
		}
	}
}

// filesIn is what is below a directory.
func filesIn(w *sim.World, dir string) map[string]string {
	all := map[string]string{}
	var walk func(prefix string)
	walk = func(prefix string) {
		for _, name := range w.Entries(dir + "/" + prefix) {
			at := prefix + name
			if info, _ := w.Found(dir + "/" + at); info.Type == hal.TypeDirectory {
				walk(at + "/")
			} else {
				all[at] = string(w.ReadFile(dir + "/" + at))
			}
		}
	}
	walk("")
	return all
}

// Reports is L1, once all is as wanted.
func (h *run) Reports(r *world.Run, p *world.Pod, u world.Use, _ *engine.VolumeStatus) bool {
	if imageOf(p, u) == nil {
		return true
	}
	wanted := map[string]bool{}
	for _, o := range r.Pods {
		for _, u := range o.Uses {
			is := imageOf(o, u)
			switch {
			case is == nil || !o.IsWanted && !o.IsRunning:
			case isNewest(is):
				wanted[is.Reference+" of "+string(o.Uid)+" "+u.Name] = true
			default:
				wanted[is.Reference] = true
			}
		}
	}
	r.Judges("L1")
	dir := plugin.ImagesDir(lang.RootDir)
	if there := r.W.Entries(dir); len(there) > len(wanted) {
		r.Fail("L1", "image", dir, fmt.Sprintf("pods have %d images, and there are the files of %d: %s", len(wanted),
			len(there), strings.Join(there, ", ")))
		return false
	}
	return true
}
