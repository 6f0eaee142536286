// Package world is a run as all see it who judge it or meddle with it: the simulated world, the engine in it, and what
// is true of pods, places and objects by all that has happened. It judges nothing by itself but that a run ends.
package world
