package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The layout below the root directory is the kubelet's (K:G1-G6), so that one can take over from the other. Names that
// go into it have been checked (see [BadDriverName] and its kin); volume handles go in hashed.
const (
	// CSI, Image and Local are the kubelet's names of the plugins that have directories outside pods.
	CSI   = "kubernetes.io/csi"
	Image = "kubernetes.io/image"
	Local = "kubernetes.io/local-volume"

	podsDir       = "/pods"
	csiPlugin     = "plugins/" + CSI
	imagePlugin   = "plugins/" + Image
	ownPlugins    = "plugins/kubernetes.io" // where each source has a directory for what pods share
	localPlugin   = "plugins/" + Local
	dataFile      = "vol_data.json"
	volumeDevices = "volumeDevices"
	oldStage      = "pv" // where the kubelet staged before Kubernetes 1.24: plugins/kubernetes.io/csi/pv/<PV name>
)

// csiPod is where CSI volumes are below a pod.
var csiPod = DirectoryOf(CSI)

// Place is where one rung lives on disk.
type Place struct {
	Path string // staging target path, target path, or an emptyDir's directory
	Data string // its vol_data.json, "" if it has none
	Stop string // directories above Path that are left empty are removed up to this one, itself excluded
}

// OwnedBelow says which of these paths, relative to the root directory, lies in a place that volnode owns: one that it
// empties, or deletes once it is empty, or where its own files are. "" if none does. The directories in which such
// places are made are nobody's: drivers that run in pods mount them.
func OwnedBelow(paths []string) string {
	for _, p := range paths {
		names := strings.Split(p, "/")
		switch {
		case names[0] == "volnode":
			return p + " in volnode's root directory, where its own files are"
		case names[0] == "pods" && len(names) > 1:
			return p + " in volnode's root directory: volnode deletes what it holds when pods end"
		case strings.HasPrefix(p, csiPlugin+"/") && len(names) <= strings.Count(csiPlugin, "/")+2:
		case strings.HasPrefix(p, ownPlugins+"/") && len(names) > strings.Count(ownPlugins, "/")+2:
			return p + " in volnode's root directory: volnode deletes what it holds when volumes go"
		}
	}
	return ""
}

// PodsDir is where the directories of pods are.
func PodsDir(root string) string { return root + podsDir }

// PodDir is the directory of one pod.
func PodDir(root, uid string) string { return PodsDir(root) + "/" + uid }

// CSIDir is where drivers and their staged volumes are.
func CSIDir(root string) string { return root + "/" + csiPlugin }

// HandleHash is the name of a staged volume's directory.
func HandleHash(handle string) string {
	text := hashOf(handle)
	return string(text[:])
}

// hashOf is the hash of the parts of a text.
func hashOf(parts ...string) (text [2 * sha256.Size]byte) {
	var b [256]byte
	all := b[:0]
	for _, part := range parts {
		all = append(all, part...)
	}
	sum := sha256.Sum256(all)
	hex.Encode(text[:], sum[:])
	return text
}

// InlineHandle is the volume handle of an inline volume (K:G5).
func InlineHandle(uid, volume string) string { return "csi-" + HandleHash(uid+volume) }

// AttachmentName is the name of the VolumeAttachment of a volume (K:G4).
func AttachmentName(handle, driver, node string) string {
	text := hashOf(handle, driver, node)
	return "csi-" + string(text[:])
}

// StagePlace is where a filesystem volume is staged.
func StagePlace(root, driver, handle string) Place {
	name := hashOf(handle)
	at := root + "/" + csiPlugin + "/" + driver + "/" + string(name[:]) + "/globalmount"
	above := at[:len(root)+1+len(csiPlugin)+1+len(driver)]
	return Place{Path: at, Data: at[:len(above)+1+len(name)] + "/" + dataFile, Stop: above}
}

// PublishPlace is where a filesystem volume is published for a pod. spec is the name of the PersistentVolume, or the
// pod's volume if inline.
func PublishPlace(root, uid, spec string) Place {
	at := root + podsDir + "/" + uid + "/volumes/" + csiPod + "/" + spec + "/mount"
	return Place{Path: at, Data: strings.TrimSuffix(at, "mount") + dataFile, Stop: at[:len(root)+len(podsDir)]}
}

// BlockStagePlace is where a raw block volume is staged.
func BlockStagePlace(root, spec string) Place {
	dir := CSIDir(root) + "/" + volumeDevices
	return Place{Path: dir + "/staging/" + spec, Data: dir + "/" + spec + "/data/" + dataFile, Stop: dir}
}

// BlockPublishPlace is where a raw block volume is published for a pod. The data file is the stage's, shared by all
// pods of the node; a driver without staging has it from the publish.
func BlockPublishPlace(root, uid, spec string) Place {
	dir := CSIDir(root) + "/" + volumeDevices
	return Place{Path: dir + "/publish/" + spec + "/" + uid, Data: dir + "/" + spec + "/data/" + dataFile, Stop: dir}
}

// ImagesDir is where the files of images are.
func ImagesDir(root string) string { return root + "/" + imagePlugin }

// ImagePlace is where the files of an image are, by a name of theirs.
func ImagePlace(root, name string) Place {
	dir := ImagesDir(root)
	return Place{Path: dir + "/" + name, Stop: dir}
}

// LocalMountsDir is where filesystems of the devices of local volumes are mounted (K:G95).
func LocalMountsDir(root string) string { return root + "/" + localPlugin + "/mounts" }

// LocalPlace is where that of a PersistentVolume is mounted.
func LocalPlace(root, pv string) Place {
	dir := LocalMountsDir(root)
	return Place{Path: dir + "/" + pv, Stop: dir}
}

// DirectoryOf is the name of a plugin's directory below a pod: "kubernetes.io~csi" for "kubernetes.io/csi".
func DirectoryOf(plugin string) string { return strings.ReplaceAll(plugin, "/", "~") }

// PodPlace is where a volume of a pod is whose source has a directory of that name: see [Source.Directory].
func PodPlace(root, uid, directory, volume string) Place {
	at := root + podsDir + "/" + uid + "/volumes/" + directory + "/" + volume
	return Place{Path: at, Stop: at[:len(root)+len(podsDir)]}
}

// PodDevicePlace is where a raw block volume of a pod is whose source has a directory of that name.
func PodDevicePlace(root, uid, directory, volume string) Place {
	at := root + podsDir + "/" + uid + "/" + volumeDevices + "/" + directory + "/" + volume
	return Place{Path: at, Stop: at[:len(root)+len(podsDir)]}
}

// PodAt returns the uid of the pod whose volumes are at or below a name under root. Where the name does not say whose
// they are, as that of all pods or of a raw block volume, it returns the name itself; "" where only what pods share
// can be.
func PodAt(root, name string) string {
	if below, is := strings.CutPrefix(name, PodsDir(root)+"/"); is {
		uid, _, _ := strings.Cut(below, "/")
		return uid
	}
	devices := CSIDir(root) + "/" + volumeDevices
	if below, is := strings.CutPrefix(name, devices+"/publish/"); is {
		if _, uid, is := strings.Cut(below, "/"); is {
			uid, _, _ = strings.Cut(uid, "/")
			return uid
		}
	}
	isShared := strings.HasPrefix(name, CSIDir(root)+"/") && name != devices && !strings.HasPrefix(name, devices+"/")
	if isShared || strings.HasPrefix(name, devices+"/staging") || strings.HasPrefix(name, ImagesDir(root)+"/") ||
		strings.HasPrefix(name, LocalMountsDir(root)+"/") {
		return ""
	}
	return name
}
