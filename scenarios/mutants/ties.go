package mutants

// ties is what a stage belongs to: one attachment of its volume, and a filesystem that has not failed.
var ties = []Mutant{
	{
		"a publish is of today's stage while that is hidden", "S14, what is up is of what it depends on",
		"engine/core/reconcile.go",
		"b != nil && b.fingerprint != \"\" && b.fingerprint != g.Fingerprint",
		"b != nil && b.state == Present && b.fingerprint != g.Fingerprint",
	},
	{
		"a stage outlives the attachment of its volume", "S32, kubernetes#106710", "engine/plugin/csi/attachment.go",
		"Value: w.attachment.uid, OnChange: core.OnChangeVoid}", "Value: w.attachment.uid}",
	},
	{
		"a volume comes up before it is attached", "S32", "engine/core/reconcile.go",
		"\tif r.Awaits != \"\" {\n\t\treturn idle(whyAwaits)\n\t}\n", "",
	},
	{
		"an attachment that ends during a setup is not noticed", "S32", "engine/core/void.go",
		"\t\tr.op.Params, _ = voidIn(r.op.Params, spec.Want)\n", "\t\t_, _ = voidIn(r.op.Params, spec.Want)\n",
	},
	{
		"an attachment that comes back mends what was made before", "S32", "engine/core/void.go",
		"\t\tmade[at].Value = voided\n", "",
	},
	{
		"a restart mends what was made before the attachment ended", "S32, laws 5.4", "engine/core/void.go",
		"\tr.made = made\n\tif r.recorded {", "\tr.made = made\n\tif false {",
	},
	{
		"an attachment that no source has named yet is gone", "L11, S22", "engine/plugin/csi/attachment.go",
		"case a == nil && !v.IsComplete:", "case false:",
	},
	{
		"an attachment that is being deleted holds", "S32", "engine/plugin/csi/attachment.go",
		"case a.DeletionTimestamp != nil:", "case false:",
	},
	{
		"what has no record is of the present attachment", "S32, laws 5.4", "engine/core/void.go",
		"(at < 0 || r.made[at].Value != w.Value)", "at >= 0 && r.made[at].Value != w.Value",
	},
	{
		"a filesystem that fails is not noticed", "L14", "engine/core/void.go",
		"\tif !hal.HasFailed(fingerprint, r.fingerprint) {", "\tif true {",
	},
	{
		"a filesystem that failed while the agent was away is staged again as it is", "S33, laws 5.4",
		"engine/core/core.go",
		"\t} else if inspected && !c.fails(r, fingerprint) {\n",
		"\t} else if inspected && fingerprint != \"\" && rec.Seq == 0 {\n",
	},
	{
		"a publish on a filesystem that has failed is taken for done", "S33", "engine/plugin/csi/verbs.go",
		"\t\tif w.hasFailed(top) {\n", "\t\tif false {\n",
	},
	{
		"a stage of a filesystem that has failed is taken for made again", "S33", "engine/plugin/csi/verbs.go",
		"\t\tcase w.hasTurned(top):\n", "\t\tcase false:\n",
	},
	{
		"a filesystem that has failed is kept for containers that are gone", "L2, L4", "engine/core/desired.go",
		"r.ownPod != nil && !r.ownPod.gone", "r.ownPod != nil && (r.failed || !r.ownPod.gone)",
	},
	{
		"the mount table is read when the kernel tells of it only", "L14", "engine/drift.go",
		"\tm.readsAgain()\n", "",
	},
}
