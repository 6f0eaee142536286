package manifest

import (
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// spec is that of a pod without volumes.
const spec = "spec: {containers: [{name: c, image: i}]}\n"

// wholePod is a pod as people write it, the name first, or its volumes first.
func wholePod(name string, volumesFirst bool) string {
	containers := "  containers:\n  - name: c\n    image: i\n    volumeMounts:\n    - name: v\n      mountPath: /v\n"
	volumes := "  volumes:\n  - name: v\n    persistentVolumeClaim:\n      claimName: c\n"
	text := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\nspec:\n"
	if volumesFirst {
		return text + volumes + containers
	}
	return text + containers + volumes
}

const wholeClaim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: c\nspec:\n  volumeName: d\n" +
	"  accessModes:\n  - ReadWriteOnce\n  resources:\n    requests:\n      storage: 1Mi\n"

const wholeVolume = "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: d\nspec:\n" +
	"  accessModes:\n  - ReadWriteOnce\n  capacity:\n    storage: 1Mi\n" +
	"  csi:\n    nodeStageSecretRef:\n      name: s\n      namespace: default\n    driver: disk.example\n    " +
	"volumeHandle: h\n"

// A new manifest that is cut between two lines is bad, whether what is left is good YAML or not. A pod that somebody
// moves there is not gone meanwhile.
func TestANewManifestThatIsCutShortIsBad(t *testing.T) {
	for _, whole := range []string{wholePod("x", true), wholePod("x", false), wholeClaim, wholeVolume} {
		lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
		lines[len(lines)-1] += "\n"
		for n := 1; n < len(lines); n++ {
			begun := strings.Join(lines[:n], "")
			switch last := lines[n-1]; {
			case last == "    image: i\n" || last == "    volumeMounts:\n":
				continue // a pod as it may be meant
			case whole == wholePod("x", false) && (last == "  - name: v\n" || last == "    persistentVolumeClaim:\n"):
				continue // a volume without a source, which its pod's status tells of
			}
			w := newWorld(t).put("a.yaml", wholePod("ant", true)).start()
			w.changes()
			w.put("x.yaml", begun).rm("a.yaml").pass(5 * second)
			require.Empty(t, w.changes(), begun)
			require.NotEmpty(t, w.troubles()[dir+"/x.yaml"].Problem, begun)
			w.put("x.yaml", whole+"---\n"+wholePod("ant", true)).pass(5 * second)
			require.NotContains(t, w.changes(), "-ant", begun)
			require.Empty(t, w.troubles(), begun)
		}
	}
}

// A container names a volume that its pod does not have. If the volumes come first, the file can't go on with it:
// nobody else is held. Else it may.
func TestAWrongNameOfAVolumeIsNoCut(t *testing.T) {
	const volumes = "  volumes:\n  - name: tmp\n    emptyDir: {}\n"
	const containers = "  containers:\n  - name: c\n    image: i\n    volumeMounts:\n    - name: tpm\n      " +
		"mountPath: /tmp\n"
	for spec, isHeld := range map[string]bool{volumes + containers: false, containers + volumes: true} {
		w := newWorld(t).put("a.yaml", pod("ant")).start()
		w.put("x.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: x\nspec:\n"+spec).rm("a.yaml").pass(5 * second)
		require.Contains(t, w.troubles()[dir+"/x.yaml"].Problem, `Not found: "tpm" (did you mean "tmp"?)`)
		require.Equal(t, isHeld, !strings.Contains(w.changes(), "-ant/"), spec)
	}
}

// Who lacks what is told what, in the words of the API server.
func TestWhatIsRequired(t *testing.T) {
	pod := func(spec string) string { return "apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n" + spec + "\n" }
	in := func(kind, spec string) string {
		return "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: x}\nspec: {" + spec + "}\n"
	}
	const container = "containers: [{name: c, image: i}]"
	const volume = "accessModes: [ReadWriteOnce], capacity: {storage: 1Mi}"
	for text, lack := range map[string]string{
		pod(""): "document 1, line 1: Pod x: spec.containers: Required value; the API server refuses that, too: " +
			"complete the object, or write the file again if its end is missing",
		pod("spec: {containers: [{}]}"): "spec.containers[0].name: " +
			"Required value; also spec.containers[0].image: Required value; the API server",
		pod("spec: {containers: []}"):           "spec.containers: Required value",
		pod("spec: {containers: [{image: i}]}"): "spec.containers[0].name: " + "Required value",
		pod("spec: {containers: [{name: c}]}"):  "spec.containers[0].image: " + "Required value",
		pod("spec: {" + container + ", initContainers: [{name: c}]}"): "spec.initContainers[0].image: " +
			"Required value",
		pod("spec: {" + container + ", volumes: [{emptyDir: {}}]}"): "spec.volumes[0].name: " + "Required value",
		pod("spec: {" + container + ", volumes: [{name: v, hostPath: {}}]}"): "spec.volumes[0].hostPath.path: " +
			"Required value",
		pod("spec: {" + container + ", volumes: [{name: v, csi: {}}]}"): "spec.volumes[0].csi.driver: " +
			"Required value",
		pod("spec: {containers: [{name: c, image: i, volumeMounts: [{name: v, mountPath: /d}]}]}"): "Not found: \"v\"; " +
			"the API server refuses that, too: add the volume to spec.volumes, or write the file again if its end is missing",
		pod("spec: {containers: [{name: c, image: i, volumeMounts: [{name: dat, mountPath: /d}]}], " +
			"volumes: [{name: data}]}"): "Not found: \"dat\" (did you mean \"data\"?); the API server refuses that, " +
			"too: correct the name, or add the volume to spec.volumes",
		in("PersistentVolume", ""): "PersistentVolume x: " +
			"spec.accessModes: Required value",
		in("PersistentVolume", "accessModes: [ReadWriteOnce]"): "spec.capacity: Required value",
		in("PersistentVolume", volume): "spec: Required value: must " +
			"specify a volume type",
		in("PersistentVolume", volume+", csi: {volumeHandle: h}"):   "spec.csi.driver: Required value",
		in("PersistentVolume", volume+", csi: {driver: d}"):         "spec.csi.volumeHandle: " + "Required value",
		in("PersistentVolumeClaim", "volumeName: d"):                "spec.accessModes: Required value",
		in("PersistentVolumeClaim", "accessModes: [ReadWriteOnce]"): "spec.resources[storage]: " + "Required value",
	} {
		_, err := Options{NodeName: "n"}.decodeNew("x.yaml", []byte(text))
		require.ErrorContains(t, err, lack, text)
	}
}

// A version before this one took a pod without containers. It goes on to count, over starts and while its manifest
// can't be read.
func TestWhatCountedBeforeGoesOnToCount(t *testing.T) {
	old := "apiVersion: v1\nkind: Pod\nmetadata: {name: ant, uid: u1}\n"
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).start()
	w.data[dir+"/a.yaml"], w.data[cache+"/a.yaml"] = old, old
	w.data[cache+"/"+ledger] = regexp.MustCompile(`,"sum":\d+`).ReplaceAllString(w.data[cache+"/"+ledger], "")
	for _, isReadable := range []bool{true, false} {
		if !isReadable {
			w.fail["read "+dir+"/a.yaml"] = errno("read", "a.yaml", syscall.EIO)
		}
		w.start().pass(5 * second)
		require.Contains(t, w.changes(), "+ant/u1")
		require.Equal(t, isReadable, len(w.troubles()) == 0)
	}
}

// An error speaks of the language that the file is in.
func TestAnErrorNamesTheLanguage(t *testing.T) {
	for _, c := range [][3]string{
		{
			"x.json", "{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\",\n",
			"document 1, line 3: not valid JSON: unexpected end of JSON input",
		},
		{
			"x.yaml", "\n{\"apiVersion\": \"v1\",\n\"kind\": Pod]\n",
			"document 1, line 3: not valid JSON: invalid character 'P'",
		},
		{"x.json", "{}\n{]", "document 2, line 2: not valid JSON: invalid character ']'"},
		{"x.json", "kind: [\n", "document 1, line 1: not valid JSON: invalid character 'k'"},
		{"x.json", "{\"kind\": \"Secret\", \"data\": s3cr3t]", "not valid JSON; details withheld"},
		{"x.yaml", "{kind: Pod, \n", "document 1, line 1: not valid YAML: did not find"},
		{"x.yaml", "kind: [\n", "document 1, line 1: not valid YAML: did not find"},
		{"x.yaml", "a: \x00\n", "document 1: not valid YAML: control characters are not allowed"},
		{"x.yaml", "a: 1\na: 2\n", "document 1, line 2: the field is there twice"},
		{"x.yaml", strings.Repeat("{}", maxDocuments+1), "not find expected"},
		{"x.json", strings.Repeat("{}", maxDocuments+1), fmt.Sprintf("more than %d documents", maxDocuments)},
	} {
		_, err := decode("n", c[0], []byte(c[1]))
		require.ErrorContains(t, err, c[2], c[1])
	}
}

// All that is wrong with a manifest is told, document by document; what is more than five is counted.
func TestAllErrorsOfAManifestAreTold(t *testing.T) {
	const bad = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspeck: {}\n---\n"
	w := newWorld(t).put("x.yaml",
		bad+"kind: Odd\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec: {containers: [{name: c}]}\n").start()
	told := w.troubles()[dir+"/x.yaml"].Problem
	for _, one := range []string{
		`document 1, line 4: speck: unknown field "speck"; did you mean "spec"?; also document 2, line 6: an object without`,
		"; also document 3, line 8: Pod b: spec.containers[0].image: Required value",
	} {
		require.Contains(t, told, one)
	}
	w.put("x.yaml", strings.Repeat(bad, 7)).pass(3 * second)
	require.Contains(t, w.troubles()[dir+"/x.yaml"].Problem, "; and 2 more")
}
