package mutants

// costs is engines whose work for a change grows with what has not changed.
var costs = []Mutant{
	{
		"each step walks all rungs", "L8", "engine/core/core.go",
		"\tc.reconcile()\n\tc.recordFreed()\n",
		"\tfor _, r := range c.sorted() {\n\t\tc.mark(r)\n\t}\n\tc.reconcile()\n\tc.recordFreed()\n",
	},
	{
		"what keeps everything from being gone is looked for at each step", "L8", "engine/core/waiters.go",
		"\tk := &c.keepers\n", "\tc.keepers = keepers{}\n\tk := &c.keepers\n",
	},
	{
		"each step asks the waiters of all pods", "L8", "engine/core/waiters.go",
		"\ttouched := c.touched\n", "\tfor _, uid := range slices.Sorted(maps.Keys(c.pods)) " +
			"{\n\t\tc.touch(c.pods[uid])\n\t}\n\ttouched := c.touched\n",
	},
	{
		"each notice has all of the mount table read", "L8, kubernetes#126049", "engine/drift.go",
		"\td.reading, d.at, d.since = true, at, m.core.Seq()\n",
		"\tat = nil\n\td.reading, d.at, d.since = true, at, m.core.Seq()\n",
	},
	{
		"each notice has all below the root directory compared", "L8", "engine/drift.go",
		"\treturn concerned\n", "\tif len(concerned) > 0 {\n\t\treturn []string{root}\n\t}\n\treturn concerned\n",
	},
	{
		"each notice has a task begin for each rung", "L8", "engine/drift.go",
		"\tm.h.Runtime.Go(func() {\n\t\ttable, err := m.mountsAt(at)\n",
		"\tfor range m.core.View() {\n\t\tm.h.Runtime.Go(func() {})\n\t}\n\tm.h.Runtime.Go(func() {\n\t\ttable, err " +
			":= m.mountsAt(at)\n",
	},
	{
		"each notice stirs all rungs", "L8", "engine/drift.go",
		"\tfor _, key := range m.unblocked(at, tops, changed) {\n",
		"\tfor _, v := range m.core.View() {\n\t\tstep(m, core.Unblocked{Key: v.Key})\n\t}\n\tfor _, key := range " +
			"m.unblocked(at, tops, changed) {\n",
	},
	{
		"the status of everything is made for one wait that times out", "L8", "engine/public.go",
		"\tpod := m.podStatus(m.core.Pod(uid), m.lookUp)\n\tisAsked",
		"\t_ = m.core.View()\n\tpod := m.podStatus(m.core.Pod(uid), m.lookUp)\n\tisAsked",
	},
	{
		"one edited pod has all populated again", "L8", "engine/objects.go",
		"\tm.objects.stale = nil\n\tin := m.input()\n",
		"\tm.objects.stale, stale = nil, slices.Sorted(maps.Keys(m.objects.pods))\n\tin := m.input()\n",
	},
	{
		"each batch begins a generation of the journal", "L8", "engine/journal/journal.go",
		"if j.broken != nil || j.end+int64(len(j.buffer)) > j.live {", "if j.broken != nil || len(lines) > 0 {",
	},
	{
		"who prunes the directory of a pod lists those of all", "L8", "engine/op/tree.go",
		"\tat, stop := dir, path.Clean(stop)\n", "\tat, stop := dir, path.Clean(stop)\n\t_, _ = h.Tree.List(c, stop)\n",
	},
	{
		"one changed manifest has all looked at", "L8", "hal/manifest/reader.go",
		"\tif !r.isWhole && !isAny && r.before.served {\n", "\tif !r.isWhole && !isAny && !r.before.loaded {\n",
	},
	{
		"one changed manifest has all copies looked at", "L8", "hal/manifest/lost.go",
		"\t\tchanged = slices.DeleteFunc(changed, func(name string) bool { return !r.before.isKept(name) })\n",
		"\t\tchanged = r.before.keeps()\n",
	},
	{
		"one changed manifest has all of the ledger written", "L8", "hal/manifest/ledger.go",
		"now.size > 0 && size <= ", "now.size < 0 && size <= ",
	},
	{
		"what drivers have mounted is looked for among all rungs", "L8", "engine/core/view.go",
		"\treturn slices.ContainsFunc(slices.Sorted(maps.Keys(c.actors)), func(actor string) bool {\n",
		"\tif !slices.ContainsFunc(c.sorted(), func(r *rung) bool { return r.state == Present && r.Actor != \"\" && " +
			"!IsBare(r.fingerprint) }) {\n\t\treturn false\n\t}\n" +
			"\treturn slices.ContainsFunc(slices.Sorted(maps.Keys(c.actors)), func(actor string) bool {\n",
	},
}
