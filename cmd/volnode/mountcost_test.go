package main

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
)

// lives runs an engine on this host, beside so many mounts of others, and returns how many entries of the mount table
// it reads for a filesystem in memory that comes, is unmounted by somebody, comes again and goes.
func lives(t *testing.T, foreign int) uint64 {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	others, root := filepath.Join(dir, "others"), filepath.Join(dir, "root")
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
	ctx, end := context.WithTimeout(t.Context(), 15*time.Second)
	defer end()
	h := host.HAL()
	h.Cluster = noCluster{}
	noticed := make(chan struct{}, 100)
	m := engine.New(h, engine.Config{NodeName: "n", RootDir: root, NoRuntime: true, Logging: func(e engine.Entry) {
		if strings.Contains(e.Message, "behind our back") || strings.Contains(e.Message, "lost its data") {
			noticed <- struct{}{}
		}
	}})
	owner := make(chan struct{})
	go func() {
		defer close(owner)
		host.Run(ctx)
	}()
	defer func() { end(); <-owner }()
	m.Start()
	live := func(uid types.UID) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: string(uid), UID: uid}}
		memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
		pod.Spec.Volumes = []corev1.Volume{{Name: "a", VolumeSource: memory}}
		mounts := []corev1.VolumeMount{{Name: "a", MountPath: "/a"}}
		pod.Spec.Containers = []corev1.Container{{Name: "c", VolumeMounts: mounts}}
		m.PodAdded(pod)
		require.NoError(t, m.WaitForAttachAndMount(ctx, core.PodUID(uid)))
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
	live("00000000-0000-4000-8000-000000000001") // whatever a start reads is read
	begun := host.MountsRead()
	for i := range 5 {
		live(types.UID("00000000-0000-4000-8000-00000000001" + strconv.Itoa(i)))
	}
	return host.MountsRead() - begun
}

// What the engine reads of the mount table for a volume does not depend on the mounts of others.
func TestMountsOfOthersCostNothing(t *testing.T) {
	needRoot(t)
	queue, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_MNT|unix.FAN_NONBLOCK, unix.O_RDONLY)
	if err != nil {
		t.Skip("needs Linux 6.15: fanotify tells of mounts (FAN_REPORT_MNT): " + err.Error())
	}
	unix.Close(queue)
	few, many := lives(t, 50), lives(t, 5000)
	require.Less(t, few, uint64(300))
	require.InDelta(t, few, many, 60, "entries read for five volumes that come and go twice")
}
