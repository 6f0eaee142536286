// Package backends is the worlds of package haltest: this machine, and the simulator.
package backends

import (
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/sim"
)

// All are the backends by name. Each call makes a world, for the caller to close.
var All = map[string]func() haltest.World{"linux": Linux, "sim": Sim}

// Sim is a new simulated world in which nothing goes wrong.
func Sim() haltest.World { return sim.New(sim.Config{Private: true}) }
