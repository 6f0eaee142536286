package main

import (
	"context"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/linux"
)

// noCluster is a cluster of nothing, whose one source is synced.
type noCluster struct{ hal.Cluster }

func (noCluster) Watch(f func(hal.ClusterEvent)) { f(hal.Synced{Source: "manifest"}) }

// counted lets a test wait for the tasks of an engine that has ended: they may write into its root directory until
// then.
type counted struct {
	hal.Runtime
	tasks sync.WaitGroup
}

func (c *counted) Go(task func()) { c.tasks.Go(task) }

// Who asks has its answer, or the end of its context, or of the engine: the owner may be busy meanwhile, and writes its
// answers where nobody reads.
func TestQuestionsToABusyAndToAnEndedOwner(t *testing.T) {
	needRoot(t)
	root := filepath.Join(openTempDir(t), "root")
	host, err := linux.New(linux.Options{RootDir: root})
	require.NoError(t, err)
	defer host.Close()
	h := host.HAL()
	tasks := &counted{Runtime: h.Runtime}
	h.Cluster, h.Runtime = noCluster{}, tasks
	m := engine.New(h, engine.Config{NodeName: "n", RootDir: root})
	running, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { host.Run(running); close(ended) }()
	defer func() { stop(); <-ended; tasks.tasks.Wait() }()
	m.Start()

	busy, goesOn := make(chan struct{}), make(chan struct{})
	h.Runtime.Post(func() { close(busy); <-goesOn })
	<-busy
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	volumes, err := m.GetPossiblyMountedVolumesForPod(short, "u")
	require.ErrorIs(t, err, context.DeadlineExceeded)
	status, err := m.Status(short)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	close(goesOn)
	for range 100 { // while the owner writes what it was asked for
		require.Nil(t, volumes)
		status.Pods = append(status.Pods, engine.PodStatus{})
		_, err = m.Plan(t.Context())
		require.NoError(t, err)
	}

	stop()
	<-ended
	for _, ctx := range []context.Context{nil, t.Context(), short} {
		_, err = m.Status(ctx)
		require.Error(t, err)
		require.Error(t, m.WaitForUnmount(ctx, "u"))
		require.Error(t, m.WaitForAttachAndMount(ctx, "u"))
		require.Error(t, m.WaitForNothing(ctx))
		is, err := m.VolumeIsAttached(ctx, "d^v")
		require.Error(t, err)
		require.True(t, is, "what is not known is attached")
		require.Error(t, m.Run(ctx))
	}
	_, err = m.Status(t.Context())
	require.ErrorIs(t, err, hal.ErrEnded)
}
