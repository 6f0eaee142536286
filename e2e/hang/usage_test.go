package hang

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// usageOf is what the status says of the one volume of a pod, nil for nothing.
func usageOf(s engine.Status, uid string) *engine.VolumeStatus {
	for _, p := range s.Pods {
		if string(p.UID) == uid && len(p.Volumes) == 1 {
			return &p.Volumes[0]
		}
	}
	return &engine.VolumeStatus{}
}

// TestVolumesSayHowFullTheyAre: a driver that does not say it keeps no volume but its own from saying it.
func TestVolumesSayHowFullTheyAre(t *testing.T) {
	h := host.New(t)
	h.Settings.VolumeStats = time.Second
	h.Apply("driver.yaml", host.DriverObject)
	h.Apply("data.yaml", host.ClaimAndVolume("data", "vol-1", ""))
	h.Apply("disk.yaml", host.LocalVolume("disk", h.MountImage("disk")))
	h.StartDriver("--volume=vol-1=dir")
	h.Start()
	h.Apply("web.yaml", host.Pod("web", "uid-web", "data", host.Claim("data")))
	h.Apply("db.yaml", host.Pod("db", "uid-db", "disk", host.Claim("disk")))
	h.Wait("pod/default/web", "ready")
	h.Wait("pod/default/db", "ready")
	is := func(s engine.Status, uid string) bool {
		v := usageOf(s, uid)
		return v.Usage != nil && v.Usage.Bytes != nil && v.Usage.Inodes != nil
	}
	await := func(ok func(engine.Status) bool) (s engine.Status) {
		has := func() bool { s = h.Status(); return ok(s) }
		require.Eventually(t, has, host.Patience, 50*time.Millisecond) //nolint:forbidigo // no notice tells
		return s
	}
	s := await(func(s engine.Status) bool { return is(s, "uid-web") && is(s, "uid-db") })
	for _, uid := range []string{"uid-web", "uid-db"} {
		v := usageOf(s, uid)
		var st unix.Statfs_t
		require.NoError(t, unix.Statfs(v.Path, &st))
		require.Equal(t, int64(st.Blocks)*st.Frsize, v.Usage.Bytes.Total, uid)
		require.Equal(t, int64(st.Files), v.Usage.Inodes.Total, uid)
	}
	require.Equal(t, "default/disk", usageOf(s, "uid-db").Claim)
	page := h.Ask("/metrics")
	require.Contains(t, page, `kubelet_volume_stats_capacity_bytes{namespace="default",persistentvolumeclaim="disk"}`)
	require.Contains(t, page, `kubelet_volume_stats_inodes_free{namespace="default",persistentvolumeclaim="data"}`)
	require.Contains(t, page, `kubelet_volume_metric_collection_duration_seconds_count{metric_source="statfs"}`)
	text, _, status := h.Run("describe", "pod", "default/db")
	require.Zero(t, status)
	require.Contains(t, text, "inodes")

	require.Contains(t, page,
		`kubelet_volume_stats_health_status_abnormal{namespace="default",persistentvolumeclaim="data"} 0`)
	ill := csidriver.HealthFile(h.StateDir(), "vol-1")
	require.NoError(t, os.WriteFile(ill, []byte("INACCESSIBLE NoPath the array is off\nDEGRADED Slow\n"), 0o600))
	await(func(s engine.Status) bool {
		v := usageOf(s, "uid-web")
		return v.Health != nil && len(v.Health.Problems) == 2
	})
	text, _, status = h.Run("describe", "pod", "default/web")
	require.Zero(t, status)
	const said = "INACCESSIBLE NoPath: the array is off; DEGRADED Slow"
	require.Contains(t, text, "health     "+said+"\n")
	require.Regexp(t, `Warning VolumeConditionAbnormal of volume data \(.*\): `+said, text)
	require.Contains(t, h.Ask("/metrics"),
		`kubelet_volume_stats_health_status_abnormal{namespace="default",persistentvolumeclaim="data"} 1`)
	require.NoError(t, os.Remove(ill))
	await(func(s engine.Status) bool { v := usageOf(s, "uid-web"); return len(v.Health.Problems) == 0 })

	ill = csidriver.StorageHealthFile(h.StateDir())
	require.NoError(t, os.WriteFile(ill, []byte("STORAGE_UNREACHABLE NoPath the array is off\n"), 0o600))
	await(func(s engine.Status) bool {
		is := s.Drivers[0].Storage
		return is != nil && len(is.Problems) == 1 && is.Problems[0].Status == "STORAGE_UNREACHABLE"
	})
	text, _, status = h.Run("describe", "driver", s.Drivers[0].Name)
	require.Zero(t, status)
	require.Contains(t, text, "STORAGE_UNREACHABLE NoPath: the array is off\n")
	require.Contains(t, h.Ask("/metrics"), `volnode_driver_storage_abnormal{driver_name="`+s.Drivers[0].Name+`"} 1`)
	require.NoError(t, os.Remove(ill))
	await(func(s engine.Status) bool { return len(s.Drivers[0].Storage.Problems) == 0 })

	h.DriverFaults(csidriver.Rule{Method: "NodeGetVolumeStats", DelayBefore: csidriver.Duration(host.Patience)})
	require.NoError(t, os.WriteFile(usageOf(s, "uid-db").Path+"/more", []byte(strings.Repeat("x", 1<<20)), 0o600))
	used := usageOf(s, "uid-db").Usage.Bytes.Used
	await(func(s engine.Status) bool { return usageOf(s, "uid-db").Usage.Bytes.Used > used })
	h.Remove("web.yaml")
	h.Wait("pod/default/web", "gone")
	h.DriverFaults()
}

// TestAnEmptyDirSaysThatItHoldsTooMuch, and of whose group its files are.
func TestAnEmptyDirSaysThatItHoldsTooMuch(t *testing.T) {
	h := host.New(t)
	h.Settings.VolumeStats = time.Second
	a := h.Start()
	h.Apply("web.yaml", host.InGroup(2000, host.Pod("web", "uid-web", "scratch", "emptyDir: {sizeLimit: 1Mi}")))
	h.Wait("pod/default/web", "ready")
	at := usageOf(h.Status(), "uid-web").Path
	var st unix.Stat_t
	require.NoError(t, unix.Stat(at, &st))
	require.Equal(t, uint32(unix.S_IFDIR|unix.S_ISGID|0o777), st.Mode)
	require.EqualValues(t, 2000, st.Gid)
	require.NoError(t, os.WriteFile(at+"/more", []byte(strings.Repeat("x", 2<<20)), 0o600))
	s := a.AwaitStatus("an emptyDir that holds too much", func(s engine.Status) bool {
		u := usageOf(s, "uid-web").Usage
		return u != nil && u.Why != ""
	})
	u := usageOf(s, "uid-web").Usage
	require.EqualValues(t, 1<<20, u.Bytes.Total)
	require.GreaterOrEqual(t, u.Bytes.Used, int64(2<<20))
	text, _, _ := h.Run("status")
	require.Contains(t, text, "more than its limit of 1048576")
	text, _, _ = h.Run("describe", "pod", "default/web")
	require.Contains(t, text, "more than its limit of 1048576")
	require.NoError(t, os.Remove(at+"/more"))
	a.AwaitStatus("an emptyDir that holds little", func(s engine.Status) bool {
		return usageOf(s, "uid-web").Usage.Why == ""
	})
	h.Remove("web.yaml")
	h.Wait("pod/default/web", "gone")
}
