// Package bench measures the engine beside its peers, against its goals (BenchmarkGoals), and the simulator as it is
// used, with all checks on. It is a module of its own, so that what is only measured against never becomes a dependency
// of volnode.
package bench
