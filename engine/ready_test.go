package engine_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// failing is files that can't be written from the moment a volume is published.
type failing struct {
	hal.Files
	hal.CSINode
	is bool
}

func (f *failing) Publish(c hal.Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error,
) {
	f.is = true
	return f.CSINode.Publish(c, driver, r)
}

func (f *failing) WriteAt(c hal.Call, path string, offset int64, data []byte) error {
	if f.is {
		return &hal.Error{Op: "write", Object: path, Class: hal.ClassFile, Outcome: hal.Unknown, Errno: syscall.EIO}
	}
	return f.Files.WriteAt(c, path, offset, data)
}

// Ready is told only after the confirmed record is written, to whoever asks: a container that was started on an earlier
// word would be unknown to the next run.
func TestReadyIsNotToldBeforeItIsRecorded(t *testing.T) {
	b := newBench(t, sim.Polite())
	f := &failing{}
	b.w.SetAgent(func(h hal.Host) {
		f.Files, f.CSINode = h.Files, h.CSINode
		h.Files, h.CSINode = f, f
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(time.Minute)
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	mounted := func() (volumes map[string]engine.MountedVolume) {
		b.w.Do(func() {
			volumes, _ = b.m.GetMountedVolumesForPod(nil, "uid-web") //nolint:staticcheck // a nil context is never over
		})
		return volumes
	}
	data := b.status().Pods[0].Volumes[0]
	require.Equal(t, engine.Working, data.State, "%+v", data)
	require.Contains(t, data.Why, "record")
	require.NotContains(t, mounted(), "data")

	f.is = false
	b.run(time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
	require.Contains(t, mounted(), "data")
}

// Who waits for an end need not wait for the journal: what its records tell of is looked at by the next start.
func TestAnEndIsToldWhileTheJournalCanNotBeWritten(t *testing.T) {
	b := newBench(t, sim.Polite())
	f := &failing{}
	b.w.SetAgent(func(h hal.Host) {
		f.Files = h.Files
		h.Files = f
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(time.Minute)
	f.is = true
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, engine.Waiting, b.status().Pods[0].State)
	b.w.Cluster.Delete(pod("web", "a"))
	begun, ended := b.w.Now(), b.w.Now()
	b.w.Do(func() {
		require.NoError(t, b.m.WaitForUnmount(b.w.Context(time.Hour), "uid-web"))
		require.NoError(t, b.m.WaitForNothing(b.w.Context(time.Hour)))
		ended = b.w.Now()
	})
	require.Less(t, ended.Sub(begun), 10*time.Second)
}
