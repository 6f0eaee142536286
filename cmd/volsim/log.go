package main

import (
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/scenarios"
)

// logLine is a line of the engine's log as volnode writes it.
func logLine(e engine.Entry) string { return strings.TrimSuffix(scenarios.LogLine(e), "\n") }
