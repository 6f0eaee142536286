package dealings

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/world"
)

// RungFrames is all rungs that the engine knows of or that there is something of, in the order of their keys.
func RungFrames(r *world.Run) []world.RungFrame {
	all := []world.RungFrame{}
	if r.Alive() {
		r.Core.Beliefs(func(b core.Belief) {
			all = append(all, world.RungFrame{
				Key: b.Key, Believed: r.Core.StateClassOf(b.Key).String(), Wanted: b.IsWanted,
				True: truth(r, b.Key, b.Path), Holder: r.Holder(b.Key),
			})
		})
	}
	for _, p := range r.List {
		isKnown := slices.ContainsFunc(all, func(f world.RungFrame) bool { return f.Key == p.Key })
		if !isKnown && Remains(r, p) != "" {
			all = append(all, world.RungFrame{Key: p.Key, True: truth(r, p.Key, p.Path), Holder: r.Holder(p.Key)})
		}
	}
	short, _ := r.Labels().Replacers()
	slices.SortFunc(all, func(a, b world.RungFrame) int { return strings.Compare(string(a.Key), string(b.Key)) })
	for i := range all {
		all[i].Name = short.Replace(string(all[i].Key))
	}
	return all
}

// truth is "up" if there is something of a rung.
func truth(r *world.Run, key hal.Key, path string) string {
	isUp := false
	if p := r.Places[key]; p != nil {
		isUp = Stands(r, p) != ""
	} else if path != "" {
		_, isUp = r.W.Exists(path)
	}
	if isUp {
		return "up"
	}
	return "down"
}

// Stands says what there is of a place, "" for nothing. What somebody else has mounted there is nothing of it.
func Stands(r *world.Run, p *world.Place) string {
	switch {
	case p.IsHeld && p.IsPublish:
		return "its driver has it published at " + p.Path
	case p.IsHeld:
		return "its driver has it staged at " + p.Path
	}
	if shown(r, p) != nil {
		return "" // what is mounted there is of another rung, that came before or later
	}
	for _, m := range slices.Backward(r.W.MountsAt(p.Path)) {
		if !IsForeign(r, m) {
			return "at " + p.Path + " stands " + m.Fingerprint()
		}
	}
	return ""
}

// Remains says what there is, or may still come, of a place.
func Remains(r *world.Run, p *world.Place) string {
	if why := Stands(r, p); why != "" {
		return why
	}
	if len(p.Calls) > 0 {
		return "a " + p.Calls[0].Method + " of it may still act"
	}
	return ""
}
