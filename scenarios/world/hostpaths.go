package world

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/scenarios/lang"
)

const (
	HostShare     = "/srv" // that the host mounts from a server in some worlds
	hostDirectory = HostShare + "/shared"

	HostLink = "/opt/link"                                 // leads to the directory of all pods
	HostBind = "/opt/bind"                                 // is a second mount of the root directory, until the node boots
	HostTurn = "/opt/turn"                                 // a link that somebody turns to an emptyDir
	HostUnit = "/opt/unit"                                 // to which it leads before
	HostFile = lang.RootDir + "/plugins/disk.example/kept" // a file

	// EmptyDirOfFirst is the place of an emptyDir of a hunt's first pod.
	EmptyDirOfFirst = lang.RootDir +
		"/pods/00000000-0000-4000-8000-000000000000/volumes/kubernetes.io~empty-dir/scratch"
)

// hostPlace is what a hostPath of a hunt names, UID for the uid of its pod.
type hostPlace struct {
	Path string
	kind corev1.HostPathType
}

// HostPlaces are all of them, but none for a pod without one. Those below the root directory that come first are what
// drivers mount that run in pods.
var HostPlaces = [...]hostPlace{
	{},
	{hostDirectory, corev1.HostPathDirectoryOrCreate},
	{lang.RootDir + "/pods", corev1.HostPathDirectory},
	{path.Dir(HostFile), corev1.HostPathDirectoryOrCreate},
	{lang.RootDir + "/plugins_registry", corev1.HostPathUnset},
	{lang.RootDir + "/pods/UID/volumes/kubernetes.io~empty-dir/host", corev1.HostPathDirectoryOrCreate},
	{EmptyDirOfFirst, corev1.HostPathUnset},
	{lang.RootDir + "/volnode/journal", corev1.HostPathDirectory},
	{lang.RootDir + "/plugins/kubernetes.io/csi/disk.example/data", corev1.HostPathDirectoryOrCreate},
	{HostLink + "/UID/volumes/kubernetes.io~empty-dir/host", corev1.HostPathDirectoryOrCreate},
	{HostBind + "/pods/UID/volumes/kubernetes.io~csi/host", corev1.HostPathDirectoryOrCreate},
	{HostTurn, corev1.HostPathUnset},
	{HostThing, corev1.HostPathDirectory},
}

// hostVolume is the hostPath of a pod.
func (s *Shape) hostVolume(uid string) *corev1.HostPathVolumeSource {
	is := HostPlaces[s.HostPath]
	if s.HostKind != 0 {
		is.kind = HostKinds[s.HostKind]
	}
	return &corev1.HostPathVolumeSource{Path: strings.ReplaceAll(is.Path, "UID", uid), Type: &is.kind}
}

// UseOfHost is how containers use a hostPath. Of an unset type nothing is asked, not even that it is there.
func UseOfHost(of *corev1.HostPathVolumeSource) Use {
	u := Use{Path: of.Path, IsHost: true}
	if of.Type != nil {
		u.HostKind = *of.Type
	}
	u.Exempt = u.HostKind == corev1.HostPathUnset
	return u
}

const HostThing = "/opt/thing" // a directory, which somebody replaces by a file

// HostKinds are the types that people edit hostPaths to; the first stands for what its place asks for.
var HostKinds = [...]corev1.HostPathType{
	corev1.HostPathUnset, corev1.HostPathUnset, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate,
	corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket,
}
