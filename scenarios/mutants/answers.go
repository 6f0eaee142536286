package mutants

// answers is what a driver's errors prove, and what does not (laws 3.3, 4.3c).
var answers = []Mutant{
	{
		"a volume comes up on an inspection from before another's effect went", "laws 3.4", "engine/core/complete.go",
		"if r.isGone() && c.intruded(r, res.Fingerprint) {", "if r.isGone() && c.intruded(r, res.Fingerprint) && r == nil {",
	},
	{
		"what goes with an unwanted volume in doubt is not let go of", "L1, laws 3.3", "engine/core/complete.go",
		"c.desire(r) == wanted || r.state == Unknown {", "c.desire(r) == wanted {",
	},
	{
		"a volume is let go of while an unpublish of another one of its path may act", "S13, laws 3.3",
		"engine/core/places.go",
		"case o.isAbove(r), o.bound(TearDown) != 0:", "case o.isAbove(r):",
	},
	{
		"another volume's mount is the effect of an answered call once its filesystem has failed",
		"S13, laws 3.3", "engine/core/answered.go",
		"return !IsBare(fingerprint) && (o == nil || !isOf(o))", "return !IsBare(fingerprint) && (true || !isOf(o))",
	},
	{
		"an answered error ends the calls before it", "S8, laws 3.3, 4.3c", "engine/core/complete.go",
		"\t\tif res.Answer == Failed {\n", "\t\tif res.Answer == Failed {\n\t\t\tr.calls = nil\n",
	},
	{
		"an error that names a time-out ends its call", "S8, laws 3.3", "engine/plugin/csi/outcome.go",
		"\treturn text == \"\" || isCut ||", "\treturn isCut && text == \"\" &&",
	},
	{
		"an error proves the end of another call", "S8, laws 4.3c", "engine/core/fence.go",
		"(res.Answer == Final || res.Answer == Aborted)",
		"(res.Answer == Final || res.Answer == Failed || res.Answer == Aborted)",
	},
	{
		"what comes after an answered error stays", "laws 3.3", "engine/core/actual.go",
		"\tif r.awaitsEffect() && c.isForeign(r, e.Fingerprint) {\n\t\tc.appears(r, e.Fingerprint)\n\t}\n", "",
	},
	{
		"an effect is not seen while a teardown may act", "S23, laws 3.3", "engine/core/answered.go",
		`r.remembers(SetUp) != 0 && r.state == Absent && r.noResidue && r.bound(SetUp) == 0 && r.op == nil &&
		r.child == ""
`,
		"r.isRemembered()\n",
	},
	{
		"a driver that acts after it has answered is forgotten with the agent's life", "laws 3.3",
		"engine/core/answered.go",
		"\t\t\tc.acts[rec.Rung.Actor] = true\n\t\t}\n\t}\n\treturn rungs\n", "\t\t}\n\t}\n\treturn rungs\n",
	},
	{
		"a pod is told to be gone while a call may still bring it up", "S8, kubernetes#82190", "engine/core/waiters.go",
		"func (r *rung) isLeft() bool { return !r.isGone() }",
		"func (r *rung) isLeft() bool { return r.state != Absent || r.op != nil || r.child != \"\" }",
	},
	{
		"the wait after an answer is as long as any", "L16", "engine/core/backoff.go",
		"if isAnswered && now.Sub(b.since) < answeredFor {", "if isAnswered && b == nil {",
	},
	{
		"names of an answered call stay", "L1", "engine/core/reconcile.go",
		"\tif c.sweeps(r) && r.isGone() {\n", "\tif c.sweeps(r) && r == nil {\n",
	},
	{
		"the death of a driver ends what an earlier process was asked for", "S23, laws 3.3", "engine/core/answered.go",
		"\t\tinstance = \"\"\n", "\t\tinstance += \"\"\n",
	},
	{
		"an error of the next process ends the calls of the one before", "S8, laws 3.3", "engine/core/fence.go",
		"func (c *Core) learnFromReply(r *rung, in *flight, res Result) {\n",
		"func (c *Core) learnFromReply(r *rung, in *flight, res Result) {\n" +
			"\tif res.Answer == Failed {\n\t\tc.expireCalls(r, func(k call) bool { return k.instance != res.Instance && " +
			"k.verb == fenceVerb(in.Verb) })\n\t}\n",
	},
	{
		"a second error from another process ends all calls", "S8, laws 3.3", "engine/core/fence.go",
		"func (c *Core) learnFromReply(r *rung, in *flight, res Result) {\n",
		"func (c *Core) learnFromReply(r *rung, in *flight, res Result) {\n" +
			"\tif res.Answer == Failed && r.remembers(in.Verb) != 0 && res.Instance != " +
			"r.answered[side(in.Verb)].instance {\n\t\tr.calls = nil\n\t}\n",
	},
	{
		"an answered call is not looked for where the next volume is", "S13, laws 3.3", "engine/core/answered.go",
		"\t\tcase o.op == nil && o.changed <= since && (o.state == Present || o.blocked):\n", "\t\tcase o == r:\n",
	},
	{
		"a start takes what came over a volume for somebody else's", "S13, laws 3.3", "engine/core/answered.go",
		"o == nil || o.state == Unknown && o.phase == Confirmed && !o.reconfirmable\n", "o == nil\n",
	},
	{
		"a volume in doubt is set up where an answered call may come", "S13, laws 3.3", "engine/core/places.go",
		"\tcase o == nil && r.isHaunted() &&", "\tcase o == nil && r == nil &&",
	},
	{
		"what goes with a volume in doubt is not let go of", "L1, laws 3.3", "engine/core/complete.go",
		"limit = r.Limits.TearDown; c.desire(r) == wanted || r.state == Unknown {", "limit = r.Limits.TearDown; r == nil {",
	},
	{
		"a look takes what came over a volume for somebody else's", "S13, laws 3.3", "engine/core/answered.go",
		"is = i >= 0 && c.isForeign(r.rivals[i], fingerprint)", "is = i >= 0 && r == nil",
	},
	{
		"a refused unstage tells nothing of what is wanted above", "L2", "engine/core/complete.go",
		"\t\tc.contradict(r)\n", "",
	},
	{
		"a refused unstage has nobody look for what came late", "L2", "engine/ops.go",
		"\t\tm.lookForUsers()\n", "",
	},
	{
		"the last look for names of an answered call passes over a mount", "L1, laws 3.3", "engine/core/complete.go",
		"(r.awaitsEffect() || r.sweep) && c.isForeign", "r.awaitsEffect() && c.isForeign",
	},
	{
		"a record goes before anybody has looked for the effect of its call", "L1, laws 3.3", "engine/core/lines.go",
		"if r.isRemembered() || c.sweeps(r) {", "if r.isRemembered() {",
	},
}
