package plugin

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Source is a volume source: all that the rest of the engine knows of it. Package kinds has the table of them.
type Source struct {
	// Name is the field of a pod's volume that asks for it: "emptyDir".
	Name string
	// Plugin is the kubelet's name of its plugin, in metrics and in the layout below a pod: "kubernetes.io/empty-dir".
	Plugin string
	// InPod reports whether the entry of a volume in a pod is of this source; nil if no pod has it there.
	InPod func(*corev1.Volume) bool
	// InVolume reports whether a PersistentVolume is of this source; nil if none has it.
	InVolume func(*corev1.PersistentVolume) bool
	// Driver names the CSI driver of a volume, and the volume as the driver knows it, "" of an inline one; nil if no
	// driver serves the source.
	Driver func(pv *corev1.PersistentVolume, spec *corev1.Volume) (driver, handle string)
	// IsAttachable reports whether the PersistentVolumes of a driver must be attached to a node before they come up
	// there (K:A5), by its object, nil if there is none. The Volume of their rungs is then the name that the kubelet's
	// plugin has for the volume. nil if none must.
	IsAttachable func(driver *storagev1.CSIDriver) bool
	// Ladder appends the rungs of a volume, top first, or says why it can't be served.
	Ladder func(to []core.Rung, v Volume) ([]core.Rung, *Problem)
	// Kinds are the kinds of its rungs.
	Kinds []Kind
	// Ends reports whether an answer that came after the deadline of a call proves that the call has ended; nil if the
	// source makes no calls that are answered late.
	Ends func(err error) bool
	// StorageHealth asks a driver what is wrong with the storage behind it; nil if nobody can say.
	StorageHealth func(h *hal.Host, c hal.Call, driver string) ([]hal.HealthEntry, error)
	// Secrets names the Secrets that verbs may hand on: those of a pod's volumes, and those of a PersistentVolume,
	// each as namespace/name; nil if there are none.
	PodSecrets    func(*corev1.Pod) []string
	VolumeSecrets func(*corev1.PersistentVolume) []string
	// TokensIn returns the tokens of service accounts in what a driver is given; nil if it is given none.
	TokensIn func(given map[string]string) []string
	// Scan begins the part of a start that finds what earlier runs have left of this source; nil if nothing can be
	// left.
	Scan func() Scan
	// ScanOf begins the part that looks at the directories of one name below pods, of which no source has a Scan: a source
	// may have directories of many names. nil if it does not know the name, or if the source has none.
	ScanOf func(directory string) Scan
}

// Directory is the name of the source in the layout below a pod: "kubernetes.io~empty-dir".
func (s *Source) Directory() string { return DirectoryOf(s.Plugin) }

// Serves reports whether a volume is of the source: by its PersistentVolume, nil if it has none, or by its entry in the
// pod.
func (s *Source) Serves(pv *corev1.PersistentVolume, spec *corev1.Volume) bool {
	if pv != nil {
		return s.InVolume != nil && s.InVolume(pv)
	}
	return s.InPod != nil && s.InPod(spec)
}

// Kind is one kind of rungs of a source.
type Kind struct {
	Name  core.Kind
	Verbs Verbs
	// Deletes returns the data that a teardown deletes; false if it deletes none. isNamed: a source of pods has named
	// the pod in this run of volnode. nil if a teardown of this kind deletes nothing.
	Deletes func(made []core.Param, isNamed bool) (Doomed, bool)
	// Measure asks how full a volume is that is up, at the top of its ladder. It changes nothing, and may hang until
	// the deadline of the call. nil if nobody can say.
	Measure func(h *hal.Host, c hal.Call, made []core.Param) (hal.Usage, error)
	// Health asks the driver of such a volume, or the node itself, what is wrong with it. nil if nobody can say.
	Health func(h *hal.Host, c hal.Call, made []core.Param) ([]hal.HealthEntry, error)
	// Limit is how many bytes a volume may hold, of which nothing but a look from time to time tells that it holds more; 0
	// for no limit. nil for none of any volume.
	Limit func(made []core.Param) int64
	// IsDevice: the kubelet calls what sets it up mount_device, and not volume_mount.
	IsDevice bool
	// IsShared: pods share its rungs.
	IsShared bool
	// IsOfHost: the path is the host's, and pods share it. A rung of another kind has its path for its own.
	IsOfHost bool
	// IsDirectory: the directory at the path holds the data itself, so that nobody may remove it or mount over it.
	IsDirectory bool
}

// MeasurePath is a Measure by the filesystem that is mounted for the pod.
func MeasurePath(h *hal.Host, c hal.Call, made []core.Param) (hal.Usage, error) {
	return h.HostPaths.Usage(c, PathOf(made))
}

// Doomed is data that a teardown deletes.
type Doomed struct {
	Volume, Path string
	// IfEmpty: only what is empty is deleted, as nothing says whose it is.
	IfEmpty bool
}

// Scan is what a start finds of one source. The source has all of its own directories to itself.
type Scan interface {
	// Entry looks at pods/<uid>/volumes/<Source.Directory>/<name>, a directory. From a task.
	Entry(s *Scanner, uid, name string)
	// Node looks at the directories outside pods. An error fails the scan. From a task.
	Node(s *Scanner) error
	// Discover makes rungs of what Entry and Node have found. It is pure.
	Discover(d *Discovery)
}

// DeviceScan is a Scan of a source whose pods have raw block volumes in their own directories.
type DeviceScan interface {
	// Device looks at pods/<uid>/volumeDevices/<Source.Directory>/<e.Name>. From a task.
	Device(s *Scanner, uid string, e hal.Entry)
}
