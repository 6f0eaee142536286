package lang

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/internal/wording"
)

// This file is the short statements for objects that hold no surprise: volume and pod. Each stands for the manifests
// that it makes.

func kindOf(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// NodesWith is the node affinity of what nodes with a label can reach.
func NodesWith(label, value string) *corev1.VolumeNodeAffinity {
	return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
		}}},
	}}
}

// volume reads "volume NAME of DRIVER TRAIT…": the claim NAME, the PersistentVolume pv-NAME with NAME for its handle,
// and the CSIDriver. In the place of DRIVER may be another source, as local:PATH.
func (p *parser) volume(words []string) error {
	if len(words) < 3 || words[1] != "of" {
		return p.errorf("write volume NAME of DRIVER, like: volume vol-a of disk.example")
	}
	name, driver := words[0], words[2]
	mode, access := corev1.PersistentVolumeFilesystem, corev1.ReadWriteMany
	csi := &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}
	src := corev1.PersistentVolumeSource{CSI: csi}
	if strings.Contains(driver, ":") {
		var err error
		if src, err = p.source(driver); err != nil {
			return err
		}
		driver = ""
	}
	var options []string
	var affinity *corev1.VolumeNodeAffinity
	for rest := words[3:]; len(rest) > 0; rest = rest[1:] {
		switch word := rest[0]; {
		case word == "block":
			mode = corev1.PersistentVolumeBlock
		case word == "one-pod":
			access = corev1.ReadWriteOncePod
		case word == "option" && len(rest) > 1:
			rest = rest[1:]
			options = append(options, rest[0])
		case word == "on" && len(rest) > 1 && strings.Contains(rest[1], "="):
			rest = rest[1:]
			label, value, _ := strings.Cut(rest[0], "=")
			affinity = NodesWith(label, value)
		case driver == "" && (word == "read-only" || word == "handle"):
			p.note(p.errorf("%q is for volumes of a CSI driver", word))
		case word == "read-only":
			csi.ReadOnly = true
		case word == "handle" && len(rest) > 1:
			rest = rest[1:]
			csi.VolumeHandle = rest[0]
		default:
			p.note(p.errorf("%q is no trait of a volume; block, one-pod, read-only, handle HANDLE, option "+
				"MOUNT-OPTION and on LABEL=VALUE are", word))
		}
	}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	pv := &corev1.PersistentVolume{
		TypeMeta:   kindOf("v1", "PersistentVolume"),
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name},
	}
	pv.Spec = corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: []corev1.PersistentVolumeAccessMode{access}, VolumeMode: &mode,
		MountOptions:           options,
		NodeAffinity:           affinity,
		ClaimRef:               &corev1.ObjectReference{Namespace: DefaultNamespace, Name: name},
		PersistentVolumeSource: src,
	}
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   kindOf("v1", "PersistentVolumeClaim"),
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: pv.Spec.AccessModes, VolumeMode: &mode, VolumeName: pv.Name,
		Resources: corev1.VolumeResourceRequirements{Requests: size},
	}
	if err := p.add(pv, &pv.ObjectMeta); err != nil {
		return err
	}
	p.claims[name] = mode == corev1.PersistentVolumeBlock
	if driver != "" {
		p.served[driver] = true
		p.drivers = append(p.drivers, namedDriver{p.line, driver})
	}
	return p.add(claim, &claim.ObjectMeta)
}

// source is that of a PersistentVolume which is not of CSI, by the word for it.
func (p *parser) source(word string) (corev1.PersistentVolumeSource, error) {
	name, rest, _ := strings.Cut(word, ":")
	var forms []string
	for _, w := range p.in.Volumes {
		if w.Persistent == nil {
			continue
		}
		forms = append(forms, w.Form)
		if src, ok := w.Persistent(rest); ok && w.name() == name {
			return src, nil
		}
	}
	return corev1.PersistentVolumeSource{}, p.errorf("%q is no source of a volume; write the name of a driver, or %s",
		word, strings.Join(forms, ", "))
}

// pod reads "pod NAMESPACE/NAME [version V] uses VOLUME…".
func (p *parser) pod(words []string) error {
	usage := p.errorf("write pod NAMESPACE/NAME [version V] uses VOLUME…, like: pod default/web uses vol-a memory")
	if len(words) == 0 {
		return usage
	}
	namespace, name, ok := strings.Cut(words[0], "/")
	if !ok || namespace == "" || name == "" {
		return usage
	}
	pod := &corev1.Pod{TypeMeta: kindOf("v1", "Pod"), ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	words = words[1:]
	if len(words) > 1 && words[0] == "version" {
		pod.Annotations = map[string]string{versionAnnotation: words[1]}
		words = words[2:]
	}
	if len(words) < 2 || words[0] != "uses" {
		return usage
	}
	app := corev1.Container{Name: "app", Image: "example.com/app"}
	for _, word := range words[1:] {
		v, isBlock, err := p.podVolume(word)
		switch {
		case err != nil:
			p.note(err)
			continue
		case v.PersistentVolumeClaim != nil && namespace != DefaultNamespace:
			p.note(p.errorf("%s is claimed in the namespace %s, and a pod of %s can't use it", word,
				DefaultNamespace, namespace))
		case slices.ContainsFunc(pod.Spec.Volumes, func(other corev1.Volume) bool { return other.Name == v.Name }):
			p.note(p.errorf("the pod uses %s twice", v.Name))
			continue
		}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v)
		if isBlock {
			app.VolumeDevices = append(app.VolumeDevices,
				corev1.VolumeDevice{Name: v.Name, DevicePath: "/dev/" + v.Name})
		} else {
			app.VolumeMounts = append(app.VolumeMounts, corev1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
		}
	}
	pod.Spec.Containers = []corev1.Container{app}
	return p.add(pod, &pod.ObjectMeta)
}

// podVolume is one volume of a pod, by the word for it.
func (p *parser) podVolume(word string) (v corev1.Volume, isBlock bool, err error) {
	name, rest, _ := strings.Cut(word, ":")
	block, isClaim := p.claims[name]
	switch {
	case isClaim && (rest == "" || rest == "ro"):
		claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: rest == "ro"}
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}, block, nil
	}
	near, forms := slices.Sorted(maps.Keys(p.claims)), make([]string, 0, len(p.in.Volumes))
	for _, w := range p.in.Volumes {
		if w.Volume == nil {
			continue
		}
		near, forms = append(near, w.name()), append(forms, w.Form)
		src, ok := w.Volume(rest)
		if w.name() != name || !ok {
			continue
		}
		if src.CSI != nil {
			p.served[src.CSI.Driver], p.inline[src.CSI.Driver] = true, true
			p.drivers = append(p.drivers, namedDriver{p.line, src.CSI.Driver})
		}
		return corev1.Volume{Name: name, VolumeSource: src}, false, nil
	}
	if near := wording.Nearest(name, near); near != "" && near != name {
		return v, false, p.errorf("%q is no volume of a pod; did you mean %s?", word, near)
	}
	last := len(forms) - 1
	return v, false, p.errorf("%q is no volume of a pod; write a name from a volume line above, that with :ro, %s or %s",
		word, strings.Join(forms[:last], ", "), forms[last])
}

// serve makes the CSIDriver objects of the drivers that short statements name, unless a manifest is there.
func (p *parser) serve() error {
	for _, d := range p.s.Drivers {
		if !p.served[d.Name] || p.s.Object("csidriver "+d.Name, "") != nil {
			continue
		}
		var tokens []storagev1.TokenRequest
		if lasts := int64(600); p.tokens[d.Name] {
			tokens = []storagev1.TokenRequest{{Audience: "vault", ExpirationSeconds: &lasts}}
		}
		attaches, isInline, renews := d.Personality.Attach, p.inline[d.Name], p.renews[d.Name]
		o := &storagev1.CSIDriver{
			TypeMeta:   kindOf("storage.k8s.io/v1", "CSIDriver"),
			ObjectMeta: metav1.ObjectMeta{Name: d.Name},
		}
		o.Spec = storagev1.CSIDriverSpec{
			AttachRequired: &attaches, PodInfoOnMount: &isInline, RequiresRepublish: &renews,
			TokenRequests: tokens,
			VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{
				storagev1.VolumeLifecyclePersistent, storagev1.VolumeLifecycleEphemeral,
			},
		}
		if err := p.add(o, &o.ObjectMeta); err != nil {
			return err
		}
	}
	return nil
}
