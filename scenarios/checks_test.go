package scenarios

import (
	"encoding/base64"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/emptydir"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/hal/trace"
	"github.com/volnode/volnode/scenarios/calm"
	"github.com/volnode/volnode/scenarios/dealings"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/secrets"
	"github.com/volnode/volnode/scenarios/world"
)

// Each check is shown a tiny world that breaks its property.

const (
	theStage   = hal.Key("csi.stage/d^v")
	thePublish = hal.Key("csi.publish/d^v/u/pv")
	stagePath  = lang.RootDir + "/plugins/kubernetes.io/csi/d/h/globalmount"
	target     = lang.RootDir + "/pods/u/volumes/kubernetes.io~csi/pv/mount"

	scratchRung = hal.Key("emptydir/u/scratch")
	scratchPath = lang.RootDir + "/pods/u/volumes/kubernetes.io~empty-dir/scratch"
)

func bare(t *testing.T) *world.Run {
	w := sim.New(sim.Config{RootDir: lang.RootDir, Chooser: hanging{}, Script: hangs})
	t.Cleanup(w.Close)
	r := newRun(w, engine.Config{})
	r.Leaks = secrets.Of(map[string]string{"mark": world.SecretMark, "pin": "Qz7Kp"})
	r.Synced = true
	w.SetAgent(func(hal.Host) {})
	w.AddDriver(sim.DriverSpec{Name: "d"})
	w.AddVolume("d", "v")
	w.StartAgent()
	return r
}

// hanging is benign, and what hangs does so for long.
type hanging struct{ sim.Benign }

func (hanging) Between(id sim.ID, lo, hi int64) int64 {
	if id.Site == "child.hang" {
		return hi
	}
	return lo
}

// hangs lets every mount hang, and its helper live on.
func hangs(_ sim.ID, possible []sim.Fault) sim.Fault {
	for _, f := range possible {
		if f == sim.Hang || f == sim.ChildLives {
			return f
		}
	}
	return sim.NoFault
}

func sends(r *world.Run, id uint64, method string) {
	e := sim.Effect{
		Kind: sim.EffectSent, Actor: "d", Run: 1, Call: id, Driver: "d", Volume: "v", Method: method,
		Key: theStage, Staging: stagePath,
	}
	e.At, e.Deadline = r.W.Now(), r.W.Now().Add(time.Minute)
	if method == world.Publish || method == world.Unpublish {
		e.Key, e.Target = thePublish, target
	}
	judges.Effect(r, e)
}

func holds(r *world.Run, kind sim.EffectKind) {
	e := sim.Effect{
		Kind: kind, Actor: "d", Run: 1, Driver: "d", Volume: "v", Method: world.Stage,
		Key: theStage, Staging: stagePath, Path: stagePath,
	}
	if kind == sim.EffectPublished || kind == sim.EffectUnpublished {
		e.Method, e.Key, e.Target, e.Path = world.Publish, thePublish, target, target
	}
	judges.Effect(r, e)
}

func runs(r *world.Run) *world.Pod {
	p := r.Register(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}, []world.Use{
		{Name: "data", Path: target, Driver: "d", Volume: "v"}, scratchUse(),
	})
	p.IsWanted, p.IsRunning, p.Told, p.Given = true, true, p.Object, p.Uses
	return p
}

func scratchUse() world.Use {
	return world.UseOf("u", &corev1.Volume{
		Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}},
	}, nil)
}

func TestChecksFire(t *testing.T) {
	for name, c := range map[string]struct {
		property string
		breaks   func(r *world.Run)
	}{
		"data deleted through a mount": {"S1", func(r *world.Run) {
			r.W.MakeDir(target)
			holds(r, sim.EffectPublished)
			require.Zero(t, r.W.BindMount("/", target, false))
			r.ByPath[target].IsTouched = false
			judges.Effect(r, sim.Effect{Kind: sim.EffectRemoved, Actor: "agent", Run: 1, Path: target + "/file"})
		}},
		"something of the host removed": {"S1", func(r *world.Run) {
			judges.Effect(r, sim.Effect{Kind: sim.EffectRemoved, Actor: "agent", Run: 1, Path: "/srv/data"})
		}},
		"sent without a deadline": {"S8", func(r *world.Run) {
			judges.Sent(r, &sim.Effect{
				Kind: sim.EffectSent, Actor: "d", Run: 1, Call: 1, Driver: "d", Volume: "v",
				Method: world.Stage, Key: theStage, Staging: stagePath,
			})
		}},
		"a claim of one pod published twice": {"S9", func(r *world.Run) {
			r.Exclusive["d^v"] = true
			r.List = append(r.List, &world.Place{
				Key: "another", IsPublish: true, IsHeld: true, Driver: "d", Volume: "v", Path: "/another",
			})
			holds(r, sim.EffectStaged)
			sends(r, 1, world.Publish)
		}},
		"what another node has comes up here": {"S9", func(r *world.Run) {
			r.Away["d^v"] = &world.HandOver{Driver: "d", Handle: "v", IsThere: true}
			holds(r, sim.EffectStaged)
		}},
		"what another node has by force comes up by a call that was sent later": {"S9", func(r *world.Run) {
			r.Away["d^v"] = &world.HandOver{Driver: "d", Handle: "v", IsThere: true, IsFenced: true}
			isAttachedOnce(r, func(is *storagev1.VolumeAttachment) { judges.Hears(r, hal.Changed{Removed: []any{is}}) })
			_ = r.W.RunFor(time.Hour)
			holds(r, sim.EffectStaged)
		}},
		"staged after the end of its attachment was told": {"S32", func(r *world.Run) {
			isAttachedOnce(r, func(is *storagev1.VolumeAttachment) { judges.Hears(r, hal.Changed{Removed: []any{is}}) })
			_ = r.W.RunFor(time.Hour)
			sends(r, 1, world.Stage)
		}},
		"published on a stage of an earlier attachment": {"S32", func(r *world.Run) {
			isAttachedOnce(r, func(is *storagev1.VolumeAttachment) {
				holds(r, sim.EffectStaged)
				other := is.DeepCopy()
				other.UID = "other"
				judges.Hears(r, hal.Changed{Removed: []any{is}, Applied: []any{other}})
			})
			_ = r.W.RunFor(time.Hour)
			sends(r, 1, world.Publish)
		}},
		"publish without a stage": {"S4", func(r *world.Run) { sends(r, 1, world.Publish) }},
		"publish while an unstage may act": {"S4", func(r *world.Run) {
			holds(r, sim.EffectStaged)
			sends(r, 1, world.Unstage)
			sends(r, 2, world.Publish)
		}},
		"unstage while published": {"S5", func(r *world.Run) { holds(r, sim.EffectPublished); sends(r, 1, world.Unstage) }},
		"unstage while a publish may act": {"S5", func(r *world.Run) {
			holds(r, sim.EffectStaged)
			sends(r, 1, world.Publish)
			sends(r, 2, world.Unstage)
		}},
		"goes down while published": {"S5", func(r *world.Run) {
			holds(r, sim.EffectPublished)
			holds(r, sim.EffectUnstaged)
		}},
		"stage while an unstage may act": {"S6", func(r *world.Run) {
			sends(r, 1, world.Unstage)
			sends(r, 2, world.Stage)
		}},
		"unpublish from running containers": {"S7", func(r *world.Run) { runs(r); sends(r, 1, world.Unpublish) }},
		"umount from running containers": {"S7", func(r *world.Run) {
			runs(r)
			judges.Effect(r, sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: target})
		}},
		"an emptyDir is deleted under its pod": {"S1", func(r *world.Run) {
			p := runs(r)
			judges.Effect(r, sim.Effect{Kind: sim.EffectRenamed, Actor: "agent", Run: 1, Path: p.Uses[1].Path})
		}},
		"forgotten while staged": {"S8", func(r *world.Run) { believe(r); holds(r, sim.EffectStaged) }},
		"forgotten while a call may act": {"S8", func(r *world.Run) {
			believe(r)
			sends(r, 1, world.Stage)
			judges.Refine(r, theStage)
		}},
		"believed up and is not": {"S14", func(r *world.Run) {
			believe(r, core.Present)
			sends(r, 1, world.Stage)
			judges.Refine(r, theStage)
		}},
		"started without a trace of it": {"S15", func(r *world.Run) {
			holds(r, sim.EffectStaged)
			stepped(r, core.New(core.Start{Now: 1, Boot: "b"}))
		}},
		"two rungs with one path": {"S13", func(r *world.Run) {
			holds(r, sim.EffectPublished)
			judges.Effect(r, sim.Effect{
				Kind: sim.EffectSent, Deadline: 1e15, Key: "csi.publish/d^w/u/pv", Method: world.Publish,
				Driver: "d", Volume: "w", Target: target,
			})
		}},
		"a part of a secret in base64 of more in the log": {"S17", func(r *world.Run) {
			more := base64.StdEncoding.EncodeToString([]byte("root:" + world.SecretMark[4:] + "@"))
			r.ReadsLine(engine.Line{Message: "m", Fields: []string{"why", more}})
		}},
		"a short secret in the log": {"S17", func(r *world.Run) {
			r.ReadsLine(engine.Line{Message: "m", Fields: []string{"why", "pin=Qz7Kp."}})
		}},
		"a control character in the log": {"S17", func(r *world.Run) {
			r.ReadsLine(engine.Line{Message: "m", Fields: []string{"why", "\x1b[2J"}})
		}},
		"a secret in the trace": {"S17", func(r *world.Run) {
			r.Traced(trace.Record{Error: "it is " + world.SecretMark})
		}},
		"a secret in the status": {"S17", func(r *world.Run) {
			calm.TellsAtTheEnd(r, engine.Status{Sources: []engine.SourceTrouble{{Why: "it is " + world.SecretMark}}})
		}},
		"a secret in the journal": {"S17", func(r *world.Run) {
			r.W.WriteFile(lang.RootDir+"/volnode/journal/a", []byte("it is "+world.SecretMark))
			calm.TellsAtTheEnd(r, engine.Status{})
		}},
		"an emptyDir believed up and is not": {"S14", func(r *world.Run) {
			judges.RefineDirectory(r, scratchRung, &core.Belief{Kind: emptydir.Kind, State: core.Present, Path: scratchPath})
		}},
		"an emptyDir in memory believed up and is not": {"S14", func(r *world.Run) {
			r.W.MakeDir(scratchPath)
			judges.RefineDirectory(r, scratchRung, &core.Belief{
				Kind: emptydir.Kind, State: core.Present, Path: scratchPath, Fingerprint: "mount 7",
			})
		}},
		"an emptyDir believed gone and is not": {"S14", func(r *world.Run) {
			r.W.MakeDir(scratchPath)
			judges.RefineDirectory(r, scratchRung, &core.Belief{
				Kind: emptydir.Kind, State: core.Absent, IsGone: true, Path: scratchPath,
			})
		}},
		"an emptyDir forgotten while it is there": {"S8", func(r *world.Run) {
			r.W.MakeDir(scratchPath)
			judges.ForgottenDirectory(r, scratchRung)
		}},
		"a foreign unmount is never noticed": {"S14", func(r *world.Run) {
			believe(r, core.Present)
			p := judges.PlaceOf(r, &sim.Effect{Key: theStage, Method: world.Stage, Driver: "d", Volume: "v", Staging: stagePath})
			p.IsTouched = true
			judges.Untouched(r)
		}},
		"a secret in the log": {"S17", func(r *world.Run) {
			r.ReadsLine(engine.Line{Message: "m", Fields: []string{"why", "it is " + world.SecretMark}})
		}},
		"two mounts at one path": {"S18", func(r *world.Run) {
			r.W.MakeDir(target)
			require.Zero(t, r.W.BindMount("/", target, false))
			require.Zero(t, r.W.BindMount("/", target, false))
			judges.Effect(r, sim.Effect{Kind: sim.EffectMount, Actor: "d", Run: 1, Path: target})
		}},
		"an emptyDir is mounted on another's mount": {"S18", func(r *world.Run) {
			dir, stack := mountsOverScratch(r, t)
			judges.Effect(r, sim.Effect{
				Kind: sim.EffectMount, Actor: "agent", Run: 1, Path: dir, Mount: stack[1], Late: true, Since: r.W.Now(),
			})
		}},
		"an emptyDir is mounted twice": {"S18", func(r *world.Run) {
			dir, stack := mountsOverScratch(r, t)
			delete(r.Foreign, stack[0].ID)
			judges.Effect(r, sim.Effect{
				Kind: sim.EffectMount, Actor: "agent", Run: 1, Path: dir, Mount: stack[1], Late: true, Since: 1,
			})
		}},
		"another's mount is unmounted": {"S1", func(r *world.Run) {
			m := mountedOver(r, t)
			require.NoError(t, r.W.RunFor(2*dealings.Noticing))
			judges.Effect(r, sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: target, Mount: m})
		}},
		"another's mount on an emptyDir is unmounted": {"S1", func(r *world.Run) {
			dir := runs(r).Uses[1].Path
			r.W.MakeDir(dir)
			require.Zero(t, r.W.MountForeign(dir))
			m := r.W.MountsAt(dir)[0]
			r.Pods[0].IsRunning = false
			require.NoError(t, r.W.RunFor(2*dealings.Noticing))
			judges.Effect(r, sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: dir, Mount: m})
		}},
		"a mount beside a helper of an earlier run": {"S6", func(r *world.Run) {
			outlived(r, t, "emptydir/u/scratch")
			judges.Effect(r, sim.Effect{
				Kind: sim.EffectMount, Actor: "agent", Run: r.W.Life(), Key: "emptydir/u/scratch", Path: "/srv/scratch",
			})
		}},
		"told ready beside a helper of an earlier run": {"S21", func(r *world.Run) {
			p := runs(r)
			p.IsRunning = false
			outlived(r, t, "emptydir/u/scratch")
			dealings.Ready(r, p, world.Question{Pod: p.Object})
		}},
		"another's mount is taken for ours": {"S14", func(r *world.Run) {
			m := mountedOver(r, t)
			judges.RefineTouched(r, r.ByPath[target], &core.Belief{
				Kind: emptydir.Kind, State: core.Present, Fingerprint: m.Fingerprint(),
			})
		}},
		"a block of another volume": {"S10", func(r *world.Run) {
			u := world.Use{Name: "v", Path: "/srv/v", Driver: "d", Volume: "v"}
			r.W.WriteFile("/srv/v/blocks-u", make([]byte, dealings.BlockSize))
			v, errno := r.W.OpenView("/srv/v")
			require.Zero(t, errno)
			dealings.Reads(r, &world.Pod{Name: "n/p"}, &u, v)
		}},
		"a block is lost": {"S10", func(r *world.Run) {
			u := world.Use{Name: "v", Path: "/srv/v", Driver: "d", Volume: "v"}
			r.W.MakeDir("/srv/v")
			v, errno := r.W.OpenView("/srv/v")
			require.Zero(t, errno)
			p := &world.Pod{Name: "n/p", Uid: "u", Writer: &world.Writer{Views: []world.View{{View: v, Use: &u}}}}
			dealings.Writes(r, p)
			dealings.Reads(r, p, &u, v)
			require.Nil(t, r.Violation)
			require.Zero(t, r.W.RemoveFile("/srv/v/blocks-u"))
			dealings.Reads(r, p, &u, v)
		}},
		"told not to be in use and is": {"S8", func(r *world.Run) {
			holds(r, sim.EffectStaged)
			v := &world.HandOver{Driver: "d", Handle: "v"}
			dealings.NotUsed(r, v, dealings.Here(r, v))
		}},
		"another node has it": {"S9", func(r *world.Run) {
			r.Away["d^v"] = &world.HandOver{Driver: "d", Handle: "v", IsThere: true}
			holds(r, sim.EffectStaged)
		}},
		"containers can't open their volume": {"S10", func(r *world.Run) {
			dealings.StartWriting(r, &world.Pod{
				Name: "n/p", Uid: "u", Writer: &world.Writer{},
				Uses: []world.Use{{Name: "v", Path: "/srv/missing", Driver: "d", Volume: "v"}},
			})
		}},
		"told to be in use and is not": {"L5", func(r *world.Run) {
			holds(r, sim.EffectStaged)
			calm.NotInUse(r, func(string) (bool, error) { return true, nil })
		}},
		"not told whether it is in use": {"L5", func(r *world.Run) {
			holds(r, sim.EffectStaged)
			calm.NotInUse(r, func(string) (bool, error) { return false, syscall.EIO })
		}},
		"a rung is stuck and does not say why": {"L12", func(r *world.Run) {
			calm.Explained(r, engine.Status{Rungs: []engine.RungStatus{{Key: theStage, State: engine.Stuck}}})
		}},
		"a volume is blocked and does not say why": {"L12", func(r *world.Run) {
			volumes := []engine.VolumeStatus{{Name: "data", State: engine.Blocked}}
			calm.Explained(r, engine.Status{Pods: []engine.PodStatus{{Name: "web", Volumes: volumes}}})
		}},
		"told ready of nothing": {"S21", func(r *world.Run) {
			p := runs(r)
			p.IsRunning = false
			dealings.Ready(r, p, world.Question{Pod: p.Object})
		}},
		"unstaged before synced": {"S22", func(r *world.Run) { r.Synced = false; sends(r, 1, world.Unstage) }},
		"unmounted before synced": {"S22", func(r *world.Run) {
			r.Synced = false
			judges.Effect(r, sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: target})
		}},
		"a claim is forgotten": {"S22", func(r *world.Run) {
			hearsOfClaim(r)
			r.Heard = world.NewObjects()
			judges.Hears(r, hal.Synced{})
		}},
		"a claim is told to be gone": {"S22", func(r *world.Run) {
			judges.Hears(r, hal.Changed{Removed: []any{hearsOfClaim(r)}})
		}},
		"taken from a pod that was wanted all along": {"S22", func(r *world.Run) {
			p := runs(r)
			p.IsRunning, p.IsSteady = false, true
			sends(r, 1, world.Unpublish)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			c.breaks(r)
			require.NotNil(t, r.Violation)
			require.Equal(t, c.property, r.Violation.Property, "%v", r.Violation)
		})
	}
}

// TestForeignMountIsNothingOfAPlace: a stage that somebody's mount kept from being made is forgotten, and
// what is mounted there is not its own.
func TestForeignMountIsNothingOfAPlace(t *testing.T) {
	r := bare(t)
	believe(r)
	r.W.MakeDir(stagePath)
	require.Zero(t, r.W.MountForeign(stagePath))
	p := judges.PlaceOf(r, &sim.Effect{Key: theStage, Method: world.Stage, Driver: "d", Volume: "v", Staging: stagePath})
	require.False(t, p.IsTouched)
	judges.Refine(r, theStage)
	require.Nil(t, r.Violation)
	require.Zero(t, r.W.UnmountTop(stagePath))
	require.Zero(t, r.W.BindMount("/", stagePath, false))
	p.IsTouched, p.Checked = false, world.Seen{}
	judges.Refine(r, theStage)
	require.NotNil(t, r.Violation)
	require.Equal(t, "S8", r.Violation.Property)
}

// mountedOver has somebody mount over the target before the agent has begun.
func mountedOver(r *world.Run, t *testing.T) hal.Mount {
	holds(r, sim.EffectPublished)
	r.W.MakeDir(target)
	require.Zero(t, r.W.MountForeign(target))
	return r.W.MountsAt(target)[0]
}

// mountsOverScratch has somebody mount over an emptyDir, and the agent on that a minute later.
func mountsOverScratch(r *world.Run, t *testing.T) (dir string, stack []hal.Mount) {
	dir = runs(r).Uses[1].Path
	r.W.MakeDir(dir)
	require.NoError(t, r.W.RunFor(time.Minute))
	require.Zero(t, r.W.MountForeign(dir))
	require.NoError(t, r.W.RunFor(time.Minute))
	require.Zero(t, r.W.BindMount("/", dir, false))
	return dir, r.W.MountsAt(dir)
}

// A helper that was in the kernel when somebody mounted where it mounts can't be called back.
func TestHelperMountsOnWhatItCouldNotSee(t *testing.T) {
	r := bare(t)
	dir, stack := mountsOverScratch(r, t)
	judges.Effect(r, sim.Effect{
		Kind: sim.EffectMount, Actor: "agent", Run: 1, Path: dir, Mount: stack[1], Late: true,
		Since: r.Foreign[stack[0].ID].Since - 1,
	})
	require.Nil(t, r.Violation)
}

// outlived has a helper of a rung outlive the agent.
func outlived(r *world.Run, t *testing.T, key hal.Key) {
	r.W.SetAgent(func(h hal.Host) {
		if r.W.Life() > 2 {
			return
		}
		h.Runtime.Go(func() {
			_ = h.Mounts.Mount(hal.Call{Key: key}, hal.NewMount{FSType: "tmpfs", Source: "tmpfs", Target: "/srv"})
		})
	})
	r.W.KillAgent()
	require.NoError(t, r.W.RunFor(2*time.Second))
	r.W.KillAgent()
	require.NoError(t, r.W.RunFor(2*time.Second))
	require.Len(t, r.W.Outlived(), 1)
}

// believe gives the world a core that knows of nothing, or of the stage in a state.
func believe(r *world.Run, states ...core.State) {
	s := core.Start{Now: 1, Boot: "b"}
	for range states {
		s.Records = append(s.Records, core.Record{
			Rung: core.Rung{Key: theStage, Kind: "csi.stage", Intent: true}, Phase: core.Confirmed, Boot: "b", Fingerprint: "f",
		})
		s.Found = append(s.Found, core.Found{Key: theStage, Fingerprint: "f"})
	}
	r.Core = core.New(s)
}

const storyOfTwoDrivers = `# two drivers, of which one will be broken
driver disk.example staging device
driver file.example
volume vol-a of disk.example
volume vol-b of file.example
pod default/web uses vol-a
pod default/second uses vol-b
at 0s apply all
within 1m expect pod default/web ready
within 1m expect pod default/second ready
`

const storyOfOnePod = `# one pod
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a
pod default/second uses vol-a
at 0s apply all
within 1m expect pod default/web ready
`
