package mutants

// requests is what a driver is told.
var requests = []Mutant{
	{
		"the filesystem is not told", "S27, CSI VolumeCapability", "engine/plugin/csi.capability",
		"core.Value(params, paramFSType),", `"",`,
	},
	{
		"the mount options are not told", "S27, CSI VolumeCapability", "engine/plugin/csi.capability",
		"listOf(core.Value(params, paramFlags))", "nil",
	},
	{
		"many writers are told to be readers", "S27, CSI VolumeCapability", "engine/plugin/csi.access",
		"VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, true",
		"VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY, true",
	},
	{
		"one writer is told to be many", "S27, CSI VolumeCapability", "engine/plugin/csi.access",
		`VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER, true
		}
		return csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER, true`,
		`VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER, true
		}
		return csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER, true`,
	},
	{
		"the group of the pod is not told", "S27, S21, K:G29", "engine/plugin/csi.capability",
		"core.Value(params, plugin.ParamGroup)", `""`,
	},
	{
		"a pod without a group takes a volume from its group", "S21, K:G29", "engine.objects.joins",
		`if group == "" {
		return false
	}`, `if true {
		return false
	}`,
	},
	{
		"the files of a volume are given to two groups", "S21, K:G29", "engine.objects.otherGroup",
		`if group == "" {`, `if true {`,
	},
	{
		"who has a volume does not keep its group after a restart", "S21, K:G29", "engine.objects.otherGroup",
		"if other, is := isOther(made); is && state != core.Absent && o.usedByAnother(uid, r.Key) {",
		"if other, is := isOther(made); is && state == core.Absent && o.usedByAnother(uid, r.Key) {",
	},
	{
		"the pod's uid is told to be its name", "S27, CSIDriver podInfoOnMount", "engine/plugin/csi.podInfo",
		"Value: string(v.Pod.UID)}", "Value: v.Pod.Name}",
	},
	{
		"the service account is not told", "S27, CSIDriver podInfoOnMount", "engine/plugin/csi.podInfo",
		"Value: v.Pod.Spec.ServiceAccountName}", `Value: ""}`,
	},
	{
		"a driver is told of the pod unasked", "S27, CSIDriver podInfoOnMount", "engine/plugin/csi.finish",
		"info != nil && *info {", "info != nil {",
	},
	{
		"the secret of the stage goes to the publish", "S27, CSI NodePublishVolume", "engine/plugin/csi.publishRung",
		"secret: w.publishSecret, other: w.stageSecret, context: w.publishContext",
		"secret: w.stageSecret, other: w.publishSecret, context: w.publishContext",
	},
	{
		"the attributes are not told to the stage", "S27, CSI NodeStageVolume", "engine/plugin/csi.stageRung",
		"context: w.stageContext", `context: ""`,
	},
	{
		"the staging path is not told to the publish", "S27, CSI NodePublishVolume", "engine/plugin/csi.publishRung",
		"t.stage, r.Below = core.Value(stage.Want, plugin.ParamPath), []hal.Key{stage.Key}", "r.Below = []hal.Key{stage.Key}",
	},
	{
		"inline volumes of two pods have one handle", "S27, S28", "engine/plugin.InlineHandle",
		`return "csi-" + HandleHash(uid+volume)`, `return "csi-" + HandleHash(volume)`,
	},
	{
		"read-only is not told", "S27, CSI NodePublishVolume", "engine/plugin/csi.publish",
		"w.is(plugin.ParamReadOnly),", "false,",
	},
	{
		"the claim of a former pod is taken for the new one's", "S3, K:B13", "engine/populator.populator.claim",
		"case v.Spec.Ephemeral != nil && !metav1.IsControlledBy(claim, p.Pod):",
		"case v.Spec.Ephemeral != nil && claim.Namespace != p.Pod.Namespace:",
	},
}
