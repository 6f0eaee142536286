package hal

import (
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Source names where cluster objects come from: "manifest", "api".
type Source string

// ClusterEvent is one of [Applied], [Deleted], [Synced], [Trouble].
type ClusterEvent interface{ clusterEvent() }

// Object is one of *corev1.Pod, *corev1.PersistentVolume, *corev1.PersistentVolumeClaim, *storagev1.CSIDriver. Objects are immutable once handed out.
// Secrets are not part of the stream: they are read at use and never kept.
type Object interface {
	*corev1.Pod | *corev1.PersistentVolume | *corev1.PersistentVolumeClaim | *storagev1.CSIDriver
}

// Applied says that an object exists, with this content. The same version may come again.
type Applied struct {
	Source Source
	Object any // an Object
}

// Deleted says that an object was known to exist and is now known to be gone. Object is the last content known.
type Deleted struct {
	Source Source
	Object any // an Object
}

// Synced says that all objects of Source that exist have been Applied at least once. Before it, an object not seen is not an object that is gone.
type Synced struct{ Source Source }

// Trouble says that part of Source can't be read or understood. Where is a file, or an object's name. Problem "" says that the trouble there is over.
type Trouble struct {
	Source  Source
	Where   string
	Problem string // what is wrong, on which line, and what to do
}

func (Applied) clusterEvent() {}
func (Deleted) clusterEvent() {}
func (Synced) clusterEvent()  {}
func (Trouble) clusterEvent() {}

// Cluster is the stream of objects that say what the node should serve.
type Cluster interface {
	// Watch starts the stream. f runs on the owner. Called once, on the owner.
	Watch(f func(ClusterEvent))
	// Secret reads a secret, at the moment it is used. ENOENT if there is none. From a task.
	Secret(c Call, namespace, name string) (Secret, error)
}

// Secret is the content of a secret. It prints as ***, in every format.
type Secret struct{ data map[string]string }

// NewSecret takes ownership of data.
func NewSecret(data map[string]string) Secret { return Secret{data} }

// Reveal returns the content, for the request that carries it. The caller does not keep, change or print it.
func (s Secret) Reveal() map[string]string { return s.data }

func (Secret) String() string               { return "***" }
func (Secret) GoString() string             { return "***" }
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// LogValue keeps the secret out of logs.
func (Secret) LogValue() slog.Value { return slog.StringValue("***") }
