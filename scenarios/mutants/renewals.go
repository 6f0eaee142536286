package mutants

// renewals is the publishes that drivers want repeated.
var renewals = []Mutant{
	{
		"nobody is asked to publish again", "L17, K:G50", "engine/plugin/csi.finish",
		"v.Object.Spec.RequiresRepublish != nil && *v.Object.Spec.RequiresRepublish", "false",
	},
	{
		"who does not want it is asked to publish again", "L7, K:G50", "engine/plugin/csi.finish",
		"v.Object.Spec.RequiresRepublish != nil && *v.Object.Spec.RequiresRepublish",
		"v.Object.Spec.RequiresRepublish != nil",
	},
	{
		"publishes are repeated one after the other", "L17", "engine/core.rung.renewal",
		"time.Duration(r.Renew) * time.Second", "time.Duration(r.Renew) * time.Second / 20",
	},
	{
		"publishes are repeated each hour", "L17", "engine/core.rung.renewal",
		"time.Duration(r.Renew) * time.Second", "time.Duration(r.Renew) * time.Minute",
	},
	{
		"a publish is repeated once", "L17", "engine/core.Core.setUpEnded",
		"earlier(res.RefreshBy, r.renewal(c.now))",
		"earlier(res.RefreshBy, map[bool]hal.Instant{in.Verb != Refresh: r.renewal(c.now)}[true])",
	},
	{
		"a volume is not ready until its renewal is recorded", "L15, L17", "engine/core.Core.complete",
		"Again = wasUp", "Again = wasUp && res.Panicked",
	},
	{
		"what a repeated publish has mounted is another's", "L2, laws 7.1", "engine/core.rung.saw",
		"(r.remade || r.remembers(SetUp) != 0)", "false",
	},
	{
		"a start waits before it publishes again", "L17", "engine/core.Core.respec",
		"r.lacks(r.short, c.now, r.expires)", "r.lacks(r.short, r.renewal(c.now), r.expires)",
	},
	{
		"a stage is repeated with the publish", "L17, L7, K:G50", "engine/plugin/csi.stageRung",
		"	w.tie(&r)\n	return r", "	if w.republishes {\n		r.Renew = republishEvery\n	}\n	w.tie(&r)\n	return r",
	},
	{
		"a publish that was repeated as the agent died is undone", "L2, S7", "engine/core.Core.recall",
		`if rec.Phase == Leaving && r.Pod != "" && !rec.MayBeUsed {`, `if r.Pod != "" {`,
	},
	{
		"what a repeated publish finds denied is not doubted", "L2, CSI NodePublishVolume", "engine/core.Core.complete",
		"case res.BelowUnknown:", "case res.BelowUnknown && in.Verb != Refresh:",
	},
	{
		"a renewal that fails is tried again each few seconds", "laws 2.5", "engine/core.Core.setBack",
		"isAwaited := in.why != whyRefresh || r.Renew == 0", "isAwaited := in.why != whyRefresh || r.Renew >= 0",
	},
}
