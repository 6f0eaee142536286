package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// fickle is a driver's node service that takes its time to say who it is, or can't, and loses the replies of
// NodeUnstageVolume.
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

func (f *fickle) Unpublish(c hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest,
) (*csi.NodeUnpublishVolumeResponse, error) {
	answer, err := f.CSINode.Unpublish(c, driver, r)
	f.count(err)
	return answer, err
}

func (f *fickle) Unstage(c hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse,
	error,
) {
	answer, err := f.CSINode.Unstage(c, driver, r)
	f.count(err)
	if err == nil && f.loses {
		return nil, &hal.Error{
			Op: "NodeUnstageVolume", Object: driver, Class: hal.ClassRPC, Outcome: hal.Unknown,
			Reply: hal.ReplyNone,
		}
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

// The driver's process dies and another one takes its place, which is slow to say who it is. A call that goes to it
// meanwhile is not one of the dead process, whose death proves nothing of it.
func TestCallDuringAnIntroductionIsNotOneOfTheProcessBefore(t *testing.T) {
	b := newBench(t, sim.Polite())
	f := newFickle(b)
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	require.Equal(t, engine.Ready, b.status().Pods[0].State)

	f.introduce = func(wait func(time.Duration)) error { wait(9 * time.Second); return nil }
	f.loses = true
	b.w.RestartDriver(driverName)
	b.w.Cluster.Delete(pod("web", "a"))
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
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)

	f.introduce = func(func(time.Duration)) error {
		return &hal.Error{
			Op: "NodeGetInfo", Object: driverName, Class: hal.ClassRPC, Outcome: hal.Unknown,
			Reply: hal.ReplyNone,
		}
	}
	b.w.RestartDriver(driverName)
	b.run(time.Minute)
	b.w.Cluster.Delete(pod("web", "a"))
	b.run(5 * time.Minute)
	require.Zero(t, f.asked)
	require.True(t, b.status().Drivers[0].Registered)
	require.False(t, b.status().Drivers[0].Connected)
	require.Contains(t, b.status().Drivers[0].Why, "NodeGetInfo")

	f.introduce = nil
	b.run(5 * time.Minute)
	require.Empty(t, b.status().Rungs)
}

// connections notes where the connection of each driver leads, without those of candidates.
type connections struct {
	hal.Drivers
	to map[string]string
}

func (d *connections) Connect(c hal.Call, name, endpoint string, events hal.PeerEvents) (hal.Peer, error) {
	peer, err := d.Drivers.Connect(c, name, endpoint, events)
	if err == nil {
		d.to[name] = endpoint
	}
	return peer, err
}

func (d *connections) Rename(from, to string) {
	d.to[to] = d.to[from]
	delete(d.to, from)
	d.Drivers.Rename(from, to)
}

func (d *connections) Disconnect(name string) {
	delete(d.to, name)
	d.Drivers.Disconnect(name)
}

// newConnected starts the bench's engine with its connections noted.
func newConnected(b *bench) *connections {
	to := &connections{to: map[string]string{}}
	b.w.SetAgent(func(h hal.Host) {
		to.Drivers = h.Drivers
		h.Drivers = to
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(time.Minute)
	return to
}

// driverAt returns what the status says of the driver at a socket whose path ends so.
func (b *bench) driverAt(suffix string) engine.DriverStatus {
	b.t.Helper()
	for _, d := range b.status().Drivers {
		if strings.HasSuffix(d.Socket, suffix) {
			return d
		}
	}
	require.Fail(b.t, "no such socket", "%s: %+v", suffix, b.status().Drivers)
	return engine.DriverStatus{}
}

// A second endpoint of a driver's name waits as long as the first answers, and the status shows both. It takes over
// once the first has gone.
func TestSecondEndpointWaitsUntilTheFirstHasGone(t *testing.T) {
	for name, end := range map[string]func(*bench){
		"the first's socket is removed": func(b *bench) { b.w.LoseSocketOf(driverName, 0) },
		"the first is dead":             func(b *bench) { b.w.StopVersion(driverName, 0) },
		"the first is silent":           func(b *bench) { b.w.BreakVersion(driverName, 0, sim.Hangs) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, sim.Polite())
			to := newConnected(b)
			serving := to.to[driverName]
			require.NotEmpty(t, serving)
			b.w.UpgradeDriver(driverName, 10*time.Hour)
			b.run(time.Hour)
			require.Equal(t, serving, to.to[driverName])
			first, second := b.driverAt(driverName+"-reg.sock"), b.driverAt("-2-reg.sock")
			require.True(t, first.Registered && first.Connected && !first.Waiting, "%+v", first)
			require.True(t, second.Waiting && !second.Registered && !second.Connected, "%+v", second)
			require.Greater(t, second.Since, 50*time.Minute)
			require.Contains(t, second.Why, first.Socket)

			end(b)
			b.run(engine.SilentAfter + 15*time.Second)
			require.NotEqual(t, serving, to.to[driverName])
			require.True(t, b.driverAt("-2-reg.sock").Registered)
			b.w.Cluster.Apply(pod("web", "a"))
			b.run(5 * time.Second)
			require.Equal(t, engine.Ready, b.status().Pods[0].State)
		})
	}
}

// told notes what a plugin is told of its registration.
type told struct {
	hal.Registration
	asked []string // who was told false, and why
}

func (r *told) Notify(c hal.Call, socket, made string, registered bool, reason string) error {
	if !registered {
		r.asked = append(r.asked, socket+": "+reason)
	}
	return r.Registration.Notify(c, socket, made, registered, reason)
}

// A driver whose socket is gone is shown as long as volumes of it are up, and what waits for it says what people can
// do.
func TestDriverThatIsGoneIsShownWhileItHasVolumes(t *testing.T) {
	b := newBench(t, sim.Polite())
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	b.w.StopDriver(driverName)
	b.run(time.Second)
	require.Equal(t, []engine.DriverStatus{{
		Name: driverName,
		Why: "driver " + driverName + " is not registered, and no other driver is; volnode waits " +
			"for its registration socket in plugins_registry below the root directory; start the driver; " +
			"one of its volumes may be up",
	}}, b.status().Drivers)
	b.w.Cluster.Delete(pod("web", "a"))
	b.run(10 * time.Second)
	why := b.status().Pods[0].Volumes[0].Why
	require.Contains(t, why, "not sent: driver "+driverName+" is not registered, and no other driver is; volnode waits")
	require.Contains(t, why, "; volnode tries again in")
	b.w.StartDriver(driverName)
	b.run(time.Minute)
	require.Empty(t, b.status().Pods)
	b.w.Cluster.Apply(pod("web", "a"))
	b.run(time.Minute)
	b.w.StopPlugin(driverName)
	b.w.Cluster.Delete(pod("web", "a"))
	b.run(30 * time.Second)
	require.Contains(t, b.status().Pods[0].Volumes[0].Why,
		"not sent: driver "+driverName+" is registered, but volnode cannot reach it: ")
	b.w.StartDriver(driverName)
	b.run(time.Minute)
	b.w.StopDriver(driverName)
	b.run(time.Second)
	require.Empty(t, b.status().Drivers)
}

// A driver is killed for up to a minute while its registrar lives on. Its registration stands, the status shows within
// a second that it is not connected, and it is met again within seconds of its coming back, before any call asks for
// it. Its registrar hears nothing of it.
func TestDriverIsKilledBehindItsRegistration(t *testing.T) {
	b := newBench(t, sim.Polite())
	r := &told{}
	b.w.SetAgent(func(h hal.Host) {
		r.Registration, h.Registration = h.Registration, r
		b.m = engine.New(h, b.cfg)
		b.m.Start()
	})
	b.w.KillAgent()
	b.run(time.Minute)
	for _, away := range []time.Duration{0, time.Second, 4 * time.Second, 30 * time.Second, 2 * time.Minute} {
		b.w.StopPlugin(driverName)
		b.w.Cluster.Apply(pod("web", "a"))
		b.run(time.Second)
		d := b.status().Drivers[0]
		require.True(t, d.Registered, "%s: %+v", away, d)
		require.False(t, d.Connected, "%s: %+v", away, d)
		require.Contains(t, d.Why, "connects again")
		b.run(away)
		b.w.StartDriver(driverName)
		b.run(12 * time.Second)
		d = b.status().Drivers[0]
		require.True(t, d.Registered && d.Connected, "%s: %+v", away, d)
		require.Empty(t, d.Why)
		b.run(10 * time.Second)
		require.Equal(t, engine.Ready, b.status().Pods[0].State, away)
		b.w.Cluster.Delete(pod("web", "a"))
		b.run(10 * time.Second)
		require.Empty(t, b.status().Rungs)
	}
	require.Empty(t, r.asked)
	require.Equal(t, 1, strings.Count(strings.Join(b.log, "\n"), "driver registered"), "in this life")
}
