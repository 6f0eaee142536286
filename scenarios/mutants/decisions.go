package mutants

// decisions is what core decides: rungs, reconcile and backoff (laws 1 and 2).
var decisions = []Mutant{
	{
		"is set up without what it depends on", "S4, laws 1.1, kubernetes#89112", "engine/core/reconcile.go",
		"\tif up < need {\n", "\tif false {\n",
	},
	{
		"is set up on what must be made again", "laws 1.1", "engine/core/reconcile.go",
		"\tcase OnChangeRebuild:\n\t\treturn false\n", "\tcase OnChangeRebuild:\n\t\treturn true\n",
	},
	{
		"an edit during the setup is taken to be in force", "laws 1.2, kubernetes#67313", "engine/core/complete.go",
		"r.made, r.generation, r.facts, r.fingerprint = in.Params,",
		"r.made, r.generation, r.facts, r.fingerprint = r.Want,",
	},
	{
		"a change of what is wanted is not minded", "laws 1.2, kubernetes#70503", "engine/core/reconcile.go",
		"\t\t\tworst = w.OnChange\n", "\t\t\t_ = w.OnChange\n",
	},
	{
		"made again under a live container", "S7, laws 1.3, kubernetes#121271", "engine/core/reconcile.go",
		"\tif c.live(r) {\n\t\tswitch {", "\tif c.live(r) && r == nil {\n\t\tswitch {",
	},
	{
		"made again under what depends on it", "S5, laws 1.3", "engine/core/reconcile.go",
		"\tif d, ok := c.uncovered(r); !ok {\n\t\treturn d\n\t}\n\treturn c.takeDown(r, whyRebuild)\n",
		"\treturn c.takeDown(r, whyRebuild)\n",
	},
	{
		"what stands on a rung that is made again does not yield", "L2, laws 1.3", "engine/core/reconcile.go",
		"\t\tif rebuild && !c.live(b) {\n\t\t\treturn b, false\n\t\t}\n\t\tif o, isClaim := c.deferredTo(b); o != nil {\n",
		"\t\tif o, isClaim := c.deferredTo(b); o != nil && !rebuild && c == nil {\n",
	},
	{
		"what takes long to make has stood meanwhile", "L7, laws 2.5", "engine/core/actual.go",
		"r.own().falls.until = max(r.falls.until, c.now)", "_ = r",
	},
	{
		"what is held keeps a stage from being made again", "L2, laws 1.4", "engine/core/reconcile.go",
		"|| !r.isGone() && !c.givesWay(r))", "|| !r.isGone())",
	},
	{
		"containers are taken to run on what was never up", "L4, laws 1.4", "engine/core/desired.go",
		"return r.mayBeUsed && r.ownPod != nil && !r.ownPod.gone", "return r.ownPod != nil && !r.ownPod.gone",
	},
	{
		"an unwanted pod's containers are taken to be gone", "S7, laws 1.4, nomad#25819", "engine/core/desired.go",
		"return r.mayBeUsed && r.ownPod != nil && !r.ownPod.gone", "return r.mayBeUsed && r.ownPod != nil && r.ownPod.wanted",
	},
	{
		"a pod that comes again is taken to be gone still", "S7, laws 1.4", "engine/core/desired.go",
		"\tp.gone = p.gone && !fresh\n", "",
	},
	{
		"an unknown rung is set up without an inspection", "L11, laws 2.1", "engine/core/reconcile.go",
		"\t\tif r.reconfirmable {\n\t\t\treturn c.try(r, Inspect, whyUnknown)\n\t\t}\n", "",
	},
	{
		"goes down under an operation of what depends on it", "S5, laws 2.1, kubernetes#121357", "engine/core/actual.go",
		"len(r.calls) == 0 && r.op == nil && r.child == \"\"", "len(r.calls) == 0 && r.child == \"\"",
	},
	{
		"the decision is not taken again when a neighbour moves", "L2, laws 2.2", "engine/core/core.go",
		"\tc.mark(r)\n\tfor _, key := range r.Below {\n\t\tif b := c.rungs[key]; b != nil " +
			"{\n\t\t\tc.mark(b)\n\t\t}\n\t}\n", "\tc.mark(r)\n",
	},
	{
		"every ABORTED is retried at once", "L7, laws 2.3, aws-fsx-csi-driver#369", "engine/core/complete.go",
		"if res.Answer == Aborted && in.isConcurrent {", "if res.Answer == Aborted {",
	},
	{
		"a serial driver is never recognised", "laws 2.3", "engine/core/complete.go",
		"\t\tc.serial[r.Actor] = true\n\t\treturn\n", "\t\treturn\n",
	},
	{
		"a serial driver is asked again before it has answered", "laws 2.3", "engine/core/reconcile.go",
		"if o != r && o.op != nil && o.op.Verb != Inspect {\n\t\t\t\treturn waitOn(whySerial, o.Key)",
		"if o != r && o.op != nil && o.op.Verb == Inspect {\n\t\t\t\treturn waitOn(whySerial, o.Key)",
	},
	{
		"an exclusive claim belongs to nobody", "L2, laws 2.4", "engine/core/reconcile.go",
		"if o := c.claimHolder(r); o != nil && o != r {", "if o := c.claimHolder(r); o != nil && o != r && c == nil {",
	},
	{
		"an exclusive claim passes to the latest intent", "L2, laws 2.4", "engine/core/reconcile.go",
		"(o.mayBeUsed == first.mayBeUsed && o.seq < first.seq)", "(o.mayBeUsed == first.mayBeUsed && o.seq > first.seq)",
	},
	{
		"a record made before its claim was exclusive does not count", "S9, laws 2.4", "engine/core/reconcile.go",
		"if o != r && o.Kind == r.Kind && !o.isGone() {",
		"if o != r && o.Kind == r.Kind && o.Exclusive == r.Exclusive && !o.isGone() {",
	},
	{
		"a registration does not reset the backoff", "L6, laws 2.5, kubernetes#72500", "engine/core/core.go",
		"\tfor _, r := range c.of(actor) {\n\t\tr.resetBackoff()\n", "\tfor _, r := range c.of(actor) {\n",
	},
	{
		"a pod that is added does not reset the backoff", "L2, laws 2.5", "engine/core/desired.go",
		"if fresh || !slices.Equal(r.Want, spec.Want) {", "if !slices.Equal(r.Want, spec.Want) {",
	},
	{
		"a undo waits for the backoff of the setup", "laws 2.5", "engine/core/backoff.go",
		"\tif v == TearDown {\n\t\treturn &p.down\n\t}\n", "",
	},
	{
		"what blocks a rung may go without being noticed", "L2, laws 2.5", "engine/core/actual.go",
		"r != nil && r.blocked {\n\t\tr.resetBackoff()", "r != nil && r.blocked {",
	},
	{
		"not done of a teardown leaves nothing known", "laws 2.6", "engine/core/complete.go",
		"\t\t// The known end of a teardown that did nothing leaves the rung as it was: a joining pod is not " +
			"fenced out.\n",
		"\t\tr.state, r.reconfirmable = Unknown, false\n",
	},
	{
		"a stage has one user", "S12, laws 1.4, csi-wekafs#659", "engine/core/desired.go",
		"\tfor _, a := range c.above[r.Key] {\n\t\tif c.desire(a) == wanted {",
		"\tfor _, a := range c.above[r.Key][:min(1, len(c.above[r.Key]))] {\n\t\tif c.desire(a) == wanted {",
	},
	{
		"what is made again below is not minded", "laws 1.3, democratic-csi#559", "engine/core/reconcile.go",
		"\t\t\tif r.Need == 0 {\n\t\t\t\treturn OnChangeRebuild\n\t\t\t}\n",
		"\t\t\tif r.Need == 0 {\n\t\t\t\treturn OnChangeKeep\n\t\t\t}\n",
	},
	{
		"the generation is not recorded", "laws 1.3", "engine/core/lines.go",
		`Seen: r.seen,
		Generation: r.generation,`, "Seen: r.seen,",
	},
	{
		"a ladder shrinks with its spec", "laws 1.5", "engine/core/desired.go",
		"\t\t\tif !slices.Contains(spec.Below, key) {\n", "\t\t\tif false {\n",
	},
	{
		"a ladder waits for what it is to shed", "L2, laws 1.5", "engine/core/reconcile.go",
		"if r.state == Unknown && slices.Contains(r.droppedBelow, d.on) && !c.live(r) {", "if false {",
	},
	{
		"a stage goes down beside a publish that does not depend on it", "S5, CSI NodeUnstageVolume",
		"engine/core/reconcile.go",
		"\tif r.Pod == \"\" && !r.isGone() {\n", "\tif false {\n",
	},
	{
		"published beside an unstage that may still act", "S5, CSI NodeUnstageVolume", "engine/core/reconcile.go",
		"\tif r.isBare() {\n", "\tif false {\n",
	},
	{
		"an unstage that is repeated keeps what is beside it waiting", "L2, laws 4.2", "engine/core/reconcile.go",
		"\t\t\tif c.desire(a) == wanted && a.up.until <= c.now {\n", "\t\t\tif false {\n",
	},
	{
		"what stands on a rung does not hear what becomes of it", "L2, laws 1.3", "engine/core/reconcile.go",
		"\tif r.next != before {\n", "\tif false && r.next != before {\n",
	},
	{
		"a refresh that fails takes the rung down", "laws 3.1, kubernetes#139045", "engine/core/complete.go",
		"if in.Verb == Refresh && r.state == Present {", "if in.Verb == Refresh && r.state == Absent {",
	},
	{
		"ABORTED is a final answer", "laws 3.3, ceph-csi#2289", "engine/plugin/csi/outcome.go",
		"return verdict{outcome: hal.NotDone, answer: core.Aborted}",
		"return verdict{outcome: hal.NotDone, answer: core.Final}",
	},
	{
		"containers are taken to run on what must be made again", "L2, laws 1.3, 1.4", "engine/core/desired.go",
		"\t\tcase gone && r.mayBeUsed && !isKept:\n\t\t\tr.mayBeUsed = false\n", "\t\tcase gone && r.mayBeUsed && !isKept:\n",
	},
	{
		"an exclusive claim passes while its last publish may act", "S9, laws 2.4", "engine/core/reconcile.go",
		"if o != r && o.Kind == r.Kind && !o.isGone() {\n\t\t\treturn waitOn(whyClaim, o.Key), false",
		"if o != r && o.Kind == r.Kind && o.state == Present {\n\t\t\treturn waitOn(whyClaim, o.Key), false",
	},
	{
		"a change of a rung below does not reset the backoff", "L2, laws 2.5, kubernetes#88141",
		"engine/core/complete.go",
		"\t\ta.clearBackoff(SetUp)\n", "\t\t_ = a\n",
	},
	{
		"writes that fail are repeated at one pace", "L7, laws 2.5", "engine/core/backoff.go",
		"unwrittenPause<<min(b.pauses, 5)", "unwrittenPause<<min(b.pauses, 0)",
	},
	{
		"a write that succeeds shortens no wait", "L2, laws 2.5", "engine/core/backoff.go",
		"w.pauses > 0 && w.until > soon", "w.pauses > 255 && w.until > soon",
	},
	{
		"a rung gives way to what nobody wants yet", "S22, laws 1.4", "engine/core/desired.go",
		"o.next.on == r.Key && o.next.isWanted &&", "o.next.on == r.Key &&",
	},
	{
		"the backoff does not grow", "L7, laws 2.5, kubernetes#71569", "engine/core/backoff.go",
		"\tb.attempts++\n\tb.pauses = 0\n\tb.until = now.Add(d", "\tb.pauses = 0\n\tb.until = now.Add(d",
	},
	{
		"an edited object does not reset the backoff", "L2, laws 2.5", "engine/core/desired.go",
		"if fresh || !slices.Equal(r.Want, spec.Want) {", "if fresh {",
	},
}
