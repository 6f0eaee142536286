// Package calm judges what must hold once the faults have stopped: all that is wanted comes up within a bound, then
// nothing is done any more, a restart takes all of it for what it is, and what nobody wants goes.
package calm
