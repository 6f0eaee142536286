package main

import (
	"strings"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/scenarios"
)

// logLine is a line of the engine's log as volnode writes it.
func logLine(l engine.Line) string { return strings.TrimSuffix(scenarios.LogLine(l), "\n") }
