package projected

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S20: who reads the files of a volume finds those that some version of each of its objects makes, with
// their modes, all of them and no others; from the moment at which its pod is reported ready, after each effect on the
// way to another version. In calm they are those of the present versions.

// run is what a run notes of such volumes.
type run struct {
	world.PlainRun
	isHunted bool // its pods are those of a hunt
	given    []given
	told     []told
}

// told is a version of a pod that the agent has heard of, in any life.
type told struct {
	pod    *world.Pod
	object *corev1.Pod
}

// given is the directory, or the root of the mount, that containers were given as a volume.
type given struct {
	pod *world.Pod
	at  hal.Info
	in  string // its path
}

// file is what is found at a path, or expected there.
type file struct {
	text     string
	mode     uint32
	uid, gid uint32
}

// projection is what a volume of a pod is made of; nil if it is of another source, or has a file that nobody here knows
// how to make.
func projection(p *world.Pod, u world.Use) *corev1.ProjectedVolumeSource {
	isUnknown := func(f corev1.DownwardAPIVolumeFile) bool {
		return f.FieldRef == nil || f.FieldRef.FieldPath != "metadata.name" && f.FieldRef.FieldPath != "metadata.labels"
	}
	of := projectionOf(p, u)
	for i := 0; of != nil && i < len(of.Sources); i++ {
		if d := of.Sources[i].DownwardAPI; d != nil && slices.ContainsFunc(d.Items, isUnknown) {
			return nil
		}
	}
	return of
}

func projectionOf(p *world.Pod, u world.Use) *corev1.ProjectedVolumeSource {
	for i := range p.Object.Spec.Volumes {
		v := &p.Object.Spec.Volumes[i]
		switch {
		case v.Name != u.Name:
		case v.Secret != nil:
			return &corev1.ProjectedVolumeSource{DefaultMode: v.Secret.DefaultMode, Sources: []corev1.VolumeProjection{{
				Secret: &corev1.SecretProjection{
					LocalObjectReference: corev1.LocalObjectReference{Name: v.Secret.SecretName},
					Items:                v.Secret.Items, Optional: v.Secret.Optional,
				},
			}}}
		case v.ConfigMap != nil:
			return &corev1.ProjectedVolumeSource{DefaultMode: v.ConfigMap.DefaultMode, Sources: []corev1.VolumeProjection{{
				ConfigMap: &corev1.ConfigMapProjection{
					LocalObjectReference: v.ConfigMap.LocalObjectReference,
					Items:                v.ConfigMap.Items, Optional: v.ConfigMap.Optional,
				},
			}}}
		case v.DownwardAPI != nil:
			return &corev1.ProjectedVolumeSource{
				DefaultMode: v.DownwardAPI.DefaultMode,
				Sources: []corev1.VolumeProjection{{
					DownwardAPI: &corev1.DownwardAPIProjection{Items: v.DownwardAPI.Items},
				}},
			}
		case v.Projected != nil:
			return v.Projected
		}
	}
	return nil
}

// seen is what a reader finds below a directory, by path, and not by the names that are the writer's.
func seen(w *sim.World, dir string) map[string]file {
	all := map[string]file{}
	var walk func(prefix string)
	walk = func(prefix string) {
		for _, name := range w.Entries(dir + "/" + prefix) {
			if kind, _ := w.Exists(dir + "/" + prefix + name); prefix == "" &&
				(strings.HasPrefix(name, "..") || kind != hal.TypeSymlink) {
				continue // the writer's, or somebody has put it there
			}
			at := prefix + name
			switch info, ok := w.Found(dir + "/" + at); {
			case !ok: // a link that leads nowhere: open(2) fails
			case info.Type == hal.TypeDirectory:
				walk(at + "/")
			default:
				all[at] = file{string(w.ReadFile(dir + "/" + at)), info.Mode, info.UID, info.GID}
			}
		}
	}
	walk("")
	return all
}

// made is the files that a source of a volume makes of what its object holds; false if it can't be made.
func made(p *corev1.VolumeProjection, data map[string]string, byDefault *int32) (map[string]file, bool) {
	mode := uint32(0o644)
	if byDefault != nil {
		mode = uint32(*byDefault)
	}
	var items []corev1.KeyToPath
	var optional *bool
	if p.Secret != nil {
		items, optional = p.Secret.Items, p.Secret.Optional
	} else {
		items, optional = p.ConfigMap.Items, p.ConfigMap.Optional
	}
	isOptional := optional != nil && *optional
	all := map[string]file{}
	if data == nil {
		return all, isOptional
	}
	if len(items) == 0 {
		for key, text := range data { // the order does not matter
			all[key] = file{text: text, mode: mode}
		}
		return all, true
	}
	for _, item := range items {
		text, is := data[item.Key]
		if !is && !isOptional {
			return nil, false
		}
		if is {
			all[item.Path] = file{text: text, mode: mode}
			if item.Mode != nil {
				all[item.Path] = file{text: text, mode: uint32(*item.Mode)}
			}
		}
	}
	return all, true
}

// says is the files that say of a pod what it is.
func says(pod *corev1.Pod, p *corev1.VolumeProjection, byDefault *int32) map[string]file {
	all := map[string]file{}
	for _, item := range p.DownwardAPI.Items {
		f := file{text: pod.Name, mode: 0o644}
		if byDefault != nil {
			f.mode = uint32(*byDefault)
		}
		if item.FieldRef.FieldPath == "metadata.labels" {
			f.text = ""
			for i, key := range slices.Sorted(maps.Keys(pod.Labels)) {
				if i > 0 {
					f.text += "\n"
				}
				f.text += key + "=" + strconv.Quote(pod.Labels[key])
			}
		}
		all[item.Path] = f
	}
	return all
}

// Told notes what a pod is.
func (h *run) Told(_ *world.Run, p *world.Pod, object *corev1.Pod) {
	if !slices.Contains(h.told, told{p, object}) {
		h.told = append(h.told, told{p, object})
	}
}

// holdings are what the objects of a source hold and have held; none if it is made of none.
func holdings(r *world.Run, namespace string, p *corev1.VolumeProjection) []world.Holding {
	switch {
	case p.ClusterTrustBundle != nil:
		return r.BundlesOf(p.ClusterTrustBundle)
	case p.Secret != nil || p.ConfigMap != nil:
		return []world.Holding{holding(r, namespace, p)}
	}
	return nil
}

// holding is what the Secret or the ConfigMap of a source holds and has held.
func holding(r *world.Run, namespace string, p *corev1.VolumeProjection) world.Holding {
	if p.Secret != nil {
		return r.HeldBy(hal.SecretKind, namespace+"/"+p.Secret.Name)
	}
	return r.HeldBy(hal.ConfigMapKind, namespace+"/"+p.ConfigMap.Name)
}

// options are what a source of a volume of a pod can make; of the present versions alone, if isPresent.
func (h *run) options(
	r *world.Run, p *world.Pod, source *corev1.VolumeProjection, byDefault *int32, isPresent bool,
) (all []map[string]file) {
	if t := source.ServiceAccountToken; t != nil {
		return h.tokens(r, p, t, byDefault, isPresent)
	}
	if b := source.ClusterTrustBundle; b != nil {
		return bundles(r, p, b, byDefault, isPresent)
	}
	if source.DownwardAPI != nil {
		all = append(all, says(p.Object, source, byDefault))
		for _, t := range h.told {
			if t.pod == p && !isPresent {
				all = append(all, says(t.object, source, byDefault))
			}
		}
		return all
	}
	held := holding(r, namespaceOf(p), source).Held
	if isPresent {
		held = held[len(held)-1:]
	}
	for _, data := range held {
		if files, ok := made(source, data, byDefault); ok {
			all = append(all, files)
		}
	}
	return all
}

// ofGroup is files as they are given to a group, "" for none: then it reads them (K:G102).
func ofGroup(files map[string]file, group string) map[string]file {
	if group == "" {
		return files
	}
	gid, _ := strconv.Atoi(group)
	all := map[string]file{}
	for at, f := range files { // the order does not matter
		f.mode, f.gid = f.mode|0o440, uint32(gid)
		all[at] = f
	}
	return all
}

// isMade reports whether files are those of some version of each source, and of a group that the pod wants or has
// wanted; of the present ones alone, if isPresent.
func (h *run) isMade(
	r *world.Run, p *world.Pod, of *corev1.ProjectedVolumeSource, files map[string]file, isPresent bool,
) bool {
	groups := p.Groups
	if isPresent {
		groups = []string{world.GroupOf(p.Object)}
	}
	var try func(i int, so map[string]file) bool
	try = func(i int, so map[string]file) bool {
		if i == len(of.Sources) {
			return slices.ContainsFunc(groups, func(group string) bool { return maps.Equal(ofGroup(so, group), files) })
		}
		return slices.ContainsFunc(h.options(r, p, &of.Sources[i], of.DefaultMode, isPresent),
			func(more map[string]file) bool {
				next := maps.Clone(so)
				maps.Copy(next, more)
				return try(i+1, next)
			})
	}
	return try(0, map[string]file{})
}

// newsMost is longer than any news of an object takes.
const newsMost = 6 * time.Minute

// isNews: the agent may not have heard of it yet that an object has come or gone.
func isNews(r *world.Run, is *world.Holding) bool {
	return is.MovedAt != 0 && r.W.Now() < is.MovedAt.Add(newsMost)
}

// Refuses: an object is not there, and is not optional; or until calm comes, the agent may not know that it is by now.
func (*run) Refuses(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		of := projection(p, u)
		for i := 0; of != nil && i < len(of.Sources); i++ {
			s := &of.Sources[i]
			isNew := func(is world.Holding) bool { return r.Registrars.Calm == 0 && isNews(r, &is) }
			if slices.ContainsFunc(holdings(r, namespaceOf(p), s), isNew) {
				return true
			}
			switch {
			case s.ClusterTrustBundle != nil && len(bundles(r, p, s.ClusterTrustBundle, nil, true)) == 0:
				return true
			case s.Secret != nil || s.ConfigMap != nil:
				is := holding(r, namespaceOf(p), s)
				if _, ok := made(s, is.Present(), nil); !ok {
					return true
				}
			}
		}
	}
	return false
}

// LetsIn is S20 of a pod that is reported ready.
func (h *run) LetsIn(r *world.Run, p *world.Pod) bool {
	h.given = slices.DeleteFunc(h.given, func(g given) bool { return g.pod == p })
	for _, u := range p.Uses {
		of := projection(p, u)
		if of == nil {
			continue
		}
		r.Judges("S20")
		files := seen(r.W, u.Path)
		if !h.isMade(r, p, of, files, false) {
			r.Fail("S20", "told ready", p.Name, fmt.Sprintf("pod %s is reported ready, and volume %s has %s, which no "+
				"version of its objects makes", p.Name, u.Name, list(files)))
			return false
		}
		if why := expired(r, of, files); why != "" {
			r.Fail("S20", "told ready", p.Name, fmt.Sprintf("pod %s is reported ready, and volume %s has %s", p.Name, u.Name,
				why))
			return false
		}
		if wrong := world.WrongInMemory(r.W, u.Path); u.Memory && wrong != "" {
			r.Fail("S29", "in memory", p.Name, fmt.Sprintf("pod %s is reported ready, and %s %s", p.Name, u.Path, wrong))
			return false
		}
		if at, ok := r.W.Found(u.Path); ok {
			isOf := func(group string) bool { return fmt.Sprint(at.GID) == cmp.Or(group, "0") }
			if !slices.ContainsFunc(p.Groups, isOf) {
				r.Fail("S20", "told ready", p.Name, fmt.Sprintf("pod %s is reported ready, and volume %s is of group %d, not "+
					"of one of %q", p.Name, u.Name, at.GID, p.Groups))
				return false
			}
			h.given = append(h.given, given{p, at, u.Path})
		}
	}
	return true
}

func namespaceOf(p *world.Pod) string { return p.Object.Namespace }

// list shows files by their paths and modes: what is in them may be secret.
func list(files map[string]file) string {
	if len(files) == 0 {
		return "no file"
	}
	var all []string
	for _, at := range slices.Sorted(maps.Keys(files)) {
		all = append(all, fmt.Sprintf("%s (%04o, %d:%d, %d bytes)", at, files[at].mode, files[at].uid,
			files[at].gid, len(files[at].text)))
	}
	return strings.Join(all, ", ")
}

// Sees is S20 after each effect of the agent in the directory that containers were given.
func (h *run) Sees(r *world.Run, e *sim.Effect) {
	if e.Actor != "agent" || e.Path == "" {
		return
	}
	for i := range h.given {
		g := &h.given[i]
		if !g.pod.IsRunning || !world.Below(e.Path, g.in) {
			continue
		}
		if at, ok := r.W.Found(g.in); !ok || at.Inode != g.at.Inode || at.Device != g.at.Device || at.Mount != g.at.Mount {
			continue // containers don't see this one
		}
		for _, u := range g.pod.Given {
			of := projection(g.pod, u)
			if of == nil || u.Path != g.in {
				continue
			}
			r.Judges("S20")
			if files := seen(r.W, u.Path); !h.isMade(r, g.pod, of, files, false) {
				r.Fail("S20", e.Kind.String(), g.pod.Name, fmt.Sprintf("containers of pod %s see %s in volume %s, which no "+
					"version of its objects makes, since: %s %s", g.pod.Name, list(files), u.Name, e.Kind, e.Path))
				return
			}
		}
	}
}

// Reports is S20 in calm: a volume that is up has what the present versions make, and nothing is left of others but
// what attempts have left that failed, or were cut short: the next one removes it.
func (h *run) Reports(r *world.Run, p *world.Pod, u world.Use, v *engine.VolumeStatus) bool {
	of := projection(p, u)
	if of == nil || v.State != engine.Ready {
		return true
	}
	r.Judges("S20")
	isMoved := func(s corev1.VolumeProjection) bool {
		return slices.ContainsFunc(holdings(r, namespaceOf(p), &s), func(is world.Holding) bool { return isNews(r, &is) })
	}
	if files := seen(r.W, u.Path); !h.isMade(r, p, of, files, true) && !slices.ContainsFunc(of.Sources, isMoved) {
		r.Fail("S20", "calm", p.Name, fmt.Sprintf("volume %s of pod %s has %s, which the present versions of its objects "+
			"do not make", u.Name, p.Name, list(files)))
		return false
	}
	directories := 0
	for _, name := range r.W.Entries(u.Path) {
		if kind, _ := r.W.Exists(u.Path + "/" + name); kind == hal.TypeDirectory && strings.HasPrefix(name, "..") {
			directories++
		}
	}
	if directories > 3 { // the present one, and what two attempts have left
		r.Fail("S20", "litter", p.Name, "former contents are left in volume "+u.Name+" of pod "+p.Name)
		return false
	}
	return true
}
