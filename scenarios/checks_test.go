package scenarios

import (
	"encoding/base64"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/hal/trace"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/secrets"
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

func bare(t *testing.T) *run {
	w := sim.New(sim.Config{RootDir: lang.RootDir, Chooser: hanging{}, Script: hangs})
	t.Cleanup(w.Close)
	r := newRun(w, engine.Config{})
	r.leaks = secrets.Of(map[string]string{"mark": secretMark, "pin": "Qz7Kp"})
	r.synced = true
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

func (r *run) sends(id uint64, method string) {
	e := sim.Effect{Kind: sim.EffectSent, Actor: "d", Run: 1, Call: id, Driver: "d", Volume: "v", Method: method, Key: theStage, Staging: stagePath}
	e.At, e.Deadline = r.w.Now(), r.w.Now().Add(time.Minute)
	if method == publish || method == unpublish {
		e.Key, e.Target = thePublish, target
	}
	r.effect(e)
}

func (r *run) holds(kind sim.EffectKind) {
	e := sim.Effect{Kind: kind, Actor: "d", Run: 1, Driver: "d", Volume: "v", Method: stage, Key: theStage, Staging: stagePath, Path: stagePath}
	if kind == sim.EffectPublished || kind == sim.EffectUnpublished {
		e.Method, e.Key, e.Target, e.Path = publish, thePublish, target, target
	}
	r.effect(e)
}

func (r *run) runs() *pod {
	p := r.register(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"}}, []use{
		{name: "data", path: target, driver: "d", volume: "v"}, {name: "scratch", path: lang.RootDir + "/pods/u/volumes/kubernetes.io~empty-dir/scratch"},
	})
	p.isWanted, p.isRunning, p.told, p.given = true, true, p.object, p.uses
	return p
}

func TestChecksFire(t *testing.T) {
	for name, c := range map[string]struct {
		property string
		breaks   func(r *run)
	}{
		"data deleted through a mount": {"S1", func(r *run) {
			r.w.MakeDir(target)
			r.holds(sim.EffectPublished)
			require.Zero(t, r.w.BindMount("/", target, false))
			r.byPath[target].isTouched = false
			r.effect(sim.Effect{Kind: sim.EffectRemoved, Actor: "agent", Run: 1, Path: target + "/file"})
		}},
		"something of the host removed": {"S1", func(r *run) {
			r.effect(sim.Effect{Kind: sim.EffectRemoved, Actor: "agent", Run: 1, Path: "/srv/data"})
		}},
		"sent without a deadline": {"S8", func(r *run) {
			r.sent(&sim.Effect{Kind: sim.EffectSent, Actor: "d", Run: 1, Call: 1, Driver: "d", Volume: "v", Method: stage, Key: theStage, Staging: stagePath})
		}},
		"a claim of one pod published twice": {"S9", func(r *run) {
			r.exclusive["d^v"] = true
			r.list = append(r.list, &place{key: "another", isPublish: true, isHeld: true, driver: "d", volume: "v", path: "/another"})
			r.holds(sim.EffectStaged)
			r.sends(1, publish)
		}},
		"what another node has comes up here": {"S9", func(r *run) {
			r.away["d^v"] = &handOver{driver: "d", handle: "v", isThere: true}
			r.holds(sim.EffectStaged)
		}},
		"what another node has by force comes up by a call that was sent later": {"S9", func(r *run) {
			r.away["d^v"] = &handOver{driver: "d", handle: "v", isThere: true, isFenced: true}
			r.isAttachedOnce(func(is *storagev1.VolumeAttachment) { r.hears(hal.Changed{Removed: []any{is}}) })
			_ = r.w.RunFor(time.Hour)
			r.holds(sim.EffectStaged)
		}},
		"staged after the end of its attachment was told": {"S32", func(r *run) {
			r.isAttachedOnce(func(is *storagev1.VolumeAttachment) { r.hears(hal.Changed{Removed: []any{is}}) })
			_ = r.w.RunFor(time.Hour)
			r.sends(1, stage)
		}},
		"published on a stage of an earlier attachment": {"S32", func(r *run) {
			r.isAttachedOnce(func(is *storagev1.VolumeAttachment) {
				r.holds(sim.EffectStaged)
				other := is.DeepCopy()
				other.UID = "other"
				r.hears(hal.Changed{Removed: []any{is}, Applied: []any{other}})
			})
			_ = r.w.RunFor(time.Hour)
			r.sends(1, publish)
		}},
		"publish without a stage":           {"S4", func(r *run) { r.sends(1, publish) }},
		"publish while an unstage may act":  {"S4", func(r *run) { r.holds(sim.EffectStaged); r.sends(1, unstage); r.sends(2, publish) }},
		"unstage while published":           {"S5", func(r *run) { r.holds(sim.EffectPublished); r.sends(1, unstage) }},
		"unstage while a publish may act":   {"S5", func(r *run) { r.holds(sim.EffectStaged); r.sends(1, publish); r.sends(2, unstage) }},
		"goes down while published":         {"S5", func(r *run) { r.holds(sim.EffectPublished); r.holds(sim.EffectUnstaged) }},
		"stage while an unstage may act":    {"S6", func(r *run) { r.sends(1, unstage); r.sends(2, stage) }},
		"unpublish from running containers": {"S7", func(r *run) { r.runs(); r.sends(1, unpublish) }},
		"umount from running containers": {"S7", func(r *run) {
			r.runs()
			r.effect(sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: target})
		}},
		"an emptyDir is deleted under its pod": {"S1", func(r *run) {
			p := r.runs()
			r.effect(sim.Effect{Kind: sim.EffectRenamed, Actor: "agent", Run: 1, Path: p.uses[1].path})
		}},
		"forgotten while staged":         {"S8", func(r *run) { r.believe(); r.holds(sim.EffectStaged) }},
		"forgotten while a call may act": {"S8", func(r *run) { r.believe(); r.sends(1, stage); r.refine(theStage) }},
		"believed up and is not":         {"S14", func(r *run) { r.believe(core.Present); r.sends(1, stage); r.refine(theStage) }},
		"started without a trace of it":  {"S15", func(r *run) { r.holds(sim.EffectStaged); r.stepped(core.New(core.Start{Now: 1, Boot: "b"})) }},
		"two rungs with one path": {"S13", func(r *run) {
			r.holds(sim.EffectPublished)
			r.effect(sim.Effect{Kind: sim.EffectSent, Deadline: 1e15, Key: "csi.publish/d^w/u/pv", Method: publish, Driver: "d", Volume: "w", Target: target})
		}},
		"a part of a secret in base64 of more in the log": {"S17", func(r *run) {
			r.logged(engine.Entry{Message: "m", Fields: []string{"why", base64.StdEncoding.EncodeToString([]byte("root:" + secretMark[4:] + "@"))}})
		}},
		"a short secret in the log":      {"S17", func(r *run) { r.logged(engine.Entry{Message: "m", Fields: []string{"why", "pin=Qz7Kp."}}) }},
		"a control character in the log": {"S17", func(r *run) { r.logged(engine.Entry{Message: "m", Fields: []string{"why", "\x1b[2J"}}) }},
		"a secret in the trace":          {"S17", func(r *run) { r.traced(trace.Record{Error: "it is " + secretMark}) }},
		"a secret in the status": {"S17", func(r *run) {
			r.tellsAtTheEnd(engine.Status{Sources: []engine.SourceTrouble{{Why: "it is " + secretMark}}})
		}},
		"a secret in the journal": {"S17", func(r *run) {
			r.w.WriteFile(lang.RootDir+"/volnode/journal/a", []byte("it is "+secretMark))
			r.tellsAtTheEnd(engine.Status{})
		}},
		"an emptyDir believed up and is not": {"S14", func(r *run) {
			r.refineDirectory(scratchRung, &core.Belief{State: core.Present, Path: scratchPath})
		}},
		"an emptyDir in memory believed up and is not": {"S14", func(r *run) {
			r.w.MakeDir(scratchPath)
			r.refineDirectory(scratchRung, &core.Belief{State: core.Present, Path: scratchPath, Fingerprint: "mount 7"})
		}},
		"an emptyDir believed gone and is not": {"S14", func(r *run) {
			r.w.MakeDir(scratchPath)
			r.refineDirectory(scratchRung, &core.Belief{State: core.Absent, IsGone: true, Path: scratchPath})
		}},
		"an emptyDir forgotten while it is there": {"S8", func(r *run) {
			r.w.MakeDir(scratchPath)
			r.forgottenDirectory(scratchRung)
		}},
		"a foreign unmount is never noticed": {"S14", func(r *run) {
			r.believe(core.Present)
			p := r.placeOf(&sim.Effect{Key: theStage, Method: stage, Driver: "d", Volume: "v", Staging: stagePath})
			p.isTouched = true
			r.untouched()
		}},
		"a secret in the log": {"S17", func(r *run) { r.logged(engine.Entry{Message: "m", Fields: []string{"why", "it is " + secretMark}}) }},
		"two mounts at one path": {"S18", func(r *run) {
			r.w.MakeDir(target)
			require.Zero(t, r.w.BindMount("/", target, false))
			require.Zero(t, r.w.BindMount("/", target, false))
			r.effect(sim.Effect{Kind: sim.EffectMount, Actor: "d", Run: 1, Path: target})
		}},
		"an emptyDir is mounted on another's mount": {"S18", func(r *run) {
			dir, stack := r.mountsOverScratch(t)
			r.effect(sim.Effect{Kind: sim.EffectMount, Actor: "agent", Run: 1, Path: dir, Mount: stack[1], Late: true, Since: r.w.Now()})
		}},
		"an emptyDir is mounted twice": {"S18", func(r *run) {
			dir, stack := r.mountsOverScratch(t)
			delete(r.foreign, stack[0].ID)
			r.effect(sim.Effect{Kind: sim.EffectMount, Actor: "agent", Run: 1, Path: dir, Mount: stack[1], Late: true, Since: 1})
		}},
		"another's mount is unmounted": {"S1", func(r *run) {
			m := r.mountsOver(t)
			require.NoError(t, r.w.RunFor(2*noticing))
			r.effect(sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: target, Mount: m})
		}},
		"another's mount on an emptyDir is unmounted": {"S1", func(r *run) {
			dir := r.runs().uses[1].path
			r.w.MakeDir(dir)
			require.Zero(t, r.w.MountForeign(dir))
			m := r.w.MountsAt(dir)[0]
			r.pods[0].isRunning = false
			require.NoError(t, r.w.RunFor(2*noticing))
			r.effect(sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: dir, Mount: m})
		}},
		"a mount beside a helper of an earlier run": {"S6", func(r *run) {
			r.outlived(t, "emptydir/u/scratch")
			r.effect(sim.Effect{Kind: sim.EffectMount, Actor: "agent", Run: r.w.Life(), Key: "emptydir/u/scratch", Path: "/srv/scratch"})
		}},
		"told ready beside a helper of an earlier run": {"S21", func(r *run) {
			p := r.runs()
			p.isRunning = false
			r.outlived(t, "emptydir/u/scratch")
			r.ready(p, question{pod: p.object})
		}},
		"another's mount is taken for ours": {"S14", func(r *run) {
			m := r.mountsOver(t)
			r.refineTouched(r.byPath[target], &core.Belief{State: core.Present, Fingerprint: m.Fingerprint()})
		}},
		"a block of another volume": {"S10", func(r *run) {
			u := use{name: "v", path: "/srv/v", driver: "d", volume: "v"}
			r.w.WriteFile("/srv/v/blocks-u", make([]byte, blockSize))
			v, errno := r.w.OpenView("/srv/v")
			require.Zero(t, errno)
			r.reads(&pod{name: "n/p"}, &u, v)
		}},
		"a block is lost": {"S10", func(r *run) {
			u := use{name: "v", path: "/srv/v", driver: "d", volume: "v"}
			r.w.MakeDir("/srv/v")
			v, errno := r.w.OpenView("/srv/v")
			require.Zero(t, errno)
			p := &pod{name: "n/p", uid: "u", writer: &writer{views: []view{{v, &u}}}}
			r.writes(p)
			r.reads(p, &u, v)
			require.Nil(t, r.violation)
			require.Zero(t, r.w.RemoveFile("/srv/v/blocks-u"))
			r.reads(p, &u, v)
		}},
		"told not to be in use and is": {"S8", func(r *run) {
			r.holds(sim.EffectStaged)
			v := &handOver{driver: "d", handle: "v"}
			r.notUsed(v, r.here(v))
		}},
		"another node has it": {"S9", func(r *run) {
			r.away["d^v"] = &handOver{driver: "d", handle: "v", isThere: true}
			r.holds(sim.EffectStaged)
		}},
		"containers can't open their volume": {"S10", func(r *run) {
			r.startWriting(&pod{name: "n/p", uid: "u", writer: &writer{}, uses: []use{{name: "v", path: "/srv/missing", driver: "d", volume: "v"}}})
		}},
		"told to be in use and is not": {"L5", func(r *run) {
			r.holds(sim.EffectStaged)
			r.notInUse(func(string) (bool, error) { return true, nil })
		}},
		"not told whether it is in use": {"L5", func(r *run) {
			r.holds(sim.EffectStaged)
			r.notInUse(func(string) (bool, error) { return false, syscall.EIO })
		}},
		"a rung is stuck and does not say why": {"L12", func(r *run) {
			r.explained(engine.Status{Rungs: []engine.RungStatus{{Key: theStage, State: engine.Stuck}}})
		}},
		"a volume is blocked and does not say why": {"L12", func(r *run) {
			volumes := []engine.VolumeStatus{{Name: "data", State: engine.Blocked}}
			r.explained(engine.Status{Pods: []engine.PodStatus{{Name: "web", Volumes: volumes}}})
		}},
		"told ready of nothing":  {"S21", func(r *run) { p := r.runs(); p.isRunning = false; r.ready(p, question{pod: p.object}) }},
		"unstaged before synced": {"S22", func(r *run) { r.synced = false; r.sends(1, unstage) }},
		"unmounted before synced": {"S22", func(r *run) {
			r.synced = false
			r.effect(sim.Effect{Kind: sim.EffectUnmount, Actor: "agent", Run: 1, Path: target})
		}},
		"a claim is forgotten": {"S22", func(r *run) {
			r.hearsOfClaim()
			r.heard = newObjects()
			r.hears(hal.Synced{})
		}},
		"a claim is told to be gone": {"S22", func(r *run) { r.hears(hal.Changed{Removed: []any{r.hearsOfClaim()}}) }},
		"taken from a pod that was wanted all along": {"S22", func(r *run) {
			p := r.runs()
			p.isRunning, p.isSteady = false, true
			r.sends(1, unpublish)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			c.breaks(r)
			require.NotNil(t, r.violation)
			require.Equal(t, c.property, r.violation.Property, "%v", r.violation)
		})
	}
}

// TestForeignMountIsNothingOfAPlace: a stage that somebody's mount kept from being made is forgotten, and what is mounted there is not its own.
func TestForeignMountIsNothingOfAPlace(t *testing.T) {
	r := bare(t)
	r.believe()
	r.w.MakeDir(stagePath)
	require.Zero(t, r.w.MountForeign(stagePath))
	p := r.placeOf(&sim.Effect{Key: theStage, Method: stage, Driver: "d", Volume: "v", Staging: stagePath})
	require.False(t, p.isTouched)
	r.refine(theStage)
	require.Nil(t, r.violation)
	require.Zero(t, r.w.UnmountTop(stagePath))
	require.Zero(t, r.w.BindMount("/", stagePath, false))
	p.isTouched, p.checked = false, seen{}
	r.refine(theStage)
	require.NotNil(t, r.violation)
	require.Equal(t, "S8", r.violation.Property)
}

// mountsOver has somebody mount over the target before the agent has begun.
func (r *run) mountsOver(t *testing.T) hal.Mount {
	r.holds(sim.EffectPublished)
	r.w.MakeDir(target)
	require.Zero(t, r.w.MountForeign(target))
	return r.w.MountsAt(target)[0]
}

// mountsOverScratch has somebody mount over an emptyDir, and the agent on that a minute later.
func (r *run) mountsOverScratch(t *testing.T) (dir string, stack []hal.Mount) {
	dir = r.runs().uses[1].path
	r.w.MakeDir(dir)
	require.NoError(t, r.w.RunFor(time.Minute))
	require.Zero(t, r.w.MountForeign(dir))
	require.NoError(t, r.w.RunFor(time.Minute))
	require.Zero(t, r.w.BindMount("/", dir, false))
	return dir, r.w.MountsAt(dir)
}

// A helper that was in the kernel when somebody mounted where it mounts can't be called back.
func TestHelperMountsOnWhatItCouldNotSee(t *testing.T) {
	r := bare(t)
	dir, stack := r.mountsOverScratch(t)
	r.effect(sim.Effect{Kind: sim.EffectMount, Actor: "agent", Run: 1, Path: dir, Mount: stack[1], Late: true, Since: r.foreign[stack[0].ID].since - 1})
	require.Nil(t, r.violation)
}

// outlived has a helper of a rung outlive the agent.
func (r *run) outlived(t *testing.T, key hal.Key) {
	r.w.SetAgent(func(h hal.Host) {
		if r.w.Life() > 2 {
			return
		}
		h.Runtime.Go(func() {
			_ = h.Mounts.Mount(hal.Call{Key: key}, hal.NewMount{FSType: "tmpfs", Source: "tmpfs", Target: "/srv"})
		})
	})
	r.w.KillAgent()
	require.NoError(t, r.w.RunFor(2*time.Second))
	r.w.KillAgent()
	require.NoError(t, r.w.RunFor(2*time.Second))
	require.Len(t, r.w.Outlived(), 1)
}

// believe gives the world a core that knows of nothing, or of the stage in a state.
func (r *run) believe(states ...core.State) {
	s := core.Start{Now: 1, Boot: "b"}
	for range states {
		s.Records = append(s.Records, core.Record{
			Rung: core.Rung{Key: theStage, Kind: "csi.stage", Intent: true}, Phase: core.Confirmed, Boot: "b", Fingerprint: "f",
		})
		s.Found = append(s.Found, core.Found{Key: theStage, Fingerprint: "f"})
	}
	r.core = core.New(s)
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

// TestChaosFinds: a pod comes late, and nothing is known to have gone wrong with what it uses.
func TestChaosFinds(t *testing.T) {
	for _, isKnown := range []bool{false, true} {
		text := strings.NewReplacer(
			"at 0s", "at 5s", "within 1m expect pod default/web ready", "at 5m expect pod default/web not ready",
		).Replace(storyOfTwoDrivers)
		s, err := Parse("one_pod.txt", text+"end stuck\n")
		require.NoError(t, err)
		meddled := false
		res := Play{Scenario: s, Check: func(v View) {
			if meddled {
				return
			}
			r := v.r
			meddled = true
			r.times()
			r.w.After(time.Second, "", func() { r.w.BreakDriver("disk.example", sim.Refuses) })
			if isKnown {
				r.disturbs(sim.Injected{Site: "csi.stage/fault", Key: "csi.stage/disk.example^vol-a"})
			}
		}}.Run()
		if isKnown {
			require.Nil(t, res.Violation)
			continue
		}
		require.NotNil(t, res.Violation)
		require.Equal(t, "L3 come in chaos", res.Violation.Signature(), "%v", res.Violation)
	}
}

// TestCalmFinds breaks what the liveness phase looks for, by somebody who meddles with the world.
func TestCalmFinds(t *testing.T) {
	for name, c := range map[string]struct {
		property string
		meddle   func(r *run)
	}{
		"another driver's pod can't go": {"L3", func(r *run) {
			r.broken = "disk.example"
			r.w.After(31*time.Second+500*time.Millisecond, "", func() { r.w.BreakDriver("file.example", sim.Refuses) })
		}},
		"an assertion of the engine": {"panic", func(*run) { panic("planted") }},
		"a directory is left": {"L1", func(r *run) {
			r.w.After(10*time.Minute+50*time.Second, "", func() { r.w.MakeDir(lang.RootDir + "/pods/left") })
		}},
		"a waiter is not woken": {"L2", func(r *run) {
			r.w.After(10*time.Second, "", func() {
				for _, p := range r.pods {
					p.isRunning = false
				}
			})
		}},
		"a pod can't go": {"L4", func(r *run) {
			r.w.After(10*time.Minute+50*time.Second, "", func() { r.w.BreakDriver("disk.example", sim.Refuses) })
		}},
		"its driver is away at a restart": {"L6", func(r *run) { r.w.After(5*time.Minute, "", func() { r.w.StopDriver("disk.example") }) }},
		"it is never quiet":               {"L7", func(r *run) { r.w.After(7*time.Minute, "", func() { r.actual.effects++ }) }},
		"a restart makes calls":           {"L11", func(r *run) { r.w.After(10*time.Minute+45*time.Second, "", func() { r.actual.mounting++ }) }},
	} {
		t.Run(name, func(t *testing.T) {
			text := storyOfOnePod
			if c.property == "L3" {
				text = storyOfTwoDrivers
			}
			s, err := Parse("one_pod.txt", text)
			require.NoError(t, err)
			meddled := false
			res := Play{Scenario: s, Check: func(v View) {
				if !meddled {
					meddled = true
					c.meddle(v.r)
				}
			}}.Run()
			require.NotNil(t, res.Violation)
			require.Equal(t, c.property, res.Violation.Property, "%v", res.Violation)
		})
	}
}

func TestPanicOfACheckIsFound(t *testing.T) {
	res := NewHunter().Run(Schedule{Seed: 1, Probe: func(v View) { _ = v.r.byUID["nobody"].uses }})
	require.NotNil(t, res.Violation)
	require.Equal(t, "panic check", res.Violation.Signature())
	require.Contains(t, res.Violation.Object, "TestPanicOfACheckIsFound")
	require.Contains(t, res.Violation.Story, "nil pointer")
}
