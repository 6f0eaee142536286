package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// A story file tells one sequence of events, and after each what core did about it. Rungs have short names: stage/a,
// publish/a/p.
//
//	want pod=p vol=a [ladder=publish,stage] [opt=x] [token=x] [rwop] [acts] [driver=d] [at=x] [stage-at=y] [limit=1m]
//
// [renews] [looks] [more]
//
//	                        the pod wants the volume; more: beside those before; at, stage-at: the paths of its
//	                        publish and of what is below; limit: of each call; renews: its
//	                        publish is repeated each minute; looks: it is inspected first
//	partial pod=p           one of its volumes can't be resolved: what it wanted stays
//	unwant pod=p            the pod wants nothing; its containers may still run
//	gone pod=p              no container of it runs
//	done|notdone|unknown op=N [fp=…] [fenced] [answer=final|aborted] [instance=i] [denied] [mustUndo] [blocked]
//
// [short=…]
//
//	answered op=N · actor-gone driver=d instance=i · registered driver=d · refused op=N [unwritten] · written
//	observe rung=stage/a fp=…       a look at the mount table
//	child rung=… · child-gone rung=…
//	advance 500ms                   time passes, with a Wake at each NextWake on the way
//	sync                            every source is synced
//	restart [boot=b2] [lost] [found=rung:fp|…] [unread=rung]
//	                        the agent dies; the next one starts from the journal, unless that is lost, and is not
//
// synced
//
//	await pod=p for=ready|gone|all · forget waiter=N · status
//	finish                          everything in flight, and all that follows, ends Done
type story struct {
	t       *testing.T
	c       *core.Core
	now     hal.Instant
	boot    hal.BootID
	journal map[hal.Key]core.Record
	rungs   map[core.PodUID]map[hal.Key]core.Rung
	ops     map[hal.OpID]core.Op // in flight
	waiters core.Waiter
	out     strings.Builder
}

func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := &story{
			t: t, now: hal.Instant(time.Second), boot: "b1", journal: map[hal.Key]core.Record{},
			rungs: map[core.PodUID]map[hal.Key]core.Rung{},
			ops:   map[hal.OpID]core.Op{},
		}
		s.c = core.New(core.Start{Now: s.now, Boot: s.boot})
		s.c.Step(s.now, core.AllSynced{})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			s.command(d)
			if s.out.Len() == 0 {
				return "idle\n"
			}
			return s.out.String()
		})
	})
}

// storyWords are the arguments that some command knows. A word that none knows would say nothing.
var storyWords = strings.Fields("above acts answer at below blocked boot denied driver fenced for found fp instance " +
	"ladder limit looks lost more op opt pod refresh renews rung rwop short stage-at token undo unread unwritten vol " +
	"waiter")

func (s *story) command(d *datadriven.TestData) {
	for _, arg := range d.CmdArgs {
		if !slices.Contains(storyWords, arg.Key) && len(arg.Vals) == 0 && d.Cmd != "advance" {
			d.Fatalf(s.t, "no command knows the argument %q", arg.Key)
		}
	}
	switch d.Cmd {
	case "want", "partial", "unwant", "gone":
		s.pod(d)
	case "done", "notdone", "unknown":
		s.end(d)
	case "advance":
		s.advance(d)
	case "restart":
		s.restart(d)
	case "status":
		s.status()
	case "finish":
		s.finish()
	default:
		s.step(s.event(d))
	}
}

func (s *story) event(d *datadriven.TestData) core.Event {
	switch d.Cmd {
	case "answered":
		return core.Answered{Op: opArg(d)}
	case "actor-gone":
		return core.ActorGone{Actor: arg(d, "driver"), Instance: arg(d, "instance")}
	case "registered":
		return core.Registered{Actor: arg(d, "driver")}
	case "refused":
		return core.Refused{Ops: []hal.OpID{opArg(d)}, Reason: "disk full", IsUnwritten: d.HasArg("unwritten")}
	case "written":
		return core.Written{}
	case "observe":
		return core.Observed{Key: hal.Key(arg(d, "rung")), Fingerprint: argOr(d, "fp", ""), Since: s.c.Seq()}
	case "child":
		return core.ChildSeen{Key: hal.Key(arg(d, "rung")), What: "pid 7 (state D)"}
	case "child-gone":
		return core.ChildGone{Key: hal.Key(arg(d, "rung"))}
	case "forget":
		n, err := strconv.ParseUint(arg(d, "waiter"), 10, 64)
		require.NoError(s.t, err)
		return core.Forget{Waiter: core.Waiter(n)}
	case "sync":
		return core.AllSynced{}
	case "await":
		s.waiters++
		on := map[string]core.Condition{
			"ready": core.PodReady, "gone": core.PodGone,
			"all": core.AllGone,
		}[arg(d, "for")]
		return core.Await{Waiter: s.waiters, Pod: core.PodUID(argOr(d, "pod", "")), For: on}
	}
	d.Fatalf(s.t, "command %s", d.Cmd)
	return nil
}

func (s *story) pod(d *datadriven.TestData) {
	uid := core.PodUID(arg(d, "pod"))
	switch d.Cmd {
	case "gone":
		s.step(core.Gone{Pod: uid})
		return
	case "unwant":
		delete(s.rungs, uid)
		s.step(core.Unwanted{Pod: uid})
		return
	case "partial":
		s.step(core.Wanted{Pod: uid})
		return
	}
	if s.rungs[uid] == nil || !d.HasArg("more") {
		s.rungs[uid] = map[hal.Key]core.Rung{}
	}
	for _, r := range ladder(d, uid) {
		s.rungs[uid][r.Key] = r
	}
	e := core.Wanted{Pod: uid, Complete: true}
	for _, key := range sortedKeys(s.rungs[uid]) {
		e.Rungs = append(e.Rungs, s.rungs[uid][key])
	}
	s.step(e)
}

// ladder makes the rungs of one volume, top first.
func ladder(d *datadriven.TestData, uid core.PodUID) []core.Rung {
	v := volume{
		name: arg(d, "vol"), kinds: strings.Split(argOr(d, "ladder", "publish,stage"), ","),
		driver: argOr(d, "driver", "d"),
		opt:    argOr(d, "opt", ""), token: argOr(d, "token", ""), rwop: d.HasArg("rwop"), acts: d.HasArg("acts"),
		at: argOr(d, "at", ""), stageAt: argOr(d, "stage-at", ""),
	}
	v.renews, v.looks = d.HasArg("renews"), d.HasArg("looks")
	if limit := argOr(d, "limit", ""); limit != "" {
		v.limit, _ = time.ParseDuration(limit) // one that is none is the usual one
	}
	return v.rungs(uid)
}

// volume is what a story, or the state machine, says of one volume.
type volume struct {
	name       string
	kinds      []string // of its rungs, top first
	driver     string
	opt, token string // a change of opt rebuilds, one of token refreshes
	rwop, acts bool
	at         string // the path of its publish, for each pod another; "" for one of its own
	stageAt    string // the path of what is below
	limit      time.Duration
	renews     bool // its publish does, each minute
	looks      bool // by an inspection first
}

func (v volume) rungs(uid core.PodUID) []core.Rung {
	var rungs []core.Rung
	for i, kind := range v.kinds {
		r := core.Rung{
			Key: hal.Key(kind + "/" + v.name), Kind: core.Kind(kind), Volume: v.driver + "^" + v.name, Actor: v.driver,
			Intent: true,
			Want: []core.Param{
				{Name: "opt", Value: v.opt, OnChange: core.OnChangeRebuild},
				{Name: "token", Value: v.token, OnChange: core.OnChangeRefresh},
			},
			Limits: core.Limits{
				SetUp: cmp.Or(v.limit, 2*time.Minute), TearDown: cmp.Or(v.limit, 2*time.Minute),
				LateWindow:     2 * time.Minute,
				ActsAfterReply: v.acts,
			},
		}
		if kind == "local" {
			r.Intent, r.Actor, r.Volume, r.Limits = false, "", "", core.Limits{}
		}
		if i == 0 {
			r.Key += hal.Key("/" + uid)
			r.Pod = uid
			if v.renews {
				r.Renew, r.Looks = 60, v.looks
			}
			if v.rwop {
				r.Exclusive = v.name
			}
			if v.at != "" {
				r.Places = []string{v.at + "/" + string(uid)}
			}
		} else if v.stageAt != "" {
			r.Places = []string{v.stageAt}
		}
		if i+1 < len(v.kinds) {
			r.Below = []hal.Key{hal.Key(v.kinds[i+1] + "/" + v.name)}
		}
		rungs = append(rungs, r)
	}
	return rungs
}

func (s *story) end(d *datadriven.TestData) {
	res := core.Result{
		Outcome:     map[string]hal.Outcome{"done": hal.Done, "notdone": hal.NotDone, "unknown": hal.Unknown}[d.Cmd],
		Fingerprint: argOr(d, "fp", ""), Fenced: d.HasArg("fenced"), Instance: argOr(d, "instance", ""),
		Short:        argOr(d, "short", ""),
		BelowUnknown: d.HasArg("denied"), UndoFirst: d.HasArg("undo"), Blocked: d.HasArg("blocked"),
	}
	res.Answer = map[string]core.Answer{
		"": core.NoAnswer, "final": core.Final, "aborted": core.Aborted,
		"failed": core.Failed, "doubted": core.Doubted,
	}[argOr(d, "answer", "")]
	if in := argOr(d, "refresh", ""); in != "" {
		after, err := time.ParseDuration(in)
		require.NoError(s.t, err)
		res.RefreshBy = s.now.Add(after)
	}
	s.step(core.Completed{Op: opArg(d), Result: res})
}

// finish ends what is in flight, oldest first, until nothing is. An inspection finds what core believes, a setup makes
// m and its number.
func (s *story) finish() {
	for len(s.ops) > 0 {
		op := s.ops[slices.Min(slices.Collect(maps.Keys(s.ops)))]
		res := core.Result{Outcome: hal.Done, Fingerprint: op.Fingerprint}
		if op.Verb == core.SetUp || op.Verb == core.Refresh {
			res.Fingerprint = fmt.Sprintf("m%d", op.ID)
		}
		s.step(core.Completed{Op: op.ID, Result: res})
	}
}

func (s *story) advance(d *datadriven.TestData) {
	by, err := time.ParseDuration(d.CmdArgs[0].Key)
	require.NoError(s.t, err)
	end := s.now.Add(by)
	for {
		at := s.c.NextWake()
		if at == 0 || at > end {
			break
		}
		s.now = max(s.now, at)
		s.step(core.Wake{})
	}
	s.now = end
	s.step(core.Wake{})
}

func (s *story) restart(d *datadriven.TestData) {
	s.boot = hal.BootID(argOr(d, "boot", string(s.boot)))
	if d.HasArg("boot") {
		s.now = hal.Instant(time.Second)
	}
	if d.HasArg("lost") {
		clear(s.journal)
	}
	found := map[hal.Key]string{}
	for _, pair := range strings.Split(argOr(d, "found", ""), "|") {
		if key, fp, ok := strings.Cut(pair, ":"); ok {
			found[hal.Key(key)] = fp
		}
	}
	start := core.Start{Now: s.now, Boot: s.boot, HasRun: true}
	for _, key := range sortedKeys(s.journal) {
		start.Records = append(start.Records, s.journal[key])
		if argOr(d, "unread", "") != string(key) {
			start.Found = append(start.Found, core.Found{Key: key, Fingerprint: found[key]})
		}
	}
	s.rungs, s.ops = map[core.PodUID]map[hal.Key]core.Rung{}, map[hal.OpID]core.Op{}
	s.c = core.New(start)
	s.step(core.Wake{})
}

func (s *story) step(e core.Event) {
	switch e := e.(type) {
	case core.Completed:
		delete(s.ops, e.Op)
	case core.Refused:
		for _, id := range e.Ops {
			delete(s.ops, id)
		}
	}
	// A story goes on with the copy of a copy: one that lacks something, or shares it, goes another way than what it
	// was made of.
	was := s.c
	s.c = was.Clone()
	decided := slices.Clone(was.Decided())
	s.ruin(was.Clone())
	require.Equal(s.t, decided, was.Decided()[:len(decided):len(decided)])
	require.Equal(s.t, was.View(), s.c.View())
	b := s.c.Step(s.now, e)
	require.Equal(s.t, was.Step(s.now, e), b)
	require.Empty(s.t, s.c.Illegal())
	require.Equal(s.t, was.View(), s.c.View())
	require.Equal(s.t, was.Pods(), s.c.Pods())
	for _, l := range b.Lines {
		if l.Drop {
			delete(s.journal, l.Key)
			fmt.Fprintf(&s.out, "  journal: drop %s\n", l.Key)
			continue
		}
		s.journal[l.Key] = l.Record
		fmt.Fprintf(&s.out, "  journal: %s %s%s%s%s\n", l.Record.Phase, l.Key,
			bound(" setup-until ", l.Record.SetUpUntil),
			bound(" teardown-until ", l.Record.TearDownUntil)+bound(" answered-setup ", l.Record.AnsweredSetUp)+
				bound(" answered-teardown ", l.Record.AnsweredTearDown), map[bool]string{true: " sync"}[l.Sync])
	}
	for _, op := range b.Start {
		s.ops[op.ID] = op
		seen := ""
		if op.Verb == core.SetUp && op.Seen != "" {
			seen = " over " + op.Seen
		}
		fmt.Fprintf(&s.out, "#%d %s %s%s%s\n", op.ID, op.Verb, op.Key, seen, bound(" by ", op.Deadline))
	}
	for _, w := range b.Wake {
		fmt.Fprintf(&s.out, "wake waiter %d\n", w)
	}
}

// ruin does to a copy what changes as much as can be changed.
func (s *story) ruin(c *core.Core) {
	for _, id := range slices.Sorted(maps.Keys(s.ops)) {
		c.Step(s.now, core.Answered{Op: id})
	}
	for _, id := range slices.Sorted(maps.Keys(s.ops)) {
		c.Step(s.now, core.Completed{Op: id, Result: core.Result{Outcome: hal.Unknown, Fenced: true, Instance: "i1"}})
	}
	for _, r := range c.View() {
		c.Step(s.now, core.Observed{Key: r.Key, Fingerprint: "ruin", Since: c.Seq()})
		c.Step(s.now, core.Registered{Actor: r.Actor})
		c.Step(s.now, core.ActorGone{Actor: r.Actor, Instance: "i1"})
	}
	for id := range s.waiters {
		c.Step(s.now, core.Forget{Waiter: id + 1})
	}
	for _, p := range c.Pods() {
		c.Step(s.now, core.Unwanted{Pod: p.UID})
		c.Step(s.now, core.Gone{Pod: p.UID})
	}
	c.Step(s.now.Add(24*time.Hour), core.Wake{})
}

func bound(text string, at hal.Instant) string {
	if at == 0 {
		return ""
	}
	return text + time.Duration(at).Round(time.Second).String()
}

func (s *story) status() {
	for _, v := range s.c.View() {
		fmt.Fprintf(&s.out, "%s %s %s: %s", v.Key, v.Desired, v.State, v.Why)
		if v.IsWaiting {
			fmt.Fprintf(&s.out, ", until %s", time.Duration(v.Until).Round(time.Second))
		}
		s.out.WriteByte('\n')
	}
}

func arg(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		if a.Key == name {
			return strings.Join(a.Vals, ",")
		}
	}
	panic(fmt.Sprintf("%s: %s needs %s=", d.Pos, d.Cmd, name))
}

func argOr(d *datadriven.TestData, name, otherwise string) string {
	if d.HasArg(name) {
		return arg(d, name)
	}
	return otherwise
}

func opArg(d *datadriven.TestData) hal.OpID {
	n, err := strconv.ParseUint(arg(d, "op"), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s: op=%s", d.Pos, arg(d, "op")))
	}
	return hal.OpID(n)
}
