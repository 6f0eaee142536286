// Package explore tells the scenarios of the catalogue with more going wrong in them than their authors thought of: with every single fault, every
// pair of faults, up to a depth ([Exhaust]).
//
// A choice point is something that an operation does to the node: an effect, an RPC, an fsync; and the instant after it, at which the agent may die,
// or the node. The calls of one operation that only look share one point, whose alternatives are which of its looks fails. What can happen at a point
// is what the class of the call allows, effect by reply by time, less what can't be told apart: see alternatives.
package explore
