package scenarios

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
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/secrets"
)

// This file is the objects of a hunt's worlds. They are made once and shared: an object is not changed once it was handed out.

// huntVolume is one volume that pods share. The handles resemble each other on purpose.
// secretsOfHunts are the secrets of stages and publishes: values as people have them, each with a mark of its own.
var secretsOfHunts = map[string]map[string]string{
	"stage":   {"key": "wJalrX/tnFE+K7=&bPx of stage\n", "pin": "Qz7Kp", "tls.key": "--KEY--\nU3RhZ2UgZG9lcyBub3Qg\ndGVsbCBpdA==\n"},
	"publish": {"password": "\tp\"ubl'ish% <é> s3cr3t"},
}

var leaksOfHunts = secrets.Of(secretsOfHunts["stage"], secretsOfHunts["publish"])

type huntVolume struct{ driver, handle, secret string }

var volumesOfHunts = [cases.HuntVolumes]huntVolume{
	{driver: "disk.example", handle: "vol-1", secret: "both"},
	{driver: "disk.example", handle: "vol-10"},
	{driver: "file.example", handle: "vol-1", secret: "publish"},
	{driver: "file.example", handle: "vol-1.0"},
	{driver: "disk.example", handle: "vol-raw"},
	{driver: "file.example", handle: "vol-one"},
}

// volumeAt is volume i; large worlds have more than are listed.
func volumeAt(i int) huntVolume {
	if i < cases.HuntVolumes {
		return volumesOfHunts[i]
	}
	return huntVolume{driver: volumesOfHunts[i%4].driver, handle: "vol-more-" + strconv.Itoa(i)}
}

// plainVolumes are those of the first n volumes that any pod may use.
func plainVolumes(n int) []int {
	var plain []int
	for i := range n {
		if i != cases.RawVolume && i != cases.OneVolume {
			plain = append(plain, i)
		}
	}
	return plain
}

// scratch is the emptyDir of a pod.
type scratch uint8

const (
	noScratch scratch = iota
	onDisk
	inMemory
)

// shape is what a pod of a hunt looks like.
type shape struct {
	owner      uint8  // its uid is of that pod,
	generation uint8  // and this one of them
	index      uint8  // of its name,
	renames    uint8  // which was changed so often
	derived    bool   // its first uid is the one that its first name gives it
	volumes    uint32 // a set, by volumeAt
	scratch    scratch
	readOnly   bool // its first volume
	edits      uint8
	inline     bool  // it has an inline volume
	otherwise  bool  // of the other driver
	disguised  bool  // called like the PersistentVolume of its first volume, in place of that
	hostPath   uint8 // and a path of the host, of hostPlaces
	hostKind   uint8 // of the type of hostKinds that somebody has edited it to
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

// clusterOfHunts is the objects that are there from the beginning, but VolumeAttachments.
func clusterOfHunts(of cluster) []any {
	var all []any
	no, yes := false, true
	for _, name := range []string{"disk.example", "file.example"} {
		info := &no
		if name == "disk.example" || of.isTold {
			info = &yes
		}
		attaches := name == "disk.example" && of.diskAttaches || name == "file.example" && of.fileAttaches
		all = append(all, &storagev1.CSIDriver{
			TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"}, ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: storagev1.CSIDriverSpec{AttachRequired: &attaches, PodInfoOnMount: info, VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{
				storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral,
			}},
		})
	}
	for i := range of.volumes {
		all = append(all, persistentVolume(i, version{}), claimOf(i, 0))
	}
	return all
}

// version is one version of a volume's object.
type version struct {
	edits   uint8 // of its options
	meaning uint8 // which volume it is of: the first, another handle, another driver
	lives   uint8 // how often it, and its claim, was made again under its name: it has another uid then
}

// means is what the object of volume i means.
func (v version) means(i int) huntVolume {
	is := volumeAt(i)
	switch v.meaning {
	case 1:
		is.handle += "-other"
	case 2:
		is.driver = map[string]string{inlineDriver: otherDriver, otherDriver: inlineDriver}[is.driver]
		if is.handle == volumesOfHunts[0].handle { // both drivers have one
			is.handle += "-moved"
		}
	}
	return is
}

// persistentVolume is a volume's object, in one of its versions.
func persistentVolume(i int, is version) *corev1.PersistentVolume {
	v := is.means(i)
	src := &corev1.CSIPersistentVolumeSource{
		Driver: v.driver, VolumeHandle: v.handle,
		VolumeAttributes: map[string]string{"tier": "gold", "pool": v.handle},
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
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pv-%d", i)},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:            access,
			VolumeMode:             mode,
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			ClaimRef:               &corev1.ObjectReference{Namespace: "default", Name: fmt.Sprintf("claim-%d", i)},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: src},
		},
	}
	if is != (version{}) {
		pv.ResourceVersion = fmt.Sprintf("%d%d%d", is.edits, is.meaning, is.lives)
	}
	if i%2 == 1 {
		pv.Spec.MountOptions = []string{"noatime"}
	}
	if is.edits > 0 {
		pv.Spec.MountOptions = append(pv.Spec.MountOptions, fmt.Sprintf("commit=%d", is.edits))
	}
	pv.UID = uidAfter(i, is.lives)
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

func claimOf(i int, uid uint8) *corev1.PersistentVolumeClaim {
	access, mode := modeOf(i)
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("claim-%d", i), UID: uidAfter(i, uid)},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: fmt.Sprintf("pv-%d", i), AccessModes: access, VolumeMode: mode,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// inlineSource is the inline volume of a pod.
func (s *shape) inlineSource() *corev1.CSIVolumeSource {
	driver, fsType := inlineDriver, "ext4"
	if s.otherwise {
		driver = otherDriver
	}
	return &corev1.CSIVolumeSource{
		Driver: driver, FSType: &fsType, VolumeAttributes: map[string]string{"size": "1Gi"},
		NodePublishSecretRef: &corev1.LocalObjectReference{Name: "publish"},
	}
}

// podOfHunts makes the pod of a shape, and what its containers use.
func podOfHunts(s shape) (*corev1.Pod, []use) {
	uid, name := s.uid(), s.name()
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: name, UID: types.UID(uid), ResourceVersion: fmt.Sprint(s.edits + 1),
		},
		Spec: corev1.PodSpec{
			NodeName: lang.NodeName, ServiceAccountName: fmt.Sprintf("account-%d", s.index),
			Containers: []corev1.Container{{Name: "app", Image: "app"}},
		},
	}
	most := bits.OnesCount32(s.volumes) + 3
	c := &p.Spec.Containers[0]
	p.Spec.Volumes, c.VolumeMounts = make([]corev1.Volume, 0, most), make([]corev1.VolumeMount, 0, most)
	uses := make([]use, 0, most)
	add := func(name string, src corev1.VolumeSource) {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: src})
		if src.PersistentVolumeClaim != nil && src.PersistentVolumeClaim.ClaimName == fmt.Sprintf("claim-%d", cases.RawVolume) {
			c.VolumeDevices = append(c.VolumeDevices, corev1.VolumeDevice{Name: name, DevicePath: "/dev/" + name})
			return
		}
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: "/" + name})
	}
	inline := "inline"
	for i := range cases.MaxVolumes {
		if s.volumes&(1<<i) == 0 {
			continue
		}
		if s.inline && s.disguised && inline == "inline" {
			inline = fmt.Sprintf("pv-%d", i)
			continue
		}
		v := volumeAt(i)
		name := fmt.Sprintf("data-%d", i)
		add(name, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{
			ClaimName: fmt.Sprintf("claim-%d", i), ReadOnly: s.readOnly && len(uses) == 0,
		}})
		path := publishedAt(uid, fmt.Sprintf("pv-%d", i))
		if i == cases.RawVolume {
			path = plugin.BlockPublishPlace(lang.RootDir, uid, fmt.Sprintf("pv-%d", i)).Path
		}
		uses = append(uses, use{
			name: name, spec: fmt.Sprintf("pv-%d", i), path: path, driver: v.driver, volume: v.handle,
			readOnly: s.readOnly && len(uses) == 0, raw: i == cases.RawVolume,
		})
	}
	if s.inline {
		src := s.inlineSource()
		add(inline, corev1.VolumeSource{CSI: src})
		uses = append(uses, use{
			name: inline, spec: inline, path: publishedAt(uid, inline), driver: src.Driver, volume: inlineHandle(uid, inline), ephemeral: true,
		})
	}
	if s.hostPath != 0 {
		src := s.hostVolume(uid)
		add("host", corev1.VolumeSource{HostPath: src})
		uses = append(uses, use{name: "host", path: src.Path, isHost: true, hostKind: *src.Type, exempt: isAnyType(src)})
	}
	if s.scratch != noScratch {
		medium := corev1.StorageMediumDefault
		if s.scratch == inMemory {
			medium = corev1.StorageMediumMemory
		}
		add("scratch", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}})
		uses = append(uses, use{name: "scratch", path: plugin.EmptyDirPlace(lang.RootDir, uid, "scratch").Path, memory: s.scratch == inMemory})
	}
	return p, uses
}

// uid is the pod's: one that a manifest gives, or one that follows from its first name.
func (s shape) uid() string {
	if s.derived && s.generation == 0 {
		return string(manifest.PodUID(lang.NodeName, lang.DefaultNamespace, "pod-"+strconv.Itoa(int(s.owner))))
	}
	return fmt.Sprintf("%08d-0000-4000-8000-%012d", s.owner, s.generation)
}

// name is the pod's, another one after each renaming.
func (s shape) name() string {
	name := "pod-" + strconv.Itoa(int(s.index))
	if s.renames > 0 {
		name += "-" + strconv.Itoa(int(s.renames))
	}
	return name
}

// derives reports whether a pod has the uid that hal/manifest gives it on this node if its manifest says none.
func derives(p *corev1.Pod) bool { return p.UID == manifest.PodUID(lang.NodeName, p.Namespace, p.Name) }

// manifestOf is an object as a file. A uid that the node's name gives is not in it.
func manifestOf(object any) []byte {
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

func VolumeOfHunt(i int) string {
	v := volumesOfHunts[max(min(i, cases.HuntVolumes-1), 0)]
	driver, _, _ := strings.Cut(v.driver, ".")
	return driver + ":" + v.handle
}

// used says how the containers of a pod use a volume. It is read-only if every mount of it is.
func used(pod *corev1.Pod, volume string) (isUsed, isBlock, readOnly bool) {
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
