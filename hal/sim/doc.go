// Package sim is a deterministic model of a node: it implements every interface of package hal over a virtual clock,
// and injects every fault that the class of a call allows, reproducibly.
//
// A [World] is the truth: one filesystem tree with a power-cut model, a mount table, CSI drivers with personalities,
// plugin sockets, a cluster, and the life of the agent. The agent is started with a hal.Host of the present incarnation
// and runs only by its Runtime: its tasks are coroutines, its owner is a queue. Everything happens on the goroutine
// that calls [World.Run]; a world is used by one goroutine at a time and shares nothing with others.
//
// Every choice is keyed by identity (see [ID]): which site, on which object, for the how-manieth time. Taking one fault
// away leaves all others in place, so a run is minimised by making the others only. A world whose chooser is [Benign]
// has no faults, and each call takes a fixed tiny latency: the conformance cases of hal/haltest run on it.
//
// A simulated death unwinds the tasks of an incarnation by a private panic, before and after each park: a dead task
// never sees a result and has no effect, also in its deferred functions.
package sim
