package kinds

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

// What a ladder has made and what a start without a journal finds are the same rungs, or one thing would have two.
func TestLadderAndDiscoveryAgree(t *testing.T) {
	no := false
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv1"}}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "d.example", VolumeHandle: "pool/vol 1"}
	object := &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{
		AttachRequired: &no,
		VolumeLifecycleModes: []storagev1.VolumeLifecycleMode{
			storagev1.VolumeLifecyclePersistent,
			storagev1.VolumeLifecycleEphemeral,
		},
	}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "u1"}}
	for name, v := range map[string]plugin.Volume{
		"staged": {PV: pv, Driver: &plugin.DriverFacts{StageUnstage: true}},
		"direct": {PV: pv, Driver: &plugin.DriverFacts{}},
		"block":  {PV: pv, Block: true, Driver: &plugin.DriverFacts{StageUnstage: true}},
		"raw":    {PV: pv, Block: true, Driver: &plugin.DriverFacts{}},
		"inline": {
			Spec: &corev1.Volume{VolumeSource: corev1.VolumeSource{
				CSI: &corev1.CSIVolumeSource{Driver: "d.example"},
			}},
			Driver: &plugin.DriverFacts{},
		},
		"repository": {
			RepositorySchemes: []string{"https"},
			Spec: &corev1.Volume{VolumeSource: corev1.VolumeSource{
				GitRepo: &corev1.GitRepoVolumeSource{Repository: "https://git.example/app"},
			}},
		},
		"scratch": {Spec: &corev1.Volume{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if v.Spec == nil {
				v.Spec = &corev1.Volume{}
			}
			v.Spec.Name = "v"
			v.Root, v.NodeName, v.Pod, v.Object, v.Config = "/r", "node1", pod, object, config("")
			if v.Block {
				v.Config.PublishesWithoutMount = true
			}
			rungs, problem := All().Ladder(nil, v)
			require.Nil(t, problem)
			n := plugintest.New("/r/pods", "/r/plugins")
			n.World.PutRepository("https://git.example/app", "", map[string]string{"file": ""})
			for i := len(rungs) - 1; i >= 0; i-- {
				setUpOn(t, n, rungs[i])
			}
			listing, err := All().Scan(n.HAL(), hal.Call{}, "/r", false)
			require.NoError(t, err)
			found, left := All().Discover("/r", listing, config)
			require.Empty(t, left)
			require.Len(t, found, len(rungs))
			for i, f := range found {
				r := rungs[len(rungs)-1-i]
				require.Equal(t, r.Key, f.Key)
				require.Equal(t, r.Below, f.Below)
				require.Equal(t, []any{r.Kind, r.Pod, r.Volume, r.Actor, r.Intent},
					[]any{f.Kind, f.Pod, f.Volume, f.Actor, f.Intent})
				for _, p := range f.Want {
					require.Equal(t, core.Value(r.Want, p.Name), p.Value, p.Name)
				}
			}
		})
	}
}

// setUpOn is set up a rung on a node whose driver does nothing but answer OK, and makes what a driver would have made.
func setUpOn(t *testing.T, n *plugintest.Node, r core.Rung) {
	t.Helper()
	verbs, ok := All().VerbsOf(r.Kind)
	require.True(t, ok)
	if at := core.Value(r.Want, "path"); r.Kind == "csi.publish" {
		n.Mount(at, "volume")
	}
	up := verbs.SetUp(n.HAL(), core.Op{ID: 1, Verb: core.SetUp, Key: r.Key, Kind: r.Kind, Params: r.Want})
	require.Equal(t, hal.Done, up.Outcome, up.Reason)
}
