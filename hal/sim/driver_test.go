package sim_test

import (
	"slices"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// client calls one driver from a world's task.
type client struct {
	t *testing.T
	w *sim.World
	h hal.Host
}

func driverWorld(t *testing.T, c sim.Config, p sim.Personality) *client {
	t.Helper()
	w := benign(t, c)
	w.AddDriver(sim.DriverSpec{Name: "d", Personality: p})
	w.AddVolume("d", "v")
	require.NoError(t, w.RunFor(time.Second))
	k := &client{t, w, w.Host()}
	k.connect()
	w.Do(func() {
		for _, d := range []string{"/s", "/p", "/q"} {
			require.NoError(t, k.h.Tree.Mkdir(hal.Call{}, root+d, 0o755))
		}
	})
	return k
}

func (k *client) connect() {
	require.NoError(k.t, k.do(func(c hal.Call) error {
		_, err := k.h.Drivers.Connect(c, "d", k.w.Drivers()[0].Endpoint, hal.PeerEvents{Gone: func() {}})
		return err
	}))
}

func (k *client) call() hal.Call {
	return hal.Call{Op: 1, Deadline: k.h.Runtime.Now().Add(10 * time.Second)}
}

func (k *client) do(f func(c hal.Call) error) (err error) {
	k.w.Do(func() { err = f(k.call()) })
	return err
}

func (k *client) stage() error {
	return k.do(func(c hal.Call) error {
		_, err := k.h.CSINode.Stage(c, "d", &csi.NodeStageVolumeRequest{VolumeId: "v", StagingTargetPath: root + "/s"})
		return err
	})
}

func (k *client) unstage() error {
	return k.do(func(c hal.Call) error {
		_, err := k.h.CSINode.Unstage(c, "d", &csi.NodeUnstageVolumeRequest{
			VolumeId:          "v",
			StagingTargetPath: root + "/s",
		})
		return err
	})
}

func (k *client) publish(readOnly bool) error {
	return k.do(func(c hal.Call) error {
		_, err := k.h.CSINode.Publish(c, "d", &csi.NodePublishVolumeRequest{
			VolumeId: "v", StagingTargetPath: root + "/s", TargetPath: root + "/p/mount", Readonly: readOnly,
		})
		return err
	})
}

func (k *client) unpublish() error {
	return k.do(func(c hal.Call) error {
		_, err := k.h.CSINode.Unpublish(c, "d", &csi.NodeUnpublishVolumeRequest{
			VolumeId:   "v",
			TargetPath: root + "/p/mount",
		})
		return err
	})
}

func (k *client) code(want hal.Code, err error) {
	k.t.Helper()
	e, ok := err.(*hal.Error) //nolint:errorlint // its own type is what is asked
	require.Truef(k.t, ok, "want %v, got %v", want, err)
	require.Equal(k.t, hal.ReplyStatus, e.Reply)
	require.Equal(k.t, want, e.Code)
}

func TestStyles(t *testing.T) {
	for _, p := range []sim.Personality{
		{Staging: true, BlockDevice: true, Checks: true},
		{Staging: true},
		{},
		{BlockDevice: true},
		{Staging: true, Style: sim.StageBelow, Checks: true},
		{Staging: true, BlockDevice: true, Style: sim.StageNothing},
	} {
		k := driverWorld(t, sim.Config{}, p)
		for range 2 { // twice is as once
			if p.Staging {
				require.NoError(t, k.stage())
			}
			require.NoError(t, k.publish(true))
		}
		stack := k.w.MountsAt(root + "/p/mount")
		require.Len(t, stack, 1)
		require.True(t, stack[0].ReadOnly)
		require.True(t, k.w.Shows("d", "v", root+"/p/mount"))
		device, _ := k.w.VolumeDevice("d", "v")
		require.Equal(t, device, stack[0].Device)
		require.Len(t, k.w.Published(), 1)
		k.code(hal.CodeAlreadyExists, k.publish(false))
		for range 2 {
			require.NoError(t, k.unpublish())
			if p.Staging {
				require.NoError(t, k.unstage())
			} else {
				k.code(hal.CodeUnimplemented, k.unstage())
			}
		}
		require.Len(t, k.w.Mounts(), 3)
		require.Empty(t, k.w.Entries(root+"/p"))
		require.Empty(t, k.w.Entries(root+"/s"))
		require.Empty(t, append(k.w.Staged(), k.w.Published()...))
	}
}

func TestRawBlockIsABindOfTheDeviceOnAFile(t *testing.T) {
	k := driverWorld(t, sim.Config{}, sim.Polite())
	block := &csi.VolumeCapability{AccessType: &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}}
	require.NoError(t, k.do(func(c hal.Call) error {
		_, err := k.h.CSINode.Stage(c, "d", &csi.NodeStageVolumeRequest{
			VolumeId: "v", StagingTargetPath: root + "/s", VolumeCapability: block,
		})
		return err
	}))
	require.Empty(t, k.w.MountsAt(root+"/s"))
	require.NoError(t, k.do(func(c hal.Call) error {
		_, err := k.h.CSINode.Publish(c, "d", &csi.NodePublishVolumeRequest{
			VolumeId: "v", StagingTargetPath: root + "/s", TargetPath: root + "/p/mount", VolumeCapability: block,
		})
		return err
	}))
	kind, _ := k.w.Exists(root + "/p/mount")
	require.Equal(t, hal.TypeBlockDevice, kind)
	require.True(t, k.w.Shows("d", "v", root+"/p/mount"))
	require.NoError(t, k.unpublish())
	require.NoError(t, k.unstage())
}

func TestPersonalities(t *testing.T) {
	k := driverWorld(t, sim.Config{}, sim.Personality{Staging: true, Forgetful: true, NotFound: true, Watchful: true})
	k.code(hal.CodeFailedPrecondition, k.publish(false))
	k.code(hal.CodeNotFound, k.unpublish())
	k.code(hal.CodeNotFound, k.unstage())
	require.NoError(t, k.stage())
	require.NoError(t, k.publish(false))
	k.code(hal.CodeFailedPrecondition, k.unstage())
	k.w.RestartDriver("d")
	require.NoError(t, k.w.RunFor(time.Minute))
	require.False(t, k.w.Staged()[0].Known)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(k.stage()), "another process: not sent before Connect")
	k.connect()
	k.code(hal.CodeFailedPrecondition, k.publish(false))
	require.NoError(t, k.stage())
	require.NoError(t, k.publish(false))
	require.Len(t, k.w.MountsAt(root+"/p/mount"), 1)
}

func TestBrokenAndAbsentDrivers(t *testing.T) {
	k := driverWorld(t, sim.Config{}, sim.Polite())
	k.w.BreakDriver("d", sim.Refuses)
	k.code(hal.CodeUnavailable, k.stage())
	k.w.BreakDriver("d", sim.Fails)
	k.code(hal.CodeInternal, k.stage())
	k.w.BreakDriver("d", sim.Hangs)
	began := k.w.Now()
	err := k.stage()
	require.Equal(t, hal.Unknown, hal.OutcomeOf(err))
	require.Equal(t, 10*time.Second, k.w.Now().Sub(began))
	require.Len(t, k.w.Active(), 1)
	require.NoError(t, k.w.RunFor(sim.LateWindow))
	require.Empty(t, k.w.Active())
	k.w.BreakDriver("d", sim.Works)
	k.w.StopDriver("d")
	err = k.stage()
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	require.Empty(t, k.w.Staged())
}

func TestASerialDriverAbortsOnlyWhileAnotherRuns(t *testing.T) {
	k := driverWorld(t, sim.Config{Chooser: sim.Seeded(3)}, sim.Personality{Staging: true, Serial: true, Slow: true})
	aborted := 0
	for range 30 {
		k.w.Go(func() {
			_, err := k.h.CSINode.Stage(k.call(), "d",
				&csi.NodeStageVolumeRequest{VolumeId: "v", StagingTargetPath: root + "/s"})
			if e, ok := err.(*hal.Error); ok && e.Code == hal.CodeAborted { //nolint:errorlint // its own type
				aborted++
			}
		})
		require.NoError(t, k.w.RunFor(100*time.Millisecond))
	}
	require.NoError(t, k.w.RunFor(10*time.Minute))
	require.Positive(t, aborted)
	require.NoError(t, k.stage())
}

// TestTheModelKeepsTheLawsOfCalls: in any weather, no call acts after its bound, after its end, or after an answer that
// says it did not.
func TestTheModelKeepsTheLawsOfCalls(t *testing.T) {
	noEffect := []hal.Code{hal.CodeUnimplemented, hal.CodeInvalidArgument, hal.CodeAborted}
	changes := []sim.EffectKind{
		sim.EffectMount, sim.EffectUnmount, sim.EffectStaged, sim.EffectUnstaged, sim.EffectPublished,
		sim.EffectUnpublished, sim.EffectMade,
	}
	late := 0
	for seed := range uint64(300) {
		w := toyWorld(swarmConfig(seed), 3)
		ended := map[uint64]bool{}
		changed := map[uint64]bool{}
		started := map[uint64]bool{}
		bounds := map[uint64]hal.Instant{}
		w.OnEffect(func(e sim.Effect) {
			if e.Call == 0 {
				return
			}
			require.False(t, ended[e.Call], "call %d of seed %d has ended: %s", e.Call, seed, e.Kind)
			switch {
			case e.Kind == sim.EffectSent:
				for _, a := range w.Active() {
					if a.Call == e.Call {
						bounds[e.Call] = a.Deadline.Add(sim.LateWindow)
					}
				}
			case e.Kind == sim.EffectStarted:
				started[e.Call] = true
			case e.Kind == sim.EffectEnded:
				ended[e.Call] = true
				if slices.Contains(noEffect, e.Code) {
					require.False(t, changed[e.Call])
				}
			case slices.Contains(changes, e.Kind):
				require.True(t, started[e.Call])
				require.LessOrEqual(t, e.At, bounds[e.Call], "seed %d", seed)
				changed[e.Call] = true
				if e.Late {
					late++
				}
			}
		})
		require.NoError(t, w.RunFor(30*time.Minute))
		w.Close()
	}
	require.Greater(t, late, 100, "late effects happen")
}

// TestEveryFaultIsMet guards against a fault that no site injects.
func TestEveryFaultIsMet(t *testing.T) {
	met := map[sim.Fault]int{}
	for seed := range uint64(200) {
		c := swarmConfig(seed)
		c.Keep = true
		w := toyWorld(c, 3)
		w.OnEffect(func(e sim.Effect) {
			if e.Kind == sim.EffectAgentStarted {
				w.Cluster.Apply(pod("a"))
			}
		})
		h := func() {
			useTheRest(w)
			w.RestartDriver("d")
			w.WriteManifest("/etc/volnode/pod.yaml", []byte("x"))
			w.Cluster.Apply(version(pod("b"), "1"), version(pod("b"), "2"))
			w.Cluster.Delete(pod("b"))
			other := pod("b")
			other.UID = "another"
			w.Cluster.Apply(other)
		}
		for i := range 100 {
			w.After(time.Duration(i)*10*time.Second, "rest", h)
		}
		require.NoError(t, w.RunFor(20*time.Minute))
		for _, r := range w.Trace().Records {
			if r.Mark == sim.MarkFault {
				met[r.Fault]++
			}
		}
		w.Close()
	}
	for _, f := range sim.Faults() {
		require.NotZero(t, met[f], f.String())
	}
}

// useMaps has a map made of what there is, and removes what maps there are.
func useMaps(h hal.Host) {
	disks, _ := h.SCSI.Disks(hal.Call{}, 2)
	_ = h.Multipath.Assemble(hal.Call{}, disks)
	maps, _ := h.Multipath.Maps(hal.Call{})
	for _, m := range maps {
		_ = h.Multipath.Resize(hal.Call{}, m)
		_ = h.Multipath.FailQueued(hal.Call{}, m)
		_ = h.Multipath.Remove(hal.Call{}, m, false)
	}
}

// useTheRest makes calls that the toy agent makes no use of.
func useTheRest(w *sim.World) {
	if !w.AgentLives() {
		return
	}
	if _, there := w.Exists("/dev/disk"); !there {
		w.AddBlockDevice("/dev/disk", "ext4", "")
		w.AddTarget("iqn.2026-01.example:t", "10.0.0.1:3260")
		w.AddSANDisk("naa.1", "", "")
		w.MapLUN("iqn.2026-01.example:t", 0, "naa.1")
		w.AddFCHost(1)
		w.AddFCTarget(2)
		w.MapLUN(hal.WWPN(2).String(), 0, "naa.1")
	}
	w.MakeDir(root + "/disk")
	h := w.Host()
	w.Go(func() {
		_ = h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "ext4", Source: "/dev/disk", Target: root + "/disk"})
		_ = h.ISCSI.Login(hal.Call{}, hal.ISCSILogin{ISCSIRecord: hal.ISCSIRecord{
			Target: "iqn.2026-01.example:t", Portal: "10.0.0.1:3260", Interface: hal.OwnInterface,
		}})
		_ = h.SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: 2})
		useMaps(h)
		_ = h.SCSI.Scan(hal.Call{}, hal.SCSIAddress{Host: 3})
		_ = h.Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "nfs", Source: "s:/x", Target: root})
		_ = h.HostPaths.Make(hal.Call{}, "/mnt/a/b", hal.TypeDirectory)
		w.InstallFlex("example.com/fs", "polite")
		w.MakeDir(root + "/flex")
		_ = h.Flex.Mount(hal.Call{}, "example.com/fs", root+"/flex", nil)
		_ = h.Flex.Unmount(hal.Call{}, "example.com/fs", root+"/flex")
	})
}
