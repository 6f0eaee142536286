package mutants

// hostPaths is engines that let pods have places of the agent's own as hostPaths.
var hostPaths = []Mutant{
	{
		"a hostPath may lead anywhere", "S34", "engine/plugin.OwnedBelow",
		`for _, p := range paths {
			names :=`, `for _, p := range paths[:0] {
			names :=`,
	},
	{
		"a hostPath without a type is not looked at", "S34", "engine/plugin/hostpath.setUp",
		`case owned != "":`, `case owned != "" && kind != corev1.HostPathUnset:`,
	},
	{
		"a hostPath is made before it is looked at where", "S34, S29", "engine/plugin/hostpath.setUp",
		`!found.Exists && plugin.OwnedBelow(found.Below) == "" && mayMake`, "!found.Exists && mayMake",
	},
	{
		"a start trusts that a link leads where it led", "S34", "engine/plugin/hostpath.inspect",
		`if !isKnown || o.Fingerprint == "" {
			return core.Result{Outcome: hal.Done}`,
		`if isKnown {
			return core.Result{Outcome: hal.Done, Fingerprint: o.Fingerprint}`,
	},
	{
		"a start sees that a link leads to a place of the agent, and lets it", "S34",
		"engine/plugin/hostpath.inspect",
		`err != nil || plugin.OwnedBelow(found.Below) != "" || kind`, "err != nil || kind",
	},
	{
		"the journal may be a pod's", "S34", "engine/plugin.OwnedBelow",
		`case names[0] == "volnode":`, `case names[0] == "volnode" && len(names) > 3:`,
	},
	{
		"what pods share belongs to nobody, but for what CSI drivers have staged", "S34", "engine/plugin.OwnedBelow",
		`strings.HasPrefix(p, ownPlugins+"/") &&`, `strings.HasPrefix(p, csiPlugin+"/") &&`,
	},
	{
		"a hostPath that is missing is up", "S21, L12", "engine/plugin/hostpath.setUp",
		"case kind == corev1.HostPathUnset:", "case kind == corev1.HostPathUnset || !found.Exists:",
	},
	{
		"a hostPath that is refused is told to wait", "S34", "engine/plugin/hostpath.setUp",
		"r.Blocked = true", "",
	},
	{
		"what was edited is ready before it is what is wanted", "S21, laws 1.2", "engine/core.Core.isAsWanted",
		"(change == OnChangeKeep || change == OnChangeGrow)", "change != OnChangeRebuild",
	},
	{
		"an edit that is taken back makes ready what was refused", "S34, laws 1.2", "engine/core.Core.change",
		"if worst == OnChangeKeep && r.refused {", "if false {",
	},
	{
		"what was edited is told Ready before it is what is wanted", "L12, S35", "engine/core.Core.viewOf",
		"v.IsProvided = c.isAsWanted(r) &&", "v.IsProvided = r.state == Present && !v.IsRebuild &&",
	},
	{
		"what is up and can't be what is wanted is told to wait", "L12", "engine.condition",
		`"unwanted":
			return Degraded
		case v`, `"unwanted":
			return Waiting
		case v`,
	},
}
