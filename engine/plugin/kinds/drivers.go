package kinds

import (
	"cmp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is what the engine asks about sources with drivers: see [plugin.Source].

// IsAttachable reports whether a PersistentVolume must be attached to a node before it comes up there (K:A5), by the
// object of its driver, nil if there is none.
func (t Table) IsAttachable(pv *corev1.PersistentVolume, driver *storagev1.CSIDriver) bool {
	s := t.sourceOf(pv, nil)
	return s != nil && s.IsAttachable != nil && s.IsAttachable(driver)
}

// UniqueName is the kubelet's name of an attachable volume, PLUGIN/VOLUME (K:A3), by one of its rungs; "" of any other
// volume. driver is the object of its driver, nil if there is none.
func (t Table) UniqueName(v *core.View, driver *storagev1.CSIDriver) corev1.UniqueVolumeName {
	s, _ := t.of(v.Kind)
	if s == nil || s.IsAttachable == nil || v.Volume == "" {
		return ""
	}
	isOfPV := cmp.Or(plugin.PVOf(v.Made), plugin.PVOf(v.Want)) != ""
	if !plugin.IsAttached(v.Made) && !(isOfPV && s.IsAttachable(driver)) {
		return ""
	}
	return corev1.UniqueVolumeName(s.Plugin + "/" + v.Volume)
}

// VolumeOf is the volume, as its rungs have it, of the unique name of an attachable volume. Any other name stays.
func (t Table) VolumeOf(unique string) string {
	for i := range t {
		if volume, is := strings.CutPrefix(unique, t[i].Plugin+"/"); is && t[i].IsAttachable != nil {
			return volume
		}
	}
	return unique
}

// Ends reports whether an answer that came after the deadline of a call on a rung of kind proves that the call has
// ended.
func (t Table) Ends(kind core.Kind, err error) bool {
	s, _ := t.of(kind)
	return s != nil && s.Ends != nil && s.Ends(err)
}

// TokensIn returns the tokens of service accounts in what a driver is given.
func (t Table) TokensIn(given map[string]string) (tokens []string) {
	for i := range t {
		if in := t[i].TokensIn; in != nil {
			tokens = append(tokens, in(given)...)
		}
	}
	return tokens
}

// StorageHealth returns how to ask a driver what is wrong with the storage behind it, nil if nobody can say.
func (t Table) StorageHealth() func(*hal.Host, hal.Call, string) ([]hal.HealthEntry, error) {
	for i := range t {
		if t[i].StorageHealth != nil {
			return t[i].StorageHealth
		}
	}
	return nil
}
