package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/scenarios/lang"
)

// This file is short names for what keys and paths are about: disk:vol-1 is a volume, disk:vol-1@pod-3 what a pod has
// of it, pod-3/scratch an emptyDir.

// Labels are the short names of all that a run knows of.
type Labels struct {
	pairs []pair
	// Owners are the names of the pods that use a volume, by the name of the volume.
	Owners map[string][]string
}

// pair is a text and what stands for it.
type pair struct{ from, short, prose string }

// labels is the short names of everything that the run knows of.
func (r *run) labels() Labels {
	n := Labels{Owners: map[string][]string{}}
	add := func(from, short, prose string) { n.pairs = append(n.pairs, pair{from, short, prose}) }
	pods := map[string]string{}
	for i, p := range r.pods {
		name := strings.TrimPrefix(p.name, "default/")
		if twins := slices.IndexFunc(r.pods[:i], func(q *pod) bool { return q.name == p.name }); twins >= 0 {
			name += "." + fmt.Sprint(i-twins+1)
		}
		pods[string(p.uid)] = name
		add(string(p.uid), name, name)
		for _, u := range p.uses {
			if u.driver == "" {
				if strings.Contains(u.path, string(p.uid)) {
					add(u.path, name+"/"+u.name, name+"/"+u.name)
					add("emptydir/"+string(p.uid)+"/"+u.name, name+"/"+u.name, "the emptyDir "+name+"/"+u.name)
				}
				continue
			}
			volume := r.volumeName(u.driver, u.volume)
			if strings.HasPrefix(u.volume, "csi-") && len(u.volume) > 60 {
				volume = u.name // an inline volume's handle is a hash
				add(u.volume, volume, volume)
			}
			label := volume + "@" + name
			n.Owners[volume] = append(n.Owners[volume], name)
			add(u.driver+"^"+u.volume+" "+u.path, label, label)
			add(u.path, label, label)
			add(strings.TrimSuffix(u.path, "/mount"), label, label)
			add(u.driver+"^"+u.volume, volume, volume)
		}
	}
	for _, p := range r.list {
		volume := r.volumeName(p.driver, p.volume)
		if p.isPublish {
			uid := strings.Split(string(p.key), "/")
			label := volume
			if owner := pods[uid[min(len(uid)-1, 2)]]; owner != "" {
				label += "@" + owner
			}
			add(string(p.key), label, "the publish of "+label)
			add(p.path, label, label)
			continue
		}
		add(string(p.key), volume, "the stage of "+volume)
		add(p.path, volume, "its staging path")
		add(strings.TrimSuffix(p.path, "/globalmount"), volume, volume)
		add(p.driver+"^"+p.volume+" "+p.path, volume, volume)
	}
	n.pairs = append(n.pairs, pair{lang.RootDir + "/volnode/", "", ""}, pair{lang.RootDir + "/", "", ""}, pair{"default/", "", ""})
	slices.SortStableFunc(n.pairs, func(a, b pair) int { return len(b.from) - len(a.from) })
	return n
}

// Replacers put the short names in the place of what they stand for. prose has "the stage of" before a rung.
func (l Labels) Replacers() (short, prose *strings.Replacer) {
	var shorts, proses []string
	for _, p := range l.pairs {
		shorts, proses = append(shorts, p.from, p.short), append(proses, p.from, p.prose)
	}
	return strings.NewReplacer(shorts...), strings.NewReplacer(proses...)
}

// volumeName is the handle, with the driver before it if another driver has a volume of that handle or one that
// resembles it.
func (r *run) volumeName(driver, handle string) string {
	if len(r.w.Drivers()) < 2 {
		return handle
	}
	name, _, _ := strings.Cut(driver, ".")
	return name + ":" + handle
}

// comesAgain: the agent is told of a pod. If it knows that the one before has ended, containers will run on what this one
// wants, and on nothing else.
func (r *run) comesAgain(p *pod) {
	if p.told == nil && p.freedIn == r.w.Life() {
		for _, at := range r.list {
			at.isFormer = at.isFormer || r.podOf(at.path) == p
		}
	}
	p.freedIn = 0
}

// forgetsUnsaid: what the former life of the agent believed to be up, and told nobody of, no container has.
func (r *run) forgetsUnsaid() {
	for _, at := range r.list {
		at.isFormer = at.isFormer || !at.isSaid
	}
}
