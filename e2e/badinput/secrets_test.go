package badinput

import (
	"bytes"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// canary is in every secret that is planted. Nobody has another reason to write it.
const canary = "xyzzy-canary-"

// secret is a manifest of a Secret with a canary as text and one as base64.
func secret(name string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData: {password: " + canary +
		name + "}\n" +
		"data: {key: " + base64.StdEncoding.EncodeToString([]byte(canary+"encoded-"+name)) + "}\n"
}

// malformed are Secrets that can't be decoded, each broken at the canary.
var malformed = map[string]string{
	"m-syntax.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: \"" + canary + "1\n",
	"m-tab.yaml":    "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData:\n\tpassword: " + canary + "2\n",
	"m-field.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n" + canary + "3: x\n",
	"m-type.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: " + canary + "4\n",
	"m-value.yaml":  "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {password: " + canary + "5!}\n",
	"m-name.yaml":   "apiVersion: v1\nkind: Secret\nmetadata: {name: " + canary + "6/}\n",
	"m-twice.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {" + canary + "7: x, " +
		canary + "7: y}\n",
	"m-alias.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: *" + canary + "8}\n",
	"m-kind.yaml":  "kind: " + canary + "9\nsecret: true\napiVersion: [Secret]\n",
	"m-tag.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: !!" +
		canary + "10 x}\n",
	"m-json.json": `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"stringData":{"password":"` +
		canary + `11"`,
	"m-list.yaml": "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, stringData: {password: [" +
		canary + "12]}}]\n",
	"m-data.yaml":    "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ntype: {" + canary + "13: 1}\n",
	"m-comment.yaml": "# " + canary + "14\n",
}

// Secrets stand in every input, and the driver tells them in its errors. They are in nothing that volnode writes or
// says.
func TestSecrets(t *testing.T) {
	n := running(t, "vol-2")
	n.plant()
	said := map[string]string{}
	n.listen(said)
	require.Contains(t, said["status -o json"], "login failed: user=x password=*** key=***",
		"the rest of a message is told")
	n.DriverFaults()
	n.Wait("pod/default/second", "ready")
	n.listen(said)
	for name, text := range malformed {
		n.Apply(name, text)
		said["trouble of "+name] = n.trouble(name)
	}
	n.Apply("secrets.yaml", secret("stage")[:60]) // torn: the last good copy is used
	said["trouble of secrets.yaml"] = n.trouble("secrets.yaml")
	n.restarted()
	n.listen(said)
	for name := range malformed {
		n.Remove(name)
	}
	n.Apply("secrets.yaml", secret("stage")+"---\n"+secret("publish")) // a file that is cut short would keep the pod
	n.DriverFaults(n.echoes()...)
	n.Remove("zweite.yaml")
	n.agent.AwaitStatus("a call that failed", func(s engine.Status) bool {
		for _, r := range s.Rungs {
			if r.Attempts > 0 && r.Desired == "unwanted" {
				return true
			}
		}
		return false
	})
	n.listen(said)
	n.DriverFaults()
	n.Wait("pod/default/second", "gone")
	n.unharmed()
	n.ends()
	n.listen(said)
	for what, text := range said {
		requireClean(t, what, text)
	}
	n.searchFiles()
}

// plant applies a pod that has the files of secrets, and a volume with a secret for each of its calls, and has the
// driver repeat them in its errors.
func (n *node) plant() {
	n.DriverFaults(n.echoes()...)
	n.Apply("secrets.yaml", secret("stage")+"---\n"+secret("publish")+"---\n"+secret("expand"))
	refs := "    nodeStageSecretRef: {namespace: default, name: stage}\n    nodePublishSecretRef: {namespace: " +
		"default, name: publish}\n" +
		"    nodeExpandSecretRef: {namespace: default, name: expand}\n    controllerPublishSecretRef: {namespace: " +
		"default, name: expand}"
	n.Apply("zweite.yaml", host.ClaimAndVolume("more", "vol-2", refs)+"---\n"+host.Pod("second", "second", "data",
		host.Claim("more"), "keys", "secret: {secretName: stage}", "both",
		"projected: {sources: [{secret: {name: publish}}, {secret: {name: stage, items: [{key: password, path: a/b}]}}]}"))
	n.agent.AwaitStatus("a stage that failed", func(s engine.Status) bool {
		for _, r := range s.Rungs {
			if r.Attempts > 0 {
				return true
			}
		}
		return false
	})
}

// echoes are faults of the driver whose messages tell the secrets that the call was sent with. A teardown is sent with
// none.
func (n *node) echoes() []csidriver.Rule {
	return []csidriver.Rule{
		{
			Method: "NodeStageVolume", FailBefore: csidriver.Code(codes.Unauthenticated),
			Message: "login failed: user=x password=" + canary + "stage key=" + canary + "encoded-stage",
		},
		{
			Method: "NodePublishVolume", FailBefore: csidriver.Code(codes.Internal),
			Message: "mount -o password=" + canary + "publish failed",
		},
		{Method: "NodeUnpublishVolume", FailBefore: csidriver.Code(codes.Internal), Message: "device busy"},
	}
}

// listen asks all there is to ask.
func (n *node) listen(said map[string]string) {
	n.T.Helper()
	for _, args := range [][]string{
		{"status"},
		{"status", "-o", "wide"},
		{"status", "-o", "json"},
		{"plan"},
		{"plan", "-o", "json"},
		{"describe", "pod", "default/second"},
		{"describe", "pod", "default/second", "-o", "json"},
		{"describe", "volume", "csi.volnode.dev^vol-2"},
		{"wait", "pod/default/second", "--for=ready", "--timeout=0s"},
		{"wait", "pod/default/second", "--for=gone", "--timeout=0s"},
	} {
		stdout, stderr, _ := n.Run(args...)
		said[strings.Join(args, " ")] += stdout + stderr
	}
	for _, path := range []string{"/metrics", "/healthz", "/readyz?verbose"} {
		said[path] += n.Ask(path)
	}
	require.NotEmpty(n.T, said["/metrics"])
}

func requireClean(t *testing.T, what, text string) {
	t.Helper()
	for _, word := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))[:16]} {
		if at := strings.Index(text, word); at >= 0 {
			require.Fail(t, "a secret is told", "%s: …%s…", what, text[max(0, at-200):min(len(text), at+60)])
		}
	}
}

// searchFiles looks through all that the agent has written: logs, traces, its root directory. Only the copies of
// manifests may hold what the manifests hold, and nobody but root may read them.
func (n *node) searchFiles() {
	n.T.Helper()
	copies := filepath.Join(n.Root, "volnode", "manifests")
	info, err := os.Stat(copies)
	require.NoError(n.T, err)
	require.Equal(n.T, fs.FileMode(0o700), info.Mode().Perm())
	files := 0
	for _, dir := range []string{n.Output, n.Root} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path == copies:
				return fs.SkipDir
			case !e.Type().IsRegular() || filepath.Base(path) == "csidriver.log":
				// the driver may tell its own log what it likes
				return nil
			}
			text, err := os.ReadFile(path)
			require.NoError(n.T, err)
			files++
			if filepath.Base(path) == "calls.jsonl" {
				text = withoutErrors(text) // so may it its call log, of its own errors
			}
			requireClean(n.T.(*testing.T), path, string(text))
			return nil
		})
		require.NoError(n.T, err)
	}
	require.Greater(n.T, files, 5)
}

// withoutErrors leaves out the lines of the driver's call log that tell how calls ended.
func withoutErrors(log []byte) []byte {
	var kept [][]byte
	for line := range bytes.Lines(log) {
		if bytes.Contains(line, []byte(`"event":"start"`)) {
			kept = append(kept, line)
		}
	}
	return bytes.Join(kept, nil)
}
