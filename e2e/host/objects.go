package host

import (
	"fmt"
	"strings"

	"github.com/volnode/volnode/e2e/csidriver"
)

// DriverObject is the manifest that tells of the CSI driver.
const DriverObject = `apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: ` + csidriver.DefaultName + `}
spec: {attachRequired: false}
`

// ClaimAndVolume is a manifest of a claim and the PersistentVolume bound to it, both of that name, for a volume of the
// driver's. Options are further lines of the PersistentVolume's spec.csi.
func ClaimAndVolume(name, handle, options string) string {
	return claimAndVolume(name,
		fmt.Sprintf("nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: %s, operator: In, "+
			"values: [%s]}]}]}}\n  csi:\n    driver: %s\n    volumeHandle: %s\n%s",
			csidriver.TopologyKey(csidriver.DefaultName), NodeName, csidriver.DefaultName, handle, options))
}

// LocalVolume is a PersistentVolume of a directory of the node, and its claim, of the same name.
func LocalVolume(name, dir string) string {
	return claimAndVolume(name, fmt.Sprintf("local: {path: %q}", dir))
}

// DiskVolume is a claim and its PersistentVolume of a block device with a filesystem.
func DiskVolume(name, device, fsType string) string {
	return claimAndVolume(name, fmt.Sprintf("local: {path: %q, fsType: %s}", device, fsType))
}

// RawVolume is a claim and its PersistentVolume of a block device that pods have as it is.
func RawVolume(name, device string) string {
	return strings.ReplaceAll(claimAndVolume(name, fmt.Sprintf("local: {path: %q}", device)), "spec:\n",
		"spec:\n  volumeMode: Block\n")
}

// RawPod is [Pod] of volumes that it has as devices.
func RawPod(name, uid string, volumes ...string) string {
	text := strings.Replace(Pod(name, uid, volumes...), "volumeMounts:", "volumeDevices:", 1)
	return strings.ReplaceAll(text, "mountPath: ", "devicePath: ")
}

func claimAndVolume(name, source string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  capacity: {storage: 64Mi}
  accessModes: [ReadWriteOnce]
  claimRef: {namespace: default, name: %[1]s}
  %[2]s
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %[1]s}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 64Mi}}
  volumeName: %[1]s
`, name, source)
}

// Pod is a manifest of a pod with these volumes: alternating names and sources, like "cache", "emptyDir: {}".
func Pod(name, uid string, volumes ...string) string {
	text := fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, uid: %q}\nspec:\n", name, uid)
	text += "  containers:\n  - name: app\n    image: none\n    volumeMounts:\n"
	for i := 0; i+1 < len(volumes); i += 2 {
		text += fmt.Sprintf("    - {name: %s, mountPath: /%[1]s}\n", volumes[i])
	}
	text += "  volumes:\n"
	for i := 0; i+1 < len(volumes); i += 2 {
		text += fmt.Sprintf("  - name: %s\n    %s\n", volumes[i], volumes[i+1])
	}
	return text
}

// InGroup is the manifest of a pod with an fsGroup.
func InGroup(group int, pod string) string {
	return strings.Replace(pod, "spec:\n", fmt.Sprintf("spec:\n  securityContext: {fsGroup: %d}\n", group), 1)
}

// Claim is the source of a volume that is a claim.
func Claim(name string) string { return "persistentVolumeClaim: {claimName: " + name + "}" }
