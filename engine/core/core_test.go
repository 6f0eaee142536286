package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

const second = hal.Instant(time.Second)

// legs is a device that needs one of two sessions, as the ladders of a SAN will be.
func legs() []core.Rung {
	limits := core.Limits{SetUp: time.Minute, TearDown: time.Minute, LateWindow: time.Minute}
	return []core.Rung{
		{Key: "publish", Kind: "publish", Pod: "p", Below: []hal.Key{"device"}},
		{Key: "device", Kind: "device", Below: []hal.Key{"session1", "session2"}, Need: 1, Limits: limits},
		{Key: "session1", Kind: "session", Limits: limits},
		{Key: "session2", Kind: "session", Limits: limits},
	}
}

func names(ops []core.Op) []string {
	var texts []string
	for _, op := range ops {
		texts = append(texts, op.String())
	}
	return texts
}

func done(op hal.OpID, fingerprint string) core.Completed {
	return core.Completed{Op: op, Result: core.Result{Outcome: hal.Done, Fingerprint: fingerprint}}
}

// A login to a dead portal does not delay the good path, and the leg that comes later is taken in by a refresh. On the
// way down the last leg waits.
func TestOneLegIsEnough(t *testing.T) {
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	b := c.Step(second, core.Wanted{Pod: "p", Rungs: legs(), Complete: true})
	require.Equal(t, []string{"#1 setup session1", "#2 setup session2"}, names(b.Start))
	b = c.Step(second, done(2, "sid2"))
	require.Equal(t, []string{"#3 setup device"}, names(b.Start), "session1 is still logging in")
	require.Equal(t, []core.Foundation{{Key: "session2", Kind: "session", Fingerprint: "sid2"}}, b.Start[0].Below)
	b = c.Step(second, done(3, "sda"))
	require.Equal(t, []string{"#4 setup publish"}, names(b.Start))
	c.Step(second, done(4, "mount"))
	require.True(t, c.Ready("p"))
	b = c.Step(second, done(1, "sid1"))
	require.Equal(t, []string{"#5 refresh device"}, names(b.Start))
	require.True(t, c.Ready("p"), "a leg more does not take the pod's volume away")
	require.Len(t, b.Start[0].Below, 2)
	require.Empty(t, c.Step(second, done(5, "sda")).Start)

	c.Step(second, core.Unwanted{Pod: "p"})
	b = c.Step(second, core.Gone{Pod: "p"})
	require.Equal(t, []string{"#6 teardown publish"}, names(b.Start))
	require.Equal(t, []string{"#7 teardown device"}, names(c.Step(second, done(6, "")).Start))
	require.Equal(t, []string{"#8 teardown session1", "#9 teardown session2"}, names(c.Step(second, done(7, "")).Start))
}

// What is found on the node without a record is Unknown, looked at and taken down, a pod's own part not before its
// containers are gone.
func TestOrphans(t *testing.T) {
	v := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}
	c := core.New(core.Start{Now: second, Boot: "b", HasRun: true, Orphans: v.rungs("p")})
	require.Empty(t, c.Step(second, core.Wake{}).Start)
	require.Empty(t, c.Step(second, core.AllSynced{}).Start, "unknown is running")
	require.Equal(t, "held", c.View()[0].Desired)
	require.Equal(t, []string{"#1 inspect publish/a/p"}, names(c.Step(second, core.Gone{Pod: "p"}).Start))
	b := c.Step(second, done(1, "mount"))
	require.Equal(t, []string{"#2 teardown publish/a/p"}, names(b.Start))
	require.Equal(t, core.SeenUnknown, b.Start[0].Seen, "it may be of an earlier intent's making")
	require.True(t, b.Lines[0].Sync)
	late := second.Add(v.rungs("p")[0].Limits.SetUp + v.rungs("p")[0].Limits.LateWindow)
	require.Equal(t, second.Add(4*time.Minute), late)
	c.Step(second, done(2, ""))
	require.Empty(t, c.Step(late-1, core.Wake{}).Start, "a call that no record tells of may still bring it")
	require.Equal(t, []string{"#3 teardown publish/a/p"}, names(c.Step(late, core.Wake{}).Start))
	require.Equal(t, []string{"#4 inspect stage/a"}, names(c.Step(late, done(3, "")).Start))
	require.Equal(t, []string{"#5 teardown stage/a"}, names(c.Step(late, done(4, "")).Start))
	c.Step(late, done(5, ""))
	require.Empty(t, c.View())
	require.Empty(t, c.Pods())
}

// Of what was replaced before it came nothing is kept, be it that another volume of the pod is not known. What may be
// there stays.
func TestWhatNeverCameIsForgottenBesideWhatIsNotKnown(t *testing.T) {
	a := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d", at: "/v"}
	b := volume{name: "b", kinds: []string{"publish", "stage"}, driver: "d", at: "/v"}
	for _, isUp := range []bool{false, true} {
		c := core.New(core.Start{Now: second, Boot: "b"})
		c.Step(second, core.AllSynced{})
		batch := c.Step(second, core.Wanted{Pod: "p", Rungs: a.rungs("p")})
		if isUp {
			finish(c, batch)
		}
		c.Step(second, core.Wanted{Pod: "p", Rungs: b.rungs("p")})
		require.Equal(t, isUp, slices.ContainsFunc(c.View(), func(v core.View) bool { return v.Key == "publish/a/p" }))
	}
}

// What was read before a rung changed says nothing of it: a look at the mount table may be older than the mount.
func TestObservedTooLate(t *testing.T) {
	v := volume{name: "a", kinds: []string{"publish"}, driver: "d"}
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	c.Step(second, core.Wanted{Pod: "p", Rungs: v.rungs("p"), Complete: true})
	c.Step(second, done(1, ""))
	before := c.Seq()
	c.Step(second, done(2, "mount"))
	c.Step(second, core.Observed{Key: "publish/a/p", Since: before})
	require.True(t, c.Ready("p"))
	c.Step(second, core.Observed{Key: "publish/a/p", Fingerprint: "mount", Since: c.Seq()})
	require.True(t, c.Ready("p"))
	c.Step(second, core.Observed{Key: "publish/a/p", Since: c.Seq()})
	require.False(t, c.Ready("p"))
}

// A helper whose rung left neither record nor trace keeps its key taken, and nothing else.
func TestChildOfNothingKnown(t *testing.T) {
	v := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}
	c := core.New(core.Start{Now: second, Boot: "b", Children: []core.ChildSeen{{Key: "stage/a", What: "pid 7"}}})
	c.Step(second, core.AllSynced{})
	require.Empty(t, c.Step(second, core.Wanted{Pod: "p", Rungs: v.rungs("p"), Complete: true}).Start)
	require.NotEmpty(t, c.Step(second, core.ChildGone{Key: "stage/a"}).Start)
}

// A clone of a core that has not stepped yet decides what the core would.
func TestCloneBeforeTheFirstStep(t *testing.T) {
	v := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}
	start := core.Start{Now: second, Boot: "b"}
	for _, r := range v.rungs("p") {
		start.Records = append(start.Records, core.Record{Rung: r, Phase: core.Leaving, Boot: "b"})
	}
	c := core.New(start)
	clone := c.Clone()
	require.Equal(t, c.Step(second, core.AllSynced{}), clone.Step(second, core.AllSynced{}))
	require.Equal(t, c.View(), clone.View())

	c = core.New(start)
	require.Equal(t, []string{"#1 teardown publish/a/p", "#2 teardown stage/a"}, names(c.Plan(core.AllSynced{})))
	require.Equal(t, []string{"#1 teardown publish/a/p"}, names(c.Step(second, core.AllSynced{}).Start),
		"planning did nothing")
}

// A plan takes what stands for what it is: a refresh is a refresh, and what a restart could not read is looked at and
// found.
func TestPlan(t *testing.T) {
	v := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	want := func() core.Wanted { return core.Wanted{Pod: "p", Rungs: v.rungs("p"), Complete: true} }
	setUps := []string{"#2 setup stage/a", "#4 setup publish/a/p"}
	require.Equal(t, setUps, names(c.Plan(want())))
	finish(c, c.Step(second, want()))
	require.Empty(t, c.Plan(want()))
	v.token = "t2"
	require.Equal(t, []string{"#5 refresh stage/a", "#6 refresh publish/a/p"}, names(c.Plan(want())))
	require.Equal(t, []string{"#5 teardown publish/a/p", "#6 teardown stage/a"},
		names(c.Plan(core.Unwanted{Pod: "p"}, core.Gone{Pod: "p"})))
	require.Empty(t, c.Plan(core.Unwanted{Pod: "p"}), "its containers may still run")
}

// The first record of a ladder asks for the room that the others will need, one publish included; a teardown never
// asks.
func TestRoom(t *testing.T) {
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	v := volume{name: "a", kinds: []string{"publish", "stage", "attach"}, driver: "d"}
	rooms := map[hal.Key]int{}
	step := func(e core.Event) []core.Op {
		b := c.Step(second, e)
		for _, l := range b.Lines {
			if l.Record.Phase == core.Intent && !l.Drop {
				rooms[l.Key] = l.Room
			} else {
				require.Zero(t, l.Room)
			}
		}
		return b.Start
	}
	for _, uid := range podNames[:2] {
		for ops := step(core.Wanted{Pod: uid, Rungs: v.rungs(uid), Complete: true}); len(ops) > 0; {
			ops = step(done(ops[0].ID, "m"))
		}
	}
	require.Greater(t, rooms["attach/a"], 2000, "a stage and a publish")
	require.Less(t, rooms["attach/a"], 5000)
	delete(rooms, "attach/a")
	require.Equal(t, map[hal.Key]int{"stage/a": 0, "publish/a/p": 0, "publish/a/q": 0}, rooms)
	step(core.Unwanted{Pod: "p"})
	step(core.Gone{Pod: "p"})
}

// What a verb may know: the parameters, facts and fingerprint of the last Done, what was seen before the intent, and
// what the rung stands on.
func TestWhatAVerbIsTold(t *testing.T) {
	v := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	c.Step(second, core.Wanted{Pod: "p", Rungs: v.rungs("p"), Complete: true})
	setUp := c.Step(second, done(1, "foreign")).Start[0]
	require.Equal(t, core.Op{
		ID: 2, Verb: core.SetUp, Key: "stage/a", Kind: "stage", Volume: "d^a", Actor: "d", Params: v.rungs("p")[1].Want,
		Below: []core.Foundation{},
		Seen:  "foreign", First: true, Quiet: true, Deadline: second.Add(2 * time.Minute),
	}, setUp)
	facts := []core.Fact{{Name: "device", Value: "8:0"}}
	c.Step(second, core.Completed{Op: 2, Result: core.Result{Outcome: hal.Done, Facts: facts, Fingerprint: "m"}})
	setUp = c.Step(second, done(3, "")).Start[0]
	require.Equal(t, []core.Foundation{{Key: "stage/a", Kind: "stage", Facts: facts, Fingerprint: "m"}}, setUp.Below)
	c.Step(second, core.Completed{Op: setUp.ID, Result: core.Result{Outcome: hal.Unknown, Fenced: true}})

	changed := v
	changed.token = "t2"
	c.Step(second, core.Wanted{Pod: "p", Rungs: changed.rungs("p"), Complete: true})
	again := c.Step(second, done(5, "m")).Start
	for _, op := range again {
		if op.Verb == core.SetUp {
			require.False(t, op.First, "an earlier setup may have left something")
			require.False(t, op.Quiet)
			require.Equal(t, "t2", core.Value(op.Params, "token"))
		}
	}
	tearDown := c.Step(second, core.Unwanted{Pod: "p"}).Start
	for _, op := range tearDown {
		require.False(t, op.Quiet)
	}
}

// A teardown is told what a rung below was made of that is lost since, but not what it was made of in another boot: a
// device has another number now, and that number may be somebody else's.
func TestWhatATeardownIsToldOfALostRungBelow(t *testing.T) {
	facts := []core.Fact{{Name: "device", Value: "8:0"}}
	stage := core.Foundation{Key: "stage/a", Kind: "stage", Facts: facts, Fingerprint: "m1"}
	for boot, want := range map[hal.BootID]core.Foundation{"b1": stage, "b2": {Key: "stage/a", Kind: "stage"}} {
		start := core.Start{Now: second, Boot: boot}
		for i, r := range (volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}).rungs("p") {
			start.Records = append(start.Records, core.Record{
				Rung: r, Phase: core.Confirmed, Boot: "b1", Facts: facts, Fingerprint: []string{"m2", "m1"}[i],
				Seq: uint64(2 - i),
			})
			start.Found = append(start.Found, core.Found{Key: r.Key})
		}
		c := core.New(start)
		c.Step(second, core.Gone{Pod: "p"})
		ops := c.Step(second, core.AllSynced{}).Start
		if ops[0].Verb == core.Inspect {
			ops = c.Step(second, done(ops[0].ID, "")).Start
		}
		require.Equal(t, core.TearDown, ops[0].Verb)
		require.Equal(t, []core.Foundation{want}, ops[0].Below, boot)
	}
}

// A teardown without effect does not give up what the rung holds. If that is lost later, the engine says so.
func TestATeardownWithoutEffectGivesNothingUp(t *testing.T) {
	for outcome, isLeft := range map[hal.Outcome]bool{hal.NotDone: false, hal.Unknown: true} {
		rungs := []core.Rung{{Key: "dir", Kind: "dir", Pod: "p"}}
		c := core.New(core.Start{Now: second, Boot: "b"})
		c.Step(second, core.AllSynced{})
		b := c.Step(second, core.Wanted{Pod: "p", Rungs: rungs, Complete: true})
		for b.Start[0].Verb != core.SetUp {
			b = c.Step(second, done(b.Start[0].ID, ""))
		}
		c.Step(second, done(b.Start[0].ID, "inode 5"))
		c.Step(second, core.Unwanted{Pod: "p"})
		tearDown := c.Step(second, core.Gone{Pod: "p"}).Start[0]
		require.Equal(t, core.TearDown, tearDown.Verb)
		c.Step(second, core.Completed{Op: tearDown.ID, Result: core.Result{Outcome: outcome}})
		start := c.Step(second, core.Wanted{Pod: "p", Rungs: rungs, Complete: true}).Start
		if outcome == hal.NotDone {
			start = c.Step(second, core.Observed{Key: "dir", Fingerprint: "", Since: c.Seq()}).Start
		}
		for at := 2 * second; len(start) == 0 || start[0].Verb != core.SetUp; at += second {
			if len(start) > 0 {
				start = c.Step(at, done(start[0].ID, "")).Start
				continue
			}
			start = c.Step(at, core.Wake{}).Start
		}
		require.Equal(t, isLeft, start[0].Left, outcome)
	}
}

func TestWhatStandsInPlaceOfARungIsNotIt(t *testing.T) {
	publish := core.Rung{
		Key: "publish", Kind: "publish", Pod: "p", Intent: true,
		Limits: core.Limits{SetUp: time.Minute, LateWindow: time.Minute},
	}
	up := func(c *core.Core) {
		c.Step(second, core.AllSynced{})
		c.Step(second, core.Wanted{Pod: "p", Rungs: []core.Rung{publish}, Complete: true})
		c.Step(second, done(1, "")) // nothing is there
	}
	c := core.New(core.Start{Now: second, Boot: "b"})
	up(c)
	c.Step(second, done(2, "mount 5"))
	b := c.Step(second, core.Observed{Key: "publish", Fingerprint: "mount 9", Since: c.Seq()})
	require.Equal(t, "mount 9", b.Start[0].Seen,
		"another's mount over a rung that is up was there before the next call")

	c = core.New(core.Start{Now: second, Boot: "b"})
	up(c)
	c.Step(second, core.Completed{Op: 2, Result: core.Result{Outcome: hal.Unknown, Fenced: true}})
	b = c.Step(5*second, core.Wake{})
	require.Equal(t, []string{"#3 setup publish"}, names(b.Start))
	c.Step(6*second, done(3, "mount 5"))
	b = c.Step(7*second, core.Observed{Key: "publish", Fingerprint: "mount 9", Since: c.Seq()})
	require.Empty(t, b.Start[0].Seen, "it may be the late effect of the first call")

	confirmed := core.Record{Rung: publish, Phase: core.Confirmed, Boot: "b", Fingerprint: "mount 5", Seq: 1}
	c = core.New(core.Start{
		Now: second, Boot: "b", Records: []core.Record{confirmed},
		Found: []core.Found{{Key: "publish", Fingerprint: "mount 9"}},
	})
	b = c.Step(second, core.Wanted{Pod: "p", Rungs: []core.Rung{publish}, Complete: true})
	require.Len(t, b.Start, 1)
	require.Equal(t, "mount 9", b.Start[0].Seen, "it was there before this life's first call")
}

// Waits of one core grow with its rungs in number, not in work: see BenchmarkStep for the time, and here for what is
// allocated.
func TestCostStaysFlat(t *testing.T) {
	cost := func(volumes int) float64 {
		c := filled(volumes)
		n := 0
		return testing.AllocsPerRun(20, func() {
			n++
			upAndDown(c, fmt.Sprintf("extra%d", n))
		})
	}
	few, many := cost(100), cost(10_000)
	require.Less(t, many, few*1.2, "allocations of one mount and unmount: %.0f beside 100 volumes, %.0f beside 10,000",
		few, many)
}

// filled is a core with so many volumes up.
func filled(volumes int) *core.Core {
	c := core.New(core.Start{Now: second, Boot: "b"})
	c.Step(second, core.AllSynced{})
	for i := range volumes {
		up(c, core.PodUID(fmt.Sprintf("pod%d", i)), fmt.Sprintf("vol%d", i))
	}
	return c
}

func up(c *core.Core, uid core.PodUID, name string) {
	v := volume{name: name, kinds: []string{"publish", "stage"}, driver: "d"}
	finish(c, c.Step(second, core.Wanted{Pod: uid, Rungs: v.rungs(uid), Complete: true}))
}

// upAndDown mounts and unmounts one volume.
func upAndDown(c *core.Core, name string) {
	uid := core.PodUID("pod of " + name)
	c.Step(second, core.Await{Waiter: 1, Pod: uid, For: core.PodReady})
	up(c, uid, name)
	c.Step(second, core.Forget{Waiter: 1})
	c.Step(second, core.AllSynced{})
	c.Step(second, core.Unwanted{Pod: uid})
	finish(c, c.Step(second, core.Gone{Pod: uid}))
	if _, ok := c.Rung(hal.Key("stage/" + name)); ok {
		panic("not down")
	}
}

func finish(c *core.Core, b core.Batch) {
	for len(b.Start) > 0 {
		fingerprint := ""
		if b.Start[0].Verb == core.SetUp {
			fingerprint = "m"
		}
		b = c.Step(second, done(b.Start[0].ID, fingerprint))
	}
}

func BenchmarkStep(b *testing.B) {
	for _, volumes := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("mount+unmount beside %d", volumes), func(b *testing.B) {
			c := filled(volumes)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				upAndDown(c, "extra")
			}
		})
	}
}

// BenchmarkSharedStage is the worst case of a mark: many pods of one volume.
func BenchmarkSharedStage(b *testing.B) {
	for _, pods := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("%d pods", pods), func(b *testing.B) {
			c := core.New(core.Start{Now: second, Boot: "b"})
			c.Step(second, core.AllSynced{})
			for i := range pods {
				up(c, core.PodUID(fmt.Sprintf("pod%d", i)), "vol")
			}
			b.ReportAllocs()
			for b.Loop() {
				up(c, "extra", "vol")
				c.Step(second, core.Unwanted{Pod: "extra"})
				finish(c, c.Step(second, core.Gone{Pod: "extra"}))
			}
		})
	}
}

func BenchmarkRestart(b *testing.B) {
	var start core.Start
	for i := range 10_000 {
		v := volume{name: fmt.Sprintf("vol%d", i), kinds: []string{"publish", "stage"}, driver: "d"}
		for _, r := range v.rungs(core.PodUID(fmt.Sprintf("pod%d", i))) {
			start.Records = append(start.Records, core.Record{Rung: r, Phase: core.Confirmed, Fingerprint: "m"})
			start.Found = append(start.Found, core.Found{Key: r.Key, Fingerprint: "m"})
		}
	}
	for b.Loop() {
		c := core.New(start)
		c.Step(second, core.Wake{})
	}
}

// The journal is lost under a running pod. The trace of the rung was written before its first call, so the mount that
// is there is no obstacle: it is set up without taking that mount for somebody else's.
func TestOrphanThatIsWanted(t *testing.T) {
	v := volume{name: "a", kinds: []string{"publish", "stage"}, driver: "d"}
	c := core.New(core.Start{Now: second, Boot: "b", Orphans: v.rungs("p")})
	c.Step(second, core.AllSynced{})
	b := c.Step(second, core.Wanted{Pod: "p", Rungs: v.rungs("p"), Complete: true})
	require.Equal(t, []string{"#1 setup stage/a"}, names(b.Start))
	require.Empty(t, b.Start[0].Seen)
	require.False(t, b.Start[0].First, "something may be left of an earlier setup")
	require.Equal(t, []string{"#2 setup publish/a/p"}, names(c.Step(second, done(1, "mount")).Start))
	c.Step(second, done(2, "mount"))
	require.True(t, c.Ready("p"))
}
