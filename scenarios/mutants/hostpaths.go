package mutants

// hostPaths is engines that let pods have places of the agent's own as hostPaths.
var hostPaths = []Mutant{
	{
		"a hostPath may lead anywhere", "S34", "engine/plugin/layout.go",
		"\tfor _, p := range paths {\n\t\tnames := ", "\tfor _, p := range paths[:0] {\n\t\tnames := ",
	},
	{
		"a hostPath without a type is not looked at", "S34", "engine/plugin/hostpath/hostpath.go",
		"\tcase owned != \"\":\n", "\tcase owned != \"\" && kind != corev1.HostPathUnset:\n",
	},
	{
		"a hostPath is made before it is looked at where", "S34, S29", "engine/plugin/hostpath/hostpath.go",
		"!found.Exists && plugin.OwnedBelow(found.Below) == \"\" && mayMake", "!found.Exists && mayMake",
	},
	{
		"a start trusts that a link leads where it led", "S34", "engine/plugin/hostpath/hostpath.go",
		"\tif !isKnown || o.Fingerprint == \"\" {\n\t\treturn core.Result{Outcome: hal.Done}\n",
		"\tif isKnown {\n\t\treturn core.Result{Outcome: hal.Done, Fingerprint: o.Fingerprint}\n",
	},
	{
		"a start sees that a link leads to a place of the agent, and lets it", "S34",
		"engine/plugin/hostpath/hostpath.go",
		"err != nil || plugin.OwnedBelow(found.Below) != \"\" || kind", "err != nil || kind",
	},
	{
		"the journal may be a pod's", "S34", "engine/plugin/layout.go",
		"case names[0] == \"volnode\":", "case names[0] == \"volnode\" && len(names) > 3:",
	},
	{
		"a hostPath that is missing is up", "S21, L12", "engine/plugin/hostpath/hostpath.go",
		"\tcase kind == corev1.HostPathUnset:\n", "\tcase kind == corev1.HostPathUnset || !found.Exists:\n",
	},
	{
		"a hostPath that is refused is told to wait", "S34", "engine/plugin/hostpath/hostpath.go",
		"\t\tr.Blocked = true\n", "",
	},
	{
		"what was edited is ready before it is what is wanted", "S21, laws 1.2", "engine/core/reconcile.go",
		"(change == OnChangeKeep || change == OnChangeGrow)", "change != OnChangeRebuild",
	},
	{
		"an edit that is taken back makes ready what was refused", "S34, laws 1.2", "engine/core/reconcile.go",
		"if worst == OnChangeKeep && r.refused {", "if false {",
	},
	{
		"what was edited is told Ready before it is what is wanted", "L12, S35", "engine/core/view.go",
		"v.IsProvided = c.isAsWanted(r) &&", "v.IsProvided = r.state == Present && !v.IsRebuild &&",
	},
	{
		"what is up and can't be what is wanted is told to wait", "L12", "engine/snapshot.go",
		"\t\treturn Degraded // it was edited", "\t\treturn Waiting // it was edited",
	},
}
