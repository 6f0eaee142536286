package mutants

// costs is engines whose work for a change grows with what has not changed.
var costs = []Mutant{
	{
		"each step walks all rungs", "L8", "engine/core.Core.Step",
		`c.reconcile()
		c.recordFreed()`,
		`for _, r := range c.sorted() {
			c.mark(r)
		}
		c.reconcile()
		c.recordFreed()`,
	},
	{
		"what keeps everything from being gone is looked for at each step", "L8", "engine/core.Core.allDown",
		"k := &c.keepers", `c.keepers = keepers{}
		k := &c.keepers`,
	},
	{
		"each step asks the waiters of all pods", "L8", "engine/core.Core.wake",
		"touched := c.touched", `for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
			c.touch(c.pods[uid])
		}
		touched := c.touched`,
	},
	{
		"each notice has all of the mount table read", "L8, kubernetes#126049", "engine.drift.readTable",
		"d.reading, d.at, d.since = true, at, d.core.Seq()",
		`at = nil
		d.reading, d.at, d.since = true, at, d.core.Seq()`,
	},
	{
		"each notice has all below the root directory compared", "L8", "engine.drift.concerning",
		"return concerned", `if len(concerned) > 0 {
			return []string{root}
		}
		return concerned`,
	},
	{
		"each notice has a task begin for each rung", "L8", "engine.drift.readTable",
		`d.h.Runtime.Go(func() {
			table, err := d.mountsAt(at)`,
		`for range d.core.View() {
			d.h.Runtime.Go(func() {})
		}
		d.h.Runtime.Go(func() {
			table, err := d.mountsAt(at)`,
	},
	{
		"each notice stirs all rungs", "L8", "engine.drift.tableRead",
		"for _, key := range d.unblocked(at, tops, changed) {",
		`for _, v := range d.core.View() {
			step(d.port, core.Unblocked{Key: v.Key})
		}
		for _, key := range d.unblocked(at, tops, changed) {`,
	},
	{
		"the status of everything is made for one wait that times out", "L8", "engine.questions.lacking",
		`pod := q.podStatus(q.core.Pod(uid), q.lookUp)
		isAsked`,
		`_ = q.core.View()
		pod := q.podStatus(q.core.Pod(uid), q.lookUp)
		isAsked`,
	},
	{
		"one edited pod has all populated again", "L8", "engine.objects.populateStale",
		`o.stale = nil
		in := o.current()`,
		`o.stale, stale = nil, slices.Sorted(maps.Keys(o.pods))
		in := o.current()`,
	},
	{
		"each batch begins a generation of the journal", "L8", "engine/journal.Journal.Take",
		"if j.broken != nil || j.end+int64(len(j.buffer)) > j.live {", "if j.broken != nil || len(lines) > 0 {",
	},
	{
		"who prunes the directory of a pod lists those of all", "L8", "engine/op.Prune",
		"at, stop := dir, path.Clean(stop)", `at, stop := dir, path.Clean(stop)
		_, _ = h.Tree.List(c, stop)`,
	},
	{
		"one changed manifest has all looked at", "L8", "hal/manifest.reader.read",
		"if !r.isWhole && !isAny && r.before.served {", "if !r.isWhole && !isAny && !r.before.loaded {",
	},
	{
		"one changed manifest has all copies looked at", "L8", "hal/manifest.reader.look",
		"changed = slices.DeleteFunc(changed, func(name string) bool { return !r.before.isKept(name) })",
		"changed = r.before.keeps()",
	},
	{
		"one changed manifest has all of the ledger written", "L8", "hal/manifest.reader.writes",
		"now.size > 0 && size <=", "now.size < 0 && size <=",
	},
	{
		"what drivers have mounted is looked for among all rungs", "L8", "engine/core.Core.HasMounts",
		"return slices.ContainsFunc(slices.Sorted(maps.Keys(c.actors)), func(actor string) bool {",
		`if !slices.ContainsFunc(c.sorted(), func(r *rung) bool { return r.state == Present && r.Actor != "" &&
			!IsBare(r.fingerprint) }) {
			return false
		}
		return slices.ContainsFunc(slices.Sorted(maps.Keys(c.actors)), func(actor string) bool {`,
	},
}
