package manifest

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/internal/wording"
)

func decode(node, name string, data []byte) (content, error) {
	return Options{NodeName: node}.decode(name, data)
}

func TestHostileManifestsAreRefused(t *testing.T) {
	named := func(name, namespace, uid string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %q, namespace: %q, uid: %q}\n", name,
			namespace, uid)
	}
	var bomb strings.Builder
	bomb.WriteString("a0: &a0 [" + strings.Repeat("x", 1000) + "]\n")
	for i := range 30 {
		fmt.Fprintf(&bomb, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for text, want := range map[string]string{
		named("../../etc", "", ""):                          "metadata.name",
		named("a/b", "", ""):                                "metadata.name",
		named("", "", ""):                                   "metadata.name",
		named("..", "", ""):                                 "metadata.name",
		named("a\x00", "", ""):                              "metadata.name",
		named("a", "../b", ""):                              "metadata.namespace",
		named("a", "b.c", ""):                               "metadata.namespace",
		named("a", "", ".."):                                "metadata.uid",
		named("a", "", "a/../../b"):                         "metadata.uid",
		named("a", "", strings.Repeat("a", 300)):            "metadata.uid",
		pod("a") + "bogus: 1\n":                             `unknown field "bogus"`,
		pod("a") + "kind: Pod\n":                            "line 5: the field is there twice",
		pod("a") + "Spec: {}\n":                             `unknown field "Spec"`,
		"kind: Pod\nmetadata: {name: a}\n":                  "is not served",
		"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n": `kind "Node" is not served`,
		bomb.String():                                       "with its aliases written out",
		"a: &a [*a]\n":                                      "nested more than",
		strings.Repeat("[", 200):                            "",
		"a: {<<: {b: c}}\n":                                 "merge keys",
		"a: !!binary aGk=\n":                                "a tag that is not supported",
		"a: !go/struct {}\n":                                "",
		"? [a]\n: b\n":                                      "a key must be text",
		"a: .nan\n":                                         "not a number",
		"- a\n":                                             "not an object",
		"\"a\"\n":                                           "not an object",
		"a: b\n\tc: d\n":                                    "",
		"---\n---\n":                                        "holds no object",
		strings.Repeat("--- a\n", maxDocuments+1):           "more than",

		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"kind":"Pod"}`:                    "duplicate field",
		`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"List","items":[]}]}`: "a List in a List",

		"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a, namespace: b}\n": "have none",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {volumes: [{name: v, emptyDir: " +
			"{medum: x}}]}": "spec.volumes[0].emptyDir.medum",
	} {
		_, err := decode("n", "x.yaml", []byte(text))
		require.ErrorContains(t, err, want, "%.200q", text)
		require.Less(t, len(err.Error()), 1000)
		require.Empty(t, wording.Wrong(err.Error()), err)
	}
}

func TestWhatKubectlTakesIsTaken(t *testing.T) {
	text := "# a comment\n---\n" + `apiVersion: v1
kind: Pod
metadata: &m
  name: a
  labels: {y: "yes", on: 'no', zip: "0644"}
spec:
  hostNetwork: yes
  terminationGracePeriodSeconds: 0644
  containers:
  - &c
    name: c
    image: 2020-01-01
    volumeMounts: [{name: v, mountPath: /v, readOnly: on}]
  volumes:
  - name: v
    emptyDir: {sizeLimit: 1Gi, medium: Memory}
...
---
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}}
`
	c, err := decode("n", "x.yaml", []byte(text))
	require.NoError(t, err)
	require.Len(t, c.objects, 2)
	p := c.objects[0].value.(*corev1.Pod)
	require.True(t, p.Spec.HostNetwork)
	require.EqualValues(t, 420, *p.Spec.TerminationGracePeriodSeconds)
	require.Equal(t, map[string]string{"y": "yes", "on": "no", "zip": "0644"}, p.Labels)
	require.Equal(t, "2020-01-01", p.Spec.Containers[0].Image)
	require.True(t, p.Spec.Containers[0].VolumeMounts[0].ReadOnly)
	require.Equal(t, "document 2, line 21", c.objects[1].where)

	c, err = decode("n", "x.yaml",
		[]byte("\t{\"apiVersion\":\"v1\",\n\t\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}\n\n"+
			`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"c"}}`))
	require.NoError(t, err)
	require.Equal(t, "document 2, line 4", c.objects[1].where)
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		pod("a"), secretOf("s", "v"), "a: &a [*a]", `{"kind":"List","apiVersion":"v1","items":[null]}`,
		"--- \n...\n", "? a\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode("n", "x.yaml", data)
		if err != nil {
			require.Empty(t, c.objects)
			return
		}
		for _, o := range c.objects {
			require.NotContains(t, o.id.Name+o.id.Namespace+o.id.UID, "/")
			require.NotContains(t, []string{"", ".", ".."}, o.id.UID)
		}
	})
}

// TestTextThatMayGoOn: who writes a file in pieces may have come to the end of any line of it. It may hold any pod
// until the last object has a name.
func TestTextThatMayGoOn(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                       true,
		"kind: P":                                true,
		"kind: Pod\n":                            true,
		"kind: Pod\nmetadata:\n":                 true,
		"kind: Pod\nmetadata: {labels: {a: b,\n": true,
		"speck: {}\n---\nkind: Pod\nmetadata:\n  namespace: a\n": true,
		"kind: List\nitems:\n": true,
		"kind: List\nitems:\n- kind: Pod\n  metadata: {name: a}\n": false,
		"kind: List\nitems:\n- kind: Pod\n  metadata:\n":           true,
		"kind: Pod\nmetadata:\n  name: a\n":                        false,
		"kind: Pod\nmetadata:\n  name: a\nspec: {containers: [{\n": true,
		"speck: {}\n":                               false,
		"{\"kind\": \"Pod\",\n":                     true,
		"{\"kind\": \"Pod\", \"x\": {}}":            false,
		"kind: Pod\nmetadata:\n  name: a\n\x00\x00": true,
	} {
		require.Equal(t, want, isCut([]byte(text)), "%q", text)
	}
}

// What does not fit its type is told by its place in the file, without a word of Go, and without its value.
func TestMistakesAreToldByTheirPlace(t *testing.T) {
	const begin = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
	for text, want := range map[string]string{
		begin + "  hostNetwork: \"yes\"\n":   "line 5: spec.hostNetwork: must be true or false, and " + "is text",
		begin + "  volumes: {}\n":            "line 5: spec.volumes: must be a list",
		begin + "  containers: [{nam: c}]\n": `spec.containers[0].nam: unknown field "nam"; did you mean "name"?`,
		begin + "  containers:\n  - env: [{value: 4711}]\n": "line 6: spec.containers[0].env[0].value: must be " +
			"text, and is a number; put it in quotes",
		begin + "  volumes:\n  - emptyDir: {sizeLimit: 1Gx}": `spec.volumes[0].emptyDir.sizeLimit: "1Gx" is not ` +
			"a quantity; write a number with a unit",
		begin + "  priority: 1.5\n": "spec.priority: must be a whole number of 32 bits, " +
			"and is a number",
		begin + "  nodeSelector: [a]\n": "spec.nodeSelector: must be a mapping (key: value), " +
			"and is a list",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  spec:\n    volumes: a\n": "line 7: item 0: " +
			"spec.volumes: must be a list",
		`{"apiVersion": "v1", "kind": "Pod", "spec": {"volumes": "a"}}`: "spec.volumes: must be a list",
		begin + "  a: 1\n  b: 2\n": `line 5: spec.a: unknown field "a"; also ` +
			`line 6: spec.b: unknown field "b"`,
	} {
		_, err := decode("n1", "a.yaml", []byte(text))
		require.ErrorContains(t, err, want, text)
		for _, bad := range []string{"Go struct", "unmarshal", "4711", "regular expression"} {
			require.NotContains(t, err.Error(), bad, text)
		}
	}
}
