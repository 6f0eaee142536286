package scenarios

import (
	"time"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/hal"
)

// isAttachedOnce has the volume be of a driver that attaches, as the agent was told, and its attachment known.
func (r *run) isAttachedOnce(then func(*storagev1.VolumeAttachment)) {
	is := &storagev1.VolumeAttachment{}
	is.Name, is.UID = attachmentName("d", "v"), "first"
	driver := &storagev1.CSIDriver{}
	driver.Name = "d"
	r.news = map[string][]news{}
	r.attached["d^v"] = &attachment{object: is, times: 1}
	r.hears(hal.Changed{Applied: []any{driver, is}})
	_ = r.w.RunFor(time.Second)
	then(is)
}
