package world

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal/manifest"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/secrets"
)

// This file is the objects of a hunt's worlds. They are made once and shared: an object is not changed once it was
// handed out.

// HuntVolume is one volume that pods share. The handles resemble each other on purpose.
// secretsOfHunts are the secrets of stages and publishes: values as people have them, each with a mark of its own.
var SecretsOfHunts = map[string]map[string]string{
	"stage": {
		"key": "wJalrX/tnFE+K7=&bPx of stage\n", "pin": "Qz7Kp",
		"tls.key": "--KEY--\nU3RhZ2UgZG9lcyBub3Qg\ndGVsbCBpdA==\n",
	},
	"publish": {"password": "\tp\"ubl'ish% <é> s3cr3t"},
}

// LeaksOfHunts finds the secrets of hunts in a text.
var LeaksOfHunts = secrets.Of(SecretsOfHunts["stage"], SecretsOfHunts["publish"])

// HuntVolume is the volume of a driver, and which calls get a secret.
type HuntVolume struct{ Driver, Handle, secret string }

// VolumesOfHunts is the persistent volumes of a default hunt, by index.
var VolumesOfHunts = [cases.HuntVolumes]HuntVolume{
	{Driver: "disk.example", Handle: "vol-1", secret: "both"},
	{Driver: "disk.example", Handle: "vol-10"},
	{Driver: "file.example", Handle: "vol-1", secret: "publish"},
	{Driver: "file.example", Handle: "vol-1.0"},
	{Driver: "disk.example", Handle: "vol-raw"},
	{Driver: "file.example", Handle: "vol-one"},
}

// VolumeAt is volume i; large worlds have more than are listed.
func VolumeAt(i int) HuntVolume {
	if i < cases.HuntVolumes {
		return VolumesOfHunts[i]
	}
	return HuntVolume{Driver: VolumesOfHunts[i%4].Driver, Handle: "vol-more-" + strconv.Itoa(i)}
}

// PlainVolumes are those of the first n volumes that any pod may use.
func PlainVolumes(n int) []int {
	var plain []int
	for i := range n {
		if i != cases.RawVolume && i != cases.OneVolume {
			plain = append(plain, i)
		}
	}
	return plain
}

// Shape is what a pod of a hunt looks like.
type Shape struct {
	Owner      uint8            // its uid is of that pod,
	Generation uint8            // and this one of them
	Index      uint8            // of its name,
	Renames    uint8            // which was changed so often
	Derived    bool             // its first uid is the one that its first name gives it
	Volumes    uint32           // a set, by volumeAt
	Chosen     [mostRooms]uint8 // by Rooms, which of Hunted.Volumes, or of Rare, it has, from 1; 0 is none
	Edited     [mostRooms]uint8 // by Rooms, what somebody has edited that of Rare to
	ReadOnly   bool             // its first volume
	Edits      uint8
	Inline     bool   // it has an inline volume
	Otherwise  bool   // of the other driver
	Group      uint16 // its fsGroup, 0 for none
	User       uint16 // who its containers run as, 0 if it does not say
	Disguised  bool   // called like the PersistentVolume of its first volume, in place of that
}

const (
	inlineDriver = "disk.example"
	otherDriver  = "file.example"
)

// modeOf is the access mode and the volume mode of a volume.
func modeOf(i int) ([]corev1.PersistentVolumeAccessMode, *corev1.PersistentVolumeMode) {
	access, mode := corev1.ReadWriteMany, corev1.PersistentVolumeFilesystem
	switch i {
	case cases.MovingVolume:
		access = corev1.ReadWriteOnce
	case cases.RawVolume:
		mode = corev1.PersistentVolumeBlock
	case cases.OneVolume:
		access = corev1.ReadWriteOncePod
	}
	return []corev1.PersistentVolumeAccessMode{access}, &mode
}

// ClusterOfHunts is the objects that are there from the beginning, but VolumeAttachments.
func ClusterOfHunts(of Cluster) []any {
	var all []any
	no, yes := false, true
	var policy *storagev1.FSGroupPolicy
	if of.HasGroups {
		none := storagev1.NoneFSGroupPolicy
		policy = &none
	}
	drivers := []string{"disk.example", "file.example"}
	if of.InTree {
		drivers = append(drivers, lang.EBSDriver)
	}
	for _, name := range drivers {
		info := &no
		if name == "disk.example" || of.IsTold {
			info = &yes
		}
		renews := of.Renews && name == "file.example"
		var tokens []storagev1.TokenRequest
		inSecrets := of.Tokens == 2
		if of.Tokens != 0 && name == "file.example" {
			lasts := int64(600)
			tokens = []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: &lasts}, {}}
		}
		attaches := name == "disk.example" && of.DiskAttaches || name == "file.example" && of.FileAttaches
		all = append(all, &storagev1.CSIDriver{
			TypeMeta:   metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: storagev1.CSIDriverSpec{
				AttachRequired: &attaches, PodInfoOnMount: info, RequiresRepublish: &renews, FSGroupPolicy: policy,
				TokenRequests: tokens, ServiceAccountTokenInSecrets: &inSecrets,
				VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{
					storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral,
				},
			},
		})
	}
	for i := range of.Volumes {
		all = append(all, PersistentVolume(i, Version{}), ClaimOf(i, 0))
	}
	for _, m := range Rooms {
		for i := range m.Hunted.Volumes {
			if of.Persists {
				all = append(all, m.Hunted.Volumes[i].objects()...)
			}
		}
	}
	return all
}

// Version is one version of a volume's object.
type Version struct {
	Edits   uint8 // of its options
	Meaning uint8 // which volume it is of: the first, another handle, another driver
	Lives   uint8 // how often it, and its claim, was made again under its name: it has another uid then
}

// Means is what the object of volume i means.
func (v Version) Means(i int) HuntVolume {
	is := VolumeAt(i)
	switch v.Meaning {
	case 1:
		is.Handle += "-other"
	case 2:
		is.Driver = map[string]string{inlineDriver: otherDriver, otherDriver: inlineDriver}[is.Driver]
		if is.Handle == VolumesOfHunts[0].Handle { // both drivers have one
			is.Handle += "-moved"
		}
	}
	return is
}

// GroupAnnotation of a PersistentVolume names the group that containers need for it.
const GroupAnnotation = "pv.beta.kubernetes.io/gid"

// firstGroup is that of the first volume. Some pods have it already.
const firstGroup = 5000

// PersistentVolume is a volume's object, in one of its versions.
func PersistentVolume(i int, is Version) *corev1.PersistentVolume {
	v := is.Means(i)
	src := &corev1.CSIPersistentVolumeSource{
		Driver: v.Driver, VolumeHandle: v.Handle,
		VolumeAttributes: map[string]string{"tier": "gold", "pool": v.Handle},
	}
	if v.secret == "both" {
		src.NodeStageSecretRef = &corev1.SecretReference{Namespace: "default", Name: "stage"}
	}
	if v.secret != "" {
		src.NodePublishSecretRef = &corev1.SecretReference{Namespace: "default", Name: "publish"}
	}
	src.FSType = [...]string{"ext4", "", "xfs"}[i%3]
	access, mode := modeOf(i)
	pv := &corev1.PersistentVolume{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pv-%d", i)},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            access,
			VolumeMode:             mode,
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: fmt.Sprintf("claim-%d", i)},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: src},
		},
	}
	if is != (Version{}) {
		pv.ResourceVersion = fmt.Sprintf("%d%d%d", is.Edits, is.Meaning, is.Lives)
	}
	if i%2 == 1 {
		pv.Spec.MountOptions = []string{"noatime"}
	} else {
		pv.Annotations = map[string]string{GroupAnnotation: strconv.Itoa(firstGroup + i + int(is.Edits))}
	}
	if is.Edits > 0 {
		pv.Spec.MountOptions = append(pv.Spec.MountOptions, fmt.Sprintf("commit=%d", is.Edits))
	}
	if i%2 == 0 { // only this node can reach it, as its driver says
		pv.Spec.NodeAffinity = lang.NodesWith(sim.TopologyKey(v.Driver), sim.NodeID(v.Driver))
	}
	pv.UID = uidAfter(i, is.Lives)
	return pv
}

// givenUID begins the uids that people give to what they export again.
const givenUID = "export-"

// uidAfter is the uid of an object that was exported so many times; before it needs none.
func uidAfter(i int, exports uint8) types.UID {
	if exports == 0 {
		return ""
	}
	return types.UID(fmt.Sprintf("%s%d-%d", givenUID, i, exports))
}

// ClaimOf is the claim of volume i.
func ClaimOf(i int, uid uint8) *corev1.PersistentVolumeClaim {
	access, mode := modeOf(i)
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("claim-%d", i), UID: uidAfter(i, uid)},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: fmt.Sprintf("pv-%d", i), AccessModes: access, VolumeMode: mode,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			},
		},
	}
}

// inlineSource is the inline volume of a pod.
func (s *Shape) inlineSource() *corev1.CSIVolumeSource {
	driver, fsType := inlineDriver, "ext4"
	if s.Otherwise {
		driver = otherDriver
	}
	return &corev1.CSIVolumeSource{
		Driver: driver, FSType: &fsType, VolumeAttributes: map[string]string{"size": "1Gi"},
		NodePublishSecretRef: &corev1.LocalObjectReference{Name: "publish"},
	}
}

// PodOfHunts makes the pod of a shape, and what its containers use.
func PodOfHunts(s Shape) (*corev1.Pod, []Use) {
	uid, p := s.uid(), s.podObject()
	most := bits.OnesCount32(s.Volumes) + 2 + len(Rooms)
	c := &p.Spec.Containers[0]
	p.Spec.Volumes, c.VolumeMounts = make([]corev1.Volume, 0, most), make([]corev1.VolumeMount, 0, most)
	uses := make([]Use, 0, most)
	add := func(name string, src corev1.VolumeSource, pv *corev1.PersistentVolume) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: src})
		pvc := src.PersistentVolumeClaim
		if isBlock(pv) || pvc != nil && pvc.ClaimName == fmt.Sprintf("claim-%d", cases.RawVolume) {
			c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{Name: name, DevicePath: "/dev/" + name})
			return
		}
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	inline := "inline"
	for i := range cases.MaxVolumes {
		if s.Volumes&(1<<i) == 0 {
			continue
		}
		if s.Inline && s.Disguised && inline == "inline" {
			inline = fmt.Sprintf("pv-%d", i)
			continue
		}
		v := VolumeAt(i)
		name := fmt.Sprintf("data-%d", i)
		add(name, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: fmt.Sprintf("claim-%d", i), ReadOnly: s.ReadOnly && len(uses) == 0,
		}}, nil)
		path := PublishedAt(uid, fmt.Sprintf("pv-%d", i))
		if i == cases.RawVolume {
			path = plugin.BlockPublishPlace(lang.RootDir, uid, fmt.Sprintf("pv-%d", i)).Path
		}
		uses = append(uses, Use{
			Name: name, Spec: fmt.Sprintf("pv-%d", i), Path: path, Driver: v.Driver, Volume: v.Handle,
			ReadOnly: s.ReadOnly && len(uses) == 0, Raw: i == cases.RawVolume,
		})
	}
	if s.Inline {
		src := s.inlineSource()
		add(inline, corev1.VolumeSource{CSI: src}, nil)
		uses = append(uses, Use{
			Name: inline, Spec: inline, Path: PublishedAt(uid, inline), Driver: src.Driver,
			Volume: InlineHandle(uid, inline), Ephemeral: true,
		})
	}
	addOf := func(name string, src corev1.VolumeSource, pv *corev1.PersistentVolume) {
		add(name, src, pv)
		uses = append(uses, UseOf(uid, &p.Spec.Volumes[len(p.Spec.Volumes)-1], pv))
	}
	for i, m := range Rooms {
		if s.Chosen[i] != 0 && m.Rare.Plan != nil {
			addOf(m.Rare.Name, m.Rare.Volume(uid, s.Chosen[i], s.Edited[i]), nil)
		}
	}
	for i, m := range Rooms {
		if s.Chosen[i] != 0 && m.Rare.Plan == nil {
			is := &m.Hunted.Volumes[s.Chosen[i]-1]
			addOf(m.Hunted.Name, is.Source, is.PV)
		}
	}
	return p, uses
}

// isBlock reports whether a volume is a raw device.
func isBlock(pv *corev1.PersistentVolume) bool {
	return pv != nil && pv.Spec.VolumeMode != nil && *pv.Spec.VolumeMode == corev1.PersistentVolumeBlock
}

// podObject is the pod of a shape, without volumes.
func (s *Shape) podObject() *corev1.Pod {
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: s.name(), UID: types.UID(s.uid()), ResourceVersion: fmt.Sprint(s.Edits + 1),
			Labels: map[string]string{"app": "of hunts", "edits": strconv.Itoa(int(s.Edits))},
		},
		Spec: corev1.PodSpec{
			NodeName: lang.NodeName, ServiceAccountName: fmt.Sprintf("account-%d", s.Index),
			Containers:      []corev1.Container{{Name: "app", Image: "app"}},
			SecurityContext: &corev1.PodSecurityContext{},
		},
	}
	if s.Index%2 == 1 {
		p.Spec.SecurityContext.SupplementalGroups = []int64{firstGroup}
	}
	if s.Group != 0 {
		group := int64(s.Group)
		p.Spec.SecurityContext.FSGroup = &group
	}
	if s.User != 0 {
		user := int64(s.User)
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{RunAsUser: &user}
	}
	return p
}

// UseOf is how the containers of a pod use a volume. pv is nil if it is no claim.
func UseOf(uid string, spec *corev1.Volume, pv *corev1.PersistentVolume) Use {
	if pv == nil {
		pv = lang.PodVolumeAsCSI(spec)
	} else {
		pv = lang.AsCSI(pv)
	}
	u, _ := Claimed{UID: uid, Spec: spec, PV: pv, IsBlock: isBlock(pv)}.use()
	return u
}

// uid is the pod's: one that a manifest gives, or one that follows from its first name.
func (s Shape) uid() string {
	if s.Derived && s.Generation == 0 {
		return string(manifest.PodUID(lang.NodeName, lang.DefaultNamespace, "pod-"+strconv.Itoa(int(s.Owner))))
	}
	return fmt.Sprintf("%08d-0000-4000-8000-%012d", s.Owner, s.Generation)
}

// name is the pod's, another one after each renaming.
func (s Shape) name() string {
	name := "pod-" + strconv.Itoa(int(s.Index))
	if s.Renames > 0 {
		name += "-" + strconv.Itoa(int(s.Renames))
	}
	return name
}

// derives reports whether a pod has the uid that hal/manifest gives it on this node if its manifest says none.
func derives(p *corev1.Pod) bool { return p.UID == manifest.PodUID(lang.NodeName, p.Namespace, p.Name) }

// ManifestOf is an object as a file. A uid that the node's name gives is not in it.
func ManifestOf(object any) []byte {
	if p, ok := object.(*corev1.Pod); ok && derives(p) {
		p = p.DeepCopy()
		p.UID = ""
		object = p
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		panic(fmt.Sprintf("an object of ours does not print: %v", err))
	}
	return text
}

// VolumeOfHunt is how the language names volume i.
func VolumeOfHunt(i int) string {
	v := VolumesOfHunts[max(min(i, cases.HuntVolumes-1), 0)]
	driver, _, _ := strings.Cut(v.Driver, ".")
	return driver + ":" + v.Handle
}

// Used says how the containers of a pod use a volume. It is read-only if every mount of it is.
func Used(pod *corev1.Pod, volume string) (isUsed, isBlock, readOnly bool) {
	for _, c := range pod.Spec.Containers {
		for _, m := range c.VolumeMounts {
			if m.Name == volume {
				isUsed, readOnly = true, m.ReadOnly && (readOnly || !isUsed)
			}
		}
		for _, d := range c.VolumeDevices {
			if d.Name == volume {
				isUsed, isBlock = true, true
			}
		}
	}
	return isUsed, isBlock, readOnly
}
