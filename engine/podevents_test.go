package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
)

// events returns the events of the pod of a uid, by what they are of: "FailedMount of data".
func (b *bench) events(uid string) map[string]engine.PodEventStatus {
	b.t.Helper()
	all := map[string]engine.PodEventStatus{}
	for _, p := range b.status().Pods {
		for _, e := range p.Events {
			if string(p.UID) == uid {
				all[e.Reason+" of "+e.Volume] = e
			}
		}
	}
	return all
}

// A failure that comes again is one event, and the log has it once (K:H21). It stays when all is well.
func TestAFailureThatComesAgainIsOneEvent(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.run(time.Second)
	b.w.BreakDriver(driverName, sim.Fails)
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	is := b.events("uid-web")["FailedMount of data"]
	require.Equal(t, engine.TypeWarning, is.Type)
	require.Contains(t, is.Message, "NodeStageVolume")
	require.Greater(t, is.Count, 3)
	require.Greater(t, is.First, 50*time.Second)
	require.Less(t, is.Last, is.First)
	told := 0
	for _, line := range b.log {
		if line == "event pod default/web uid uid-web volume data type Warning reason FailedMount message "+is.Message {
			told++
		}
	}
	require.Equal(t, 1, told)

	b.w.BreakDriver(driverName, sim.Works)
	b.run(20 * time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
	require.Contains(t, b.events("uid-web"), "FailedMount of data")
	b.w.KillAgent()
	b.run(10 * time.Minute)
	require.Empty(t, b.events("uid-web"), "what is healthy is adopted without ado")
}

// A setup that fails after its pod has gone is what it was.
func TestASetupThatFailsLateIsNoTeardown(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute) // the volume is staged
	b.w.BreakDriver(driverName, sim.Hangs)
	late := pod("late", "a")
	b.w.Cluster.Apply(late)
	b.run(time.Second)
	b.log = nil
	b.w.Cluster.Delete(late)
	b.run(3 * time.Minute)
	failed := func(reason string) bool {
		return slices.ContainsFunc(b.log, func(line string) bool {
			return strings.HasPrefix(line, "event ") && strings.Contains(line, "reason "+reason+" message NodePublishVolume")
		})
	}
	require.True(t, failed(engine.ReasonFailedMount), "%q", b.log)
	require.False(t, failed(engine.ReasonFailedUnMount))
}

// A teardown that fails is an event of its pod (K:H26): who waits for the end of the pod hears why it does not come.
func TestATeardownThatFailsIsAnEvent(t *testing.T) {
	b := newBench(t, sim.Polite())
	web := pod("web", "a")
	b.w.Cluster.Apply(web)
	b.run(time.Minute)
	require.NotContains(t, b.events("uid-web"), "FailedUnMount of data")
	b.w.BreakDriver(driverName, sim.Fails)
	b.w.Cluster.Delete(web)
	b.run(time.Minute)
	is := b.events("uid-web")["FailedUnMount of pv-a"] // the manifest that called it data is gone
	require.Contains(t, is.Message, "NodeUnpublishVolume")
	require.Greater(t, is.Count, 3)
}

// What has happened is bounded, of one volume and of all pods that ever were.
func TestEventsAreBounded(t *testing.T) {
	b := newBench(t, sim.Polite())
	for n := range 12 {
		web := pod("web", fmt.Sprintf("none-%d", n))
		b.w.Cluster.Apply(web)
		b.run(15 * time.Second)
	}
	require.Len(t, b.status().Pods[0].Events, 5)
	require.Contains(t, b.events("uid-web")["FailedMount of data"].Message, "none-11")
	for n := range 400 {
		gone := pod(fmt.Sprintf("gone-%d", n), "none")
		b.w.Cluster.Apply(gone)
		b.run(15 * time.Second)
		b.w.Cluster.Delete(gone)
		b.run(time.Second)
	}
	require.Less(t, b.m.PodsWithEvents(), 150)
	require.Len(t, b.status().Pods[0].Events, 5, "the pod that is there keeps its own")
}
