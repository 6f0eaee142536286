package csi

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// StageKey is the key of the stage of a volume.
func StageKey(driver, handle string) hal.Key {
	return hal.Key(string(KindStage) + "/" + driver + "^" + plugin.Escape(handle))
}

// PublishKey is the key of the publish of a volume for a pod. spec is the volume's spec name.
func PublishKey(driver, handle, uid, spec string) hal.Key {
	return hal.Key(string(KindPublish) + "/" + driver + "^" + plugin.Escape(handle) + "/" + uid + "/" + spec)
}

// wish is what a volume comes to, whichever object describes it.
type wish struct {
	driver, handle string
	volume         string // names it among all volumes of all drivers: a driver's name has no "^"
	spec, pv       string // pv is "" for an inline volume
	block          bool
	readOnly       bool
	fsType         string
	flags          []string
	access         string
	group          string // that the driver gives the files to, "" for none
	exclusive      bool   // ReadWriteOncePod
	attributes     map[string]string
	stageContext   string // the attributes, as a JSON map
	publishContext string // with what podInfoOnMount asks for
	stageSecret    string
	publishSecret  string
	staging        bool
	republishes    bool        // its driver asks for a publish again and again
	tokens         string      // what its driver asks for, as JSON
	attachment     *attachment // nil of a volume that needs none
}

// Source is CSI: PersistentVolumes with spec.csi, and inline volumes.
func Source() plugin.Source {
	return plugin.Source{
		Name: "csi", Plugin: plugin.CSI,
		InPod:    func(spec *corev1.Volume) bool { return spec.CSI != nil },
		InVolume: func(pv *corev1.PersistentVolume) bool { return pv.Spec.CSI != nil },
		Driver: func(pv *corev1.PersistentVolume, spec *corev1.Volume) (driver, handle string) {
			if pv != nil {
				return pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
			}
			return spec.CSI.Driver, ""
		},
		IsAttachable: isAttachable,
		Ladder:       Ladder,
		Kinds: []plugin.Kind{
			{Name: KindStage, Verbs: Stage(), IsDevice: true, IsShared: true},
			{Name: KindPublish, Verbs: Publish(), Deletes: deletes, Measure: measure, Health: health},
		},
		Ends: Ends, StorageHealth: storageHealth,
		PodSecrets: secretsOfPod, VolumeSecrets: secretsOfVolume, TokensIn: tokensIn,
		Scan: func() plugin.Scan { return &scan{} },
	}
}

// Ladder appends the rungs of a CSI volume, top first, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	var w wish
	var p *plugin.Problem
	if v.PV != nil {
		w, p = persistent(v)
	} else {
		w, p = inline(v)
	}
	if p != nil {
		return nil, p
	}
	w.volume = w.driver + "^" + w.handle
	if !w.staging {
		return append(to, publishRung(v, w, nil)), nil
	}
	stage := stageRung(v, w)
	return append(to, publishRung(v, w, &stage), stage), nil
}

// persistent reads a wish from a PersistentVolume.
func persistent(v plugin.Volume) (wish, *plugin.Problem) {
	src := v.PV.Spec.CSI
	field := func(path string) string { return v.PVField("spec.csi." + path) }
	w := wish{
		driver: src.Driver, handle: src.VolumeHandle, spec: v.PV.Name, pv: v.PV.Name, block: v.Block,
		readOnly: v.ReadOnly || src.ReadOnly, fsType: src.FSType, flags: v.PV.Spec.MountOptions,
		attributes: src.VolumeAttributes,
	}
	if w.block {
		w.fsType, w.flags = "", nil
	}
	if p := checkPersistent(v, w, field); p != nil {
		return wish{}, p
	}
	if p := checkDriver(v, w, field, false); p != nil {
		return wish{}, p
	}
	var p *plugin.Problem
	if w.stageSecret, p = secretOf(field, "nodeStageSecretRef", src.NodeStageSecretRef); p != nil {
		return wish{}, p
	}
	if w.publishSecret, p = secretOf(field, "nodePublishSecretRef", src.NodePublishSecretRef); p != nil {
		return wish{}, p
	}
	var first corev1.PersistentVolumeAccessMode
	if len(v.PV.Spec.AccessModes) > 0 {
		first = v.PV.Spec.AccessModes[0]
	}
	mode, ok := access(string(first), v.Driver.SingleNodeMultiWriter)
	if !ok {
		return wish{}, plugin.Problemf(v.PVField("spec.accessModes"),
			"%q is not an access mode that volnode knows", first)
	}
	w.access, w.exclusive, w.staging = mode.String(), first == corev1.ReadWriteOncePod, v.Driver.StageUnstage
	if isAttachable(v.Object) {
		if w.attachment, p = attachmentOf(v, w); p != nil {
			return wish{}, p
		}
	}
	return finish(v, w, field)
}

func checkPersistent(v plugin.Volume, w wish, field func(string) string) *plugin.Problem {
	if bad := plugin.BadObjectName(w.spec); bad != "" {
		return plugin.Problemf(v.PVField("metadata.name"), "%s", plugin.Says(w.spec, bad))
	}
	if w.block && (w.spec == "staging" || w.spec == "publish") {
		return plugin.Problemf(v.PVField("metadata.name"),
			"%q is a name that the layout of raw block volumes uses for itself", w.spec)
	}
	if w.handle == "" {
		return plugin.Problemf(field("volumeHandle"), "is empty; it must name the volume in the driver's terms")
	}
	if bad := plugin.BadCSIString(w.handle); bad != "" {
		return plugin.Problemf(field("volumeHandle"), "%s", bad)
	}
	if p := badFSType(field, w.fsType); p != nil {
		return p
	}
	size := 0
	for i, option := range w.flags {
		size += len(option)
		bad := ""
		switch {
		case option == "":
			bad = "is empty"
		case strings.ContainsFunc(option, func(r rune) bool { return r < ' ' || r == ',' || r == 0x7f }):
			bad = "has a comma or a control character"
		}
		if bad != "" {
			return plugin.Problemf(v.PVField("spec.mountOptions"), "entry %d %s; write one option in each entry", i+1, bad)
		}
	}
	if size > plugin.MaxCSIMap {
		return plugin.Problemf(v.PVField("spec.mountOptions"), "has %d bytes, CSI allows %d", size, plugin.MaxCSIMap)
	}
	return nil
}

// inline reads a wish from a volume of the pod itself.
func inline(v plugin.Volume) (wish, *plugin.Problem) {
	src := v.Spec.CSI
	field := func(path string) string { return v.Field(".csi." + path) }
	if src == nil {
		return wish{}, plugin.Problemf(v.Field(""), "is not of a CSI driver")
	}
	if v.Block {
		return wish{}, plugin.Problemf(v.Field(".csi"),
			"an inline volume can't be a raw block device; use it in volumeMounts")
	}
	w := wish{
		driver: src.Driver, handle: plugin.InlineHandle(string(v.Pod.UID), v.Spec.Name), spec: v.Spec.Name,
		readOnly: v.ReadOnly || src.ReadOnly != nil && *src.ReadOnly, attributes: src.VolumeAttributes,
	}
	if src.FSType != nil {
		w.fsType = *src.FSType
	}
	if p := badFSType(field, w.fsType); p != nil {
		return wish{}, p
	}
	if p := checkDriver(v, w, field, true); p != nil {
		return wish{}, p
	}
	if ref := src.NodePublishSecretRef; ref != nil {
		var p *plugin.Problem
		w.publishSecret, p = secretOf(field, "nodePublishSecretRef",
			&corev1.SecretReference{Name: ref.Name, Namespace: v.Pod.Namespace})
		if p != nil {
			return wish{}, p
		}
	}
	mode, _ := access("", v.Driver.SingleNodeMultiWriter)
	w.access = mode.String()
	return finish(v, w, field)
}

// checkDriver says what of the driver, its CSIDriver object included, keeps the volume from being served.
func checkDriver(v plugin.Volume, w wish, field func(string) string, inline bool) *plugin.Problem {
	if bad := plugin.BadDriverName(w.driver); bad != "" {
		return plugin.Problemf(field("driver"), "%s", plugin.Says(w.driver, bad))
	}
	if p := checkObject(v, w, field, inline); p != nil {
		return p
	}
	if p := v.WantsContext(); p != nil {
		return p
	}
	if v.Driver == nil {
		return plugin.Problemf(field("driver"), "%s", plugin.Unregistered(w.driver, v.Registered))
	}
	return checkOwnership(v, w)
}

func checkObject(v plugin.Volume, w wish, origin func(string) string, inline bool) *plugin.Problem {
	field := func(path string) string { return "CSIDriver " + w.driver + " " + path }
	if v.Object == nil {
		return plugin.Problemf(field("metadata.name"),
			"there is no such object, but %s names it; correct the name there, or add the object "+
				"(with spec.attachRequired: false if the driver needs no attach)",
			origin("driver"))
	}
	spec := v.Object.Spec
	mode := storagev1.VolumeLifecyclePersistent
	if inline {
		mode = storagev1.VolumeLifecycleEphemeral
	}
	supports := !inline && len(spec.VolumeLifecycleModes) == 0 // the default is Persistent alone
	for _, m := range spec.VolumeLifecycleModes {
		supports = supports || m == mode
	}
	if !supports {
		return plugin.Problemf(field("spec.volumeLifecycleModes"), "does not contain %s, the mode of volume %q", mode,
			v.Spec.Name)
	}
	_, p := tokensOf(v, w)
	return p
}

// checkOwnership: the kubelet leaves ownership alone for raw block and read-only volumes, and where the driver says
// that it has none, or sees to it itself (K:G51).
func checkOwnership(v plugin.Volume, w wish) *plugin.Problem {
	if w.block || w.readOnly || v.Driver.VolumeMountGroup {
		return v.WantsContext()
	}
	if policy := v.Object.Spec.FSGroupPolicy; policy != nil && *policy == storagev1.NoneFSGroupPolicy {
		return v.WantsContext()
	}
	return v.WantsOwnership()
}

// finish writes the context, with what podInfoOnMount asks for, and checks its size.
func finish(v plugin.Volume, w wish, field func(string) string) (_ wish, p *plugin.Problem) {
	attributes := plugin.Pairs(w.attributes)
	if bad := plugin.BadCSIMap(attributes); bad != "" {
		return wish{}, plugin.Problemf(field("volumeAttributes"), "%s", bad)
	}
	if w.group, p = groupOf(v, w); p != nil {
		return wish{}, p
	}
	if w.tokens, p = tokensOf(v, w); p != nil {
		return wish{}, p
	}
	w.republishes = v.Object.Spec.RequiresRepublish != nil && *v.Object.Spec.RequiresRepublish
	w.stageContext = mapText(attributes)
	w.publishContext = w.stageContext
	if info := v.Object.Spec.PodInfoOnMount; info != nil && *info {
		attributes = podInfo(attributes, v, w.pv == "")
		if bad := plugin.BadCSIMap(attributes); bad != "" {
			return wish{}, plugin.Problemf(field("volumeAttributes"),
				"with the pod information that the driver asks for it %s", bad)
		}
		w.publishContext = mapText(attributes)
	}
	return w, nil
}

// groupOf is the group of the pod, for a driver that gives its files to one (VOLUME_MOUNT_GROUP), whatever the policy
// of its object says (K:G29).
func groupOf(v plugin.Volume, w wish) (string, *plugin.Problem) {
	if w.block || !v.Driver.VolumeMountGroup {
		return "", nil
	}
	return v.Group()
}

func badFSType(field func(string) string, fsType string) *plugin.Problem {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}
	if strings.HasPrefix(fsType, "-") || strings.HasPrefix(fsType, ".") || strings.ContainsFunc(fsType, odd) {
		return plugin.Problemf(field("fsType"), "%q is not the name of a filesystem; use letters, digits, . _ and -",
			fsType)
	}
	if bad := plugin.BadCSIString(fsType); bad != "" {
		return plugin.Problemf(field("fsType"), "%s", bad)
	}
	return nil
}

// secretOf makes "namespace/name" of the reference that the field name has, "" of none.
func secretOf(field func(string) string, name string, ref *corev1.SecretReference) (string, *plugin.Problem) {
	if ref == nil {
		return "", nil
	}
	if bad := plugin.BadObjectName(ref.Namespace); bad != "" {
		return "", plugin.Problemf(field(name+".namespace"), "%s", plugin.Says(ref.Namespace, bad))
	}
	if bad := plugin.BadObjectName(ref.Name); bad != "" {
		return "", plugin.Problemf(field(name+".name"), "%s", plugin.Says(ref.Name, bad))
	}
	return ref.Namespace + "/" + ref.Name, nil
}
