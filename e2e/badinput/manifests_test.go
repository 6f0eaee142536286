package badinput

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// aliasBomb is a thousand million words in a few lines.
func aliasBomb() string {
	text := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: bomb\n  annotations:\n    a: &a [x, x, x, x, x, x, x, x, " +
		"x, x]\n"
	for c := 'b'; c <= 'j'; c++ {
		text += "    " + string(c) + ": &" + string(c) + " [" +
			strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", ") + "]\n"
	}
	return text
}

// badFiles are manifests that must be refused as a whole, and the sentences.
var badFiles = []struct{ name, text, why string }{
	{"name.yaml", host.Pod("../../../etc", "u-1", "a", "emptyDir: {}"), `metadata.name "../../../etc"`},
	{
		"namespace.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: ../b}\n",
		`metadata.namespace "../b"`,
	},
	{
		"uid.yaml", host.Pod("a", "../../etc", "a", "emptyDir: {}"),
		`metadata.uid "../../etc": must be made of letters, digits, . and -`,
	},
	{"volume.yaml", "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: ../../x}\n", `metadata.name "../../x"`},
	{
		"unknown.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {volumess: []}\n",
		`spec.volumess: unknown field "volumess"; did you mean "volumes"?`,
	},
	{
		"twice.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nmetadata: {name: b}\n",
		"line 4: the field is there twice",
	},
	{
		"kind.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
		`apiVersion "apps/v1", kind "Deployment" is not served; a manifest holds v1 Pod`,
	},
	{"torn.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a", "did not find expected"},
	{
		"cut.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n",
		"spec.containers: Required value; the API server refuses that, too",
	},
	{
		"tab.yaml", "apiVersion: v1\nkind: Pod\nmetadata:\n\tname: a\n",
		"document 1, line 4: a tab is in the indentation, and YAML allows spaces only",
	},
	{
		"tabs.yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n \tnamespace: b\n",
		"document 1, line 5: a tab is in the indentation",
	},
	{
		"torn.json", "{\"apiVersion\": \"v1\",\n\"kind\": \"Pod\",\n",
		"document 1, line 3: not valid JSON: unexpected end of JSON input",
	},
	{"text.yaml", "hello\n", "not an object with apiVersion and kind"},
	{"empty.yaml", "\n", "holds no object; if it should hold none, remove the file"},
	{"binary.yaml", "\x00\x01\x02", "control characters are not allowed"},
	{"bomb.yaml", aliasBomb(), "with its aliases written out the document is longer than 4194304 bytes"},
	{"deep.yaml", "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested more than 100 deep"},
	{"big.yaml", "# " + strings.Repeat("x", 10<<20), "file too large"},
	{"list.json", `{"apiVersion":"v1","kind":"List","items":[{"kind":"List"}]}`, "a List in a List is not supported"},
}

// One bad file after the other beside the manifests of a running pod.
func TestBadFiles(t *testing.T) {
	n := running(t)
	for _, bad := range badFiles {
		n.Apply(bad.name, bad.text)
		why := n.trouble(bad.name)
		t.Logf("%s: %s", bad.name, why)
		require.Contains(t, why, bad.why)
		require.Contains(t, why, "correct or remove it")
		n.unharmed()
		n.Remove(bad.name)
		n.calm()
	}
	n.ends()
	_, err := os.Lstat(filepath.Join(filepath.Dir(n.Root), "etc"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Files that others could have written, and what is no file.
func TestForeignFiles(t *testing.T) {
	n := running(t)
	at := func(name string) string { return filepath.Join(n.Manifests, name) }
	for _, bad := range []struct {
		name, why string
		do        func(name string)
	}{
		{
			"link.yaml", "is a symlink, not a regular file",
			func(name string) { require.NoError(t, os.Symlink("web.yaml", at(name))) },
		},
		{"theirs.yaml", "belongs to user 1000, not to root; run chown root", func(name string) {
			next := at(".theirs")
			require.NoError(t, os.WriteFile(next, []byte(host.DriverObject), 0o600))
			require.NoError(t, os.Chown(next, 1000, 1000))
			require.NoError(t, os.Rename(next, at(name)))
		}},
		{"open.yaml", "is writable by users other than root (mode 0666); run chmod go-w", func(name string) {
			next := at(".open")
			require.NoError(t, os.WriteFile(next, []byte(host.DriverObject), 0o600))
			require.NoError(t, os.Chmod(next, 0o666))
			require.NoError(t, os.Rename(next, at(name)))
		}},
	} {
		bad.do(bad.name)
		why := n.trouble(bad.name)
		t.Logf("%s: %s", bad.name, why)
		require.Contains(t, why, bad.why)
		n.unharmed()
		n.Remove(bad.name)
		n.calm()
	}
}

// Objects that collide with those of the running pod: the first by file name counts.
func TestDuplicates(t *testing.T) {
	n := running(t)
	for _, bad := range []struct{ name, text, why string }{
		{"x-uid.yaml", host.Pod("other", webUID, "a", "emptyDir: {}"), "has the uid " + webUID + " of the object in "},
		{"x-name.yaml", host.Pod("web", "another", "a", "emptyDir: {}"), "which counts; remove one of them"},
		{
			"x-node.yaml", strings.Replace(host.Pod("far", "far", "a", "emptyDir: {}"), "spec:\n",
				"spec:\n  nodeName: node-b\n", 1),
			`is a pod for node "node-b", and this is "node-a"; remove spec.nodeName, or the pod`,
		},
	} {
		n.Apply(bad.name, bad.text)
		why := n.trouble(bad.name)
		t.Logf("%s: %s", bad.name, why)
		require.Contains(t, why, bad.why)
		n.restarted()
		n.Remove(bad.name)
		n.calm()
	}
	n.ends()
}

// A pod's manifest is torn in the middle of a write: the last good copy of it counts, also after a restart.
func TestTornFileOfRunningPod(t *testing.T) {
	n := running(t)
	whole := webPod()
	n.Apply("web.yaml", whole[:len(whole)/2])
	why := n.trouble("web.yaml")
	t.Log(why)
	require.Contains(t, why, "until it is corrected, its last good content counts")
	n.unharmed()
	n.restarted()
	require.Contains(t, n.trouble("web.yaml"), "until it is corrected, its last good content counts")
	n.Apply("web.yaml", whole)
	n.calm()
	n.unharmed()
	n.ends()
}

// A file that is cut short may hold any pod whose manifest disappears: that pod stays, in this run and in the next.
func TestNothingGoesBesideATornFile(t *testing.T) {
	n := running(t)
	n.Apply("bad.yaml", "kind: [")
	n.trouble("bad.yaml")
	n.Remove("web.yaml")
	n.agent.Kill()
	n.agent = n.Start()
	n.trouble("bad.yaml")
	require.Contains(t, n.trouble("Pod "+strings.TrimPrefix(web, "pod/")), "bad.yaml may hold it")
	n.unharmed()
	n.Remove("bad.yaml")
	n.Wait("all", "gone")
	require.Empty(t, n.Leftovers())
}

// A directory that is missing is not an empty one.
func TestMissingDirectory(t *testing.T) {
	n := running(t)
	away := n.Manifests + ".away"
	require.NoError(t, os.Rename(n.Manifests, away))
	why := n.trouble(n.Manifests)
	require.Equal(t, "the directory is missing; create it, empty if no pod is wanted", why)
	n.unharmed()
	n.agent.Kill()
	n.agent = n.Launch()
	require.Equal(t, 78, n.agent.Exit())
	text, err := os.ReadFile(n.agent.Log)
	require.NoError(t, err)
	require.Contains(t, string(text),
		"manifest directory "+n.Manifests+" does not exist; volnode keeps all volumes; run mkdir -p")
	n.unharmed()
	require.NoError(t, os.Rename(away, n.Manifests))
	n.agent = n.Start()
	n.Wait(web, "ready")
	n.unharmed()
	n.ends()
}

// Names inside of good files that would lead out of the root directory, or options that volnode does not serve: the
// volume is blocked, naming the field.
func TestHostileFields(t *testing.T) {
	n := running(t)
	n.Apply("hostile.yaml", host.ClaimAndVolume("hostile", "../../../../etc", "")+"---\n"+
		strings.ReplaceAll(host.ClaimAndVolume("far", "vol-9", ""), "driver: csi.volnode.dev",
			`driver: "../../evil"`)+"---\n"+
		host.ClaimAndVolume("leak", "vol-8", `    nodeStageSecretRef: {name: "../x", namespace: default}`)+"---\n"+
		host.LocalVolume("dots", "/tmp/../etc")+"---\n"+host.LocalVolume("pods", n.Root+"/pods/"+webUID)+"---\n"+
		host.LocalVolume("passwd", "/etc/passwd")+"---\n"+
		host.Pod("bad", "bad", "dots", host.Claim("dots"), "pods", host.Claim("pods"), "file", host.Claim("passwd"),
			"up", "emptyDir: {}", "handle", host.Claim("hostile"), "driver", host.Claim("far"),
			"secret", host.Claim("leak"),
			"claim", `persistentVolumeClaim: {claimName: "../../x"}`, "root", `hostPath: {path: "/tmp/../etc"}`, "nfs",
			`nfs: {server: "-o,suid", path: /}`, "iscsi", "iscsi: {targetPortal: p, iqn: i, lun: 0}",
			"fc", "fc: {wwids: [../x]}", "gluster", "glusterfs: {endpoints: e, path: p}", "object",
			`configMap: {name: "../x"}`, "out",
			`secret: {secretName: app, items: [{key: a, path: "a/../../../etc/passwd"}]}`, "self",
			`downwardAPI: {items: [{path: /etc/passwd, fieldRef: {fieldPath: metadata.name}}]}`, "flag",
			`image: {reference: "--help"}`, "above", `image: {reference: "../../../../etc/shadow"}`, "shell",
			"image: {reference: 'a:$(touch${IFS}/tmp/x)', pullPolicy: Never}"))
	for _, want := range []struct {
		volume string
		state  engine.Condition
		why    string
	}{
		{"driver", engine.Blocked, `PersistentVolume far spec.csi.driver: "../../evil"`},
		{
			"secret", engine.Blocked,
			`PersistentVolume leak spec.csi.nodeStageSecretRef.name: "../x" has characters outside`,
		},
		{
			"claim", engine.Blocked,
			`spec.volumes[claim].persistentVolumeClaim.claimName: "../../x" has characters outside`,
		},
		{
			"root", engine.Blocked,
			`spec.volumes[root].hostPath.path: "/tmp/../etc" contains ".."; write the path without it`,
		},
		{"nfs", engine.Blocked, `spec.volumes[nfs].nfs.server: "-o,suid" is no host name or address`},
		{"iscsi", engine.Blocked, `spec.volumes[iscsi].iscsi.iqn: "i" is no iSCSI name`},
		{"fc", engine.Blocked, `spec.volumes[fc].fc.wwids: "../x" is no WWID that volnode knows`},
		{"gluster", engine.Blocked, "spec.volumes[gluster].glusterfs: volnode does not serve this source; it serves " +
			"persistentVolumeClaim, csi, emptyDir, fc, gitRepo, hostPath, image, iscsi, nfs, secret, configMap, downwardAPI, " +
			"projected and flexVolume"},
		{"object", engine.Blocked, `the name of the ConfigMap "../x" has characters outside`},
		{"out", engine.Blocked, `spec.volumes[out].secret.items[0].path: "a/../../../etc/passwd" has an empty part`},
		{"self", engine.Blocked, `spec.volumes[self].downwardAPI.items[0].path: "/etc/passwd" is not relative`},
		{"dots", engine.Blocked, `PersistentVolume dots spec.local.path: "/tmp/../etc" contains ".."`},
		{"pods", engine.Blocked, "leads to pods/" + webUID + " in volnode's root directory"},
		{"file", engine.Waiting, "/etc/passwd is a file; name a directory"},
		{"handle", engine.Waiting, "NOT_FOUND"}, // a handle may be any text: it goes into paths hashed
		{"flag", engine.Blocked, `spec.volumes[flag].image.reference: "--help" is not the reference of an image`},
		{"above", engine.Blocked, "invalid reference format"},
		{"shell", engine.Blocked, "invalid reference format"},
		{"up", engine.Ready, ""},
	} {
		why := n.volume("bad", want.volume, want.state)
		t.Logf("%s: %s", want.volume, why)
		require.Contains(t, why, want.why)
	}
	n.unharmed()
	n.Remove("hostile.yaml")
	n.Wait("pod/default/bad", "gone")
	n.unharmed()
	n.ends()
}
