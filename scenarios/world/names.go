package world

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

// Labels is the short names of everything that the run knows of.
func (r *Run) Labels() Labels {
	n := Labels{Owners: map[string][]string{}}
	add := func(from, short, prose string) { n.pairs = append(n.pairs, pair{from, short, prose}) }
	pods := map[string]string{}
	for i, p := range r.Pods {
		name := strings.TrimPrefix(p.Name, "default/")
		if twins := slices.IndexFunc(r.Pods[:i], func(q *Pod) bool { return q.Name == p.Name }); twins >= 0 {
			name += "." + fmt.Sprint(i-twins+1)
		}
		pods[string(p.Uid)] = name
		add(string(p.Uid), name, name)
		for _, u := range p.Uses {
			if u.Driver == "" {
				if strings.Contains(u.Path, string(p.Uid)) {
					add(u.Path, name+"/"+u.Name, name+"/"+u.Name)
					for _, k := range u.kinds() {
						add(string(u.key(k.Name, p.Uid)), name+"/"+u.Name, "the "+u.Room.Source.Name+" "+
							name+"/"+u.Name)
					}
				}
				continue
			}
			volume := r.volumeName(u.Driver, u.Volume)
			if strings.HasPrefix(u.Volume, "csi-") && len(u.Volume) > 60 {
				volume = u.Name // an inline volume's handle is a hash
				add(u.Volume, volume, volume)
			}
			label := volume + "@" + name
			n.Owners[volume] = append(n.Owners[volume], name)
			add(u.Driver+"^"+u.Volume+" "+u.Path, label, label)
			add(u.Path, label, label)
			add(strings.TrimSuffix(u.Path, "/mount"), label, label)
			add(u.Driver+"^"+u.Volume, volume, volume)
		}
	}
	for _, p := range r.List {
		volume := r.volumeName(p.Driver, p.Volume)
		if p.IsPublish {
			uid := strings.Split(string(p.Key), "/")
			label := volume
			if owner := pods[uid[min(len(uid)-1, 2)]]; owner != "" {
				label += "@" + owner
			}
			add(string(p.Key), label, "the publish of "+label)
			add(p.Path, label, label)
			continue
		}
		add(string(p.Key), volume, "the stage of "+volume)
		add(p.Path, volume, "its staging path")
		add(strings.TrimSuffix(p.Path, "/globalmount"), volume, volume)
		add(p.Driver+"^"+p.Volume+" "+p.Path, volume, volume)
	}
	n.pairs = append(n.pairs, pair{lang.RootDir + "/volnode/", "", ""}, pair{lang.RootDir + "/", "", ""},
		pair{"default/", "", ""})
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
func (r *Run) volumeName(driver, handle string) string {
	if len(r.W.Drivers()) < 2 {
		return handle
	}
	name, _, _ := strings.Cut(driver, ".")
	return name + ":" + handle
}

// ComesAgain: the agent is told of a pod. If it knows that the one before has ended, containers will run on what this
// one wants, and on nothing else.
func (r *Run) ComesAgain(p *Pod) {
	if p.Told == nil && p.FreedIn == r.W.Life() {
		for _, at := range r.List {
			at.IsFormer = at.IsFormer || r.PodOf(at.Path) == p
		}
	}
	p.FreedIn = 0
}

// ForgetsUnsaid: what the former life of the agent believed to be up, and told nobody of, no container has.
func (r *Run) ForgetsUnsaid() {
	for _, at := range r.List {
		at.IsFormer = at.IsFormer || !at.IsSaid
	}
}
