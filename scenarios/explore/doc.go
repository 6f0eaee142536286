// Package explore tells the scenarios of the catalogue with more going wrong in them than their authors thought of:
// with every single fault, every pair of faults, up to a depth ([Exhaust]).
//
// # Choice points
//
// A choice point is something that an operation does to the node: an effect, an RPC, an fsync; and the instant after
// it, at which the agent may die, or the node. The calls of one operation that only look share one point, whose
// alternatives are which of its looks fails. A call that is to change something, and finds that it can't or need not
// (the directory is there, the name is not), has only looked. What can happen at a point is what the class of the call
// allows, effect by reply by time, less what can't be told apart: see alternatives.
//
// # Steady plays
//
// What is told on top of a scenario is told steadily ([scenarios.Play]): calls take no time, statements come as long
// after one another as their author wrote, and an expectation is waited for as long as something happens. So that an
// operation was tried twice leaves no trace in what comes later, and runs come to the same states. As it is written a
// scenario is told once.
//
// # What is not told again
//
// The state of a run is all that decides how it goes on: the world, the engine's memory, the checks, what is due when,
// counted from now, and what is left of the timeline ([scenarios.Moment.State]). It is known at moments at which no
// operation has begun that has not ended: what an operation has on its stack can't be looked at. A run that comes to a
// state, after its last fault, in which another has been goes on as that one did, and the other has as many faults to
// come, since combinations are told level by level. So it is cut short. Of a death, the state that it leads to is known
// beforehand, so that those that lead to the same are told once.
//
// # Like circumstances
//
// Most pairs of faults strike at a retry, or after a restart, that differs from others in a count, in how long ago
// something was, in a directory that was left: states are seldom equal, and what comes of them is. So unless it is
// asked for ([Exhaust.Exact]), a fault is told once for each of the circumstances in which it may strike: see alike.
// That is less than all pairs, and fifty times as fast. What is told is told to its end then.
//
// TestEqualStatesGoOnAlike compares what follows equal states, and TestNothingNewIsPruned what pairs of faults come to,
// with and without what is cut short; TestExhaustFindsPlantedDefects has a defect that takes two faults, and all ways
// find it.
package explore
