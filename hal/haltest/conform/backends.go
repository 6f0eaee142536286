package main

import (
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/sim"
)

var backends = map[string]func() haltest.World{"linux": newLinux, "sim": newSim}

func newSim() haltest.World { return sim.New(sim.Config{Private: true}) }
