package mutants

// paces is how often a driver is asked the same again (laws 2.5).
var paces = []Mutant{
	{
		"each denial has the stage made again at once", "L7, laws 2.5", "engine/core/complete.go",
		"c.fall(b, \"the driver says that it is not there: \"+r.reason)",
		"c.lose(b, \"the driver says that it is not there: \"+r.reason, false)",
	},
	{
		"each failure has what is below it made again at once", "L7, laws 2.5", "engine/core/void.go",
		"c.fall(b, r.reason)", "c.lose(b, r.reason, false)",
	},
	{
		"what falls again is made again at once", "L7, laws 2.5", "engine/core/actual.go",
		"p.up.until = max(c.now, p.falls.until)", "p.up.until = c.now",
	},
	{
		"a long time up does not begin the waits of a fall again", "L2, laws 2.5", "engine/core/actual.go",
		"if c.now.Sub(p.falls.until) > backoffMax {", "if false {",
	},
	{
		"the short waits after an answer do not end", "L7, laws 2.5", "engine/core/backoff.go",
		"if isAnswered && now.Sub(b.since) < answeredFor {", "if isAnswered {",
	},
	{
		"the short waits after an answer begin again", "L7, laws 2.5", "engine/core/backoff.go",
		"\tif b.attempts == 0 {\n\t\tb.since = now\n",
		"\tif b.attempts == 0 || now.Sub(b.since) > answeredFor {\n\t\tb.since = now\n",
	},
	{
		"each reading of the mount table begins the waits again", "L7, laws 2.5", "engine/drift.go",
		"\tm.readsAgain()\n\ttops", "\tm.readsAgain()\n\tfor _, d := range " +
			"slices.Sorted(maps.Keys(m.objects.drivers)) {\n" +
			"\t\tstep(m, core.Registered{Actor: d})\n\t}\n\ttops",
	},
	{
		"each wake begins the waits again", "L7, laws 2.5", "engine/core/core.go",
		"\tcase Wake:\n", "\tcase Wake:\n\t\tfor _, r := range c.sorted() {\n\t\t\tr.resetBackoff()\n\t\t}\n",
	},
	{
		"what any pod asks for begins all waits again", "L7, laws 2.5", "engine/core/desired.go",
		"\tp.wanted, p.complete = true, e.Complete\n",
		"\tp.wanted, p.complete = true, e.Complete\n\tfor _, r := range c.sorted() " +
			"{\n\t\tr.resetBackoff()\n\t\tc.mark(r)\n\t}\n",
	},
	{
		"a driver that comes back has the calls of all sent at once", "L7", "engine/core/core.go",
		"for _, r := range c.of(actor) {\n\t\tr.resetBackoff()", "for _, r := range c.sorted() {\n\t\tr.resetBackoff()",
	},
}
