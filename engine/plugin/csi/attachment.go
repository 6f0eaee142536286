package csi

import (
	"fmt"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
)

// attachment is what a stage, and a publish, is tied to: the volume as it is attached to this node once. When the
// volume is detached, the device below the stage is dead, and it stays dead when the volume comes back: what is made
// then is made again.
type attachment struct {
	uid     string // of the VolumeAttachment; "" while the volume is not attached
	context string // publish_context, as a JSON map
	awaits  string // why the volume may not come up; "" while it is attached
}

// isAttachable: the volumes of a driver are attached to nodes unless its object says that they are not.
func isAttachable(driver *storagev1.CSIDriver) bool {
	return driver != nil && (driver.Spec.AttachRequired == nil || *driver.Spec.AttachRequired)
}

// attachmentOf reads the attachment of a volume whose driver needs one. That there is none counts only once all sources
// are known: until then nothing that is up may be touched for it.
func attachmentOf(v plugin.Volume, w wish) (*attachment, *plugin.Problem) {
	a, name := v.Attachment, plugin.AttachmentName(w.handle, w.driver, v.NodeName)
	field := func(path string) string { return "VolumeAttachment " + name + " " + path }
	awaits := func(format string, args ...any) (*attachment, *plugin.Problem) {
		return &attachment{awaits: fmt.Sprintf("volume "+w.handle+" is not attached to node "+v.NodeName+": "+format,
			args...)}, nil
	}
	switch {
	case a == nil && !v.IsComplete:
		return nil, plugin.Problemf(field("metadata.name"),
			"is not known yet; volnode waits until it has read all sources")
	case a == nil:
		return awaits("there is no VolumeAttachment %s; volnode waits for it", name)
	case a.Spec.NodeName != v.NodeName:
		return nil, plugin.Problemf(field("spec.nodeName"), "is %q, and this is node %q; correct it",
			a.Spec.NodeName, v.NodeName)
	case a.Spec.Attacher != w.driver:
		return nil, plugin.Problemf(field("spec.attacher"), "is %q, and the driver of the volume is %q; correct it",
			a.Spec.Attacher, w.driver)
	case a.DeletionTimestamp != nil:
		return awaits("its VolumeAttachment %s is being deleted; volnode waits for the next one", name)
	case !a.Status.Attached:
		return awaits("status.attached of its VolumeAttachment %s is not true; volnode waits for it", name)
	}
	metadata := plugin.Pairs(a.Status.AttachmentMetadata)
	if bad := plugin.BadCSIMap(metadata); bad != "" {
		return nil, plugin.Problemf(field("status.attachmentMetadata"), "%s", bad)
	}
	return &attachment{uid: string(a.UID), context: mapText(metadata)}, nil
}

// tie ties a rung to the attachment of its volume.
func (w *wish) tie(r *core.Rung) {
	if w.attachment == nil {
		return
	}
	r.Awaits = w.attachment.awaits
	r.Want = plugin.Sorted(append(r.Want,
		core.Param{Name: plugin.ParamAttachment, Value: w.attachment.uid, OnChange: core.OnChangeVoid},
		core.Param{Name: paramPublished, Value: w.attachment.context, OnChange: core.OnChangeRebuild},
	))
}
