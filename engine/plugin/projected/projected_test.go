package projected

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

// contents is what the cluster says.
type contents map[string]*hal.Content

func (c contents) Content(kind, namespace, name string) *hal.Content {
	return c[kind+" "+namespace+"/"+name]
}

func (c contents) TrustBundles() (all []*hal.Content) {
	for _, key := range slices.Sorted(maps.Keys(c)) {
		if is := c[key]; is.Kind == hal.TrustBundleKind {
			all = append(all, is)
		}
	}
	return all
}

// volumeOf is a volume v of a pod u1, and a source that serves it.
func volumeOf(t *testing.T, src corev1.VolumeSource, known contents) (plugin.Source, plugin.Volume) {
	t.Helper()
	v := plugin.Volume{
		Root: "/r", Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}},
		Spec: &corev1.Volume{Name: "v", VolumeSource: src}, Contents: known, IsComplete: true,
	}
	for _, s := range Sources() {
		if s.Serves(nil, v.Spec) {
			return s, v
		}
	}
	require.Fail(t, "no source serves the volume")
	return plugin.Source{}, v
}

// opOf is a setup of a volume.
func opOf(t *testing.T, src corev1.VolumeSource, known contents) core.Op {
	t.Helper()
	s, v := volumeOf(t, src, known)
	rungs, problem := s.Ladder(nil, v)
	require.Nil(t, problem)
	r := rungs[0]
	return core.Op{ID: 1, Verb: core.SetUp, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Params: r.Want}
}

func named(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }

func configMap(name string, items ...corev1.KeyToPath) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: named(name), Items: items}}
}

func secret(name string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
}

var known = contents{
	"ConfigMap ns/m": {Kind: "ConfigMap", Namespace: "ns", Name: "m", UID: "1", Version: "1"},
	"Secret ns/s":    {Kind: "Secret", Namespace: "ns", Name: "s", UID: "2", Version: "1"},
}

// look is what a pod finds in a directory, one line for each file.
func look(n *plugintest.Node, dir, prefix string) (all string) {
	for _, name := range n.World.Entries(dir + prefix) {
		at := prefix + "/" + name
		switch info, ok := n.World.Found(dir + at); {
		case prefix == "" && strings.HasPrefix(name, ".."):
		case !ok:
			all += at + " leads nowhere\n"
		case info.Type == hal.TypeDirectory:
			all += look(n, dir, at)
		default:
			all += fmt.Sprintf("%s %04o %s\n", at, info.Mode, n.World.ReadFile(dir+at))
		}
	}
	return all
}

func TestUpAndDownAgainLeavesNothing(t *testing.T) {
	for _, src := range []corev1.VolumeSource{configMap("m"), secret("s")} {
		n := plugintest.New("/r/pods")
		n.World.Cluster.Hold(hal.ConfigMapKind, "ns", "m", map[string]string{"a": "one"})
		n.World.Cluster.Hold(hal.SecretKind, "ns", "s", map[string]string{"a": "one"})
		o := opOf(t, src, known)
		dir := core.Value(o.Params, plugin.ParamPath)
		r := setUp(n.HAL(), o)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Equal(t, "/a 0644 one\n", look(n, dir, ""))
		require.Equal(t, src.Secret != nil, len(n.World.MountsAt(dir)) == 1, "Secrets are in memory")
		calls := len(n.Calls)
		require.Equal(t, r, setUp(n.HAL(), o), "setting up twice is setting up once")
		require.NotContains(t, strings.Join(n.Calls[calls:], "\n"), "write", "what is there is not written again")
		require.Equal(t, r.Fingerprint, inspect(n.HAL(), o).Fingerprint)
		o.Verb, o.Fingerprint = core.TearDown, r.Fingerprint
		require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), o))
		require.Equal(t, "/r/pods directory\n", n.Tree("/r"))
		require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), o), "tearing down twice is once")
	}
}

// Whichever call of a refresh fails, and wherever the agent dies, a pod finds the former files or the new ones, all of
// them, and the next refresh ends with the new ones and leaves nothing of the former.
func TestNobodySeesHalfOfAContent(t *testing.T) {
	former := map[string]string{"gone": "1", "same": "x", "changed": "one"}
	next := map[string]string{"new": "2", "same": "x", "changed": "two"}
	const (
		sees    = "/changed 0644 one\n/gone 0644 1\n/same 0644 x\n"
		willSee = "/changed 0644 two\n/new 0644 2\n/same 0644 x\n"
	)
	for _, src := range []corev1.VolumeSource{configMap("m"), secret("s")} {
		begin := func() (*plugintest.Node, core.Op, string) {
			n := plugintest.New("/r/pods")
			n.World.Cluster.Hold(hal.ConfigMapKind, "ns", "m", former)
			n.World.Cluster.Hold(hal.SecretKind, "ns", "s", former)
			o := opOf(t, src, known)
			dir := core.Value(o.Params, plugin.ParamPath)
			o.Fingerprint = setUp(n.HAL(), o).Fingerprint
			require.Equal(t, sees, look(n, dir, ""))
			n.World.Cluster.Hold(hal.ConfigMapKind, "ns", "m", next)
			n.World.Cluster.Hold(hal.SecretKind, "ns", "s", next)
			o.Verb, n.Calls = core.Refresh, nil
			return n, o, dir
		}
		n, o, dir := begin()
		setUp(n.HAL(), o)
		require.Equal(t, willSee, look(n, dir, ""))
		calls := n.Calls
		require.Greater(t, len(calls), 10)
		for _, call := range calls {
			n, o, dir := begin()
			n.Fail[call] = plugintest.Errno("any", call, syscall.EIO)
			r := setUp(n.HAL(), o)
			seen := strings.ReplaceAll(look(n, dir, ""), "/new leads nowhere\n", "")
			seen = strings.ReplaceAll(seen, "/gone leads nowhere\n", "")
			require.Contains(t, []string{sees, willSee}, seen, call)
			require.True(t, r.Outcome == hal.NotDone && seen == sees || r.Outcome == hal.Done && seen == willSee ||
				r.Outcome != hal.Done && strings.Contains(call, "mkdir "+dir), "%s: %v", call, r)
			clear(n.Fail)
			require.Equal(t, hal.Done, setUp(n.HAL(), o).Outcome, call)
			require.Equal(t, willSee, look(n, dir, ""), call)
			require.Len(t, n.World.Entries(dir), 5, "three names, ..data, and what it leads to: %s", call)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	none, one := map[string]string{}, map[string]string{"k": ""}
	key := func(at string) corev1.KeyToPath { return corev1.KeyToPath{Key: "k", Path: at} }
	for want, c := range map[string]struct {
		src  corev1.VolumeSource
		data map[string]string
	}{
		"ConfigMap ns/m is not there; add it":              {configMap("m"), nil},
		`ConfigMap ns/m has no key "k"`:                    {configMap("m", key("p")), none},
		`ConfigMap ns/m has the key "..data"`:              {configMap("m"), map[string]string{"..data": ""}},
		`ConfigMap ns/m has the key "a/b"`:                 {configMap("m"), map[string]string{"a/b": ""}},
		`"a" would be a file and a directory; give one of`: {configMap("m", key("a"), key("a/b/c")), one},
	} {
		n := plugintest.New("/r/pods")
		if c.data != nil {
			n.World.Cluster.Hold(hal.ConfigMapKind, "ns", "m", c.data)
		}
		r := setUp(n.HAL(), opOf(t, c.src, known))
		require.Equal(t, hal.NotDone, r.Outcome)
		require.Contains(t, r.Reason, want)
		require.Equal(t, "/r/pods directory\n", n.Tree("/r"), "nothing is made")
	}
}

func TestBadPathsAreRefused(t *testing.T) {
	for _, at := range []string{
		"", "/a", "..", "../a", "a/..", "a/../b", "a//b", "./a", "a/", "..data", "..1", "a\x00b", strings.Repeat("a", 256),
		strings.Repeat("a/", 2500) + "a",
	} {
		s, v := volumeOf(t, configMap("m", corev1.KeyToPath{Key: "k", Path: at}), known)
		_, problem := s.Ladder(nil, v)
		require.NotNil(t, problem, "%q", at)
		require.Contains(t, problem.Field, "spec.volumes[v].configMap.items[0].path")
	}
	for _, at := range []string{"a", ".a", "a..b", "a/..b", "a/b/c", "A-_.1"} {
		require.Empty(t, badPath(at))
	}
}

// Nobody's files are deleted: a directory that no record tells of goes only if all in it is the writer's.
func TestWhatOthersHavePutThereStays(t *testing.T) {
	source := all()[1]
	place := source.place("/r", "u1", "v")
	for _, isOthers := range []bool{false, true} {
		n := plugintest.New(place.Path + "/..2026_11_28_07_10_10.1")
		require.NoError(t, n.World.Symlink("..2026_11_28_07_10_10.1", place.Path+"/..data"))
		require.NoError(t, n.World.Symlink("..data/conf", place.Path+"/conf"))
		if isOthers {
			n.World.WriteFile(place.Path+"/precious", nil)
		}
		r := source.found("/r", "u1", "v")
		o := core.Op{ID: 1, Verb: core.TearDown, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Params: r.Want}
		down := tearDown(n.HAL(), o)
		if !isOthers {
			require.Equal(t, hal.Done, down.Outcome, down.Reason)
			continue
		}
		require.Equal(t, hal.NotDone, down.Outcome)
		require.True(t, op.IsKept(down.Reason))
		require.Contains(t, n.Tree("/r"), "precious")
		o.IsNamed = true
		require.Equal(t, hal.Done, tearDown(n.HAL(), o).Outcome, "somebody has said that the pod is gone")
	}
}

// Of two sources with one path the later one counts; each file has the mode of its item, of its volume, or 0644.
func TestLaterSourcesWin(t *testing.T) {
	mode, item := int32(0o400), int32(0o755)
	sources := []corev1.VolumeProjection{
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("m")}},
		{Secret: &corev1.SecretProjection{LocalObjectReference: named("s"), Items: []corev1.KeyToPath{
			{Key: "b", Path: "b"}, {Key: "b", Path: "deep/er/b", Mode: &item},
		}}},
	}
	for byDefault, want := range map[*int32]string{
		nil:   "/a 0644 of m\n/b 0644 of s\n/deep/er/b 0755 of s\n",
		&mode: "/a 0400 of m\n/b 0400 of s\n/deep/er/b 0755 of s\n",
	} {
		n := plugintest.New("/r/pods")
		n.World.Cluster.Hold(hal.ConfigMapKind, "ns", "m", map[string]string{"a": "of m", "b": "of m"})
		n.World.Cluster.Hold(hal.SecretKind, "ns", "s", map[string]string{"b": "of s"})
		o := opOf(t, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: sources, DefaultMode: byDefault,
		}}, known)
		r := setUp(n.HAL(), o)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Equal(t, want, look(n, core.Value(o.Params, plugin.ParamPath), ""))
	}
}

func TestWhatAPodSaysOfItself(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "u1", Labels: map[string]string{"b": "2", "a": "x\ny"},
			Annotations: map[string]string{"k's": "v"},
		},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "init"}},
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
				Limits:   corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("100Mi")},
				Requests: corev1.ResourceList{"cpu": resource.MustParse("250m")},
			}}},
		},
	}
	field := func(path string) corev1.DownwardAPIVolumeFile {
		return corev1.DownwardAPIVolumeFile{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	amount := func(container, name, divisor string) corev1.DownwardAPIVolumeFile {
		ref := &corev1.ResourceFieldSelector{ContainerName: container, Resource: name}
		if divisor != "" {
			ref.Divisor = resource.MustParse(divisor)
		}
		return corev1.DownwardAPIVolumeFile{ResourceFieldRef: ref}
	}
	for _, c := range []struct {
		item      corev1.DownwardAPIVolumeFile
		text, why string
	}{
		{field("metadata.name"), "web", ""},
		{field("metadata.namespace"), "ns", ""},
		{field("metadata.uid"), "u1", ""},
		{field("metadata.labels"), "a=\"x\\ny\"\nb=\"2\"", ""},
		{field("metadata.labels['b']"), "2", ""},
		{field("metadata.labels['c']"), "", ""},
		{field("metadata.annotations['k's']"), "v", ""},
		{field("spec.nodeName"), "", "is not one that a volume may name"},
		{field("metadata.labels['b'"), "", "is not one that a volume may name"},
		{amount("c", "limits.cpu", ""), "2", ""},
		{amount("c", "limits.cpu", "1m"), "1500", ""},
		{amount("c", "limits.memory", "1Mi"), "100", ""},
		{amount("c", "limits.memory", "30Mi"), "4", ""},
		{amount("c", "requests.cpu", "1m"), "250", ""},
		{amount("c", "requests.memory", "1Mi"), "100", ""}, // the limit
		{amount("init", "requests.cpu", ""), "0", ""},
		{amount("init", "limits.cpu", ""), "", `container "init" has no limits.cpu`},
		{amount("other", "limits.cpu", ""), "", `the pod has no container "other"`},
		{amount("c", "cpu", ""), "", "neither limits.NAME nor requests.NAME"},
		{amount("c", "limits.cpu", "-1"), "", "is not above 0"},
		{corev1.DownwardAPIVolumeFile{}, "", "neither fieldRef nor resourceFieldRef"},
	} {
		text, why := says(pod, &c.item)
		require.Equal(t, c.text, text)
		require.Contains(t, why, c.why)
		require.Equal(t, c.why == "", why == "", why)
	}
}

func TestASourceIsOne(t *testing.T) {
	for want, p := range map[string]corev1.VolumeProjection{
		"names 0 sources; name one": {},
		"names 2 sources; name one": {
			Secret:    &corev1.SecretProjection{LocalObjectReference: named("s")},
			ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: named("m")},
		},
		"volnode asks nobody for certificates": {PodCertificate: &corev1.PodCertificateProjection{}},
	} {
		s, v := volumeOf(t, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{p},
		}}, known)
		_, problem := s.Ladder(nil, v)
		require.NotNil(t, problem)
		require.Equal(t, "spec.volumes[v].projected.sources[0]", problem.Field)
		require.Contains(t, problem.Message, want)
	}
}

// A source of certificates names one bundle, or chooses among those of a signer.
func TestSourcesOfBundles(t *testing.T) {
	known := contents{
		"ClusterTrustBundle /plain": {Kind: hal.TrustBundleKind, Name: "plain", UID: "p", Version: "1"},
		"ClusterTrustBundle /a": {
			Kind: hal.TrustBundleKind, Name: "a", UID: "a", Version: "1", Signer: "s", Labels: map[string]string{"k": "v"},
		},
		"ClusterTrustBundle /b": {Kind: hal.TrustBundleKind, Name: "b", UID: "b", Version: "2", Signer: "s"},
	}
	text := func(s string) *string { return &s }
	yes := true
	for want, b := range map[string]corev1.ClusterTrustBundleProjection{
		"p/1":     {Name: text("plain"), Path: "ca"},
		"a/1,b/2": {SignerName: text("s"), LabelSelector: &metav1.LabelSelector{}, Path: "ca"},
		"a/1": {
			SignerName: text("s"), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"k": "v"}}, Path: "ca",
		},
		"b/2": {
			SignerName: text("s"), Path: "ca", LabelSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: metav1.LabelSelectorOpDoesNotExist}},
			},
		},
		"none":                           {SignerName: text("s"), Optional: &yes, Path: "ca"},
		"without a labelSelector":        {SignerName: text("s"), Path: "ca"},
		"has the labels that are chosen": {SignerName: text("x"), LabelSelector: &metav1.LabelSelector{}, Path: "ca"},
		"there is no ClusterTrustBundle c; add one": {Name: text("c"), Path: "ca"},
		"names a bundle and a signer":               {Name: text("c"), SignerName: text("s"), Path: "ca"},
		"names no bundle and no signer":             {Path: "ca"},
		"chooses among the bundles of a signer":     {Name: text("a"), LabelSelector: &metav1.LabelSelector{}, Path: "ca"},
		`"../x"`:                                    {Name: text("../x"), Path: "ca"},
		`"../y" begins with ".."`:                   {Name: text("a"), Path: "../y"},
		"is not a valid label selector operator": {
			SignerName: text("s"), Path: "ca", LabelSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "k", Operator: "Near"}},
			},
		},
	} {
		s, v := volumeOf(t, corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ClusterTrustBundle: &b}},
		}}, known)
		rungs, problem := s.Ladder(nil, v)
		if problem != nil {
			require.Contains(t, problem.Field, "spec.volumes[v].projected.sources[0].clusterTrustBundle")
			require.Contains(t, problem.Message, want)
			continue
		}
		require.Equal(t, want, core.Value(rungs[0].Want, paramVersions))
		v.IsComplete = false // of a signer there may be more; a bundle that is named is there
		_, problem = s.Ladder(nil, v)
		require.Equal(t, b.SignerName != nil, problem != nil, want)
	}
}
