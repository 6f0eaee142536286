package mutants

// accountTokens is those of service accounts.
var accountTokens = []Mutant{
	{
		"tokens are not renewed", "S20, K:G103", "engine/plugin/projected.setUp",
		"r.RefreshBy, r.Expires = m.renewBy, m.expires", "r.Expires = m.expires",
	},
	{
		"a start takes tokens for new", "S20, K:G103", "engine/plugin/projected.withTokens",
		"Value: v.Run,", "Value: v.Run[:0],",
	},
	{
		"the longest-lived token says when all are renewed", "S20, K:G103", "engine/plugin/projected.made.addToken",
		"by < m.renewBy", "by > m.renewBy",
	},
	{
		"a token is for nobody", "S20", "engine/plugin/projected.made.addToken",
		"Audience: t.Audience, ", "",
	},
	{
		"a token has the default lifetime", "S20", "engine/plugin.Lifetime",
		"time.Duration(*seconds) * time.Second", "defaultSeconds * time.Second",
	},
	{
		"a token is of the default service account", "S20", "engine/plugin.ServiceAccount",
		"pod.Spec.ServiceAccountName", `""`,
	},
	{
		"a token is bound to no pod", "S20", "engine/plugin/projected.made.addToken",
		"PodUID: string(o.Pod),", "",
	},
	{
		"a token is root's", "S20, K:G103", "engine/plugin/projected.owned",
		"f.user = max(0, op.Number(user))", "f.user = 0",
	},
	{
		"everybody reads a token", "S20, K:G103", "engine/plugin/projected.owned",
		"f.mode = ownedMode", "f.mode |= ownedMode",
	},
	{
		"a driver tells the tokens that it was given", "S17, K:G49", "engine.discreetNode.Publish",
		"range n.sources.TokensIn(told)", "range n.sources.TokensIn(told)[:0]",
	},
	{
		"a driver tells the tokens of an earlier life", "S17", "engine.ears.withholds",
		"case e.said.IsLent(driver, e.runtime.Now()):", "case false:",
	},
	{
		"tokens that only a lost journal knew of are told", "S17", "engine.objects.put",
		"began != 0 {", "began < 0 {",
	},
	{
		"tokens are among the secrets unasked", "S27, K:G49", "engine/plugin/csi.work.addTokens",
		"if w.is(paramTokensSecret) {", "if !w.is(paramTokensSecret) {",
	},
	{
		"a driver's token is bound to no pod", "S27, K:G49", "engine/plugin/csi.work.addTokens",
		"PodUID: string(w.o.Pod),", "",
	},
	{
		"a driver's tokens are for one audience", "S27, K:G49", "engine/plugin/csi.work.addTokens",
		"Audience: request.Audience,", "",
	},
	{
		"the driver of a raw volume gets tokens", "S27, K:G49", "engine/plugin/csi.tokensOf",
		"w.block ||", "",
	},
	{
		"a token does not say when it ends", "S27, K:G49", "engine/plugin/csi.work.addTokens",
		"status{t.Reveal(), t.Expires()}", `status{t.Reveal(), ""}`,
	},
	{
		"a driver of one more token gets the first alone", "S27, K:G49", "engine/plugin/csi.work.addTokens",
		"range requests {", "range requests[:1] {",
	},
	{
		"what has expired counts as up", "S20", "engine/core.Core.isAsWanted",
		"r.expires != 0 &&", "r.expires < 0 &&",
	},
	{
		"a token stays bound to the former name of its pod", "S20", "engine/plugin/projected.withTokens",
		"OnChange = core.OnChangeRefresh // tokens are bound to it", "OnChange = core.OnChangeKeep",
	},
}
