package rooms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/backends"
	"github.com/volnode/volnode/hal/sim"
)

// TestFlexVolumesConform: the verbs of a FlexVolume do with a script on Linux what they do with a driver of the
// simulator, whatever the driver's manner is when it is to mount, and when it is to unmount.
func TestFlexVolumesConform(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	for comes := range sim.FlexManners {
		for goes := range sim.FlexManners {
			if testing.Short() && comes != "polite" && goes != "polite" {
				continue
			}
			said := map[string][]string{}
			for name, newWorld := range backends.All {
				w := newWorld()
				w.Do(func() { said[name] = flexLife(t, w, comes, goes) })
				w.Close()
			}
			require.Equal(t, said["linux"], said["sim"], "%s, then %s", comes, goes)
		}
	}
}

// flexLife has a driver of one manner set up a volume, and one of another take it down, twice each.
func flexLife(t *testing.T, w haltest.World, comes, goes string) (said []string) {
	t.Helper()
	const driver = "example.com/fs"
	h := w.Host()
	rungs, p := kinds.All().Ladder(nil, plugin.Volume{
		Root: w.Dir(), ServesFlex: true,
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u"}},
		Spec: &corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{
			FlexVolume: &corev1.FlexVolumeSource{Driver: driver},
		}},
	})
	require.Nil(t, p)
	verbs, ok := kinds.All().VerbsOf(rungs[0].Kind)
	require.True(t, ok)
	o := core.Op{
		ID: 1, Key: rungs[0].Key, Kind: rungs[0].Kind, Pod: rungs[0].Pod, Params: rungs[0].Want, First: true, Quiet: true,
	}
	note := func(r core.Result) core.Result {
		stack, err := h.Mounts.At(hal.Call{}, core.Value(rungs[0].Want, plugin.ParamPath))
		require.NoError(t, err)
		said = append(said, fmt.Sprintf("%v undo %t blocked %t, %d mounts, %t", r.Outcome, r.UndoFirst, r.Blocked, len(stack),
			strings.HasPrefix(r.Fingerprint, "mount ")))
		return r
	}
	w.InstallFlex(driver, comes)
	for range 2 {
		o.Verb = core.SetUp
		r := note(verbs.SetUp(&h, o))
		o.First = r.Outcome == hal.NotDone && o.First
		if r.Outcome == hal.Done {
			o.Fingerprint = r.Fingerprint
		}
	}
	w.InstallFlex(driver, goes)
	for range 2 {
		o.Verb = core.TearDown
		note(verbs.TearDown(&h, o))
	}
	require.True(t, w.RemoveFlexDriver(driver))
	require.Equal(t, hal.Done, note(verbs.TearDown(&h, o)).Outcome)
	names, err := h.Tree.List(hal.Call{}, w.Dir())
	require.NoError(t, err)
	for _, is := range names {
		inside, err := h.Tree.List(hal.Call{}, w.Dir()+"/"+is.Name)
		require.NoError(t, err)
		said = append(said, fmt.Sprint("left: ", is.Name, inside))
	}
	return said
}
