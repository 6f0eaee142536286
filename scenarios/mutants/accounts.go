package mutants

// accountTokens is those of service accounts.
var accountTokens = []Mutant{
	{
		"tokens are not renewed", "S20, K:G103", "engine/plugin/projected.setUp",
		"Value: d.Path}}, m.renewBy", "Value: d.Path}}, 0*m.renewBy",
	},
	{
		"a start takes tokens for new", "S20, K:G103", "engine/plugin/projected.withTokens",
		"r.Renew = plugin.RenewTokens", "r.Renew = 0",
	},
	{
		"the longest-lived token says when all are renewed", "S20, K:G103", "engine/plugin/projected.made.addToken",
		"by < m.renewBy", "by > m.renewBy",
	},
	{
		"a token that expires while its volume is made is written", "S20", "engine/plugin/projected.setUp",
		"m.renewBy <= h.Runtime.Now()", "false",
	},
	{
		"a token is for nobody", "S20", "engine/plugin/projected.made.addToken",
		"Audience: t.Audience, ", "",
	},
	{
		"a token has the default lifetime", "S20", "engine/plugin/projected.lasts",
		"return *t.ExpirationSeconds", "return defaultSeconds",
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
		"a token is root's", "S20, K:G103", "engine/plugin/projected.made.addToken",
		"f.user = max(0, op.GroupID(user))", "f.user = 0",
	},
	{
		"everybody reads a token", "S20, K:G103", "engine/plugin/projected.made.addToken",
		"f.mode = tokenMode", "f.mode |= tokenMode",
	},
	{
		"a token stays bound to the former name of its pod", "S20", "engine/plugin/projected.withTokens",
		"OnChange = core.OnChangeRefresh // tokens are bound to it", "OnChange = core.OnChangeKeep",
	},
}
