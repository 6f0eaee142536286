package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// A host may tell of its pods as soon as there is a manager, before the node has been read.
func TestPodsAddedBeforeTheStart(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.SetAgent(func(h hal.Host) {
		b.m = engine.New(h, b.cfg)
		b.m.PodAdded(pod("kept", "a"))
		b.m.PodAdded(pod("gone", "a"))
		b.m.PodRemoved("uid-gone")
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(10 * time.Minute)
	s := b.status()
	require.Len(t, s.Pods, 1)
	require.Equal(t, engine.Ready, s.Pods[0].State, "%+v", s.Pods)
}

// A run does not know how old the tokens of another one are, also of pods that it hears of before it starts.
func TestTokensOfPodsAddedBeforeTheStart(t *testing.T) {
	b := newBench(t, sim.Polite())
	lasts := int64(600)
	p := pod("web", "a")
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: "token", VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{
			ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: &lasts},
		}}},
	}})
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "token", MountPath: "/token"})
	b.w.SetAgent(func(h hal.Host) {
		b.m = engine.New(h, b.cfg)
		b.m.PodAdded(p)
		b.m.Start()
	})
	for range 2 {
		b.w.KillAgent()
		b.run(time.Minute)
	}
	require.Len(t, b.w.Tokens(), 2)
	b.run(time.Hour)
	require.GreaterOrEqual(t, len(b.w.Tokens()), 8)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
}
