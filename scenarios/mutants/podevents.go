package mutants

// podEvents is the events of pods.
var podEvents = []Mutant{
	{
		"a pod that comes later does not hear why a volume is not up", "L12, K:H21", "engine.objects.share",
		`why != ""`, `why != "" && len(o.sharing[r.Key]) == 1`,
	},
	{
		"a device that is in place is no event", "K:H22", "engine.podEvents.ended", "res.Outcome == hal.Done",
		"res.Outcome == hal.NotDone",
	},
	{
		"who waits for somebody hears nothing", "L12", "engine/core.Core.stalls", "r.next.isStalled &&",
		"r.next.isStalled && r.op != nil &&",
	},
	{
		"what fails in a volume pushes out what fails in another one", "L12", "engine.podEvents.happens",
		"case len(all) == mostPodEvents:", "case len(all) >= mostVolumeEvents:",
	},
	{
		"one of the pods that share a volume hears what fails", "L12, K:H21", "engine.podEvents.note",
		"range e.objects.sharing[key]", "range e.objects.sharing[key][:min(1, len(e.objects.sharing[key]))]",
	},
	{
		"what fails is an event of another volume of the pod", "L12, K:H21", "engine.podEvents.noteOf",
		"n.top == key || e.standsOn(n.top, key)", "n.top != key",
	},
	{
		"a failed setup is an event of a teardown", "K:H21", "engine/core.Core.isFor",
		"in.Verb == SetUp || in.Verb == Refresh", "in.Verb == Refresh",
	},
	{
		"a failure of a raw block volume has the reason of one with a filesystem", "K:H22", "engine.podEvents.eventOf",
		"case t.IsUp && isBlock:", `case t.IsUp && isBlock && t.Why == "":`,
	},
	{
		"what hangs is no event", "L12, K:H21", "engine/core.Core.Overdue", "max(in.Deadline, in.since) < since",
		"max(in.Deadline, in.since) < since-since",
	},
	{
		"what waits for a moment after a start is an event", "K:H21", "engine.podEvents.blocked", "Add(problemsWait)",
		"Add(0*problemsWait)",
	},
	{
		"a pod that comes again has the events of the one before it", "K:H21", "engine.podEvents.comes",
		"delete(e.known, uid)", "delete(e.known, \"\")",
	},
	{
		"what is pending until containers end is no event", "L12", "engine/core.Core.waitsForSomebody",
		"whyRebuildHeld, whyVoidHeld, whyFailedHeld, whyDenied,", "",
	},
	{
		"who waits for a claim hears nothing", "L12", "engine/core.Core.waitsForSomebody", "case whyAwaits, whyClaim, ",
		"case whyAwaits, ",
	},
	{
		"what is hidden below a mount is no event", "L12", "engine/core.Core.waitsForSomebody", "_, is := c.cover(r)",
		"is := false",
	},
	{
		"volnode shows for ever what a driver said of a volume once", "L18", "engine.measuring.ask",
		"of.wrong = wrong;", "of.wrong = append(of.wrong, wrong...);",
	},
	{
		"a volume that is not well is no event", "L18, K:G71", "engine.measuring.ask", "len(wrong) > 0",
		"len(wrong) > 99",
	},
	{
		"volnode shows what a driver says of a volume, though it may quote a secret", "S17", "engine.discreetNode.discreet",
		`why != ""`, `why == "?"`,
	},
	{
		"volnode shows what a driver says of a volume, and scrubs nothing", "S17", "engine.discreetNode.discreet",
		"n.said.Clean(message)", "message",
	},
	{
		"a driver is asked how well the stage is", "L18", "engine/plugin/csi.health",
		"core.Value(made, plugin.ParamPath)", "core.Value(made, paramStaging)",
	},
	{
		"a death in a refresh leaves no trace", "S20, laws 1.2", "engine/core.Core.announce", "rec.Refused = true",
		"rec.Refused = false",
	},
	{
		"the look before a teardown waits as long as a setup", "L15, laws 2.5", "engine/core.Core.paceOf",
		"w != whyAnswered", "w == whyAnswered",
	},
}
