package csi

import (
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

const (
	stageDir = "/r/plugins/kubernetes.io/csi/d.example/aaa9402664f1a41f40ebbc52c9993eb66aeb366602958fdfaa283b71e64db123"
	staging  = stageDir + "/globalmount"
	podDir   = "/r/pods/u1/volumes/kubernetes.io~csi/pv1"
	target   = podDir + "/mount"
)

// What is mounted at the paths of the tests.
const (
	ours    = "ours" // the volume
	foreign = "foreign"
)

// volume is its device, the first that a test mounts. Each world numbers them alike.
var volume = newNode().World.MountsAt("/first")[0].Device

// stageOp and publishOp are the first is set up of the rungs of PersistentVolume pv1, handle h, of d.example, for pod
// u1.
func stageOp(params ...core.Param) core.Op {
	f := found{
		Place: plugin.StagePlace("/r", "d.example", "h"),
		Data: VolData{
			SpecVolID: "pv1", VolumeHandle: "h", DriverName: "d.example", NodeName: "node1",
			Lifecycle: "Persistent",
		},
	}
	r := f.asStage()
	return opOf(r, params)
}

func publishOp(params ...core.Param) core.Op {
	f := found{
		Place: plugin.PublishPlace("/r", "u1", "pv1"), Pod: "u1",
		Data: VolData{
			SpecVolID: "pv1", VolumeHandle: "h", DriverName: "d.example", NodeName: "node1",
			Lifecycle: "Persistent",
		},
	}
	stage := &found{Place: plugin.StagePlace("/r", "d.example", "h")}
	o := opOf(f.asPublish(stage), params)
	o.Below = []core.Foundation{{
		Key: stageOp().Key, Kind: KindStage,
		Facts: []core.Fact{{Name: factDevice, Value: volume.String()}},
	}}
	return o
}

// opOf is a first setup of r, with params in place of its own of the same names.
func opOf(r core.Rung, params []core.Param) core.Op {
	params = append(params, core.Param{Name: paramAccess, Value: "SINGLE_NODE_WRITER"})
	for _, own := range r.Want {
		if !slices.ContainsFunc(params, func(p core.Param) bool { return p.Name == own.Name }) {
			params = append(params, own)
		}
	}
	return core.Op{
		ID: 1, Verb: core.SetUp, Key: r.Key, Kind: r.Kind, Pod: r.Pod, Volume: r.Volume, Actor: r.Actor,
		Params: plugin.Sorted(params), First: true, Quiet: true,
	}
}

func tearingDown(o core.Op, fingerprint string) core.Op {
	o.Verb, o.First, o.Fingerprint = core.TearDown, false, fingerprint
	return o
}

// newNode is a node whose driver does what it should.
func newNode() *plugintest.Node {
	n := plugintest.New("/r/pods", "/r/plugins/kubernetes.io/csi/d.example",
		"/r/plugins/kubernetes.io/csi/volumeDevices")
	n.Mount("/first", ours)
	n.OnStage = func(r *csi.NodeStageVolumeRequest) {
		if len(n.World.MountsAt(r.StagingTargetPath)) == 0 {
			n.Mount(r.StagingTargetPath, ours)
		}
	}
	n.OnPublish = func(r *csi.NodePublishVolumeRequest) {
		if len(n.World.MountsAt(r.TargetPath)) == 0 {
			n.Mount(r.TargetPath, ours)
		}
	}
	n.OnUnstage = func(r *csi.NodeUnstageVolumeRequest) { n.World.UnmountTop(r.StagingTargetPath) }
	n.OnUnpublish = func(r *csi.NodeUnpublishVolumeRequest) {
		n.World.UnmountTop(r.TargetPath)
		n.World.RemoveFile(r.TargetPath)
	}
	return n
}

func TestUpAndDownAgainLeavesNothing(t *testing.T) {
	n := newNode()
	n.World.Cluster.Hold(hal.SecretKind, "sec", "s", map[string]string{"key": "hunter2"})
	before := n.Tree("/r")
	context := core.Param{Name: paramContext, Value: `{"a":"1"}`}
	secret := core.Param{Name: plugin.ParamSecret, Value: "sec/s"}
	flags := core.Param{Name: paramFlags, Value: `["noatime"]`}

	driver := n.OnStage
	n.OnStage = func(r *csi.NodeStageVolumeRequest) {
		require.EqualValues(t, 0o750, n.Mode(staging))
		driver(r)
	}
	s := stage(n.HAL(), stageOp(context, secret, flags))
	require.Equal(t, core.Result{
		Outcome: hal.Done, Answer: core.Final, Fingerprint: n.World.MountsAt(staging)[0].Fingerprint(),
		Facts: []core.Fact{{Name: "device", Value: volume.String()}},
	}, s)
	p := publish(n.HAL(), publishOp(context, secret, flags, core.Param{Name: plugin.ParamReadOnly, Value: plugin.Yes}))
	require.Equal(t, core.Result{
		Outcome: hal.Done, Answer: core.Final, Fingerprint: n.World.MountsAt(target)[0].Fingerprint(),
		Facts: []core.Fact{{Name: "path", Value: target}},
	}, p)
	require.Equal(t, p, publish(n.HAL(), publishOp(context, secret)), "setting up twice is setting up once")
	require.EqualValues(t, 0o750, n.Mode(podDir))
	data, err := ParseVolData(n.World.ReadFile(podDir + "/vol_data.json"))
	require.NoError(t, err)
	require.Equal(t, VolData{
		SpecVolID: "pv1", VolumeHandle: "h", DriverName: "d.example", NodeName: "node1", Lifecycle: "Persistent",
		AttachmentID: plugin.AttachmentName("h", "d.example", "node1"), Staged: "true",
	}, data)
	require.Equal(t, n.World.ReadFile(stageDir+"/vol_data.json"),
		n.World.ReadFile(podDir+"/vol_data.json"))
	calls := strings.Join(n.Calls, "\n")
	capability := `volume_capability:{mount:{mount_flags:"noatime"} access_mode:{mode:SINGLE_NODE_WRITER}} `
	require.Contains(t, calls, `NodeStageVolume d.example volume_id:"h" staging_target_path:"`+staging+`" `+capability+
		`secrets:{key:"key" value:"hunter2"} volume_context:{key:"a" value:"1"}`)
	require.Contains(t, calls, `target_path:"`+target+`" `+capability+`readonly:true`)
	require.NotContains(t, calls, "mkdir "+target, "the target path is the driver's to make")

	require.Equal(t, p.Fingerprint, inspect(n.HAL(), publishOp()).Fingerprint)
	require.Equal(t, core.Result{Outcome: hal.Done, Answer: core.Final},
		unpublish(n.HAL(), tearingDown(publishOp(), p.Fingerprint)))
	require.Equal(t, core.Result{Outcome: hal.Done, Answer: core.Final},
		unstage(n.HAL(), tearingDown(stageOp(), s.Fingerprint)))
	require.Equal(t, before, n.Tree("/r"))
	require.Equal(t, hal.Done, unpublish(n.HAL(), tearingDown(publishOp(), "")).Outcome,
		"tearing down twice is tearing down once")
	require.Equal(t, hal.Done, unstage(n.HAL(), tearingDown(stageOp(), "")).Outcome)
}

func TestAFirstSetupThatIsNotDoneLeavesNothing(t *testing.T) {
	for name, err := range map[string]error{
		"not sent": plugintest.NotSent(),
		"refused":  plugintest.Status(hal.CodeInvalidArgument),
	} {
		n := newNode()
		n.Fail["NodeStageVolume"], n.Fail["NodePublishVolume"] = err, err
		r := stage(n.HAL(), stageOp())
		require.Equal(t, hal.NotDone, r.Outcome, name)
		require.NotContains(t, n.Tree("/r"), "globalmount")
		require.NotContains(t, n.Tree("/r"), "vol_data")
		r = publish(n.HAL(), publishOp())
		require.Equal(t, hal.NotDone, r.Outcome, name)
		require.NotContains(t, n.Tree("/r"), "/r/pods/u1")

		n.Fail["remove "+staging] = plugintest.Errno("rmdir", staging, syscall.EIO)
		r = stage(n.HAL(), stageOp())
		require.Equal(t, hal.Unknown, r.Outcome)
		require.Contains(t, r.Reason, "cannot clean up its path")

		again := publishOp()
		again.First = false
		require.Equal(t, hal.NotDone, publish(n.HAL(), again).Outcome)
		require.Contains(t, n.Tree("/r"), podDir+"/vol_data.json",
			"an earlier setup may have left something that it tells of")
	}
}

func TestASecretThatIsMissingStopsBeforeAnythingIsMade(t *testing.T) {
	n := newNode()
	r := stage(n.HAL(), stageOp(core.Param{Name: plugin.ParamSecret, Value: "sec/none"}))
	require.Equal(t, core.Result{
		Outcome: hal.NotDone,
		Reason:  "the volume refers to Secret sec/none, but there is none; add it",
	}, r)
	require.Empty(t, n.Calls)
	n.World.Cluster.Hold(hal.SecretKind, "sec", "big", map[string]string{"k": strings.Repeat("hunter2", 1000)})
	r = stage(n.HAL(), stageOp(core.Param{Name: plugin.ParamSecret, Value: "sec/big"}))
	require.Equal(t, hal.NotDone, r.Outcome)
	require.NotContains(t, r.Reason, "hunter2")
}

func TestAPublishIsBelievedWithProofOnly(t *testing.T) {
	none := func(o core.Op) core.Op { o.Below[0].Facts = nil; return o }
	for name, c := range map[string]struct {
		op      core.Op
		driver  func(n *plugintest.Node)
		before  func(n *plugintest.Node, o *core.Op)
		want    hal.Outcome
		blocked bool
	}{
		"nothing mounted": {op: publishOp(), driver: func(n *plugintest.Node) { n.World.MakeDir(target) }, want: hal.Unknown},
		"nothing mounted, as configured": {
			op:     publishOp(core.Param{Name: paramWithoutMount, Value: plugin.Yes}),
			driver: func(n *plugintest.Node) { n.World.MakeDir(target) }, want: hal.Done,
		},
		"another device": {
			op: publishOp(), driver: func(n *plugintest.Node) { n.Mount(target, foreign) },
			want: hal.Unknown, blocked: true,
		},
		"no device below": {
			op: none(publishOp()), driver: func(n *plugintest.Node) { n.Mount(target, foreign) },
			want: hal.Done,
		},
		"no device below, and it was there before": {
			op: none(publishOp()), before: func(n *plugintest.Node, o *core.Op,
			) {
				o.Seen = n.Mount(target, foreign).Fingerprint()
			},
			driver: func(*plugintest.Node) {}, want: hal.Unknown, blocked: true,
		},
		"no device below, and it is the one that was confirmed": {
			op: none(publishOp()), before: func(n *plugintest.Node, o *core.Op) {
				o.Seen = n.Mount(target, foreign).Fingerprint()
				o.Fingerprint = o.Seen
			},
			driver: func(*plugintest.Node) {}, want: hal.Done,
		},
		"a foreign mount hides it": {
			op: publishOp(), driver: func(n *plugintest.Node) {
				n.Mount(target, ours)
				n.Mount(target, foreign)
			},
			want: hal.Unknown, blocked: true,
		},
		"a block volume with nothing there": {
			op:     publishOp(core.Param{Name: plugin.ParamMode, Value: plugin.ModeBlock}),
			driver: func(*plugintest.Node) {},
			want:   hal.Unknown,
		},
		"a block volume with a file in place of the device": {
			op:     publishOp(core.Param{Name: plugin.ParamMode, Value: plugin.ModeBlock}),
			driver: func(n *plugintest.Node) { n.Put(target, hal.TypeFile) }, want: hal.Unknown,
		},
		"a block volume": {
			op:     publishOp(core.Param{Name: plugin.ParamMode, Value: plugin.ModeBlock}),
			driver: func(n *plugintest.Node) { n.Put(target, hal.TypeBlockDevice) }, want: hal.Done,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, o := newNode(), c.op
			if c.before != nil {
				c.before(n, &o)
			}
			n.OnPublish = func(*csi.NodePublishVolumeRequest) { c.driver(n) }
			r := publish(n.HAL(), o)
			require.Equal(t, c.want, r.Outcome, r.Reason)
			require.Equal(t, c.blocked, r.Blocked)
			require.Equal(t, core.Final, r.Answer)
			require.False(t, r.Fenced)
			require.NotContains(t, strings.Join(n.Calls, "\n"), "umount")
		})
	}
}

func TestALookThatFailsIsNotAPathWithoutMount(t *testing.T) {
	n := newNode()
	n.Fail["mounts at "+target] = plugintest.Errno("statmount", target, syscall.EIO)
	n.Fail["mounts at "+staging] = plugintest.Errno("statmount", staging, syscall.EIO)
	require.Equal(t, hal.NotDone, inspect(n.HAL(), publishOp()).Outcome)
	require.Equal(t, hal.Unknown, stage(n.HAL(), stageOp()).Outcome)
	require.Equal(t, hal.Unknown, publish(n.HAL(), publishOp()).Outcome)
	for _, r := range []core.Result{
		unpublish(n.HAL(), tearingDown(publishOp(), "")),
		unstage(n.HAL(), tearingDown(stageOp(), "")),
	} {
		require.Equal(t, hal.Unknown, r.Outcome)
		require.True(t, r.UndoFirst, "what is left there, if anything, is not mounted over")
	}
	require.Contains(t, n.Tree("/r"), stageDir+"/vol_data.json")
}

func TestWhatADriverLeavesMounted(t *testing.T) {
	setUpOpen := func(_ *plugintest.Node, o *core.Op) { o.Quiet = false }
	factsLost := func(_ *plugintest.Node, o *core.Op) { o.Below[0].Facts = nil }
	noBelow := func(_ *plugintest.Node, o *core.Op) { o.Below = nil }
	seenBefore := func(_ *plugintest.Node, o *core.Op) { o.Below, o.Seen = nil, "mount 1" }
	for name, c := range map[string]struct {
		stack     []string
		confirmed int // index of the mount that was confirmed, -1 for none
		change    func(n *plugintest.Node, o *core.Op)
		want      hal.Outcome
		blocked   bool
		undone    bool // before the next setup
		left      int  // mounts
	}{
		"the confirmed one":  {stack: []string{foreign}, confirmed: 0, want: hal.Done},
		"ours by its device": {stack: []string{ours}, confirmed: -1, want: hal.Done},
		"twice ours":         {stack: []string{ours, ours}, confirmed: 1, want: hal.Done},
		"foreign":            {stack: []string{foreign}, confirmed: -1, want: hal.Unknown, blocked: true, left: 1},
		"foreign on ours": {
			stack: []string{ours, foreign}, confirmed: 0,
			want: hal.Unknown, blocked: true, undone: true, left: 2,
		},
		"ours on foreign": {stack: []string{foreign, ours}, confirmed: 1, want: hal.Unknown, blocked: true, left: 1},
		"by its device, a setup is open": {
			stack: []string{ours}, confirmed: -1, change: setUpOpen,
			want: hal.Unknown, blocked: true, undone: true, left: 1,
		},
		"the device below is not known": {
			stack: []string{ours}, confirmed: -1, change: factsLost,
			want: hal.Unknown, blocked: true, undone: true, left: 1,
		},
		"no rung below, nothing was there": {stack: []string{ours}, confirmed: -1, change: noBelow, want: hal.Done},
		"no rung below, something was there": {
			stack: []string{ours}, confirmed: -1, change: seenBefore,
			want: hal.Unknown, blocked: true, undone: true, left: 1,
		},
		"in use": {
			stack: []string{ours}, confirmed: 0,
			change: func(n *plugintest.Node, _ *core.Op) {
				n.Fail["umount "+target] = plugintest.Errno("umount", target, syscall.EBUSY)
			},
			want: hal.Unknown, undone: true, left: 1,
		},
		"gone, but the directory is not empty": {
			confirmed: -1, change: func(n *plugintest.Node, _ *core.Op) { n.Put(target+"/data", hal.TypeFile) },
			want: hal.Unknown,
		},
		"gone, but a file is there": {
			confirmed: -1, change: func(n *plugintest.Node, _ *core.Op) { n.Put(target, hal.TypeFile) },
			want: hal.Unknown,
		},
		"an empty directory": {
			confirmed: -1, change: func(n *plugintest.Node, _ *core.Op) { n.World.MakeDir(target) },
			want: hal.Done,
		},
	} {
		t.Run(name, func(t *testing.T) {
			n, o := newNode(), tearingDown(publishOp(), "")
			n.Put(podDir+"/vol_data.json", hal.TypeFile)
			for i, m := range c.stack {
				if made := n.Mount(target, m); i == c.confirmed {
					o.Fingerprint = made.Fingerprint()
				}
			}
			if c.change != nil {
				c.change(n, &o)
			}
			n.OnUnpublish = nil
			r := unpublish(n.HAL(), o)
			require.Equal(t, c.want, r.Outcome, r.Reason)
			require.Equal(t, c.blocked, r.Blocked, r.Reason)
			require.Equal(t, c.undone, r.UndoFirst, r.Reason)
			require.Len(t, n.World.MountsAt(target), c.left)
			_, there := n.World.Exists(podDir + "/vol_data.json")
			require.Equal(t, c.want != hal.Done, there, "the file goes last")
			if c.want != hal.Done {
				require.NotEmpty(t, r.Reason)
			}
		})
	}
}

// What is mounted again once a driver has let go may be of a call that nobody knows of any more: it goes, and the
// driver is told that it has gone.
func TestADriverHearsThatWhatItHasMountedAgainIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		isConfirmed bool
		times       int // how often it is mounted again
		asked       int
		want        hal.Outcome
	}{
		"nothing is there":      {asked: 1, want: hal.Done},
		"the confirmed mount":   {isConfirmed: true, asked: 1, want: hal.Done},
		"a new one":             {times: 1, asked: 2, want: hal.Done},
		"a new one, each time":  {times: 9, asked: 2, want: hal.Unknown},
		"one more on confirmed": {isConfirmed: true, times: 1, asked: 2, want: hal.Done},
	} {
		t.Run(name, func(t *testing.T) {
			n, o, asked := newNode(), tearingDown(publishOp(), ""), 0
			if c.isConfirmed {
				o.Fingerprint = n.Mount(target, ours).Fingerprint()
			}
			n.OnUnpublish = func(*csi.NodeUnpublishVolumeRequest) {
				if asked++; asked <= c.times {
					n.Mount(target, ours)
				}
			}
			r := unpublish(n.HAL(), o)
			require.Equal(t, c.want, r.Outcome, r.Reason)
			require.Equal(t, c.asked, asked)
			require.Equal(t, c.want == hal.Unknown, r.UndoFirst)
			require.Empty(t, n.World.MountsAt(target))
		})
	}
}

func TestTeardownsThatTheDriverDoesNotFinish(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		quiet  bool
		want   hal.Outcome
		fenced bool
	}{
		"not registered":       {plugintest.NotSent(), true, hal.NotDone, false},
		"no reply":             {plugintest.NoReply(), true, hal.Unknown, true},
		"not found":            {plugintest.Status(hal.CodeNotFound), true, hal.Done, false},
		"not found, not quiet": {plugintest.Status(hal.CodeNotFound), false, hal.Unknown, false},
		"internal":             {plugintest.Status(hal.CodeInternal), true, hal.Unknown, false},
	} {
		n := newNode()
		s := stage(n.HAL(), stageOp())
		o := tearingDown(stageOp(), s.Fingerprint)
		o.Quiet = c.quiet
		n.Fail["NodeUnstageVolume"] = c.err
		r := unstage(n.HAL(), o)
		require.Equal(t, c.want, r.Outcome, name)
		require.Equal(t, c.fenced, r.Fenced, name)
		require.Equal(t, c.want == hal.Done, len(n.World.MountsAt(staging)) == 0, name)
		require.False(t, r.UndoFirst, "a stage that does not go down serves pods that join: "+name)

		p := publish(n.HAL(), publishOp())
		o = tearingDown(publishOp(), p.Fingerprint)
		o.Quiet = c.quiet
		n.Fail["NodeUnpublishVolume"] = c.err
		require.Equal(t, c.want == hal.Unknown, unpublish(n.HAL(), o).UndoFirst, name)
	}
}

func TestBlockVolumesShareTheirDataFile(t *testing.T) {
	n := newNode()
	n.OnPublish = func(r *csi.NodePublishVolumeRequest) { n.Put(r.TargetPath, hal.TypeBlockDevice) }
	n.OnUnpublish = nil // the driver leaves the device node behind
	op := func(pod string) core.Op {
		f := found{
			Place: plugin.BlockPublishPlace("/r", pod, "pv1"), Pod: pod, Block: true,
			Data: VolData{SpecVolID: "pv1", VolumeHandle: "h", DriverName: "d.example"},
		}
		return opOf(f.asPublish(nil), nil)
	}
	before := n.Tree("/r")
	require.Equal(t, hal.Done, publish(n.HAL(), op("u1")).Outcome)
	require.Equal(t, hal.Done, publish(n.HAL(), op("u2")).Outcome)
	data := "/r/plugins/kubernetes.io/csi/volumeDevices/pv1/data/vol_data.json"
	require.Contains(t, n.Tree("/r"), data)
	require.Equal(t, hal.Done, unpublish(n.HAL(), tearingDown(op("u1"), "")).Outcome)
	require.Contains(t, n.Tree("/r"), data)
	require.Equal(t, hal.Done, unpublish(n.HAL(), tearingDown(op("u2"), "")).Outcome)
	require.Equal(t, before, n.Tree("/r"))
}

// A vol_data.json is what encoding/json makes of it, whatever is in it: a kubelet reads it, too.
func TestVolDataIsPlainJSON(t *testing.T) {
	for _, d := range []VolData{{}, {DriverName: "d"}, {SpecVolID: "a<b>\"\n&é", Staged: plugin.Yes}, {
		SpecVolID: "pv", VolumeHandle: "h", DriverName: "d", NodeName: "n", AttachmentID: "a", Lifecycle: "Persistent",
		SELinuxMountContext: "s", Staged: plugin.Yes,
	}} {
		text, err := json.Marshal(d)
		require.NoError(t, err)
		require.Equal(t, string(text)+"\n", string(d.Marshal()))
	}
}

func FuzzParseVolData(f *testing.F) {
	f.Add([]byte(`{"specVolID":"pv","volumeHandle":"h","driverName":"d","nodeName":"n","attachmentID":"a",` +
		`"volumeLifecycleMode":"Persistent"}`))
	f.Add([]byte(`{"driverName":"d","future":{"x":[1,2]}}`))
	f.Add([]byte(`{"driverName":1}`))
	f.Add([]byte(`null`))
	f.Add([]byte(``))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := ParseVolData(data)
		if err != nil {
			require.Zero(t, d)
			return
		}
		again, err := ParseVolData(d.Marshal())
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}
