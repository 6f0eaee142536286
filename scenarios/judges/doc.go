// Package judges judges each effect at its instant (checks.go), and after each step of the engine compares what it
// believes with the truth (refine.go).
package judges
