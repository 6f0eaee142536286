package sim_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: "uid"}}
}

func version(p *corev1.Pod, v string) *corev1.Pod {
	p = p.DeepCopy()
	p.ResourceVersion = v
	return p
}

func eventText(e hal.ClusterEvent) string {
	switch e := e.(type) {
	case hal.Changed:
		var all []string
		for _, o := range e.Removed {
			all = append(all, fmt.Sprintf("-%s.%s", o.(*corev1.Pod).Name, o.(*corev1.Pod).ResourceVersion))
		}
		for _, o := range e.Applied {
			all = append(all, fmt.Sprintf("+%s.%s", o.(*corev1.Pod).Name, o.(*corev1.Pod).ResourceVersion))
		}
		return strings.Join(all, " ")
	case hal.Synced:
		return "synced " + string(e.Source)
	case hal.Trouble:
		return "trouble " + e.Problem
	}
	return "?"
}

func TestClusterTellsAllThenSynced(t *testing.T) {
	var got []string
	w := benign(t, sim.Config{})
	w.Cluster.Apply(version(pod("a"), "1"), version(pod("b"), "1"))
	w.Cluster.SetTrouble(hal.Trouble{Source: "manifest", Where: "x", Problem: "p"})
	w.SetAgent(func(h hal.Host) { h.Cluster.Watch(func(e hal.ClusterEvent) { got = append(got, eventText(e)) }) })
	w.StartAgent()
	require.NoError(t, w.RunFor(time.Minute))
	require.ElementsMatch(t, []string{"+a.1", "+b.1", "trouble p", "synced manifest"}, got)
	require.Equal(t, "synced manifest", got[3])
	got = nil
	w.Cluster.Apply(version(pod("a"), "2"))
	w.Cluster.Delete(pod("b"))
	require.NoError(t, w.RunFor(time.Minute))
	require.ElementsMatch(t, []string{"+a.2", "-b.1"}, got)

	got = nil
	w.KillAgent()
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, []string{"+a.2", "trouble p", "synced manifest"}, got, "the next life is told of what is there")
}

func TestSyncedCanBeHeld(t *testing.T) {
	var got []string
	w := benign(t, sim.Config{})
	w.Cluster.HoldSynced("api")
	w.SetAgent(func(h hal.Host) { h.Cluster.Watch(func(e hal.ClusterEvent) { got = append(got, eventText(e)) }) })
	w.StartAgent()
	require.NoError(t, w.RunFor(time.Hour))
	require.Equal(t, []string{"synced manifest"}, got)
	w.Cluster.ReleaseSynced("api")
	require.NoError(t, w.RunFor(time.Minute))
	require.Equal(t, []string{"synced manifest", "synced api"}, got)
}

func TestTheLastThingToldOfAnObjectIsTrue(t *testing.T) {
	for seed := range uint64(200) {
		last := map[string]string{}
		synced := map[string]bool{}
		c := swarmConfig(seed)
		c.Profile = sim.Only(20000, sim.ObjectLate, sim.ObjectRepeated, sim.ObjectStale, sim.SyncedLate, sim.Pause)
		w := sim.New(c)
		w.SetAgent(func(h hal.Host) {
			last, synced = map[string]string{}, map[string]bool{}
			h.Cluster.Watch(func(e hal.ClusterEvent) {
				text := eventText(e)
				if _, ok := e.(hal.Synced); ok {
					synced[text] = true
					return
				}
				last[text[1:2]] = text
			})
		})
		w.Cluster.Apply(version(pod("a"), "0"))
		w.StartAgent()
		for i := range 10 {
			w.After(time.Duration(i*7)*time.Second, "apply", func() { w.Cluster.Apply(version(pod("a"), fmt.Sprint(i))) })
			w.After(time.Duration(i*11)*time.Second, "again", func() { w.Cluster.Apply(version(pod("b"), fmt.Sprint(i))) })
		}
		w.After(2*time.Minute, "delete", func() { w.Cluster.Delete(pod("b")) })
		w.After(time.Minute, "kill", w.KillAgent)
		require.NoError(t, w.RunFor(2*time.Hour))
		require.Equal(t, "+a.9", last["a"], "seed %d", seed)
		require.Contains(t, []string{"", "-b.9"}, last["b"], "seed %d: gone, or never known to this life", seed)
		require.True(t, synced["synced manifest"])
		w.Close()
	}
}

func TestSecretsAreReadAtUse(t *testing.T) {
	w := benign(t, sim.Config{})
	w.Cluster.Hold(hal.SecretKind, "n", "s", map[string]string{"k": "v"})
	h := w.Host()
	w.Do(func() {
		s, err := h.Cluster.Secret(hal.Call{}, "n", "s")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"k": "v"}, s.Reveal())
		w.Cluster.Drop(hal.SecretKind, "n/s")
		_, err = h.Cluster.Secret(hal.Call{}, "n", "s")
		require.Error(t, err)
	})
}

func TestPluginSocketsAndDirectories(t *testing.T) {
	var got []hal.SocketEvent
	dirs := 0
	w := benign(t, sim.Config{})
	w.WriteFile(root+"/plugins_registry/readme", []byte("x"))
	w.SetAgent(func(h hal.Host) {
		h.Watches.PluginSockets(root+"/plugins_registry", func(e hal.SocketEvent) { got = append(got, e) })
		h.Watches.Directory("/etc/volnode", func() { dirs++ })
	})
	w.StartAgent()
	require.NoError(t, w.RunFor(time.Second))
	require.Len(t, got, 1)
	require.NotEmpty(t, got[0].Problem)
	require.Equal(t, 1, dirs)
	w.AddDriver(sim.DriverSpec{Name: "d", Personality: sim.Polite()})
	require.NoError(t, w.RunFor(time.Second))
	require.NotZero(t, got[1].Made)
	require.Equal(t, hal.SocketEvent{Path: root + "/plugins_registry/d-reg.sock", Present: true, Made: got[1].Made},
		got[1])
	w.StopDriver("d")
	w.WriteFile("/etc/volnode/pod.yaml", []byte("x"))
	require.NoError(t, w.RunFor(time.Second))
	require.Equal(t, hal.SocketEvent{Path: root + "/plugins_registry/d-reg.sock"}, got[2])
	require.Equal(t, 2, dirs)
}
