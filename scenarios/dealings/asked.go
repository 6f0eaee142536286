package dealings

import (
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S27: a request says what the objects say. What a stage or a publish has to say follows here from the
// objects that the agent has been told of and from what its driver can do, by the CSI spec and by what a kubelet does.
// Nothing of it is taken from the engine.

// LooksForOpen notes that some volume of a pod can't be resolved now, as far as the agent has been told: until it can
// be, the pod's others stay as they were wanted before.
func LooksForOpen(r *world.Run) {
	for _, p := range r.Pods {
		if p.Told != nil && slices.ContainsFunc(p.Told.Spec.Volumes,
			func(v corev1.Volume) bool { return isOpen(r, p.Told, &v) }) {
			r.OpenAt = r.W.Now()
			return
		}
	}
}

func isOpen(r *world.Run, pod *corev1.Pod, v *corev1.Volume) bool {
	driver := ""
	pv := lang.PodVolumeAsCSI(v)
	switch {
	case v.CSI != nil:
		driver = v.CSI.Driver
	case pv != nil || hal.ClaimName(pod, v) != "":
		if pv == nil {
			_, pv = r.Heard.Claimed(pod, v)
		}
		if pv == nil || pv.Spec.CSI == nil {
			return true
		}
		driver = pv.Spec.CSI.Driver
		if !r.Synced && awaitsAttachment(r, driver, pv.Spec.CSI.VolumeHandle) {
			return true // it may be yet to be told of
		}
	default:
		return r.LacksContent(pod.Namespace, v)
	}
	return r.Heard.Drivers[driver] == nil || !r.Registrars.Registered[driver]
}

// awaitsAttachment reports whether a volume must be attached, and the agent was told of no VolumeAttachment of it.
func awaitsAttachment(r *world.Run, driver, handle string) bool {
	object := r.Heard.Drivers[driver]
	return object != nil && (object.Spec.AttachRequired == nil || *object.Spec.AttachRequired) &&
		r.Heard.Attachments[AttachmentName(driver, handle)] == nil
}

// setUpTime is the time-out of a stage and a publish: a call's deadline tells when its operation began.
const setUpTime = 2 * time.Minute

// UnstageTime is the time-out of an unstage.
const UnstageTime = 30 * time.Second

// Asks is S27.
func Asks(r *world.Run, e *sim.Effect) {
	var got asked
	var near, all iter.Seq[asked]
	began := e.Deadline.Add(-setUpTime)
	if LooksForOpen(r); r.OpenAt.Add(lagging) >= began {
		began = 0
	}
	switch m := e.Message.(type) {
	case *csi.NodeStageVolumeRequest:
		got = asked{
			driver: e.Driver, volume: m.GetVolumeId(), staging: m.GetStagingTargetPath(),
			capability: m.GetVolumeCapability(), secrets: m.GetSecrets(),
			context: m.GetVolumeContext(), publishContext: m.GetPublishContext(),
		}
		all = stagesAsked(r, e.Driver, e.Volume, began)
		near = all
	case *csi.NodePublishVolumeRequest:
		got = asked{
			driver: e.Driver, volume: m.GetVolumeId(), staging: m.GetStagingTargetPath(), target: m.GetTargetPath(),
			capability: m.GetVolumeCapability(),
			readOnly:   m.GetReadonly(), secrets: m.GetSecrets(), context: m.GetVolumeContext(),
			publishContext: m.GetPublishContext(),
		}
		owner := r.PodOf(e.Target)
		near, all = publishesAsked(r, owner, began, m.GetTargetPath()), publishesAsked(r, owner, began, "")
	default:
		return
	}
	r.Judges("S27")
	tokensTold(r, &got)
	for want := range near {
		if got.differs(&want) == nil {
			return
		}
	}
	why, isNear := func() string { return "no object asks for it" }, false
	for want := range all {
		if is := want.target == got.target; is || !isNear {
			why, isNear = got.differs(&want), is // a failure names the last request at that path
		}
	}
	r.Fail("S27", "sent "+e.Method, string(e.Key),
		e.Method+" of volume "+e.Volume+" is not what the objects say: "+why())
}

// asked is what a request says.
type asked struct {
	driver, volume          string
	staging, target         string
	readOnly                bool
	capability              *csi.VolumeCapability
	secrets                 map[string]string
	context, publishContext map[string]string
	tokens                  string // of service accounts, for people
}

// differs returns what says in what two requests differ, nil if in nothing. It shows no secret.
func (a *asked) differs(b *asked) func() string {
	text := func(format string, values ...any) func() string {
		return func() string { return fmt.Sprintf(format, values...) }
	}
	for _, f := range [...]struct{ name, got, want string }{
		{"driver", a.driver, b.driver},
		{"volume_id", a.volume, b.volume},
		{"staging_target_path", a.staging, b.staging},
		{"target_path", a.target, b.target},
		{
			"access mode", a.capability.GetAccessMode().GetMode().String(),
			b.capability.GetAccessMode().GetMode().String(),
		},
		{"fs_type", a.capability.GetMount().GetFsType(), b.capability.GetMount().GetFsType()},
		{
			"volume_mount_group", a.capability.GetMount().GetVolumeMountGroup(),
			b.capability.GetMount().GetVolumeMountGroup(),
		},
	} {
		if f.got != f.want {
			return text("%s is %q, and is to be %q", f.name, f.got, f.want)
		}
	}
	switch {
	case (a.capability.GetBlock() == nil) != (b.capability.GetBlock() == nil):
		return text("it is of the wrong access type")
	case !slices.Equal(a.capability.GetMount().GetMountFlags(), b.capability.GetMount().GetMountFlags()):
		return text("mount_flags are %q, and are to be %q", a.capability.GetMount().GetMountFlags(),
			b.capability.GetMount().GetMountFlags())
	case a.readOnly != b.readOnly:
		return text("readonly is %v, and is to be %v", a.readOnly, b.readOnly)
	case !maps.Equal(a.context, b.context):
		return text("volume_context is %v, and is to be %v", a.context, b.context)
	case !maps.Equal(a.publishContext, b.publishContext):
		return text("publish_context is %v, and is to be %v", a.publishContext, b.publishContext)
	case a.tokens != b.tokens:
		return text("it has these tokens, %q, and is to have these, %q", a.tokens, b.tokens)
	case !maps.Equal(a.secrets, b.secrets):
		return text("it has not the data of the secret that the volume names for it")
	}
	return nil
}

// stagesAsked is what the objects ask of a stage of that volume.
func stagesAsked(r *world.Run, driver, volume string, began hal.Instant) iter.Seq[asked] {
	return func(yield func(asked) bool) {
		for pv := range volumesTold(r, began) {
			src := pv.Spec.CSI
			if src == nil || src.Driver != driver || src.VolumeHandle != volume {
				continue
			}
			for _, is := range r.Traits[driver] {
				a := asked{
					driver: src.Driver, volume: src.VolumeHandle, capability: capabilityOf(pv, is),
					context: src.VolumeAttributes,
					secrets: secretOf(r, src.NodeStageSecretRef), staging: stagedAt(pv),
				}
				if !attachedAsked(r, a, began, ofGroups(r, is, nil, yield)) {
					return
				}
			}
		}
	}
}

// publishesAsked is what the objects ask of the publishes of a pod: of all, or of those at one path.
func publishesAsked(r *world.Run, owner *world.Pod, began hal.Instant, at string) iter.Seq[asked] {
	return func(yield func(asked) bool) {
		if owner == nil {
			return
		}
		for pod := range versions[*corev1.Pod](r, newsOf(owner.Object), began) {
			for i := range pod.Spec.Volumes {
				if !publishAsked(r, pod, &pod.Spec.Volumes[i], began, at, yield) {
					return
				}
			}
		}
	}
}

// publishAsked is publishesAsked of one volume. Like all that yields, it reports whether more is asked for.
func publishAsked(r *world.Run, pod *corev1.Pod, v *corev1.Volume, began hal.Instant, at string, yield func(asked) bool,
) bool {
	isUsed, isBlock, readOnly := world.Used(pod, v.Name)
	switch {
	case !isUsed:
	case v.CSI != nil:
		return inlineAsked(r, pod, v, readOnly, began, at, yield)
	case lang.PodVolumeAsCSI(v) != nil:
		return claimedAsked(r, pod, lang.PodVolumeAsCSI(v), isBlock, readOnly, began, at, yield)
	case hal.ClaimName(pod, v) != "":
		readOnly = readOnly || v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ReadOnly
		for claim := range versions[*corev1.PersistentVolumeClaim](r, "pvc "+pod.Namespace+"/"+hal.ClaimName(pod, v), began) {
			for pv := range versions[*corev1.PersistentVolume](r, "pv "+claim.Spec.VolumeName, began) {
				if !claimedAsked(r, pod, pv, isBlock, readOnly, began, at, yield) {
					return false
				}
			}
		}
	}
	return true
}

func inlineAsked(r *world.Run, pod *corev1.Pod, v *corev1.Volume, readOnly bool, began hal.Instant, at string,
	yield func(asked) bool,
) bool {
	a := asked{
		driver: v.CSI.Driver, volume: world.InlineHandle(string(pod.UID), v.Name), readOnly: readOnly ||
			v.CSI.ReadOnly != nil && *v.CSI.ReadOnly,
		target: world.PublishedAt(string(pod.UID), v.Name),
	}
	if at != "" && a.target != at {
		return true
	}
	mount := &csi.VolumeCapability_MountVolume{}
	if v.CSI.FSType != nil {
		mount.FsType = *v.CSI.FSType
	}
	if ref := v.CSI.NodePublishSecretRef; ref != nil {
		a.secrets = r.W.Cluster.Held(hal.SecretKind, pod.Namespace+"/"+ref.Name)
	}
	for _, is := range r.Traits[v.CSI.Driver] {
		a.capability = &csi.VolumeCapability{
			AccessMode: accessMode(corev1.ReadWriteOnce, is), AccessType: &csi.VolumeCapability_Mount{Mount: mount},
		}
		for object := range versions[*storagev1.CSIDriver](r, "csidriver "+v.CSI.Driver, began) {
			a.context, a.tokens = contextOf(v.CSI.VolumeAttributes, object, pod, true), tokensAsked(object, pod)
			if !ofGroups(r, is, pod, yield)(a) {
				return false
			}
		}
	}
	return true
}

func claimedAsked(r *world.Run,
	pod *corev1.Pod, pv *corev1.PersistentVolume, isBlock, readOnly bool, began hal.Instant, at string,
	yield func(asked) bool,
) bool {
	src := pv.Spec.CSI
	if src == nil {
		return true
	}
	a := asked{
		driver: src.Driver, volume: src.VolumeHandle, readOnly: readOnly ||
			src.ReadOnly, secrets: secretOf(r, src.NodePublishSecretRef),
		target: world.PublishedAt(string(pod.UID), pv.Name),
	}
	if isBlock {
		a.target = lang.RootDir + "/plugins/kubernetes.io/csi/volumeDevices/publish/" + pv.Name + "/" + string(pod.UID)
	}
	if at != "" && a.target != at {
		return true
	}
	for _, is := range r.Traits[src.Driver] {
		a.capability, a.staging = capabilityOf(pv, is), ""
		if is.Staging {
			a.staging = stagedAt(pv)
		}
		for object := range versions[*storagev1.CSIDriver](r, "csidriver "+src.Driver, began) {
			a.context = contextOf(src.VolumeAttributes, object, pod, false)
			if a.tokens = tokensAsked(object, pod); isBlock {
				a.tokens = "" // K:G49
			}
			if !attachedAsked(r, a, began, ofGroups(r, is, pod, yield)) {
				return false
			}
		}
	}
	return true
}

// attachedAsked is what is asked of a volume, with what its VolumeAttachment says, if its driver has it attached.
func attachedAsked(r *world.Run, a asked, began hal.Instant, yield func(asked) bool) bool {
	for object := range versions[*storagev1.CSIDriver](r, "csidriver "+a.driver, began) {
		if object.Spec.AttachRequired != nil && !*object.Spec.AttachRequired {
			return yield(a)
		}
	}
	for is := range versions[*storagev1.VolumeAttachment](r, "attachment "+AttachmentName(a.driver, a.volume), began) {
		a.publishContext = is.Status.AttachmentMetadata
		if !yield(a) {
			return false
		}
	}
	return true
}

// ofGroups yields what is asked for each group that the files may be given to: that of the pod; else, and of a stage
// (pod is nil), that of any pod that shares the volume, or none.
func ofGroups(r *world.Run, is world.Traits, pod *corev1.Pod, yield func(asked) bool) func(asked) bool {
	return func(a asked) bool {
		mount := a.capability.GetMount()
		if mount == nil || !is.MountGroup {
			return yield(a)
		}
		groups := []string{world.GroupOf(pod)}
		if groups[0] == "" {
			for _, other := range r.Pods { // the stage may be there since one that is gone
				groups = append(groups, other.Groups...)
			}
		}
		for _, group := range groups {
			b := a
			b.capability = &csi.VolumeCapability{
				AccessMode: a.capability.GetAccessMode(),
				AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{
					FsType: mount.GetFsType(), MountFlags: mount.GetMountFlags(), VolumeMountGroup: group,
				}},
			}
			if !yield(b) {
				return false
			}
		}
		return true
	}
}

// ofAnotherGroup is the group that the files of a staged volume were given to, if its pod wants another one.
func ofAnotherGroup(r *world.Run, p *world.Pod, u world.Use) (string, bool) {
	group := world.GroupOf(p.Object)
	if group == "" || u.Driver == "" || u.Raw || len(r.Traits[u.Driver]) == 0 || slices.ContainsFunc(r.Traits[u.Driver],
		func(is world.Traits) bool { return !is.MountGroup || !is.Staging }) {
		return "", false
	}
	staged := r.W.Staged()
	at := slices.IndexFunc(staged, func(h sim.Held) bool { return h.Driver == u.Driver && h.Volume == u.Volume })
	if at < 0 || staged[at].Group == group {
		return "", false
	}
	return staged[at].Group, true
}

func secretOf(r *world.Run, ref *corev1.SecretReference) map[string]string {
	if ref == nil {
		return nil
	}
	return r.W.Cluster.Held(hal.SecretKind, ref.Namespace+"/"+ref.Name)
}

// contextOf is the attributes, with what podInfoOnMount asks for.
func contextOf(attributes map[string]string, object *storagev1.CSIDriver, pod *corev1.Pod, isInline bool,
) map[string]string {
	if object.Spec.PodInfoOnMount == nil || !*object.Spec.PodInfoOnMount {
		return attributes
	}
	all := maps.Clone(attributes)
	if all == nil {
		all = map[string]string{}
	}
	const prefix = "csi.storage.k8s.io/"
	all[prefix+"pod.name"], all[prefix+"pod.namespace"], all[prefix+"pod.uid"] = pod.Name, pod.Namespace,
		string(pod.UID)
	all[prefix+"serviceAccount.name"], all[prefix+"ephemeral"] = pod.Spec.ServiceAccountName, fmt.Sprint(isInline)
	return all
}

// capabilityOf is the volume_capability of a PersistentVolume: of its first access mode, with its filesystem and
// options unless it is a raw device.
func capabilityOf(pv *corev1.PersistentVolume, is world.Traits) *csi.VolumeCapability {
	mode := corev1.ReadWriteOnce
	if len(pv.Spec.AccessModes) > 0 {
		mode = pv.Spec.AccessModes[0]
	}
	c := &csi.VolumeCapability{AccessMode: accessMode(mode, is)}
	if isRaw(pv) {
		c.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		return c
	}
	c.AccessType = &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{
		FsType:     pv.Spec.CSI.FSType,
		MountFlags: pv.Spec.MountOptions,
	}}
	return c
}

func isRaw(pv *corev1.PersistentVolume) bool {
	return pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == corev1.PersistentVolumeBlock
}

func accessMode(of corev1.PersistentVolumeAccessMode, is world.Traits) *csi.VolumeCapability_AccessMode {
	mode := csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	switch {
	case of == corev1.ReadOnlyMany:
		mode = csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case of == corev1.ReadWriteMany:
		mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case of == corev1.ReadWriteOnce && is.MultiWriter:
		mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
	case of == corev1.ReadWriteOncePod && is.MultiWriter:
		mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	}
	return &csi.VolumeCapability_AccessMode{Mode: mode}
}

// stagedAt is where a PersistentVolume is staged.
func stagedAt(pv *corev1.PersistentVolume) string {
	dir := lang.RootDir + "/plugins/kubernetes.io/csi"
	if isRaw(pv) {
		return path.Join(dir, "volumeDevices/staging", pv.Name)
	}
	return path.Join(dir, pv.Spec.CSI.Driver, world.Sha256Of(pv.Spec.CSI.VolumeHandle), "globalmount")
}
