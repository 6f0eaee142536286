package scenarios

import (
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/world"
)

// View is a run at one instant, for who looks on. It is valid until the run ends.
type View struct{ r *world.Run }

// World is the world of the run.
func (v View) World() *sim.World { return v.r.W }

// IsCalm: the chaos, or the timeline, is over.
func (v View) IsCalm() bool { return v.r.Stop }

// Fail has the run end with a violation, unless it has broken something before.
func (v View) Fail(property, site, object, story string) { v.r.Fail(property, site, object, story) }

// Running are the names of the pods whose containers run, as namespace/name.
func (v View) Running() (names []string) {
	for _, p := range v.r.Pods {
		if p.IsRunning {
			names = append(names, p.Name)
		}
	}
	return names
}

// Labels are the short names of all that the run knows of.
func (v View) Labels() world.Labels { return v.r.Labels() }

// Rungs is all rungs that the engine knows of or that there is something of, in the order of their keys.
func (v View) Rungs() []world.RungFrame { return dealings.RungFrames(v.r) }

// watched calls look with the view of a run; nil for nobody.
func watched(look func(View)) func(*world.Run) {
	if look == nil {
		return nil
	}
	return func(r *world.Run) { look(View{r}) }
}

// check adds a check, at each step of the engine; nil is none.
func check(r *world.Run, look func(View)) { r.Canary = watched(look) }
