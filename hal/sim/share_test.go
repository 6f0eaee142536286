package sim_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

func networkWorld(t *testing.T) *client {
	return driverWorld(t, sim.Config{}, sim.Personality{Staging: true, Checks: true, Network: true})
}

func (k *client) publishAt(target string) error {
	return k.do(func(c hal.Call) error {
		_, err := k.h.CSINode.Publish(c, "d", &csi.NodePublishVolumeRequest{
			VolumeId:          "v",
			StagingTargetPath: root + "/s", TargetPath: root + target,
		})
		return err
	})
}

func TestACallWaitsForASilentServer(t *testing.T) {
	k := networkWorld(t)
	require.True(t, k.w.SilenceServer("d", "v", 5*time.Second))
	began := k.w.Now()
	require.NoError(t, k.stage(), "it acts when the server answers")
	require.GreaterOrEqual(t, k.w.Now().Sub(began), 5*time.Second)
	require.True(t, k.w.Shows("d", "v", root+"/s"))

	require.True(t, k.w.SilenceServer("d", "v", time.Hour))
	require.Equal(t, hal.Unknown, hal.OutcomeOf(k.publishAt("/p/x")))
	require.Len(t, k.w.Active(), 1)
	require.NoError(t, k.w.RunFor(sim.LateWindow))
	require.Empty(t, k.w.Active(), "no call acts later than its bound")
	require.NoError(t, k.w.RunFor(time.Hour))
	require.Empty(t, k.w.Published())
	require.False(t, k.w.SilenceServer("d", "no such volume", time.Hour))
}

func TestAnUnmountWaitsForASilentServerAndCanNotBeKilled(t *testing.T) {
	k := networkWorld(t)
	require.NoError(t, k.stage())
	id := k.w.MountsAt(root + "/s")[0].ID
	k.w.SilenceServer("d", "v", time.Minute)
	k.w.Go(func() { _ = k.h.Mounts.Unmount(hal.Call{Op: 3, Key: "rung"}, root+"/s", id) })
	require.NoError(t, k.w.RunFor(time.Second))
	k.w.KillAgent()
	require.Len(t, k.w.Living(), 1, "it sits in the kernel")
	table := []hal.Mount(nil)
	stat := hal.Info{}
	h := k.w.Host()
	began := k.w.Now()
	k.w.Do(func() {
		table, _ = h.Mounts.At(hal.Call{}, root+"/s")
		stat, _ = h.Tree.Stat(hal.Call{}, root+"/s")
	})
	require.Len(t, table, 1)
	require.True(t, stat.MountPoint)
	require.Less(t, k.w.Now().Sub(began), time.Second, "who looks at the mount table waits for no server")
	require.NoError(t, k.w.RunFor(time.Minute))
	require.Empty(t, k.w.Living())
	require.Empty(t, k.w.MountsAt(root+"/s"), "it acts once the server answers")
}

func TestAHostPathOnASilentServerHangs(t *testing.T) {
	w := benign(t, sim.Config{})
	w.MountShare("/srv/nas")
	w.MakeDir("/srv/nas/data")
	require.True(t, w.SilenceShare("/srv/nas", time.Minute))
	require.False(t, w.SilenceShare("/srv", time.Minute))
	h, began := w.Host(), w.Now()
	var found, mountPoint hal.HostFile
	w.Do(func() {
		mountPoint, _ = h.HostPaths.Find(hal.Call{}, "/srv/nas")
		require.Less(t, w.Now().Sub(began), time.Second, "the mount's root is in memory")
		found, _ = h.HostPaths.Find(hal.Call{}, "/srv/nas/data")
	})
	require.Equal(t, hal.TypeDirectory, mountPoint.Type)
	require.Equal(t, hal.TypeDirectory, found.Type)
	require.GreaterOrEqual(t, w.Now().Sub(began), time.Minute)
}

func TestAStaleMountAnswersNothingAndIsUnmounted(t *testing.T) {
	k := networkWorld(t)
	require.NoError(t, k.stage())
	require.NoError(t, k.publishAt("/p/x"))
	v, errno := k.w.OpenView(root + "/p/x")
	require.Zero(t, errno)
	require.Zero(t, v.Write("f", 0, []byte("data")))
	before := k.w.MountsAt(root + "/s")[0]
	require.True(t, k.w.ExportAgain("d", "v"))
	require.Equal(t, syscall.ESTALE, v.Write("f", 0, []byte("more")))
	require.True(t, v.IsDead())
	require.Equal(t, before, k.w.MountsAt(root + "/s")[0], "the mount table shows no difference")
	k.code(hal.CodeFailedPrecondition, k.publishAt("/p/y"))
	require.NoError(t, k.stage(), "mounted again")
	require.NotEqual(t, before.Device, k.w.MountsAt(root + "/s")[0].Device)
	require.NoError(t, k.publishAt("/p/y"))
	fresh, errno := k.w.OpenView(root + "/p/y")
	require.Zero(t, errno)
	data, errno := fresh.Read("f")
	require.Zero(t, errno)
	require.Equal(t, "data", string(data))
	require.Zero(t, k.w.UnmountTop(root+"/p/x"))
}
