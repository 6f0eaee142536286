// Package plugin holds the volume sources: for each, the ladder of rungs that a volume of it is (pure), and the verbs
// that move those rungs.
package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Verbs move the rungs of one kind. A verb is blocking code over the Host, read from top to bottom: inspect, act,
// inspect again, return what came of it. Running it twice has the effect of running it once. It never retries, logs or
// sleeps. Refresh is SetUp on a rung that is up.
type Verbs struct {
	SetUp    func(h *hal.Host, op core.Op) core.Result
	TearDown func(h *hal.Host, op core.Op) core.Result
	// Inspect ends Done with the fingerprint of what is there ("" for nothing), or NotDone if it can't tell.
	Inspect func(h *hal.Host, op core.Op) core.Result
}

// DriverFacts is what a registered CSI driver said of itself, as of one registration.
type DriverFacts struct {
	Name                  string
	NodeID                string
	StageUnstage          bool // STAGE_UNSTAGE_VOLUME
	SingleNodeMultiWriter bool // SINGLE_NODE_MULTI_WRITER
	VolumeMountGroup      bool // VOLUME_MOUNT_GROUP
	VolumeStats           bool // GET_VOLUME_STATS
	VolumeHealth          bool // GET_VOLUME_HEALTH
	StorageHealth         bool // GET_STORAGE_HEALTH
	// Topology are the labels of the node in the driver's words: where it is, as the driver's volumes see it.
	Topology map[string]string
}

// DriverConfig is what the operator says of a CSI driver.
type DriverConfig struct {
	SetUp, TearDown, Unstage time.Duration // time-outs of its calls
	LateWindow               time.Duration // how long after its time-out a call may still act
	ActsAfterReply           bool          // it is known to act after it has answered
	TrustsAnswers            bool          // it is known not to: what was seen of it by earlier runs is forgotten
	PublishesWithoutMount    bool          // a published filesystem volume need not be a mount
}

// Volume is one volume of a pod with all objects that describe it. The objects are not changed.
type Volume struct {
	Root     string // the agent's root directory
	NodeName string
	Run      string // of the agent: another one after each start
	Pod      *corev1.Pod
	Spec     *corev1.Volume
	ReadOnly bool // every use of it in the pod is read-only, or the claim source says so
	Block    bool // used by volumeDevices

	Claim *corev1.PersistentVolumeClaim // nil for inline sources
	// PV is nil for inline sources. Of one for which Kubernetes once had a plugin it is that of its CSI driver.
	PV *corev1.PersistentVolume
	// InTree is the field of the source that PV was translated from, "" if it is as it was written.
	InTree string
	Object *storagev1.CSIDriver // nil if there is none
	Driver *DriverFacts         // nil until it is registered
	Config DriverConfig
	// Attachment is the VolumeAttachment of the volume on this node; nil if there is none, or if it is not known yet.
	Attachment *storagev1.VolumeAttachment
	// Contents finds the Secrets, ConfigMaps and ClusterTrustBundles that the volume is made of.
	Contents Contents
	// RepositorySchemes are the schemes of URLs that repositories may be cloned from; none for no clones.
	RepositorySchemes []string
	// HoldsLimits: project quotas hold emptyDirs on disk to their limits.
	HoldsLimits bool
	// HasTokens: somebody makes tokens of service accounts.
	HasTokens bool
	// ServesFlex: the operator has said where the FlexVolume drivers are.
	ServesFlex bool
	// IsComplete: every source has said all that it knows, so what is not known is not there.
	IsComplete bool
	// Registered names the drivers that are registered, sorted, for the problem that says that this one is not.
	Registered []string
}

// Owner names the PersistentVolume for which facts of rungs are kept: see [core.ParamOwner]. "" without one.
func (v Volume) Owner() string {
	if v.PV == nil {
		return ""
	}
	return v.PV.Name + "/" + string(v.PV.UID)
}

// Contents finds Secrets, ConfigMaps and ClusterTrustBundles. A pod is populated again when one changes that was asked
// for, or that was not there.
type Contents interface {
	// Content returns nil if it is not known.
	Content(kind, namespace, name string) *hal.Content
	// TrustBundles are all ClusterTrustBundles, in the order of their names.
	TrustBundles() []*hal.Content
}

// Sorted sorts parameters by name. Empty values stay, so that one that comes or goes is a change like any other.
func Sorted(params []core.Param) []core.Param {
	slices.SortFunc(params, func(a, b core.Param) int { return cmp.Compare(a.Name, b.Name) })
	return params
}

// Problem says why a volume has no ladder.
type Problem struct {
	Field   string // the path of the field that is to blame: "spec.volumes[data].csi.driver"
	Message string // a sentence: what is wrong and what would help
}

func (p *Problem) Error() string { return fmt.Sprintf("%s: %s", p.Field, p.Message) }
