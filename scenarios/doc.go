// Package scenarios runs the engine in simulated worlds and judges what it does there.
//
//   - A [lang.Scenario] is Kubernetes objects, drivers, a timeline and what is expected, read from a file
//     of the
//     catalogue (catalogue/*.txt).
//   - A [Hunter] makes worlds of its own out of seeds, each with pods that come and go and with every fault that the
//     simulator knows.
//   - Both run the same way: chaos or the timeline, then calm. In calm everything wanted must come up within a computed
//     bound and nothing may be done any more; a restart must adopt it all without a call; and once every pod is
//     deleted, nothing may be left.
//   - The checks look at each effect at its instant, and compare what the engine believes with the truth. What they
//     find
//     is a [verdict.Violation], with the property that it breaks. A test adds checks of its own by [Hunter].Check, as
//     the
//     examples show.
//   - [minimise.Shrink] takes the choices of a failing run away until none can go.
//
// Every run is a function of its seed, or its scenario, alone.
package scenarios
