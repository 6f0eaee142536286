package mutants

// paces is how often a driver is asked the same again (laws 2.5).
var paces = []Mutant{
	{
		"each denial has the stage made again at once", "L7, laws 2.5", "engine/core.Core.deny",
		`c.fall(b, "the driver says that it is not there: "+r.reason)`,
		`c.lose(b, "the driver says that it is not there: "+r.reason, false)`,
	},
	{
		"each failure has what is below it made again at once", "L7, laws 2.5", "engine/core.Core.failBelow",
		"c.fall(b, r.reason)", "c.lose(b, r.reason, false)",
	},
	{
		"what falls again is made again at once", "L7, laws 2.5", "engine/core.Core.fall",
		"p.up.until = max(c.now, p.falls.until)", "p.up.until = c.now",
	},
	{
		"a long time up does not begin the waits of a fall again", "L2, laws 2.5", "engine/core.Core.fall",
		"if c.now.Sub(p.falls.until) > backoffMax {", "if false {",
	},
	{
		"the short waits after an answer do not end", "L7, laws 2.5", "engine/core.backoff.fail",
		"if isAnswered && now.Sub(b.since) < answeredFor {", "if isAnswered {",
	},
	{
		"the short waits after an answer begin again", "L7, laws 2.5", "engine/core.backoff.fail",
		`if b.attempts == 0 {
			b.since = now`,
		`if b.attempts == 0 || now.Sub(b.since) > answeredFor {
			b.since = now`,
	},
	{
		"each reading of the mount table begins the waits again", "L7, laws 2.5", "engine.drift.tableRead",
		`d.readsAgain()
		tops`, `d.readsAgain()
		for _, v := range d.core.View() {
			step(d.port, core.Registered{Actor: v.Actor})
		}
		tops`,
	},
	{
		"each wake begins the waits again", "L7, laws 2.5", "engine/core.Core.apply",
		"case Wake:", `case Wake:
			for _, r := range c.sorted() {
				r.resetBackoff()
			}`,
	},
	{
		"what any pod asks for begins all waits again", "L7, laws 2.5", "engine/core.Core.wanted",
		"p.wanted, p.complete = true, e.Complete",
		`p.wanted, p.complete = true, e.Complete
		for _, r := range c.sorted() {
			r.resetBackoff()
			c.mark(r)
		}`,
	},
	{
		"a driver that comes back has the calls of all sent at once", "L7", "engine/core.Core.registered",
		`for _, r := range c.of(actor) {
			r.resetBackoff()`, `for _, r := range c.sorted() {
			r.resetBackoff()`,
	},
}
