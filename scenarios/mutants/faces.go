package mutants

// faces is engines whose answers are not what they believe.
var faces = []Mutant{
	{
		"a stage whose users can't be listed is not there", "S15", "engine/plugin/csi.scan.listBlock",
		"if isStaged {", "if isStaged && ok {",
	},
	{
		"a stage without a record waits for directories of others", "L3", "engine.orphans",
		"return slices.DeleteFunc(orphans, func(r core.Rung) bool { return isKnown(r.Key) }), left",
		`return slices.DeleteFunc(orphans, func(r core.Rung) bool {
			isHidden := !isKnown(r.Key) && r.Pod == "" && len(listing.Unseen) > 0
			if isHidden {
				left = append(left, plugin.Unrecognised{
					Path: core.Value(r.Want, "path"), Why: "it can't be inspected at", IsHidden: true,
				})
			}
			return isKnown(r.Key) || isHidden
		}), left`,
	},
	{
		"a missing record proves no other is missing", "S5, laws 5.4", "engine/core.New",
		`func(orphan Rung) bool { return orphan.Pod == "" }) {`,
		`func(orphan Rung) bool { return orphan.Pod == "" && orphan.Key == "" }) {`,
	},
	{
		"what shares its data file with a stage that can't be listed goes", "L1", "engine/plugin/csi.scan.listBlocks",
		"case of[name] && knowsStages:", "case of[name] && (knowsStages || len(specs) > 0):",
	},
	{
		"names of a raw volume that is not known are nobody's", "S15", "engine/plugin/csi.scan.block",
		"if !ok && e.data.IsHidden() {", "if ok && e.data.IsHidden() {",
	},
	{
		"a data file that can't be read uses no volume", "S5, laws 5.4", "engine/plugin/csi.scan.Entry",
		"if e.data.IsHidden() {", "if e.data.IsHidden() && s == nil {",
	},
	{
		"what nobody could look at is not in use", "S8, unknown is in use", "engine.VolumeManager.VolumeIsAttached",
		`return m.questions.unread() != "" || m.core`, "return m.core == nil || m.core",
	},
	{
		"what may be mounted is what is mounted", "S35", "engine.VolumeManager.GetPossiblyMountedVolumesForPod",
		"func(_ string, v core.View) bool { return !v.IsGone })",
		"func(_ string, v core.View) bool { return v.State == core.Present })",
	},
	{
		"a volume that is on its way down is mounted no more", "S35", "engine.questions.mountedOf",
		"return !isLeft && v.State == core.Present &&",
		`return !isLeft && v.State == core.Present && v.Desired == "wanted" &&`,
	},
	{
		"a pod is given the groups of volumes that are not up", "S35, K:F9", "engine.questions.groupsOf",
		":= q.mountedOf(uid)", ":= q.volumesOf(uid, func(string, core.View) bool { return true })",
	},
	{
		"a pod is given the groups that it has", "S35, K:F9", "engine.questions.groupsOf",
		"!slices.Contains(own, *is)", "!slices.Contains(own, -*is)",
	},
	{
		"a volume is mounted read-only for nobody", "L15", "engine.questions.volumesOf",
		`plugin.IsReadOnly(v.Made)`, `core.Value(v.Made, "readOnly") == "yes"`,
	},
	{
		"a raw block volume is told to be a directory", "L15", "engine.questions.volumesOf",
		`plugin.IsBlock(v.Made)`, `core.Value(v.Made, "mode") == "raw"`,
	},
	{
		"a volume whose state is unknown is not attached", "S35", "engine/core.Core.IsVolumeLeft",
		"slices.ContainsFunc(c.volumes[volume], (*rung).isLeft)",
		"slices.ContainsFunc(c.volumes[volume], func(r *rung) bool { return r.state == Present })",
	},
	{
		"a status says that it is synced from the start", "S35", "engine.VolumeManager.snapshot",
		"Synced: m.objects.all,", "Synced: true,",
	},
	{
		"a pod has the state of its last volume", "S35", "engine.questions.podStatus",
		"s.State = worse(s.State, v.State)", "s.State = v.State",
	},
	{
		"a wait for the end takes Ready for an end", "S35", "engine.questions.lacking",
		"v.State == Gone || v.State == Ready && on == core.PodReady", "v.State == Gone || v.State == Ready",
	},
	{
		"who waits for several pods hears of the first", "S35", "engine.VolumeManager.WaitForAllPodsUnmount",
		`for _, uid := range uids {
			errs =`,
		`for _, uid := range uids[:min(1, len(uids))] {
			errs =`,
	},
	{
		"who was only asked for is a pod", "S35", "engine/core.Core.Pods",
		"if p.wanted || slices", "if p.wanted || len(p.rungs) == 0 || slices",
	},
	{
		"a pod that was renamed is deleted under its old name",
		"S31, what is in the log stays there", "engine.objects.podName",
		"if is, ok := o.named[uid]; ok {", "if is, ok := o.named[uid]; !ok {",
	},
	{
		"a volume that waits for the end of its containers only waits",
		"a status says what a volume waits for", "engine.condition",
		`case v.IsHeldBack:
			return Degraded`, `case v.IsHeldBack:
			return Waiting`,
	},
	{
		"what is not tried again is the reason", "a status says what a volume waits for", "engine/core.Core.viewOf",
		"v.Reason = r.lost", "v.Reason = r.reason",
	},
	{
		"the reason of what ends in doubt is dropped", "S35, a status says what a volume waits for",
		"engine/core.Core.complete",
		`if res.Outcome != hal.Done {
			c.setBack(`,
		`if res.Outcome == hal.Unknown && !res.Fenced {
			res.Reason = ""
			r.setReason("")
		}
		if res.Outcome != hal.Done {
			c.setBack(`,
	},
	{
		"an undo that is done drops the reason of its setup", "a status says what a volume waits for",
		"engine/core.Core.viewOf",
		"v.Reason = r.up.why", `v.Reason = ""`,
	},
	{
		"a driver that is away is connected", "S24, L15", "engine.registry.status",
		"row.NodeID, row.LastAnswer = true, d.isConnected,", "row.NodeID, row.LastAnswer = true, !d.isConnected,",
	},
}
