package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/hal/wrap"
)

// lives runs an engine on this host, beside so many mounts of others and so many pods that stay, and returns what it
// takes for five filesystems in memory that come, are unmounted by somebody, come again and go.
func lives(t *testing.T, foreign, pods int) map[string]uint64 {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	others, root := filepath.Join(dir, "others"), filepath.Join(dir, "root")
	deletionsLog := filepath.Join(root, "volnode", "deletions.log")
	require.NoError(t, os.Mkdir(others, 0o755))
	require.NoError(t, unix.Mount("others", others, "tmpfs", 0, ""))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(others, unix.MNT_DETACH)) })
	for i := range foreign {
		at := filepath.Join(others, strconv.Itoa(i))
		require.NoError(t, os.Mkdir(at, 0o755))
		require.NoError(t, unix.Mount(others, at, "", unix.MS_BIND, ""))
	}
	host, err := linux.New(linux.Options{RootDir: root})
	require.NoError(t, err)
	t.Cleanup(host.Close)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	h, meter := wrap.Metered(host.HAL())
	tasks := &counted{Runtime: h.Runtime}
	h.Cluster, h.Runtime = noCluster{}, tasks
	var looked atomic.Pointer[core.Work]
	noticed := make(chan struct{}, 100)
	looks := func(c *core.Core) {
		work := c.Work()
		looked.Store(&work)
	}
	m := engine.New(h, engine.Config{
		NodeName: "n", RootDir: root, NoRuntime: true, Stepped: looks,
		Happening: func(e engine.Event) {
			switch e.(type) {
			case engine.VolumeChanged, engine.VolumeLost:
				noticed <- struct{}{}
			}
		},
	})
	owner := make(chan struct{})
	go func() {
		defer close(owner)
		host.Run(ctx)
	}()
	defer func() { end(); <-owner; tasks.tasks.Wait() }()
	m.Start()
	comes := func(uid types.UID) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: string(uid), UID: uid}}
		memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: memory}}
		mounts := []corev1.VolumeMount{{Name: "a", MountPath: "/a"}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", VolumeMounts: mounts}}
		m.PodAdded(pod)
		require.NoError(t, m.WaitForAttachAndMount(ctx, core.PodUID(uid)))
	}
	live := func(uid types.UID) {
		comes(uid)
		at := filepath.Join(root, "pods", string(uid), "volumes/kubernetes.io~empty-dir/a")
		require.NoError(t, unix.Unmount(at, 0))
		for range 2 { // that it is gone, and that what it held is lost once it has come again
			select {
			case <-noticed:
			case <-ctx.Done():
				require.NoError(t, ctx.Err())
			}
		}
		m.PodRemoved(core.PodUID(uid))
		require.NoError(t, m.WaitForUnmount(ctx, core.PodUID(uid)))
	}
	for i := range pods {
		uid := "00000000-0000-4000-9000-" + fmt.Sprintf("%012d", i)
		comes(types.UID(uid))
		t.Cleanup(func() {
			_ = unix.Unmount(filepath.Join(root, "pods", uid, "volumes/kubernetes.io~empty-dir/a"), unix.MNT_DETACH)
		})
	}
	live("00000000-0000-4000-8000-000000000001") // whatever a start reads is read
	// Of three times the least counts: what a start reads again in a while, on a machine under load, is no cost of a
	// volume.
	least := map[string]uint64{}
	for round := range 3 {
		begun, before, worked := host.MountsRead(), meter.Counts(), *looked.Load()
		for i := range 5 {
			live(types.UID(fmt.Sprintf("00000000-0000-4000-8000-0000000001%d%d", round, i)))
		}
		after := meter.Counts()
		// A write of the log of deletions that takes long has it read again, which says nothing of what a volume costs.
		after.Read -= after.ReadOf[deletionsLog] - before.ReadOf[deletionsLog]
		for what, n := range costs(host.MountsRead()-begun, before, after, worked, *looked.Load()) {
			if was, ok := least[what]; !ok || n < was {
				least[what] = n
			}
		}
	}
	return least
}

func costs(asked uint64, before, after wrap.Counts, worked, work core.Work) map[string]uint64 {
	return map[string]uint64{
		"entries that the kernel was asked about": asked, "entries of the mount table": after.Mounts - before.Mounts,
		"calls": after.Sum() - before.Sum(), "entries of directories": after.Names - before.Names,
		"bytes read":    after.Read - before.Read,
		"bytes written": after.Written - before.Written, "rungs": work.Rungs - worked.Rungs,
		"places":  work.Places - worked.Places,
		"waiters": work.Waiters - worked.Waiters,
	}
}

// What the engine takes for a volume does not depend on the mounts of others, nor on the pods that stay.
func TestMountsOfOthersCostNothing(t *testing.T) {
	needRoot(t)
	queue, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_MNT|unix.FAN_NONBLOCK, unix.O_RDONLY)
	if err != nil {
		t.Skip("needs Linux 6.15: fanotify tells of mounts (FAN_REPORT_MNT): " + err.Error())
	}
	unix.Close(queue)
	few, many := lives(t, 50, 1), lives(t, 5000, 100)
	for is, n := range few {
		t.Logf("%s: %d, %d of many", is, n, many[is])
		require.InDelta(t, n, many[is], 60+float64(n)/4, is)
	}
	require.Less(t, few["entries that the kernel was asked about"], uint64(300))
}
