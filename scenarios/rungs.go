package scenarios

import (
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// RungFrame is one rung in a frame.
type RungFrame struct {
	Key  hal.Key `json:"key"`
	Name string  `json:"name"` // short, for people
	// "Unknown", "Absent", "Absent in doubt", "Present"; "" if the engine knows of no such rung, or does not live
	Believed string `json:"believed"`
	Wanted   bool   `json:"wanted"` // by the engine's own account
	True     string `json:"true"`   // "up" or "down"
	// who uses it or may yet act on it: "pod-3 runs", "NodeStageVolume may act"; "" for nobody
	Holder string `json:"holder"`
}

// rungFrames is all rungs that the engine knows of or that there is something of, in the order of their keys.
func (r *run) rungFrames() []RungFrame {
	all := []RungFrame{}
	if r.alive() {
		r.core.Beliefs(func(b core.Belief) {
			all = append(all, RungFrame{
				Key: b.Key, Believed: r.core.StateClassOf(b.Key).String(), Wanted: b.IsWanted,
				True: r.truth(b.Key, b.Path), Holder: r.holder(b.Key),
			})
		})
	}
	for _, p := range r.list {
		isKnown := slices.ContainsFunc(all, func(f RungFrame) bool { return f.Key == p.key })
		if !isKnown && r.remains(p) != "" {
			all = append(all, RungFrame{Key: p.key, True: r.truth(p.key, p.path), Holder: r.holder(p.key)})
		}
	}
	short, _ := r.labels().Replacers()
	slices.SortFunc(all, func(a, b RungFrame) int { return strings.Compare(string(a.Key), string(b.Key)) })
	for i := range all {
		all[i].Name = short.Replace(string(all[i].Key))
	}
	return all
}

// truth is "up" if there is something of a rung.
func (r *run) truth(key hal.Key, path string) string {
	isUp := false
	if p := r.places[key]; p != nil {
		isUp = r.stands(p) != ""
	} else if path != "" {
		_, isUp = r.w.Exists(path)
	}
	if isUp {
		return "up"
	}
	return "down"
}

// holder is who uses a rung, or may yet act on it.
func (r *run) holder(key hal.Key) string {
	var all []string
	if p := r.places[key]; p != nil {
		if owner := r.podOf(p.path); owner != nil && owner.isRunning {
			all = append(all, strings.TrimPrefix(owner.name, "default/")+" runs")
		}
		for _, c := range p.calls {
			all = append(all, c.method+" may act")
		}
	}
	return strings.Join(all, ", ")
}
