package rooms

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/backends"
	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/scenarios/world"
)

func TestMain(m *testing.M) {
	if linux.IsHelper() {
		linux.HelperMain()
	}
	os.Exit(haltest.InPrivateMounts(m.Run))
}

// TestVolumesConform: the verbs of each volume that pods of hunts have do on Linux what they do in the simulator, also
// if they come twice, or come to what they have not made.
func TestVolumesConform(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	tried := 0
	for _, m := range world.Rooms {
		if m.HasServer {
			continue
		}
		for _, v := range m.Hunted.Volumes {
			if isDisk(v.PV) {
				continue // see TestDisksConform
			}
			tried++
			t.Run(v.Text, func(t *testing.T) {
				conform(t, v, nil)
			})
		}
	}
	require.Positive(t, tried)
}

// conform compares what the verbs of a volume of one rung say on Linux and in the simulator.
func conform(t *testing.T, v world.HuntedShape, group *int64) {
	said := map[string][]string{}
	for name, newWorld := range backends.All {
		w := newWorld()
		h := w.Host()
		h.Cluster, h.Tokens = objects{}, objects{}
		w.Do(func() { said[name] = lives(t, &h, w.Dir(), v, group) })
		w.Close()
	}
	require.Equal(t, said["linux"], said["sim"])
	require.Len(t, said["sim"], 12)
	for i, line := range said["sim"] {
		t.Log(line)
		if i < 11 {
			require.Contains(t, line, ": done")
		}
	}
	require.Contains(t, said["sim"][3], "there is something true, the same true")
	require.Contains(t, said["sim"][8], "there is something false")
	require.Equal(t, "left: [] false", said["sim"][11])
}

// TestHugePagesConform is the same of an emptyDir of huge pages, which no pod of hunts has.
func TestHugePagesConform(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	if _, err := os.Stat("/sys/kernel/mm/hugepages/hugepages-2048kB"); err != nil {
		t.Skip("the host has no huge pages of 2 MiB: ", err)
	}
	group, limit := int64(2000), resource.MustParse("4Mi")
	for _, src := range []*corev1.EmptyDirVolumeSource{
		{Medium: "HugePages-2Mi"}, {Medium: "HugePages-2Mi", SizeLimit: &limit},
	} {
		for _, to := range []*int64{nil, &group} {
			conform(t, world.HuntedShape{Source: corev1.VolumeSource{EmptyDir: src}}, to)
		}
	}
}

func isDisk(pv *corev1.PersistentVolume) bool {
	return pv != nil && pv.Spec.Local != nil && pv.Spec.Local.FSType != nil
}

// TestDisksConform is the same of volumes that are disks, of which pods share two rungs.
func TestDisksConform(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	for _, holds := range []string{"blank", "ext4"} {
		t.Run(holds, func(t *testing.T) {
			said := map[string][]string{}
			for name, newWorld := range backends.All {
				w := newWorld()
				h := w.Host()
				path, fsType := w.PutDisk("disk", holds, "0a0b0c0d-1111-4222-8333-444455556666"), "ext4"
				pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
				pv.Spec.Local = &corev1.LocalVolumeSource{Path: path, FSType: &fsType}
				w.Do(func() { said[name] = lives(t, &h, w.Dir(), world.Persistent("a disk", pv), nil) })
				w.Close()
			}
			require.Equal(t, said["linux"], said["sim"])
			require.Len(t, said["sim"], 3*11+1)
			for _, line := range said["sim"][6:33] { // before the first setup, no rung below is up
				require.Contains(t, line, ": done")
			}
			require.Equal(t, "left: [] false", said["sim"][33])
		})
	}
}

// objects has all Secrets, ConfigMaps and tokens that anybody asks for.
type objects struct{ hal.Cluster }

var held = map[string]string{"key": "of", "version": "one"}

func (objects) Content(kind, namespace, name string) *hal.Content {
	return &hal.Content{Kind: kind, Namespace: namespace, Name: name, UID: "u", Version: "1"}
}

func (objects) TrustBundles() []*hal.Content {
	return []*hal.Content{{
		Kind: hal.TrustBundleKind, Name: "example.com:ca:a", UID: "u", Version: "1", Signer: "example.com/ca",
		Labels: map[string]string{"live": "yes"},
	}}
}

func (o objects) TrustBundle(hal.Call, string) (hal.TrustBundle, error) {
	is := o.TrustBundles()[0]
	return hal.TrustBundle{
		PEM: "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n", Signer: is.Signer, Labels: is.Labels,
	}, nil
}

func (objects) Secret(hal.Call, string, string) (hal.Secret, error) { return hal.NewSecret(held), nil }

func (objects) ConfigMap(hal.Call, string, string) (map[string]string, error) { return held, nil }

func (objects) Pod(_ hal.Call, namespace, name, uid string) (*corev1.Pod, error) {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}}, nil
}

func (objects) Token(hal.Call, hal.TokenRequest) (hal.Token, error) {
	return hal.NewToken("of the account", "", time.Hour, time.Hour), nil
}

// lives takes a volume up and down and tells what each verb said, without what differs between two nodes.
func lives(t *testing.T, h *hal.Host, root string, v world.HuntedShape, group *int64) (said []string) {
	pv := v.PV.DeepCopy()
	if pv != nil && pv.Spec.Local != nil && !isDisk(pv) { // its directory is below the root, as all that the test makes
		pv.Spec.Local.Path = root + pv.Spec.Local.Path
		require.NoError(t, h.HostPaths.Make(hal.Call{}, pv.Spec.Local.Path, hal.TypeDirectory))
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "u1"}}
	user := int64(1000)
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, FSGroup: group}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{"hugepages-2Mi": resource.MustParse("2Mi")},
	}}}
	rungs, problem := kinds.All().Ladder(nil, plugin.Volume{
		Root: root, NodeName: "node", Pod: pod, Spec: &corev1.Volume{Name: "v", VolumeSource: v.Source}, PV: pv,
		Contents: objects{}, HasTokens: true, IsComplete: true,
	})
	require.Nil(t, problem)
	prints, facts := map[hal.Key]string{}, map[hal.Key][]core.Fact{}
	do := func(verb core.Verb, r core.Rung) {
		verbs, ok := kinds.All().VerbsOf(r.Kind)
		require.True(t, ok)
		f := map[core.Verb]func(*hal.Host, core.Op) core.Result{
			core.SetUp: verbs.SetUp, core.TearDown: verbs.TearDown, core.Inspect: verbs.Inspect,
		}[verb]
		o := core.Op{
			ID: 1, Verb: verb, Key: r.Key, Kind: r.Kind, Params: r.Want, Fingerprint: prints[r.Key], Facts: facts[r.Key],
		}
		for _, below := range rungs {
			if slices.Contains(r.Below, below.Key) {
				o.Below = append(o.Below, core.Foundation{
					Key: below.Key, Kind: below.Kind, Facts: facts[below.Key], Fingerprint: prints[below.Key],
				})
			}
		}
		is := f(h, o)
		isSame := is.Fingerprint == prints[r.Key]
		if verb != core.Inspect {
			prints[r.Key], facts[r.Key] = is.Fingerprint, is.Facts // none after a teardown
		}
		said = append(said, fmt.Sprintf("%s %s: %s %s, there is something %t, the same %t, blocked %t", verb, r.Kind,
			is.Outcome, strings.ReplaceAll(is.Reason, root, "ROOT"), is.Fingerprint != "", isSame, is.Blocked))
	}
	for _, verb := range []core.Verb{
		core.Inspect, core.TearDown, core.SetUp, core.Inspect, core.SetUp, core.Inspect, core.TearDown, core.TearDown,
		core.Inspect, core.SetUp, core.TearDown,
	} {
		for i := range rungs {
			r := rungs[i]
			if verb != core.TearDown { // from below
				r = rungs[len(rungs)-1-i]
			}
			do(verb, r)
		}
	}
	entries, err := h.Tree.List(hal.Call{}, plugin.PodsDir(root))
	return append(said, fmt.Sprint("left: ", entries, err != nil))
}
