package scenarios

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is S27: a request says what the objects say. What a stage or a publish has to say follows here from the
// objects that the agent has been told of and from what its driver can do, by the CSI spec and by what a kubelet does.
// Nothing of it is taken from the engine.

// news is one version of an object, as the present life of the agent was told of it.
type news struct {
	object any
	from   hal.Instant // when it was told of it
	until  hal.Instant // when it was told of the next one, or of its end; 0 is not yet
	isGone bool        // of its end
}

// traits are what decides, of all that a driver can do, what it is asked.
type traits struct{ staging, multiWriter bool }

// notes keeps what the agent is told.
func (r *run) notes(e hal.ClusterEvent) {
	changed, ok := e.(hal.Changed)
	if !ok {
		return
	}
	for _, o := range changed.Removed {
		all := r.news[newsOf(o)]
		for i := range all {
			if all[i].until == 0 && hal.IdentityOf(all[i].object) == hal.IdentityOf(o) {
				all[i].until, all[i].isGone = r.w.Now(), true
			}
		}
	}
	for _, o := range changed.Applied {
		name := newsOf(o)
		all := r.news[name]
		if last := len(all) - 1; last >= 0 && all[last].until == 0 {
			all[last].until = r.w.Now()
		}
		r.news[name] = append(all, news{object: o, from: r.w.Now()})
	}
}

// newsOf names an object. Two pods may have one name for a while, one after the other, and the end of the first may be
// told last.
func newsOf(object any) string {
	if pod, ok := object.(*corev1.Pod); ok {
		return "pod " + string(pod.UID)
	}
	return sim.ObjectName(object)
}

// lagging is how long the owner may take from the news of an object to what follows from it.
const lagging = time.Minute

// versions are the versions of an object that may decide on an operation that began at an instant. What is deleted is
// what it was last: the volumes of a pod stay as they are while one can't be resolved.
func versions[T any](r *run, name string, began hal.Instant) iter.Seq[T] {
	return func(yield func(T) bool) {
		all := r.news[name]
		for i, n := range all {
			object, ok := n.object.(T)
			if ok && (n.until == 0 || n.until.Add(lagging) >= began || n.isGone && i == len(all)-1) && !yield(object) {
				return
			}
		}
	}
}

// looksForOpen notes that some volume of a pod can't be resolved now, as far as the agent has been told: until it can
// be, the pod's others stay as they were wanted before.
func (r *run) looksForOpen() {
	for _, p := range r.pods {
		if p.told != nil && slices.ContainsFunc(p.told.Spec.Volumes,
			func(v corev1.Volume) bool { return r.isOpen(p.told, &v) }) {
			r.openAt = r.w.Now()
			return
		}
	}
}

func (r *run) isOpen(pod *corev1.Pod, v *corev1.Volume) bool {
	driver := ""
	switch {
	case v.CSI != nil:
		driver = v.CSI.Driver
	case v.PersistentVolumeClaim != nil:
		_, pv := r.heard.claimed(pod, v)
		if pv == nil || pv.Spec.CSI == nil {
			return true
		}
		driver = pv.Spec.CSI.Driver
		if !r.synced && r.awaitsAttachment(driver, pv.Spec.CSI.VolumeHandle) {
			return true // it may be yet to be told of
		}
	default:
		return false
	}
	return r.heard.drivers[driver] == nil || !r.registrars.registered[driver]
}

// awaitsAttachment reports whether a volume must be attached, and the agent was told of no VolumeAttachment of it.
func (r *run) awaitsAttachment(driver, handle string) bool {
	object := r.heard.drivers[driver]
	return object != nil && (object.Spec.AttachRequired == nil || *object.Spec.AttachRequired) &&
		r.heard.attachments[attachmentName(driver, handle)] == nil
}

// setUpTime is the time-out of a stage and a publish: a call's deadline tells when its operation began.
const setUpTime = 2 * time.Minute

// asks is S27.
func (r *run) asks(e *sim.Effect) {
	var got asked
	var near, all iter.Seq[asked]
	began := e.Deadline.Add(-setUpTime)
	if r.looksForOpen(); r.openAt.Add(lagging) >= began {
		began = 0
	}
	switch m := e.Message.(type) {
	case *csi.NodeStageVolumeRequest:
		got = asked{
			driver: e.Driver, volume: m.GetVolumeId(), staging: m.GetStagingTargetPath(),
			capability: m.GetVolumeCapability(), secrets: m.GetSecrets(),
			context: m.GetVolumeContext(), publishContext: m.GetPublishContext(),
		}
		all = r.stagesAsked(e.Driver, e.Volume, began)
		near = all
	case *csi.NodePublishVolumeRequest:
		got = asked{
			driver: e.Driver, volume: m.GetVolumeId(), staging: m.GetStagingTargetPath(), target: m.GetTargetPath(),
			capability: m.GetVolumeCapability(),
			readOnly:   m.GetReadonly(), secrets: m.GetSecrets(), context: m.GetVolumeContext(),
			publishContext: m.GetPublishContext(),
		}
		owner := r.podOf(e.Target)
		near, all = r.publishesAsked(owner, began, m.GetTargetPath()), r.publishesAsked(owner, began, "")
	default:
		return
	}
	r.judges("S27")
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
	r.fail("S27", "sent "+e.Method, string(e.Key),
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
	case !maps.Equal(a.secrets, b.secrets):
		return text("it has not the data of the secret that the volume names for it")
	}
	return nil
}

// stagesAsked is what the objects ask of a stage of that volume.
func (r *run) stagesAsked(driver, volume string, began hal.Instant) iter.Seq[asked] {
	return func(yield func(asked) bool) {
		for _, name := range r.namesOf("pv ") {
			for pv := range versions[*corev1.PersistentVolume](r, name, began) {
				src := pv.Spec.CSI
				if src == nil || src.Driver != driver || src.VolumeHandle != volume {
					continue
				}
				for _, is := range r.traits[driver] {
					a := asked{
						driver: src.Driver, volume: src.VolumeHandle, capability: capabilityOf(pv, is),
						context: src.VolumeAttributes,
						secrets: r.secretOf(src.NodeStageSecretRef), staging: stagedAt(pv),
					}
					if !r.attachedAsked(a, began, yield) {
						return
					}
				}
			}
		}
	}
}

// namesOf are the names of all objects of a kind that the agent was told of, sorted.
func (r *run) namesOf(kind string) []string {
	var all []string
	for name := range r.news {
		if strings.HasPrefix(name, kind) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// publishesAsked is what the objects ask of the publishes of a pod: of all, or of those at one path.
func (r *run) publishesAsked(owner *pod, began hal.Instant, at string) iter.Seq[asked] {
	return func(yield func(asked) bool) {
		if owner == nil {
			return
		}
		for pod := range versions[*corev1.Pod](r, newsOf(owner.object), began) {
			for i := range pod.Spec.Volumes {
				if !r.publishAsked(pod, &pod.Spec.Volumes[i], began, at, yield) {
					return
				}
			}
		}
	}
}

// publishAsked is publishesAsked of one volume. Like all that yields, it reports whether more is asked for.
func (r *run) publishAsked(pod *corev1.Pod, v *corev1.Volume, began hal.Instant, at string, yield func(asked) bool,
) bool {
	isUsed, isBlock, readOnly := used(pod, v.Name)
	switch {
	case !isUsed:
	case v.CSI != nil:
		return r.inlineAsked(pod, v, readOnly, began, at, yield)
	case v.PersistentVolumeClaim != nil:
		readOnly = readOnly || v.PersistentVolumeClaim.ReadOnly
		for claim := range versions[*corev1.PersistentVolumeClaim](r,
			"pvc "+pod.Namespace+"/"+v.PersistentVolumeClaim.ClaimName, began) {
			for pv := range versions[*corev1.PersistentVolume](r, "pv "+claim.Spec.VolumeName, began) {
				if !r.claimedAsked(pod, pv, isBlock, readOnly, began, at, yield) {
					return false
				}
			}
		}
	}
	return true
}

func (r *run) inlineAsked(pod *corev1.Pod, v *corev1.Volume, readOnly bool, began hal.Instant, at string,
	yield func(asked) bool,
) bool {
	a := asked{
		driver: v.CSI.Driver, volume: inlineHandle(string(pod.UID), v.Name), readOnly: readOnly ||
			v.CSI.ReadOnly != nil && *v.CSI.ReadOnly,
		target: publishedAt(string(pod.UID), v.Name),
	}
	if at != "" && a.target != at {
		return true
	}
	mount := &csi.VolumeCapability_MountVolume{}
	if v.CSI.FSType != nil {
		mount.FsType = *v.CSI.FSType
	}
	if ref := v.CSI.NodePublishSecretRef; ref != nil {
		a.secrets = r.w.Secret(pod.Namespace + "/" + ref.Name)
	}
	for _, is := range r.traits[v.CSI.Driver] {
		a.capability = &csi.VolumeCapability{
			AccessMode: accessMode(corev1.ReadWriteOnce, is), AccessType: &csi.VolumeCapability_Mount{Mount: mount},
		}
		for object := range versions[*storagev1.CSIDriver](r, "csidriver "+v.CSI.Driver, began) {
			a.context = contextOf(v.CSI.VolumeAttributes, object, pod, true)
			if !yield(a) {
				return false
			}
		}
	}
	return true
}

func (r *run) claimedAsked(
	pod *corev1.Pod, pv *corev1.PersistentVolume, isBlock, readOnly bool, began hal.Instant, at string,
	yield func(asked) bool,
) bool {
	src := pv.Spec.CSI
	if src == nil {
		return true
	}
	a := asked{
		driver: src.Driver, volume: src.VolumeHandle, readOnly: readOnly ||
			src.ReadOnly, secrets: r.secretOf(src.NodePublishSecretRef),
		target: publishedAt(string(pod.UID), pv.Name),
	}
	if isBlock {
		a.target = lang.RootDir + "/plugins/kubernetes.io/csi/volumeDevices/publish/" + pv.Name + "/" + string(pod.UID)
	}
	if at != "" && a.target != at {
		return true
	}
	for _, is := range r.traits[src.Driver] {
		a.capability, a.staging = capabilityOf(pv, is), ""
		if is.staging {
			a.staging = stagedAt(pv)
		}
		for object := range versions[*storagev1.CSIDriver](r, "csidriver "+src.Driver, began) {
			a.context = contextOf(src.VolumeAttributes, object, pod, false)
			if !r.attachedAsked(a, began, yield) {
				return false
			}
		}
	}
	return true
}

// attachedAsked is what is asked of a volume, with what its VolumeAttachment says, if its driver has it attached.
func (r *run) attachedAsked(a asked, began hal.Instant, yield func(asked) bool) bool {
	for object := range versions[*storagev1.CSIDriver](r, "csidriver "+a.driver, began) {
		if object.Spec.AttachRequired != nil && !*object.Spec.AttachRequired {
			return yield(a)
		}
	}
	for is := range versions[*storagev1.VolumeAttachment](r, "attachment "+attachmentName(a.driver, a.volume), began) {
		a.publishContext = is.Status.AttachmentMetadata
		if !yield(a) {
			return false
		}
	}
	return true
}

func (r *run) secretOf(ref *corev1.SecretReference) map[string]string {
	if ref == nil {
		return nil
	}
	return r.w.Secret(ref.Namespace + "/" + ref.Name)
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
func capabilityOf(pv *corev1.PersistentVolume, is traits) *csi.VolumeCapability {
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

func accessMode(of corev1.PersistentVolumeAccessMode, is traits) *csi.VolumeCapability_AccessMode {
	mode := csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER
	switch {
	case of == corev1.ReadOnlyMany:
		mode = csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
	case of == corev1.ReadWriteMany:
		mode = csi.VolumeCapability_AccessMode_MULTI_NODE_MULTI_WRITER
	case of == corev1.ReadWriteOnce && is.multiWriter:
		mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_MULTI_WRITER
	case of == corev1.ReadWriteOncePod && is.multiWriter:
		mode = csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER
	}
	return &csi.VolumeCapability_AccessMode{Mode: mode}
}

// inlineHandle is the handle of an inline volume.
func inlineHandle(uid, volume string) string { return "csi-" + sha256Of(uid+volume) }

func sha256Of(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// stagedAt is where a PersistentVolume is staged.
func stagedAt(pv *corev1.PersistentVolume) string {
	dir := lang.RootDir + "/plugins/kubernetes.io/csi"
	if isRaw(pv) {
		return path.Join(dir, "volumeDevices/staging", pv.Name)
	}
	return path.Join(dir, pv.Spec.CSI.Driver, sha256Of(pv.Spec.CSI.VolumeHandle), "globalmount")
}

// publishedAt is where a pod finds a volume.
func publishedAt(uid, name string) string {
	return lang.RootDir + "/pods/" + uid + "/volumes/kubernetes.io~csi/" + name + "/mount"
}
