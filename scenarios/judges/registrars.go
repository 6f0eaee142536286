package judges

import (
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/world"
)

// IsReached is L13: in calm, a driver that runs and whose registration socket stands is registered and connected.
func IsReached(r *world.Run) bool {
	g := &r.Registrars
	if r.W.IsStalled() || !r.Alive() || r.W.Off() {
		g.Begun = r.W.Now()
		return true
	}
	for _, d := range r.W.Drivers() {
		made, stands := g.Since[d.Socket]
		up, isUp := g.Since[d.Endpoint]
		if !stands || !isUp || d.Name == r.Broken || d.Misregisters || !r.W.Registers(d.Socket) {
			continue
		}
		r.Judges("L13")
		from := max(made, up, g.Left[d.Name], g.Begun, g.Calm)
		if r.W.Now().Sub(from) > dealings.Reach && !(g.Registered[d.Name] && g.Connected[d.Name]) {
			r.Fail("L13", "reached", d.Name,
				"driver "+d.Name+" runs, and its registration socket is there, for "+dealings.Reach.String()+
					", and it is not registered and connected: "+TellWhy(r, d.Name))
			return false
		}
	}
	return true
}
