package main

import "github.com/volnode/volnode/hal/haltest"

var backends = map[string]func() haltest.World{"linux": newLinux}

// newSim is nil where there is no simulator to compare with.
var newSim func() haltest.World
