package hal

import (
	"fmt"
	"io"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Source names where cluster objects come from: "manifest", "api".
type Source string

// ClusterEvent is one of [Changed], [Synced], [Trouble].
type ClusterEvent interface{ clusterEvent() }

// Object is one of *corev1.Pod, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *storagev1.CSIDriver,
// *storagev1.VolumeAttachment, *Content. Objects are immutable once handed out.
type Object interface {
	*corev1.Pod | *corev1.PersistentVolume | *corev1.PersistentVolumeClaim |
		*storagev1.CSIDriver | *storagev1.VolumeAttachment | *Content
}

// The kinds of [Content].
const (
	SecretKind      = "Secret"
	ConfigMapKind   = "ConfigMap"
	TrustBundleKind = "ClusterTrustBundle"
)

// Content says that a Secret, a ConfigMap or a ClusterTrustBundle is there. What it holds is not part of the stream:
// that is read at use, and never kept.
type Content struct {
	Kind, Namespace, Name, UID string
	// Signer and Labels are what pods choose a ClusterTrustBundle by, beside its name.
	Signer string
	Labels map[string]string
	// Version is another one after each change of what it holds, and says nothing of that to who does not have it.
	Version string
}

// Changed is what one reading of a source found changed. It is one difference: the removals take effect first, and
// nothing is observable in between. So a pod that is renamed is in Removed by its former name and in Applied by the new
// one, with one uid: it never was gone.
//
// An object is named by [IdentityOf]: kind, namespace, name and uid together. A removal concerns the object of exactly
// that identity. The same version of an object may come again.
type Changed struct {
	Source  Source
	Removed []any // each an Object, with its last known content: known to exist before, known to be gone now
	Applied []any // each an Object: it exists, with this content
}

// Identity names one object among all. An object with another uid is another object, also under the same name.
type Identity struct{ Kind, Namespace, Name, UID string }

func (i Identity) String() string {
	if i.Namespace == "" {
		return i.Kind + " " + i.Name
	}
	return i.Kind + " " + i.Namespace + "/" + i.Name
}

// IdentityOf returns the identity of an Object.
func IdentityOf(object any) Identity {
	switch o := object.(type) {
	case *corev1.Pod:
		return Identity{"Pod", o.Namespace, o.Name, string(o.UID)}
	case *corev1.PersistentVolume:
		return Identity{"PersistentVolume", o.Namespace, o.Name, string(o.UID)}
	case *corev1.PersistentVolumeClaim:
		return Identity{"PersistentVolumeClaim", o.Namespace, o.Name, string(o.UID)}
	case *storagev1.CSIDriver:
		return Identity{"CSIDriver", o.Namespace, o.Name, string(o.UID)}
	case *storagev1.VolumeAttachment:
		return Identity{"VolumeAttachment", o.Namespace, o.Name, string(o.UID)}
	case *Content:
		return Identity{o.Kind, o.Namespace, o.Name, o.UID}
	}
	panic(fmt.Sprintf("hal: a %T is no object of a cluster", object))
}

// ClaimName is the name of the claim that a volume of a pod is of; "" if it is of none. That of a generic ephemeral
// volume is made of both names.
func ClaimName(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
}

// Synced says that all objects of Source that exist have been in an Applied at least once. Before it, an object not
// seen is not an object that is gone.
type Synced struct{ Source Source }

// Trouble says that part of Source can't be read or understood. Where is a file, or an object's name. Problem "" says
// that the trouble there is over.
type Trouble struct {
	Source  Source
	Where   string
	Problem string // what is wrong, on which line, and what to do
	Held    bool   // Where is a pod that is kept, as it is not known whether somebody still wants it
	Accept  bool   // Where is kept until a person accepts that it is gone
}

func (Changed) clusterEvent() {}
func (Synced) clusterEvent()  {}
func (Trouble) clusterEvent() {}

// Cluster is the stream of objects that say what the node should serve.
type Cluster interface {
	// Watch starts the stream. f runs on the owner. Called once, on the owner.
	Watch(f func(ClusterEvent))
	// Secret reads a secret, at the moment it is used. ENOENT if there is none; EAGAIN if the source does not know yet.
	// From a task.
	Secret(c Call, namespace, name string) (Secret, error)
	// ConfigMap reads what a ConfigMap holds, of its data and its binaryData, at the moment it is used. Its errors are
	// those of Secret. From a task.
	ConfigMap(c Call, namespace, name string) (map[string]string, error)
	// TrustBundle reads a ClusterTrustBundle, at the moment it is used. Its errors are those of Secret. From a task.
	TrustBundle(c Call, name string) (TrustBundle, error)
	// Pod returns the pod of that uid as its source has it, at the moment it is used. ENOENT if there is none. From a
	// task.
	Pod(c Call, namespace, name, uid string) (*corev1.Pod, error)
}

// TrustBundle is the content of a ClusterTrustBundle, and what may have changed since a pod chose it.
type TrustBundle struct {
	PEM    string // the certificates
	Signer string
	Labels map[string]string
}

// Secret is the content of a secret. It prints as ***, in every format.
type Secret struct{ data map[string]string }

// NewSecret takes ownership of data.
func NewSecret(data map[string]string) Secret { return Secret{data} }

// Reveal returns the content, for the request that carries it. The caller does not keep, change or print it.
func (s Secret) Reveal() map[string]string { return s.data }

// Format keeps the secret out of texts, whatever the verb.
func (Secret) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, "***") }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// LogValue keeps the secret out of logs.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }
