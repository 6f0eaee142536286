package emptydir

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// withQuotas is a node whose disk has project quotas, and a volume that one holds to 1000 bytes.
func withQuotas() (*plugintest.Node, core.Op) {
	n := plugintest.New("/r/pods")
	n.World.SetQuotas(true)
	o := opOf("", held+"1000")
	o.First = true
	return n, o
}

// next is the next setup after r.
func next(o core.Op, r core.Result) core.Op {
	o.First, o.Facts, o.Fingerprint = false, r.Facts, r.Fingerprint
	return o
}

func TestAQuotaIsOfWhatIsOnDiskAndHasALimit(t *testing.T) {
	limit := resource.MustParse("1000")
	for _, c := range []struct {
		is    corev1.EmptyDirVolumeSource
		holds bool
		size  string
	}{
		{corev1.EmptyDirVolumeSource{SizeLimit: &limit}, true, "quota 1000"},
		{corev1.EmptyDirVolumeSource{SizeLimit: &limit}, false, "1000"},
		{corev1.EmptyDirVolumeSource{}, true, ""},
		{corev1.EmptyDirVolumeSource{SizeLimit: &limit, Medium: memory}, true, "1000"},
	} {
		v := plugin.Volume{
			Root: "/r", Pod: &corev1.Pod{}, HoldsLimits: c.holds,
			Spec: &corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &c.is}},
		}
		v.Pod.UID = "u1"
		all, p := Ladder(nil, v)
		require.Nil(t, p)
		require.Equal(t, c.size, core.Value(all[0].Want, paramSize))
		require.EqualValues(t, map[bool]int64{true: 1000}[c.size != "" && c.is.Medium == ""], limitOf(all[0].Want))
	}
}

func TestAQuotaComesAndGoesWithItsDirectory(t *testing.T) {
	n, o := withQuotas()
	r := setUp(n.HAL(), o)
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Equal(t, strconv.FormatUint(uint64(hal.FirstProject), 10), core.FactOf(r.Facts, factProject))
	require.Equal(t, r, setUp(n.HAL(), next(o, r)), "setting up twice is setting up once")
	is, err := measure(n.HAL(), hal.Call{}, o.Params)
	require.NoError(t, err)
	require.Equal(t, hal.Usage{Bytes: hal.Amount{Total: 1000, Available: 1000}}, is)
	n.Put(dir+"/a", hal.TypeFile)
	down := next(o, r)
	require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), tearingDown(down, r.Fingerprint)))
	require.Empty(t, n.World.Projects())
	require.Equal(t, "/r/pods directory\n", n.Tree("/r"))
	require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), tearingDown(down, "")))
}

func TestALimitThatCanNotBeSetKeepsThePodWaiting(t *testing.T) {
	n, o := withQuotas()
	n.World.SetQuotas(false)
	r := setUp(n.HAL(), o)
	require.Equal(t, hal.Unknown, r.Outcome)
	require.True(t, r.Blocked)
	require.Contains(t, r.Reason, notHeld)
	n.World.SetQuotas(true)
	n.Fail["quota limit "+dir] = plugintest.Errno("limit", dir, syscall.EIO)
	r = setUp(n.HAL(), next(o, core.Result{}))
	require.Equal(t, hal.Unknown, r.Outcome)
	require.False(t, r.Blocked, "it may be better the next time")
}

func TestWhatWasThereBeforeIsNotHeld(t *testing.T) {
	n, o := withQuotas()
	r := setUp(n.HAL(), opOf("", "1000"))
	require.Empty(t, n.World.Projects())
	n.Put(dir+"/a", hal.TypeFile)
	r = setUp(n.HAL(), next(o, r))
	require.Equal(t, hal.Done, r.Outcome)
	require.Contains(t, r.Short, notHeld)
	require.Empty(t, core.FactOf(r.Facts, factProject))
	is, err := measure(n.HAL(), hal.Call{}, o.Params)
	require.NoError(t, err, "what no quota counts is counted")
	require.EqualValues(t, 1, is.Inodes.Used)
}

func TestALimitThatNobodyWantsIsLifted(t *testing.T) {
	n, o := withQuotas()
	r := setUp(n.HAL(), o)
	off := next(opOf("", "1000"), r)
	r = setUp(n.HAL(), off)
	require.Equal(t, hal.Done, r.Outcome, r.Reason)
	require.Empty(t, core.FactOf(r.Facts, factProject))
	all := n.World.Projects()
	require.Len(t, all, 1)
	require.Zero(t, all[0].Limit)
	n.Calls = nil
	setUp(n.HAL(), next(off, r))
	require.NotContains(t, n.Calls, "quota lift "+dir, "once is enough")
}

func TestALimitOfAnotherProjectStays(t *testing.T) {
	n, o := withQuotas()
	r := setUp(n.HAL(), o)
	n.World.TakeProject(hal.FirstProject+1, sim.ProjectDirectory, "/srv/other")
	require.Zero(t, n.World.GiveProject(dir, hal.FirstProject+1))
	n.Put(dir+"/a", hal.TypeFile)
	again := setUp(n.HAL(), next(o, r))
	require.Equal(t, hal.Done, again.Outcome)
	require.Contains(t, again.Short, notHeld)
	require.Equal(t, core.Result{Outcome: hal.Done}, tearDown(n.HAL(), tearingDown(next(o, r), r.Fingerprint)))
	all := n.World.Projects()
	require.Len(t, all, 1, "the limit that nothing is held to is gone")
	require.Equal(t, hal.FirstProject+1, all[0].Number)
}

func TestALimitIsLiftedBeforeItsFilesAreDeleted(t *testing.T) {
	n, o := withQuotas()
	r := setUp(n.HAL(), o)
	n.Calls = nil
	n.Fail["quota lift "+op.TrashOf(dir)] = plugintest.Errno("lift", dir, syscall.EIO)
	down := tearDown(n.HAL(), tearingDown(next(o, r), r.Fingerprint))
	require.Equal(t, hal.Unknown, down.Outcome)
	require.Contains(t, n.Tree("/r"), dir, "nothing is deleted whose limit would be left")
}
