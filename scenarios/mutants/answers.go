package mutants

// answers is what a driver's errors prove, and what does not (laws 3.3, 4.3c).
var answers = []Mutant{
	{
		"a volume comes up on an inspection from before another's effect went",
		"laws 3.4", "engine/core.Core.inspectEnded",
		"if r.isGone() && c.intruded(r, res.Fingerprint) {",
		"if r.isGone() && c.intruded(r, res.Fingerprint) && r == nil {",
	},
	{
		"what goes with an unwanted volume in doubt is not let go of", "L1, laws 3.3", "engine/core.Core.start",
		"c.desire(r) == wanted || r.state == Unknown {", "c.desire(r) == wanted {",
	},
	{
		"a volume is let go of while an unpublish of another one of its path may act", "S13, laws 3.3",
		"engine/core.Core.unused",
		"case o.isAbove(r), o.bound(TearDown) != 0:", "case o.isAbove(r):",
	},
	{
		"another volume's mount is the effect of an answered call once its filesystem has failed",
		"S13, laws 3.3", "engine/core.Core.isForeign",
		"return !IsBare(fingerprint) && (o == nil || !isOf(o))", "return !IsBare(fingerprint) && (true || !isOf(o))",
	},
	{
		"an answered error ends the calls before it", "S8, laws 3.3, 4.3c", "engine/core.Core.fenceOff",
		"if res.Answer == Failed {", `if res.Answer == Failed {
			r.calls = nil`,
	},
	{
		"an error that names a time-out ends its call", "S8, laws 3.3", "engine/plugin.Doubtful",
		`return text == "" || isCut ||`, `return isCut && text == "" &&`,
	},
	{
		"an error proves the end of another call", "S8, laws 4.3c", "engine/core.Core.learnFromReply",
		"(res.Answer == Final || res.Answer == Aborted)",
		"(res.Answer == Final || res.Answer == Failed || res.Answer == Aborted)",
	},
	{
		"what comes after an answered error stays", "laws 3.3", "engine/core.Core.observed",
		`if r.awaitsEffect() && c.isForeign(r, e.Fingerprint) {
			c.appears(r, e.Fingerprint)
		}`, "",
	},
	{
		"an effect is not seen while a teardown may act", "S23, laws 3.3", "engine/core.rung.awaitsEffect",
		`r.remembers(SetUp) != 0 && r.trust == clean && r.bound(SetUp) == 0 && r.op == nil &&
			r.child == ""`,
		"r.isRemembered()",
	},
	{
		"a driver that acts after it has answered is forgotten with the agent's life", "laws 3.3",
		"engine/core.Core.recallActors",
		`c.acts[rec.Rung.Actor] = true
		}
		}
		return rungs`, `}
		}
		return rungs`,
	},
	{
		"a pod is told to be gone while a call may still bring it up",
		"S8, kubernetes#82190", "engine/core.rung.isLeft",
		"func (r *rung) isLeft() bool { return !r.isGone() }",
		`func (r *rung) isLeft() bool { return r.state != Absent || r.op != nil || r.child != "" }`,
	},
	{
		"the wait after an answer is as long as any", "L16", "engine/core.backoff.fail",
		"if isAnswered && now.Sub(b.since) < answeredFor {", "if isAnswered && b == nil {",
	},
	{
		"names of an answered call stay", "L1", "engine/core.Core.choose",
		"if c.sweeps(r) && r.isGone() {", "if c.sweeps(r) && r == nil {",
	},
	{
		"the death of a driver ends what an earlier process was asked for",
		"S23, laws 3.3", "engine/core.rung.remember",
		`instance = ""`, `instance += ""`,
	},
	{
		"an error of the next process ends the calls of the one before",
		"S8, laws 3.3", "engine/core.Core.learnFromReply",
		"func (c *Core) learnFromReply(r *rung, in *flight, res Result) {",
		`func (c *Core) learnFromReply(r *rung, in *flight, res Result) {
			if res.Answer == Failed {
				c.expireCalls(r, func(k call) bool { return k.instance != res.Instance && k.verb == fenceVerb(
			in.Verb) })
			}`,
	},
	{
		"a second error from another process ends all calls", "S8, laws 3.3", "engine/core.Core.learnFromReply",
		"func (c *Core) learnFromReply(r *rung, in *flight, res Result) {",
		`func (c *Core) learnFromReply(r *rung, in *flight, res Result) {
			if res.Answer == Failed && r.remembers(in.Verb) != 0 && res.Instance != r.answered[side(in.Verb)].instance {
				r.calls = nil
			}`,
	},
	{
		"an answered call is not looked for where the next volume is", "S13, laws 3.3", "engine/core.Core.Remembered",
		"case o.op == nil && o.changed <= since && (o.state == Present || o.blocked || o.hasFailedThere()):",
		"case o == r:",
	},
	{
		"a start takes what came over a volume for somebody else's", "S13, laws 3.3", "engine/core.Core.recallEffects",
		"o == nil || o.state == Unknown && o.phase == Confirmed && o.trust != reconfirmable",
		"o == nil",
	},
	{
		"a volume in doubt is set up where an answered call may come", "S13, laws 3.3", "engine/core.Core.alone",
		"case o == nil && r.isHaunted() &&", "case o == nil && r == nil &&",
	},
	{
		"what goes with a volume in doubt is not let go of", "L1, laws 3.3", "engine/core.Core.start",
		"limit = r.Limits.TearDown; c.desire(r) == wanted || r.state == Unknown {",
		"limit = r.Limits.TearDown; r == nil {",
	},
	{
		"a look takes what came over a volume for somebody else's", "S13, laws 3.3", "engine/core.Core.intruded",
		"is = i >= 0 && c.isForeign(r.rivals[i], fingerprint)", "is = i >= 0 && r == nil",
	},
	{
		"a refused unstage tells nothing of what is wanted above", "L2", "engine/core.Core.complete",
		"c.contradict(r)", "",
	},
	{
		"a refused unstage has nobody look for what came late", "L2", "engine.VolumeManager.operationEnded",
		"m.hidden.lookForUsers()", "",
	},
	{
		"the last look for names of an answered call passes over a mount",
		"L1, laws 3.3", "engine/core.Core.inspectEnded",
		"(r.awaitsEffect() || e.sweep) && c.isForeign", "r.awaitsEffect() && c.isForeign",
	},
	{
		"a record goes before anybody has looked for the effect of its call",
		"L1, laws 3.3", "engine/core.Core.writeRecord",
		"if r.isRemembered() || c.maySweep(r) {", "if r.isRemembered() {",
	},
	{
		"a place is given on before anybody has looked what a forgotten call left there", "S13, laws 3.3",
		"engine/core.Core.nextDown", "o != nil && c.maySweep(r)", "false",
	},
	{
		"what a forgotten call may have left is not taken down once more", "L1, laws 3.3",
		"engine/core.Core.clears", "o.awaitsEffect() || o.sweep && o.isGone()", "o.awaitsEffect()",
	},
	{
		"an inspection that failed is not repeated under containers", "S23, laws 3.3",
		"engine/core.Core.nextRebuild", "case r.trust == reconfirmable && r.bound(TearDown) == 0:", "case false:",
	},
	{
		"what comes over a filesystem that failed is not told apart", "S23, laws 3.3", "engine/core.Core.Remembered",
		"o.blocked || o.hasFailedThere()", "o.blocked",
	},
}
