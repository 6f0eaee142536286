package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file is the public methods, each with arguments that a host should not give, and at times when it should not
// ask.

// do asks from a task of the agent's, with so much patience.
func (b *bench) do(f func(m *engine.VolumeManager)) {
	b.t.Helper()
	b.w.Do(func() { f(b.m) })
}

const patience = time.Second

// asksAll asks each question, and looks that each has an answer in time.
func (b *bench) asksAll(uid core.PodUID) {
	b.t.Helper()
	began, asked := b.w.Now(), 0
	b.do(func(m *engine.VolumeManager) {
		ctx := b.w.Context
		_ = m.WaitForAttachAndMount(ctx(patience), uid)
		_ = m.WaitForUnmount(ctx(patience), uid)
		_ = m.WaitForAllPodsUnmount(ctx(patience), []core.PodUID{uid, "uid-none", ""})
		_ = m.WaitForNothing(ctx(patience))
		_, _ = m.Status(ctx(patience))
		_, _ = m.Plan(ctx(patience))
		_, _ = m.Deletions(ctx(patience))
		_, _ = m.GetMountedVolumesForPod(ctx(patience), uid)
		_, _ = m.GetPossiblyMountedVolumesForPod(ctx(patience), uid)
		_, _ = m.GetExtraSupplementalGroupsForPod(ctx(patience), uid)
		_, _ = m.GetVolumesInUse(ctx(patience))
		m.MarkVolumesAsReportedInUse(nil)
		_, _ = m.VolumeIsAttached(ctx(patience), "")
		_, _ = m.ReconcilerStatesHasBeenSynced(ctx(patience))
		m.PodAdded(nil)
		m.PodAdded(&corev1.Pod{})
		m.PodRemoved(uid)
		m.PodRemoved("")
		m.ContainersGone("")
		asked++
	})
	require.Equal(b.t, 1, asked)
	require.LessOrEqual(b.t, b.w.Now().Sub(began), 20*patience)
}

func TestEachQuestionAtEachTime(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.SetAgent(func(h hal.Host) { b.m = engine.New(h, b.cfg) })
	b.w.KillAgent()
	b.run(time.Minute)
	b.asksAll("uid-web") // it is made, and not started
	b.do(func(m *engine.VolumeManager) { m.Start(); m.Start() })
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
	for _, uid := range []core.PodUID{"uid-none", "", "../..", "uid-web"} {
		b.asksAll(uid)
	}
	b.run(time.Minute)
	require.Len(t, b.status().Pods, 0, "who was only asked for is no pod")
	require.Contains(t, b.log, "pod ignored why it has no UID; volnode names the data of a pod by its UID")
	b.do(func(m *engine.VolumeManager) { m.Stop(); m.Stop() })
	b.run(time.Minute)
	b.asksAll("uid-web")
}

// wrong is what a wait for a pod says when its time is over.
func (b *bench) wrong(wait func(*engine.VolumeManager) error) string {
	b.t.Helper()
	text := ""
	b.do(func(m *engine.VolumeManager) {
		if err := wait(m); err != nil {
			text = err.Error()
		}
	})
	return text
}

func TestWaitsSayWhatTheyWaitFor(t *testing.T) {
	b := newBench(t, sim.Polite())
	bare := pod("bare", "a")
	bare.Spec.Volumes, bare.Spec.Containers[0].VolumeMounts = nil, nil
	lost := pod("lost", "none")
	b.w.Cluster.Apply(pod("web", "a"), bare, lost)
	b.run(time.Minute)
	up := func(uid core.PodUID) string {
		return b.wrong(func(m *engine.VolumeManager) error {
			return m.WaitForAttachAndMount(b.w.Context(patience), uid)
		})
	}
	down := func(uid core.PodUID) string {
		return b.wrong(func(m *engine.VolumeManager) error { return m.WaitForUnmount(b.w.Context(patience), uid) })
	}
	require.Empty(t, up("uid-web"))
	require.Equal(t, "pod uid-web: volume data is Ready; volume scratch is Ready (context deadline exceeded)",
		down("uid-web"))
	require.Empty(t, up("uid-bare"))
	require.Empty(t, down("uid-bare"), "it has no volume that could be mounted")
	require.Empty(t, down("uid-none"))
	require.Equal(t, "pod uid-none: no manifest names it; volnode serves it once one does (context deadline exceeded)",
		up("uid-none"))
	require.Contains(t, up("uid-lost"), "volume data is Blocked: spec.volumes[data]")
	require.NotContains(t, up("uid-lost"), "scratch")
	require.Contains(t, up(""), "UID is empty")
	require.Contains(t, down(""), "UID is empty")
	require.Empty(t, b.wrong(func(m *engine.VolumeManager) error {
		return m.WaitForAllPodsUnmount(nil, nil) //nolint:staticcheck // a nil context is never over
	}))
	require.Empty(t, b.wrong(func(m *engine.VolumeManager) error {
		return m.WaitForAllPodsUnmount(b.w.Context(patience), []core.PodUID{"uid-bare", "uid-none"})
	}))
	over := b.w.Context(0)
	over.Cancel()
	require.Contains(t, b.wrong(func(m *engine.VolumeManager) error { return m.WaitForUnmount(over, "uid-web") }),
		"volume data is Ready")
}

func TestAVolumeHasTwoNames(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	attached := func(name string) (is bool, err error) {
		b.do(func(m *engine.VolumeManager) { is, err = m.VolumeIsAttached(b.w.Context(patience), name) })
		return is, err
	}
	for name, want := range map[string]bool{
		driverName + "^a": true, "kubernetes.io/csi/" + driverName + "^a": true, driverName + "^b": false,
		"kubernetes.io/csi/" + driverName + "^b": false,
	} {
		is, err := attached(name)
		require.NoError(t, err)
		require.Equal(t, want, is, name)
	}
	for _, name := range []string{"", "a", driverName} {
		is, err := attached(name)
		require.ErrorContains(t, err, "driver^handle")
		require.True(t, is, "what is not known is attached")
	}
}

// What a kubelet would report in the node's status: the volumes of drivers that attach, from the first wish until
// nothing is left.
func TestVolumesInUseAreThoseThatMayBeThere(t *testing.T) {
	b := newBench(t, sim.Polite())
	inUse := func() (names []corev1.UniqueVolumeName, err error) {
		b.do(func(m *engine.VolumeManager) { names, err = m.GetVolumesInUse(b.w.Context(patience)) })
		return names, err
	}
	expect := func(want ...corev1.UniqueVolumeName) {
		t.Helper()
		names, err := inUse()
		require.NoError(t, err)
		require.Equal(t, want, names)
	}
	inline := pod("inline", "")
	inline.Spec.Volumes[0].VolumeSource = corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: driverName}}
	yes, object := true, csiDriver()
	object.Spec.PodInfoOnMount = &yes
	b.w.Cluster.Apply(object, pod("web", "a"), pod("second", "a"), inline)
	b.run(time.Minute)
	expect() // the driver attaches nothing
	require.Equal(t, engine.Ready, b.status().Pods[0].State)

	attaches := object.DeepCopy()
	attaches.Spec.AttachRequired = nil
	b.w.Cluster.Apply(attaches)
	b.run(time.Minute)
	expect("kubernetes.io/csi/" + driverName + "^a") // and no inline volume
	b.w.Cluster.Delete(pod("web", "a"), pod("second", "a"), inline)
	b.run(time.Hour)
	expect()

	b.w.SetAgent(func(h hal.Host) { b.m = engine.New(h, b.cfg) })
	b.w.KillAgent()
	b.run(time.Minute)
	_, err := inUse() // it has not begun
	require.Error(t, err, "what is not known is in use")
}

// A start that can't go on says so to who waits.
func TestAHostThatIsNotWhole(t *testing.T) {
	b := newBench(t, sim.Polite())
	var ended, again error
	b.w.SetAgent(func(h hal.Host) {
		lacks := h
		lacks.Cluster = nil
		m := engine.New(lacks, b.cfg)
		h.Runtime.Go(func() { ended = m.Run(nil) }) //nolint:staticcheck // a nil context is never over
		b.m = engine.New(h, b.cfg)
		b.m.Start()
		h.Runtime.Go(func() { again = b.m.Run(nil) }) //nolint:staticcheck // the same
	})
	b.w.KillAgent()
	b.run(time.Minute)
	require.ErrorContains(t, ended, "has no Cluster")
	require.ErrorContains(t, again, "has already run")
	require.True(t, b.status().Synced)
}

// Two sources of one name would take each other's directories.
func TestSourcesThatClashAreRefused(t *testing.T) {
	b := newBench(t, sim.Polite())
	var ended error
	b.w.SetAgent(func(h hal.Host) {
		all := kinds.All()
		b.cfg.VolumeSources = append(all, all[0])
		m := engine.New(h, b.cfg)
		h.Runtime.Go(func() { ended = m.Run(nil) }) //nolint:staticcheck // a nil context is never over
	})
	b.w.KillAgent()
	b.run(time.Minute)
	refused, is := errors.AsType[*engine.Refusal](ended)
	require.True(t, is, "%v", ended)
	require.Equal(t, `engine.Config.VolumeSources: two sources have the Plugin "kubernetes.io/csi"; give each its own`,
		refused.Why)
}

func TestStopBeforeTheStart(t *testing.T) {
	b := newBench(t, sim.Polite())
	hasEnded := false
	b.w.SetAgent(func(h hal.Host) {
		b.m = engine.New(h, b.cfg)
		b.m.Stop()
		m := b.m
		h.Runtime.Go(func() { hasEnded = m.Run(nil) == nil }) //nolint:staticcheck // a nil context is never over
	})
	b.w.KillAgent()
	b.run(time.Minute)
	require.True(t, hasEnded)
}
