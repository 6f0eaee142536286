package scenarios

import "github.com/volnode/volnode/hal/sim"

// View is a run at one instant, for who looks on. It is valid until the run ends.
type View struct{ r *run }

// World is the world of the run.
func (v View) World() *sim.World { return v.r.w }

// IsCalm: the chaos, or the timeline, is over.
func (v View) IsCalm() bool { return v.r.stop }

// Fail has the run end with a violation, unless it has broken something before.
func (v View) Fail(property, site, object, story string) { v.r.fail(property, site, object, story) }

// Running are the names of the pods whose containers run, as namespace/name.
func (v View) Running() (names []string) {
	for _, p := range v.r.pods {
		if p.isRunning {
			names = append(names, p.name)
		}
	}
	return names
}

// Labels are the short names of all that the run knows of.
func (v View) Labels() Labels { return v.r.labels() }

// Rungs is all rungs that the engine knows of or that there is something of, in the order of their keys.
func (v View) Rungs() []RungFrame { return v.r.rungFrames() }

// watched calls look with the view of a run; nil for nobody.
func watched(look func(View)) func(*run) {
	if look == nil {
		return nil
	}
	return func(r *run) { look(View{r}) }
}

// check adds a check, at each step of the engine; nil is none.
func (r *run) check(look func(View)) { r.canary = watched(look) }
