package lang

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/volnode/volnode/hal/manifest"
	"github.com/volnode/volnode/hal/sim"
)

// versionAnnotation marks the further versions of an object that is in a scenario more than once.
const versionAnnotation = "volsim.volnode.dev/version"

// DefaultNamespace is that of objects that name none.
const DefaultNamespace = "default"

// Object is one manifest of a scenario.
type Object struct {
	Line    int
	Name    string // "pod default/web"
	Version string // "" for the first
	Value   any    // a pointer to the typed object
}

// objects reads the manifests behind the statements.
func (p *parser) objects(lines []string) {
	first := p.line + 1
	var doc []string
	for i := 0; i <= len(lines); i++ {
		if i < len(lines) && strings.TrimSpace(lines[i]) != "---" {
			doc = append(doc, lines[i])
			continue
		}
		p.line = first
		if strings.TrimSpace(strings.Join(doc, "")) != "" {
			if text := strings.Join(doc, "\n"); !p.note(p.object(text)) {
				p.lost += text
			}
		}
		doc, first = nil, first+len(doc)+1
	}
}

func (p *parser) object(text string) error {
	var meta metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(text), &meta); err != nil {
		return p.errorf("this is not YAML: %v", cmp.Or(p.decode(text, &meta), err))
	}
	var value any
	var about *metav1.ObjectMeta
	switch meta.APIVersion + " " + meta.Kind {
	case "v1 Pod":
		o := &corev1.Pod{}
		value, about = o, &o.ObjectMeta
	case "v1 PersistentVolume":
		o := &corev1.PersistentVolume{}
		value, about = o, &o.ObjectMeta
	case "v1 PersistentVolumeClaim":
		o := &corev1.PersistentVolumeClaim{}
		value, about = o, &o.ObjectMeta
	case "v1 Secret":
		o := &corev1.Secret{}
		value, about = o, &o.ObjectMeta
	case "v1 ConfigMap":
		o := &corev1.ConfigMap{}
		value, about = o, &o.ObjectMeta
	case "certificates.k8s.io/v1beta1 ClusterTrustBundle":
		o := &certificatesv1beta1.ClusterTrustBundle{}
		value, about = o, &o.ObjectMeta
	case "storage.k8s.io/v1 CSIDriver":
		o := &storagev1.CSIDriver{}
		value, about = o, &o.ObjectMeta
	case "storage.k8s.io/v1 VolumeAttachment":
		o := &storagev1.VolumeAttachment{}
		value, about = o, &o.ObjectMeta
	default:
		const are = "an object of a scenario is a v1 Pod, PersistentVolume, PersistentVolumeClaim, Secret or ConfigMap, " +
			"a storage.k8s.io/v1 CSIDriver or VolumeAttachment, or a certificates.k8s.io/v1beta1 ClusterTrustBundle"
		if meta.APIVersion == "" || meta.Kind == "" {
			return p.errorf("an object without an apiVersion, or without a kind; %s", are)
		}
		return p.errorf("apiVersion %q, kind %q is no object of a scenario; %s", meta.APIVersion, meta.Kind, are)
	}
	if err := p.decode(text, value); err != nil {
		return p.errorf("the %s: %v", meta.Kind, err)
	}
	if about.Name == "" {
		return p.errorf("the %s has no metadata.name", meta.Kind)
	}
	return p.add(value, about)
}

// decode decodes the manifest that begins in this line. Its errors name lines of the file.
func (p *parser) decode(text string, into any) error {
	return manifest.Decode([]byte(strings.Repeat("\n", p.line-1)+text+"\n"), into)
}

// add enters an object of the scenario, complete.
func (p *parser) add(value any, about *metav1.ObjectMeta) error {
	p.complete(value, about)
	o := Object{
		Line: p.line, Name: sim.ObjectName(value), Version: about.Annotations[versionAnnotation], Value: value,
	}
	for _, other := range p.s.Objects {
		if other.Name == o.Name && other.Version == o.Version {
			return p.errorf("%s is in line %d already; a further version of a pod is a pod line with version V, of "+
				"others it has the annotation %s",
				o.Name, other.Line, versionAnnotation)
		}
	}
	p.s.Objects = append(p.s.Objects, o)
	return nil
}

// complete fills in what a manifest may leave out.
func (p *parser) complete(value any, about *metav1.ObjectMeta) {
	switch o := value.(type) {
	case *corev1.PersistentVolume, *storagev1.CSIDriver, *storagev1.VolumeAttachment,
		*certificatesv1beta1.ClusterTrustBundle:
		return
	case *corev1.Pod:
		if o.Namespace == "" {
			o.Namespace = DefaultNamespace
		}
		if o.UID == "" && p.s.Files {
			o.UID = manifest.PodUID(NodeName, o.Namespace, o.Name)
		}
		if o.UID == "" {
			h := fnv.New64a()
			_, _ = h.Write([]byte(o.Namespace + "/" + o.Name)) // a hash never fails
			o.UID = types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012x", h.Sum64()&0xffffffffffff))
		}
		o.Spec.NodeName, o.ResourceVersion = NodeName, o.Annotations[versionAnnotation]
	}
	if about.Namespace == "" {
		about.Namespace = DefaultNamespace
	}
}

// Object returns an object by name and version; nil if there is none.
func (s *Scenario) Object(name, version string) any {
	for _, o := range s.Objects {
		if o.Name == name && o.Version == version {
			return o.Value
		}
	}
	return nil
}

// Driver returns a driver by its name; nil if there is none.
func (s *Scenario) Driver(name string) *sim.DriverSpec {
	for i := range s.Drivers {
		if s.Drivers[i].Name == name {
			return &s.Drivers[i]
		}
	}
	return nil
}
