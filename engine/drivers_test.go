package engine_test

import (
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// fickle is a driver's node service that takes its time to say who it is, or can't, and loses the replies of NodeUnstageVolume.
type fickle struct {
	hal.CSINode
	runtime   hal.Runtime
	introduce func(wait func(time.Duration)) error
	loses     bool
	asked     int // NodeUnpublishVolume and NodeUnstageVolume that were sent
}

func (f *fickle) Info(c hal.Call, driver string, r *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	if f.introduce != nil {
		err := f.introduce(func(d time.Duration) {
			//nolint:staticcheck // a nil context is never over
			_ = f.runtime.Await(nil, func(done func()) { f.runtime.At(f.runtime.Now().Add(d), done) })
		})
		if err != nil {
			return nil, err
		}
	}
	return f.CSINode.Info(c, driver, r)
}

func (f *fickle) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	answer, err := f.CSINode.Unpublish(c, driver, r)
	f.count(err)
	return answer, err
}

func (f *fickle) Unstage(c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	answer, err := f.CSINode.Unstage(c, driver, r)
	f.count(err)
	if err == nil && f.loses {
		return nil, &hal.Error{Op: "NodeUnstageVolume", Object: driver, Class: hal.ClassRPC, Outcome: hal.Unknown, Reply: hal.ReplyNone}
	}
	return answer, err
}

func (f *fickle) count(err error) {
	if e, ok := err.(*hal.Error); !ok || e.Reply != hal.ReplyNever { //nolint:errorlint // the HAL's own
		f.asked++
	}
}

// registrar is the watch of the registration socket of a driver whose registrar, a process of its own, never dies.
type registrar struct{ hal.Watches }

func (r registrar) PluginSockets(dir string, f func(hal.SocketEvent)) {
	r.Watches.PluginSockets(dir, func(e hal.SocketEvent) {
		if e.Present {
			f(e)
		}
	})
}

func newFickle(b *bench) *fickle {
	f := &fickle{}
	b.w.SetAgent(func(h hal.Host) {
		f.CSINode, f.runtime = h.CSINode, h.Runtime
		h.CSINode, h.Watches = f, registrar{h.Watches}
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(time.Minute)
	return f
}

// The driver's process dies and another one takes its place, which is slow to say who it is. A call that goes to it meanwhile is not one of the dead
// process, whose death proves nothing of it.
func TestCallDuringAnIntroductionIsNotOneOfTheProcessBefore(t *testing.T) {
	b := newBench(t, sim.Polite())
	f := newFickle(b)
	b.w.Apply(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)

	f.introduce = func(wait func(time.Duration)) error { wait(9 * time.Second); return nil }
	f.loses = true
	b.w.RestartDriver(driverName)
	b.w.Delete(pod("web", "a"))
	for range 120 {
		b.run(500 * time.Millisecond)
		for _, r := range b.status().Rungs {
			if r.Kind == "csi.stage" && r.Attempts > 0 && f.asked > 1 {
				require.NotEqual(t, engine.Waiting, r.State, "the call may still act: %+v", r)
				return
			}
		}
	}
	t.Fatalf("no NodeUnstageVolume was lost: %+v", b.status().Rungs)
}

// A process that can't say who it is is not called: what is wanted of the driver may be none of its business.
func TestProcessThatFailsItsIntroductionIsNotCalled(t *testing.T) {
	b := newBench(t, sim.Polite())
	f := newFickle(b)
	b.w.Apply(pod("web", "a"))
	b.run(time.Minute)

	f.introduce = func(func(time.Duration)) error {
		return &hal.Error{Op: "NodeGetInfo", Object: driverName, Class: hal.ClassRPC, Outcome: hal.Unknown, Reply: hal.ReplyNone}
	}
	b.w.RestartDriver(driverName)
	b.run(time.Minute)
	b.w.Delete(pod("web", "a"))
	b.run(5 * time.Minute)
	require.Zero(t, f.asked)
	require.False(t, b.status().Drivers[0].Registered)
	require.Contains(t, b.status().Drivers[0].Why, "NodeGetInfo")

	f.introduce = nil
	b.run(5 * time.Minute)
	require.Empty(t, b.status().Rungs)
}

// connections notes where the last connection of a driver leads, and whether there is one.
type connections struct {
	hal.Drivers
	last string
}

func (d *connections) Connect(c hal.Call, driver, endpoint string, gone func()) (hal.Peer, error) {
	d.last = endpoint
	return d.Drivers.Connect(c, driver, endpoint, gone)
}

func (d *connections) Disconnect(driver string) {
	d.last = ""
	d.Drivers.Disconnect(driver)
}

// Another version of a driver that can't say who it is takes the connection of the one that serves. That gets it back though nothing is asked of it:
// whoever comes next is not told that the driver can't be reached.
func TestVersionThatFailsItsIntroductionTakesNoConnection(t *testing.T) {
	b := newBench(t, sim.Polite())
	f, to := &fickle{}, &connections{}
	b.w.SetAgent(func(h hal.Host) {
		f.CSINode, f.runtime, to.Drivers = h.CSINode, h.Runtime, h.Drivers
		h.CSINode, h.Drivers = f, to
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(time.Minute)
	serving := to.last
	require.NotEmpty(t, serving)

	f.introduce = func(func(time.Duration)) error {
		if to.last == serving {
			return nil
		}
		return &hal.Error{Op: "NodeGetInfo", Object: driverName, Class: hal.ClassRPC, Outcome: hal.Unknown, Reply: hal.ReplyNone}
	}
	b.w.UpgradeDriver(driverName, time.Hour)
	b.run(200 * time.Second)
	require.Equal(t, serving, to.last)
	b.w.Apply(pod("web", "a"))
	b.run(5 * time.Second)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)
}
