package emptydir

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

// hugeRung is the rung of an emptyDir of huge pages, of a pod whose containers have limits for these sizes of pages.
func hugeRung(medium, sizeLimit string, group *int64, sizes ...string) ([]core.Rung, *plugin.Problem) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}}
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: group}
	for _, size := range sizes {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceName("hugepages-" + size): resource.MustParse("1Gi")},
		}})
	}
	src := &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMedium(medium)}
	if sizeLimit != "" {
		limit := resource.MustParse(sizeLimit)
		src.SizeLimit = &limit
	}
	return Ladder(nil, plugin.Volume{
		Root: "/r", Pod: pod, Spec: &corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: src}},
	})
}

// The pages are of the size in the medium, or of the only one that the containers ask for (K:G97).
func TestTheSizeOfHugePages(t *testing.T) {
	for _, c := range []struct {
		medium string
		sizes  []string
		pages  string
		why    string
	}{
		{"HugePages-2Mi", []string{"2Mi", "1Gi"}, "2097152", ""},
		{"HugePages", []string{"1Gi", "1Gi"}, "1073741824", ""},
		{"HugePages", nil, "", "the containers have limits for 0 sizes of huge pages"},
		{"HugePages", []string{"2Mi", "1Gi"}, "", "the containers have limits for 2 sizes of huge pages"},
		{"HugePages-1Gi", []string{"2Mi"}, "", `"HugePages-1Gi" needs a container with the limit hugepages-1Gi`},
		{"HugePages-x", []string{"x"}, "", `"x" is no size of a page; write it like 2Mi`},
		{"HugePages-x", nil, "", `"HugePages-x" needs a container with the limit hugepages-x`},
		{"Disk", nil, "", `"Disk" is no medium; use Memory, HugePages or HugePages-2Mi`},
	} {
		rungs, problem := hugeRung(c.medium, "", nil, c.sizes...)
		if c.why != "" {
			require.ErrorContains(t, problem, "spec.volumes[v].emptyDir.medium: "+c.why)
			continue
		}
		require.Nil(t, problem)
		require.Equal(t, c.pages, core.Value(rungs[0].Want, paramPages))
		require.Equal(t, c.medium, core.Value(rungs[0].Want, paramMedium))
	}
}

// A limit is of whole pages, and of one at least: else the filesystem would hold nothing.
func TestTheLimitIsOfWholePages(t *testing.T) {
	rungs, problem := hugeRung("HugePages", "3Mi", nil, "2Mi")
	require.Nil(t, problem)
	require.Equal(t, "4194304", core.Value(rungs[0].Want, paramSize))
	_, problem = hugeRung("HugePages-1Gi", "512Mi", nil, "1Gi")
	require.ErrorContains(t, problem, "spec.volumes[v].emptyDir.sizeLimit: 512Mi is less than one of its huge pages")
}

// A filesystem of another medium, which a life with another manifest has made, is made again.
func TestAnotherMediumIsMadeAgain(t *testing.T) {
	n := plugintest.New("/r/pods")
	require.Equal(t, hal.Done, setUp(n.HAL(), opOf(memory, "")).Outcome)
	rungs, _ := hugeRung("HugePages", "", nil, "2Mi")
	o := opOf(memory, "")
	o.Params = rungs[0].Want
	r := setUp(n.HAL(), o)
	require.Equal(t, hal.Unknown, r.Outcome)
	require.True(t, r.UndoFirst)
	require.Contains(t, r.Reason, "has a filesystem of another medium")
	down := o
	down.Verb = core.TearDown
	require.Equal(t, hal.Done, tearDown(n.HAL(), down).Outcome)
	require.Equal(t, hal.Done, setUp(n.HAL(), o).Outcome)
}

// The filesystem of huge pages has the mode, the group and the size of the volume, and goes with it. Its mount drops
// the set-group-ID bit: wherever the agent dies, the next setup sets it.
func TestHugePages(t *testing.T) {
	group := int64(2000)
	for gid, of := range map[uint32]*int64{0: nil, 2000: &group} {
		rungs, problem := hugeRung("HugePages", "4Mi", of, "2Mi")
		require.Nil(t, problem)
		r := rungs[0]
		o := core.Op{ID: 1, Verb: core.SetUp, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Params: r.Want}
		dir := plugin.PathOf(o.Params)
		mode := uint32(0o777)
		if gid != 0 {
			mode = 0o2777
		}
		calls := []string{""}
		for i := 0; i < len(calls); i++ {
			n := plugintest.New("/r/pods")
			n.Fail[calls[i]] = plugintest.Errno("any", calls[i], syscall.EIO)
			is := setUp(n.HAL(), o)
			if i == 0 {
				require.Equal(t, hal.Done, is.Outcome, is.Reason)
				calls = append(calls, n.Calls...)
			}
			clear(n.Fail)
			is = setUp(n.HAL(), o)
			require.Equal(t, hal.Done, is.Outcome, is.Reason)
			mounts := n.World.MountsAt(dir)
			require.Len(t, mounts, 1)
			require.Equal(t, "hugetlbfs", mounts[0].FSType)
			at, ok := n.World.Found(dir)
			require.True(t, ok)
			require.Equal(t, []uint32{mode, gid}, []uint32{at.Mode, at.GID}, calls[i])
			down := o
			down.Verb, down.Fingerprint = core.TearDown, is.Fingerprint
			require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), down))
			require.Equal(t, "/r/pods directory\n", n.Tree("/r"))
		}
	}
}

func TestANodeWithoutSuchPages(t *testing.T) {
	rungs, _ := hugeRung("HugePages", "", nil, "64Ki")
	r := rungs[0]
	is := setUp(plugintest.New("/r/pods").HAL(), core.Op{
		ID: 1, Verb: core.SetUp, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Params: r.Want,
	})
	require.Equal(t, hal.Unknown, is.Outcome)
	require.Contains(t, is.Reason, "the node has no huge pages of 65536 bytes (ls /sys/kernel/mm/hugepages)")
}
