// Package core decides. It knows what is wanted and what is known, and says what to do next; it performs nothing and
// reads nothing.
//
//	batch := c.Step(now, event)   // write batch.Lines, then start batch.Start, then wake batch.Wake
//	at := c.NextWake()            // step again with Wake at this instant, if nothing else happens before
//
// The unit is the [Rung]: one thing that can be up or down on this node. A rung names the rungs that it depends on;
// together they are a DAG, and the part below a pod's top rung is that volume's ladder. Desired is what pods want
// (desired.go), actual is Unknown, Absent or Present with its evidence (evidence.go), and reconcile.go holds the one
// decision function, next:
//
//	wanted   │ Absent → (look) → setup        Unknown → look or setup      Present → refresh, rebuild or nothing
//	held     │ nothing: not wanted, but containers may still run on it
//	unwanted │ Present, Unknown → (look) → tear down     Absent → forget it, once no call may still act on it
//
// A call without a known end may still act (fence.go). Core undoes such a setup at once, and once more at its bound.
// It may only repeat such a teardown, and the next setup waits for its end. The journal names each effect before the
// operation starts (journal lines of [Batch]). So a restart is [New] with the records and what is mounted on the node,
// and then the same reconcile.
//
// docs/laws.md has the rules that core keeps, each with the events that force it. "laws 4.2" cites one of them.
//
// Core is deterministic: no maps are ranged over, time is an argument, jitter is a hash of key and attempt.
package core
