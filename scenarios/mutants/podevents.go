package mutants

// podEvents is the events of pods.
var podEvents = []Mutant{
	{
		"a pod that comes later does not hear why a volume is not up", "L12, K:H21", "engine.objects.share",
		`o.core.Lacking(r.Key) != ""`, `o.core.Lacking(r.Key) != "" && len(o.sharing[r.Key]) == 1`,
	},
	{
		"a device that is in place is no event", "K:H22", "engine.podEvents.ended", "res.Outcome == hal.Done",
		"res.Outcome == hal.NotDone",
	},
	{
		"who waits for somebody hears nothing", "L12", "engine/core.Core.Troubles", "c.isStalled(r)",
		"c.isStalled(r) && r.op != nil",
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
		"a failed setup is an event of a teardown", "K:H21", "engine/core.Core.failed",
		"in.Verb != TearDown && c.desire(r) == wanted", "in.Verb == TearDown && c.desire(r) == wanted",
	},
	{
		"what a raw block volume fails on is told as if it had a filesystem", "K:H22", "engine.pick", "return block",
		"return filesystem",
	},
}
