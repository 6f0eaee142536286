package mutants

// ties is what a stage belongs to: one attachment of its volume, and a filesystem that has not failed.
var ties = []Mutant{
	{
		"a publish is of today's stage while that is hidden", "S14, what is up is of what it depends on",
		"engine/core.Core.shifted",
		`b != nil && b.fingerprint != "" && b.fingerprint != g.Fingerprint`,
		"b != nil && b.state == Present && b.fingerprint != g.Fingerprint",
	},
	{
		"a stage outlives the attachment of its volume", "S32, kubernetes#106710", "engine/plugin/csi.wish.tie",
		"Value: w.attachment.uid, OnChange: core.OnChangeVoid}", "Value: w.attachment.uid}",
	},
	{
		"a volume comes up before it is attached", "S32", "engine/core.Core.nextUp",
		`if r.Awaits != "" {
			return idle(whyAwaits)
		}`, "",
	},
	{
		"an attachment that ends during a setup is not noticed", "S32", "engine/core.Core.void",
		"r.op.Params, isToo = voidIn(r.op.Params, spec.Want)", "_, isToo = voidIn(r.op.Params, spec.Want)",
	},
	{
		"an attachment that comes back mends what was made before", "S32", "engine/core.voidIn",
		"made[at].Value = voided", "",
	},
	{
		"a restart mends what was made before the attachment ended", "S32, laws 5.4", "engine/core.Core.void",
		"if is && r.recorded {", "if is && r.recorded && r.made == nil {",
	},
	{
		"an attachment that no source has named yet is gone", "L11, S22", "engine/plugin/csi.attachmentOf",
		"case a == nil && !v.IsComplete:", "case false:",
	},
	{
		"an attachment that is being deleted holds", "S32", "engine/plugin/csi.attachmentOf",
		"case a.DeletionTimestamp != nil:", "case false:",
	},
	{
		"what has no record is of the present attachment", "S32, laws 5.4", "engine/core.rung.isVoid",
		"(at < 0 || r.made[at].Value != w.Value)", "at >= 0 && r.made[at].Value != w.Value",
	},
	{
		"a filesystem that fails is not noticed", "L14", "engine/core.Core.fails",
		"if !hal.HasFailed(fingerprint, r.fingerprint) {", "if true {",
	},
	{
		"a filesystem that failed while the agent was away is staged again as it is", "S33, laws 5.4",
		"engine/core.Core.recall",
		"case inspected && !c.fails(r, fingerprint):",
		`case inspected && fingerprint != "" && rec.Seq == 0:`,
	},
	{
		"a publish on a filesystem that has failed is taken for done", "S33", "engine/plugin/csi.work.published",
		"if w.hasFailed(top) {", "if false {",
	},
	{
		"a stage of a filesystem that has failed is taken for made again", "S33", "engine/plugin/csi.work.staged",
		"case w.hasTurned(top):", "case false:",
	},
	{
		"a filesystem that has failed is kept for containers that are gone", "L2, L4", "engine/core.Core.runs",
		"r.ownPod != nil && !r.ownPod.gone", "r.ownPod != nil && (r.trust == failed || !r.ownPod.gone)",
	},
	{
		"the mount table is read when the kernel tells of it only", "L14", "engine.drift.tableRead",
		"d.readsAgain()", "",
	},
}
