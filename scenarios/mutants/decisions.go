package mutants

// decisions is what core decides: rungs, reconcile and backoff (laws 1 and 2).
var decisions = []Mutant{
	{
		"is set up without what it depends on", "S4, laws 1.1, kubernetes#89112", "engine/core.Core.foundation",
		"if up < need {", "if false {",
	},
	{
		"is set up on what must be made again", "laws 1.1", "engine/core.Core.isStable",
		`case OnChangeRebuild:
			return false`, `case OnChangeRebuild:
			return true`,
	},
	{
		"an edit during the setup is taken to be in force", "laws 1.2, kubernetes#67313", "engine/core.Core.setUpEnded",
		"r.made, r.generation, r.facts, r.fingerprint = in.Params,",
		"r.made, r.generation, r.facts, r.fingerprint = r.Want,",
	},
	{
		"a change of what is wanted is not minded", "laws 1.2, kubernetes#70503", "engine/core.Core.change",
		"worst = w.OnChange", "_ = w.OnChange",
	},
	{
		"made again under a live container", "S7, laws 1.3, kubernetes#121271", "engine/core.Core.nextRebuild",
		`if c.live(r) {
			switch {`, `if c.live(r) && r == nil {
			switch {`,
	},
	{
		"made again under what depends on it", "S5, laws 1.3", "engine/core.Core.nextRebuild",
		`if d, ok := c.uncovered(r); !ok {
			return d
		}
		return c.takeDown(r, whyRebuild)`,
		"return c.takeDown(r, whyRebuild)",
	},
	{
		"what stands on a rung that is made again does not yield", "L2, laws 1.3", "engine/core.Core.deferredTo",
		`if rebuild && !c.live(b) {
			return b, false
		}
		if o, isClaim := c.deferredTo(b); o != nil {`,
		"if o, isClaim := c.deferredTo(b); o != nil && !rebuild && c == nil {",
	},
	{
		"what takes long to make has stood meanwhile", "L7, laws 2.5", "engine/core.Core.rises",
		"r.own().falls.until = max(r.falls.until, c.now)", "_ = r",
	},
	{
		"what is held keeps a stage from being made again", "L2, laws 1.4", "engine/core.Core.choose",
		"|| !r.isGone() && !c.givesWay(r))", "|| !r.isGone())",
	},
	{
		"containers are taken to run on what was never up", "L4, laws 1.4", "engine/core.Core.runs",
		"return r.mayBeUsed && r.ownPod != nil && !r.ownPod.gone", "return r.ownPod != nil && !r.ownPod.gone",
	},
	{
		"an unwanted pod's containers are taken to be gone", "S7, laws 1.4, nomad#25819", "engine/core.Core.runs",
		"return r.mayBeUsed && r.ownPod != nil && !r.ownPod.gone",
		"return r.mayBeUsed && r.ownPod != nil && r.ownPod.wanted",
	},
	{
		"a pod that comes again is taken to be gone still", "S7, laws 1.4", "engine/core.Core.revive",
		"p.gone = p.gone && !fresh", "",
	},
	{
		"an unknown rung is set up without an inspection", "L11, laws 2.1", "engine/core.Core.nextUp",
		`if r.trust == reconfirmable {
			return c.try(r, Inspect, whyUnknown)
		}`,
		"",
	},
	{
		"goes down under an operation of what depends on it",
		"S5, laws 2.1, kubernetes#121357", "engine/core.rung.isGone",
		`len(r.calls) == 0 && r.op == nil && r.child == ""`, `len(r.calls) == 0 && r.child == ""`,
	},
	{
		"the decision is not taken again when a neighbour moves", "L2, laws 2.2", "engine/core.Core.markAround",
		`c.mark(r)
		for _, key := range r.Below {
			if b := c.rungs[key]; b != nil {
				c.mark(b)
			}
		}`, "c.mark(r)",
	},
	{
		"every ABORTED is retried at once", "L7, laws 2.3, aws-fsx-csi-driver#369", "engine/core.Core.setBack",
		"if res.Answer == Aborted && in.isConcurrent {", "if res.Answer == Aborted {",
	},
	{
		"a serial driver is never recognised", "laws 2.3", "engine/core.Core.setBack",
		`c.serial[r.Actor] = true
		return`, "return",
	},
	{
		"a serial driver is asked again before it has answered", "laws 2.3", "engine/core.Core.try",
		`if o != r && o.op != nil && o.op.Verb != Inspect {
			return waitOn(whySerial, o.Key)`,
		`if o != r && o.op != nil && o.op.Verb == Inspect {
			return waitOn(whySerial, o.Key)`,
	},
	{
		"an exclusive claim belongs to nobody", "L2, laws 2.4", "engine/core.Core.deferredTo",
		"if o := c.claimHolder(r); o != nil && o != r {", "if o := c.claimHolder(r); o != nil && o != r && c == nil {",
	},
	{
		"an exclusive claim passes to the latest intent", "L2, laws 2.4", "engine/core.Core.claimHolder",
		"(o.mayBeUsed == first.mayBeUsed && o.seq < first.seq)",
		"(o.mayBeUsed == first.mayBeUsed && o.seq > first.seq)",
	},
	{
		"a record made before its claim was exclusive does not count", "S9, laws 2.4", "engine/core.Core.claim",
		"if o != r && o.Kind == r.Kind && !o.isGone() {",
		"if o != r && o.Kind == r.Kind && o.Exclusive == r.Exclusive && !o.isGone() {",
	},
	{
		"a registration does not reset the backoff", "L6, laws 2.5, kubernetes#72500", "engine/core.Core.registered",
		`for _, r := range c.of(actor) {
			r.resetBackoff()`, "for _, r := range c.of(actor) {",
	},
	{
		"a pod that is added does not reset the backoff", "L2, laws 2.5", "engine/core.Core.upsertRung",
		"if fresh || !slices.Equal(r.Want, spec.Want) {", "if !slices.Equal(r.Want, spec.Want) {",
	},
	{
		"a undo waits for the backoff of the setup", "laws 2.5", "engine/core.plight.wait",
		`if v == TearDown {
			return &p.down
		}`, "",
	},
	{
		"what blocks a rung may go without being noticed", "L2, laws 2.5", "engine/core.Core.unblocked",
		`r != nil && r.blocked {
			r.resetBackoff()`, "r != nil && r.blocked {",
	},
	{
		"not done of a teardown leaves nothing known", "laws 2.6", "engine/core.Core.tearDownEnded",
		"case hal.Unknown:",
		`e = e.doubted()
		case hal.Unknown:`,
	},
	{
		"a stage has one user", "S12, laws 1.4, csi-wekafs#659", "engine/core.Core.desire",
		`for _, a := range c.above[r.Key] {
			if c.desire(a) == wanted {`,
		`for _, a := range c.above[r.Key][:min(1, len(c.above[r.Key]))] {
			if c.desire(a) == wanted {`,
	},
	{
		"what is made again below is not minded", "laws 1.3, democratic-csi#559", "engine/core.Core.shifted",
		`if r.Need == 0 {
			return OnChangeRebuild
		}`,
		`if r.Need == 0 {
			return OnChangeKeep
		}`,
	},
	{
		"the generation is not recorded", "laws 1.3", "engine/core.Core.record",
		`Seen: r.seen,
		Generation: r.generation,`, "Seen: r.seen,",
	},
	{
		"a ladder shrinks with its spec", "laws 1.5", "engine/core.Core.upsertRung",
		"if !slices.Contains(spec.Below, key) {", "if false {",
	},
	{
		"a ladder waits for what it is to shed", "L2, laws 1.5", "engine/core.Core.nextUp",
		"if r.state == Unknown && slices.Contains(r.droppedBelow, d.on) && !c.live(r) {", "if false {",
	},
	{
		"a stage goes down beside a publish that does not depend on it", "S5, CSI NodeUnstageVolume",
		"engine/core.Core.uncovered",
		`if r.Pod == "" && !r.isGone() {`, "if false {",
	},
	{
		"published beside an unstage that may still act", "S5, CSI NodeUnstageVolume", "engine/core.Core.foundation",
		"if r.isBare() {", "if false {",
	},
	{
		"an unstage that is repeated keeps what is beside it waiting", "L2, laws 4.2", "engine/core.Core.uncovered",
		"if c.desire(a) == wanted && a.up.until <= c.now {", "if false {",
	},
	{
		"what stands on a rung does not hear what becomes of it", "L2, laws 1.3", "engine/core.Core.decide",
		"if r.next != before {", "if false && r.next != before {",
	},
	{
		"a refresh that fails takes the rung down", "laws 3.1, kubernetes#139045", "engine/core.Core.setUpEnded",
		"if in.Verb == Refresh && r.state == Present {", "if in.Verb == Refresh && r.state == Absent {",
	},
	{
		"ABORTED is a final answer", "laws 3.3, ceph-csi#2289", "engine/plugin/csi.judge",
		"return verdict{outcome: hal.NotDone, answer: core.Aborted}",
		"return verdict{outcome: hal.NotDone, answer: core.Final}",
	},
	{
		"containers are taken to run on what must be made again", "L2, laws 1.3, 1.4", "engine/core.Core.revive",
		`case gone && r.mayBeUsed && !isKept:
			e.mayBeUsed = false`,
		"case gone && r.mayBeUsed && !isKept:",
	},
	{
		"an exclusive claim passes while its last publish may act", "S9, laws 2.4", "engine/core.Core.claim",
		`if o != r && o.Kind == r.Kind && !o.isGone() {
			return waitOn(whyClaim, o.Key), false`,
		`if o != r && o.Kind == r.Kind && o.state == Present {
			return waitOn(whyClaim, o.Key), false`,
	},
	{
		"a change of a rung below does not reset the backoff", "L2, laws 2.5, kubernetes#88141",
		"engine/core.Core.resetAbove",
		"a.clearBackoff(SetUp)", "_ = a",
	},
	{
		"writes that fail are repeated at one pace", "L7, laws 2.5", "engine/core.backoff.pause",
		"unwrittenPause<<min(b.pauses, 5)", "unwrittenPause<<min(b.pauses, 0)",
	},
	{
		"a write that succeeds shortens no wait", "L2, laws 2.5", "engine/core.Core.written",
		"w.pauses > 0 && w.until > soon", "w.pauses > 255 && w.until > soon",
	},
	{
		"a rung gives way to what nobody wants yet", "S22, laws 1.4", "engine/core.Core.givesWay",
		"o.next.on == r.Key && o.next.isWanted &&", "o.next.on == r.Key &&",
	},
	{
		"the backoff does not grow", "L7, laws 2.5, kubernetes#71569", "engine/core.backoff.fail",
		`b.attempts++
		b.pauses = 0
		b.until = now.Add(d`, `b.pauses = 0
		b.until = now.Add(d`,
	},
	{
		"an edited object does not reset the backoff", "L2, laws 2.5", "engine/core.Core.upsertRung",
		"if fresh || !slices.Equal(r.Want, spec.Want) {", "if fresh {",
	},
}
