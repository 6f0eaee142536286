package mutants

// sources is what comes from outside: objects of the cluster, drivers, and what the populator makes of them.
var sources = []Mutant{
	{
		"a path that nobody could look at is accepted to be gone", "S7", "hal/manifest/manifest.go",
		"unnamed := slices.DeleteFunc(slices.Clone(c.state.unnamed), isPath)", "unnamed := slices.Clone(c.state.unnamed)",
	},
	{
		"a ledger that is no file is waited for", "L1, the next run knows what this one served", "hal/manifest/cache.go",
		"\tif err != nil && !isNoFile(err) {\n\t\treturn err\n\t}\n\tif err == nil {\n",
		"\tif err != nil && !hal.Is(err, syscall.ENOENT) {\n\t\treturn err\n\t}\n\tif err == nil {\n",
	},
	{
		"a ledger is anybody's", "the next run knows what this one served", "hal/manifest/cache.go",
		"\tif !s.ledger.owner.is(r.owner) && len(s.ledger.lines.base) > 0 {\n",
		"\tif !s.ledger.owner.is(r.owner) && len(s.ledger.lines.base) < 0 {\n",
	},
	{
		"a copy that no ledger lists starts its pod", "the next run knows what this one served", "hal/manifest/cache.go",
		"\t\tif s.ledger.isThere || r.mayBeOurs(f) {\n", "\t\tif s.ledger.isThere || f.known {\n",
	},
	{
		"what was kept and is no file is waited for", "L1, the next run knows what this one kept", "hal/manifest/kept.go",
		"\tif err != nil && !isNoFile(err) {\n", "\tif err != nil && !hal.Is(err, syscall.ENOENT) {\n",
	},
	{
		"what was kept and is damaged is believed", "S1, the next run knows what this one kept", "hal/manifest/kept.go",
		"\tif !isWhole {\n\t\tlines = nil", "\tif !isWhole && len(lines) == 0 {\n\t\tlines = nil",
	},
	{
		"what was kept has no checksum", "S1, the next run knows what this one kept", "hal/manifest/kept.go",
		"return data[:at], bytes.Equal(last, sumLine(data[:at]))", "return data[:at], len(last) > 0",
	},
	{
		"copies of manifests that can't be listed are none", "L1, the next run knows what this one served",
		"hal/manifest/cache.go",
		"entries, err := r.h.Tree.List(r.call, r.o.CacheDir)\n\tif err != nil && !isNoFile(err) {\n",
		"entries, err := r.h.Tree.List(r.call, r.o.CacheDir)\n\tif err != nil && err == nil {\n",
	},
	{
		"what was kept and is lost was never kept", "S1, the next run knows what this one kept", "hal/manifest/kept.go",
		"if isSpoilt || len(c.objects) < s.ledger.kept {", "if isSpoilt {",
	},
	{
		"synced is told before the pods", "S22, kubernetes#120150", "engine/objects.go",
		"\tm.populateStale() // core must know what the pods want before it tears down anything\n", "",
	},
	{
		"without a runtime the containers of a pod that a start finds gone never end", "L4, laws 1.4",
		"engine/objects.go",
		"\tif !m.cfg.NoRuntime || !m.objects.all {\n", "\tif !m.cfg.NoRuntime || m.objects.all {\n",
	},
	{
		"a pod is gone as soon as its source is synced", "S7, laws 1.4, nomad#13028", "engine/objects.go",
		"\tif !m.cfg.NoRuntime || !m.objects.all {\n", "\tif !m.objects.all {\n",
	},
	{
		"a registration that fails is not tried again", "L6, kubernetes#118317", "engine/drivers.go",
		"\t\tif s.gen == gen && !m.stopping {\n\t\t\tm.greet(s)\n",
		"\t\tif s.gen == gen && m.stopping {\n\t\t\tm.greet(s)\n",
	},
	{
		"a pod that waits for a driver is not told of it", "L6, kubernetes#72500", "engine/meeting.go",
		"\tm.objects.changed(m, driverRef(d.name))\n", "",
	},
	{
		"two volumes with one handle share a stage", "S13, kubernetes#105868", "engine/objects.go",
		"\t\t\tif other, why := m.conflict(uid, r); other != \"\" {\n",
		"\t\t\tif other, why := m.conflict(uid, r); other == \"\" && why != \"\" {\n",
	},
	{
		"two volumes of a driver have one key", "S13, csi-driver-smb#720", "engine/plugin/csi/ladder.go",
		"return hal.Key(string(KindStage) + \"/\" + driver + \"^\" + plugin.Escape(handle))",
		"return hal.Key(string(KindStage) + \"/\" + driver + \"^\" + plugin.Escape(handle)[:4])",
	},
	{
		"a changed object is not populated again", "L2", "engine/objects.go",
		"\tfor _, uid := range o.users[ref] {\n\t\to.mark(m, uid)\n\t}\n", "",
	},
	{
		"a stage takes the options of the first pod", "S19, kubernetes#67313", "engine/plugin/csi/rungs.go",
		"{Name: paramFlags, Value: listText(w.flags), OnChange: change},",
		"{Name: paramFlags, Value: listText(w.flags)},",
	},
	{
		"an unstage names no path", "S11", "engine/plugin/csi/teardown.go",
		"VolumeId: w.param(paramHandle), StagingTargetPath: w.path(),",
		"VolumeId: w.param(paramHandle), StagingTargetPath: w.path() + \"/\",",
	},
	{
		"a driver that is away loses its volumes", "S22, kubernetes#91758", "engine/drivers.go",
		"*plugin.DriverFacts {\n\tif known := d.byName[name]; known != nil {\n",
		"*plugin.DriverFacts {\n\tif known := d.byName[name]; known != nil && known.by != nil {\n",
	},
	{
		"a claim of another pod's namespace is taken", "S13", "engine/populator/claim.go",
		"case ref.Namespace != claim.Namespace || ref.Name != claim.Name:", "case ref.Name != claim.Name:",
	},
	{
		"a pod that is renamed is taken to be gone", "S1, one difference by identity", "engine/objects.go",
		"\t\tgone = slices.DeleteFunc(gone, func(other core.PodUID) bool { return other == uid })\n", "",
	},
	{
		"a reading tells of removals and of the rest in two events", "S1, one difference by identity",
		"hal/manifest/manifest.go",
		"\t\tc.deliver(e)\n\t}\n\tif f.synced",
		"\t\tc.deliver(hal.Changed{Source: Source, Removed: e.Removed})\n\t\tc.deliver(hal.Changed{Source: Source, " +
			"Applied: e.Applied})\n" +
			"\t}\n\tif f.synced",
	},
	{
		"of two pods with one uid the first file counts", "S1, a uid has one pod", "hal/manifest/resolve.go",
		"if r.titleOf(obj, name, f) != with {", "if r.titleOf(obj, name, f) > isNew || with != isNew {",
	},
	{
		"what the last run kept is taken for another of its name", "S1, the next run knows what this one kept",
		"hal/manifest/resolve.go", "isTaken = isTaken && holder.id != key", "_ = holder",
	},
	{
		"a manifest that is missing elsewhere is gone", "S1, another directory says nothing", "hal/manifest/reader.go",
		"if mayMatter && !accepted && !before.in.is(f.state.in) {",
		"if mayMatter && !accepted && before.in != before.in {",
	},
	{
		"a pod that nobody remembers was removed", "S1, what is lost says nothing", "hal/manifest/reader.go",
		"if f.state.blind && !f.state.hasPod(uid) {", "if f.state.blind && uid == \"\" {",
	},
	{
		"a pod of which the disk alone tells was removed", "S7, what is lost says nothing", "engine/core/view.go",
		"return (r.recorded || r.foundOnDisk) && !c.isPast(r) })", "return r.recorded && !c.isPast(r) })",
	},
	{
		"a pod that nobody could look at was removed", "S7, what is lost says nothing", "engine/manager.go",
		"if uid := plugin.PodAt(m.cfg.RootDir, name); uid != \"\" {", "if plugin.PodAt(m.cfg.RootDir, name) == name {\n\t\t\tuid := name",
	},
	{
		"a path that nobody could look at is no pod's", "S7, what is lost says nothing", "engine/plugin/layout.go",
		"\t\treturn \"\"\n\t}\n\treturn name\n}", "\t\treturn \"\"\n\t}\n\treturn \"\"\n}",
	},
	{
		"a path that somebody could look at since is still nobody's", "L2, S7", "hal/manifest/manifest.go",
		"\tc.reading = true\n\tc.findLeft()\n", "\tc.reading = true\n",
	},
	{
		"it counts for nothing that a pod is accepted to be gone", "L4, what is asked is heard",
		"hal/manifest/manifest.go",
		"return slices.Contains(unnamed, uid) })", "return uid == \"\" })",
	},
	{
		"another directory is known by its device", "S1, another directory says nothing", "hal/manifest/state.go",
		"\tcase d.Inode == 0 || d.Inode != other.Inode || d.Born != other.Born:\n", "\tcase d.Inode == 0:\n",
	},
	{
		"a directory is known without its time of birth", "S1, another directory says nothing", "hal/manifest/state.go",
		"d.Inode != other.Inode || d.Born != other.Born:", "d.Inode != other.Inode:",
	},
	{
		"one reading is enough for a removal", "S1, two readings agree on a change", "hal/manifest/reader.go",
		"; !ok || last != (sum{}) {", "; !ok && last != (sum{}) {",
	},
	{
		"a bad manifest does not hold a pod by its uid", "S1, a bad file may hold what it names",
		"hal/manifest/state.go",
		" || mentions(t.data, o.UID)", "",
	},
	{
		"escapes in a bad manifest spell nothing", "S1, a bad file may hold what it names", "hal/manifest/state.go",
		" || hasEscapes(t.data)", "",
	},
	{
		"a bad manifest that ends in a line is whole", "S1, a bad file may hold what it names", "hal/manifest/state.go",
		"return text[len(text)-1] != '\\n' || isOpen(", "return isOpen(",
	},
	{
		"a bad manifest whose last object has no name is whole", "S1, a bad file may hold what it names",
		"hal/manifest/state.go",
		"|| isNameToCome(text)", "",
	},
	{
		"a pod without containers is whole", "S1, a bad file may hold what it names", "hal/manifest/state.go",
		`||
		isMoreToCome(text)`, "",
	},
	{
		"a pod without containers is good", "S1, a bad file may hold what it names", "hal/manifest/required.go",
		"\tif problems = append(problems, c.incomplete()...); len(problems) > 0 {\n", "\tif len(problems) > 0 {\n",
	},
	{
		"what was accepted once is accepted for good", "S1, another directory says nothing", "hal/manifest/manifest.go",
		"return !this.missing && !this.going // it", "return !this.missing && name == \"\" // it",
	},
	{
		"a bad manifest that is missing elsewhere holds nothing", "S1, another directory says nothing",
		"hal/manifest/reader.go",
		"\tbefore.going = false\n\taccepted",
		"\tbefore.texts, before.opaque, before.going = nil, false, false\n\taccepted",
	},
	{
		"a bad manifest that is not there for a moment holds nothing", "S1, two readings agree",
		"hal/manifest/reader.go",
		"\tif last, ok := r.before.seen.get(name); !ok || last != (sum{}) {\n",
		"\tbefore.texts, before.opaque = nil, false\n\tif last, ok := r.before.seen.get(name); !ok || last != " +
			"(sum{}) {\n",
	},
	{
		"a directory that can't be looked at is empty", "S1, trouble is not absence", "hal/manifest/reader.go",
		"problem != \"\" {\n\t\treturn nil, nil, here, problem\n",
		"problem != \"\" {\n\t\treturn nil, nil, r.before.in, \"\"\n",
	},
	{
		"after an overflow only what is named is read", "L2", "hal/manifest/reader.go",
		"\tif !r.isWhole && !isAny && r.before.served {\n",
		"\tif !r.isWhole && (!isAny || len(r.before.files.base) > 0) && r.before.served {\n",
	},
	{
		"a manifest that can't be looked at is there", "S1, another directory says nothing", "hal/manifest/reader.go",
		"problem != \"\" || again != here || f.whole {", "problem != \"\" || again != here {",
	},
	{
		"what a ledger does not list is new", "S1, the next run knows what this one served", "hal/manifest/reader.go",
		"isKnown := f.state.isListed() || r.unlists(f)", "isKnown := f.state.isListed() || f.state.loaded",
	},
	{
		"what the next run must know is not missed", "S1, the next run knows what this one served",
		"hal/manifest/manifest.go",
		"c.h.Watches.Directory(c.o.CacheDir, c.missesOurs)\n", "c.h.Watches.Directory(c.o.CacheDir, func() {})\n",
	},
	{
		"what the next run must know and is changed in place is not missed", "S30, L3, the next run knows what this one served",
		"hal/manifest/lost.go",
		"is[name] = err == nil && holds", "is[name] = err == nil && (holds || !holds)",
	},
	{
		"a ledger that was changed in place is appended to", "S30, L3, the next run knows what this one served",
		"hal/manifest/lost.go",
		"return info == r.before.ledger.is, err", "return info.Size > 0, err",
	},
	{
		"a ledger that was changed right after it was written is appended to", "S30", "hal/manifest/lost.go",
		"r.compares = isAny || r.before.ledger.is == r.asked", "r.compares = isAny",
	},
	{
		"a bad manifest of the first start stops all teardown", "L4, a bad file harms itself", "hal/manifest/cache.go",
		"\ts.blind = s.blind && !r.isBare\n", "",
	},
	{
		"a node is bare whatever its journal says", "S1, what is lost says nothing", "engine/start.go",
		"len(m.damage)+len(s.Records)+", "len(m.damage)+",
	},
	{
		"a call that can't be sent does not tell what its driver lacks", "L4, who waits is told for what",
		"engine/away.go",
		"\tcase !isUnsent || v.Actor", "\tcase isUnsent || v.Actor",
	},
	{
		"a call in doubt is not named", "L4, who waits is told for what", "engine/core/complete.go",
		`name: res.Call, code: res.Code,
`, "",
	},
	{
		"a directory is no manifest", "S1, trouble is not absence", "hal/manifest/reader.go",
		"\t\tcase manifest(e.Name):\n", "\t\tcase manifest(e.Name) && e.Type != hal.TypeDirectory:\n",
	},
	{
		"a bad manifest stops all teardown", "L4, a bad file harms itself", "hal/manifest/state.go",
		"\tcase f.isOpaque():\n", "\tcase f.isOpaque() || f.problem != \"\":\n",
	},
	{
		"a manifest that is as it was lies where it lay", "S1, another directory says nothing",
		"hal/manifest/reader.go",
		"now == was.sum && was.in == f.state.in {", "now == was.sum {",
	},
	{
		"what did not count comes up at a start", "S1", "hal/manifest/resolve.go",
		"if r.starts && with == isNew {", "if false {",
	},
	{
		"who was kept by the last run has no name", "S1", "hal/manifest/resolve.go",
		"if t == isGoing && !r.starts && !s.served {", "if false {",
	},
	{
		"whose file was renamed while volnode was down has no name", "S1", "hal/manifest/resolve.go",
		"{counted, hasMoved, isGoing, isNew}", "{counted, hasMoved, isNew}",
	},
	{
		"copies in a pack are forgotten by a start", "S1, the next run knows what this one served",
		"hal/manifest/cache.go",
		"\t\tif line.Pack != \"\" {\n", "\t\tif line.Pack == packed {\n",
	},
	{
		"what a lost manifest held is gone with it", "S22, S1", "hal/manifest/reader.go",
		"before.isGone = before.lost && !accepted;", "before.isGone = false;",
	},
	{
		"an older copy takes the names of what is kept", "S22", "hal/manifest/cache.go",
		"\ts.outdate()\n", "",
	},
	{
		"a pack that a start finds damaged stays", "S30", "hal/manifest/packs.go",
		"\tif p.isSpoilt {\n", "\tif false {\n",
	},
	{
		"a pack goes while copies lie in it", "S1, the next run knows what this one served", "hal/manifest/packs.go",
		" && !s.packs.has(e.Name) {", " && e.Name != packed {",
	},
	{
		"what is kept for a bad manifest is forgotten by a start", "S1, the next run knows what this one kept",
		"hal/manifest/cache.go",
		"\tif err := r.loadKept(&s); err != nil {\n", "\tif err := error(nil); err != nil {\n",
	},
	{
		"a dispute of two newcomers takes away whom they replace", "S1, a dispute may be settled wrong",
		"hal/manifest/resolve.go",
		"\tif where, ok := r.contested[byName(key)]; ok {\n",
		"\tif where, ok := r.contested[byName(key)]; ok && r.starts {\n",
	},
	{
		"a pod whose uid is made of its name is not held by its name", "S1, a bad file may hold what it names",
		"hal/manifest/resolve.go",
		"isNameEnough := !isTaken || key.UID == string(uidOf(r.o.NodeName, key.Kind, key.Namespace, key.Name))",
		"isNameEnough := !isTaken",
	},
	{
		"a file with a refused object has no copy", "L4, a bad file harms itself", "hal/manifest/cache.go",
		"return f.state.files.of(name).copied })",
		"return f.state.files.of(name).copied || f.state.files.of(name).refused != nil })",
	},
	{
		"what two manifests held is forgotten between their copies", "S1, the next run knows what this one served",
		"hal/manifest/kept.go",
		"served && changes > 1", "served && changes > r.before.files.len()+f.state.files.len()",
	},
	{
		"what was kept is forgotten before its file has a copy", "S1, the next run knows what this one kept",
		"hal/manifest/cache.go",
		"r.keepsKept(f, r.keptUntil(f))", "r.keepsKept(f, f.state.kept)",
	},
	{
		"a ledger that goes leaves the copies of deleted files", "L2, what was deleted does not come back",
		"hal/manifest/ledger.go",
		"\tif !r.sweep(&f.state, false) {\n\t\treturn false\n\t}\n\tif err := r.h", "\tif err := r.h",
	},
	{
		"once the ledger has gone, copies of deleted files stay", "L2, what was deleted does not come back",
		"hal/manifest/ledger.go",
		"\tif !r.sweep(&f.state, false) {\n\t\treturn false\n\t}\n\tif err := r.h",
		"\tif !f.state.ledger.isThere {\n\t\treturn true\n\t}\n\tif !r.sweep(&f.state, false) {\n\t\treturn " +
			"false\n\t}\n\tif err := r.h",
	},
	{
		"the end of a former object takes the present one away", "L2, one difference by identity",
		"hal/manifest/manifest.go",
		"\tfor _, key := range keys {\n\t\to, ok := c.state.objects.get(key)\n",
		"\tfor _, key := range keys {\n\t\to, ok := c.state.objects.get(key)\n\t\tif ok && len(e.Removed) > 0 && " +
			"key.Kind != \"Pod\" {\n" +
			"\t\t\tc.known[key] = o\n\t\t\tcontinue // as if the removal, by its name, came behind\n\t\t}\n",
	},
	{
		"the owner writes the log", "panic, the owner waits for nobody", "engine/lines.go",
		"\tm.h.Runtime.Go(func() {\n\t\tm.cfg.Log(all)\n", "\tm.cfg.Log(all)\n\tm.h.Runtime.Go(func() {\n",
	},
	{
		"a secret that a driver was given is none once nobody else has it", "S17", "engine/start.go",
		"m.ears.said.Give(name, rec.Rung.Actor)", "m.ears.said.Expect(name)",
	},
	{
		"a secret is told", "S17", "engine/said.go",
		"\tsaid.Detail = strings.TrimRight(e.said.Clean(failure.Detail), \" ;:,\") // more may be said behind it\n",
		"_ = strings.TrimRight\n",
	},
	{
		"secrets are looked for as they are, in one piece", "S17", "hal/scrub/study.go",
		"\tfor _, form := range formsOf(value) {\n",
		"\tk.windows = nil\n\tk.word(trimmed)\n\tfor _, form := range [][]byte{} {\n",
	},
	{
		"a driver that is met was given no secret", "S17", "engine/said.go",
		"n.heard(c, \"\", nil, err) // as of Info", "n.heard(c, driver, nil, err)",
	},
	{
		"a text in which a secret was hidden has a part too few", "L12", "engine/said.go",
		"\tsaid.Detail = strings.TrimRight(e.said.Clean(failure.Detail), \" ;:,\") // more may be said behind it\n",
		"\tif said.Detail = e.said.Clean(failure.Detail); said.Detail != failure.Detail {\n\t\tsaid.Detail += \"; " +
			"\"\n\t}\n",
	},
	{
		"a secret in base64 is told", "S17", "hal/scrub/study.go",
		"\t\tfor skew := range 3 {\n", "\t\tfor skew := range 1 {\n",
	},
	{
		"a secret in hexadecimal digits is told", "S17", "hal/scrub/scrub.go",
		"{seen.hex(0), seen.hex(1), seen.numbers()}", "{seen.numbers()}",
	},
	{
		"escapes are not read", "S17", "hal/scrub/scrub.go",
		"\tfor range 3 { // an escape may be escaped\n", "\tfor range 1 {\n",
	},
	{
		"only secrets of the volume are looked for", "S17", "engine/said.go",
		"append(slices.Clone(volume), e.said.Expected()...)", "volume",
	},
	{
		"a text from before the sources were read is cleaned of what they named meanwhile", "S17", "engine/said.go",
		"\t\t} else if !isComplete {\n", "\t\t} else if _ = isComplete; !e.said.IsComplete() {\n",
	},
	{
		"a message is told of which a secret can't be read", "S17", "engine/said.go",
		"\t\t\treturn name, false\n", "\t\t\tcontinue\n",
	},
	{
		"a terminal obeys what a driver says", "S17", "hal/scrub/scrub.go",
		"\t\tcase strconv.IsPrint(r):\n", "\t\tcase r < utf8.RuneSelf || strconv.IsPrint(r):\n",
	},
	{
		"what was lost of a manifest does not matter", "S1, another directory says nothing", "hal/manifest/reader.go",
		"before.known || before.lost || ", "before.known || ",
	},
	{
		"a manifest that ends in zeros is whole", "S1, a bad file may hold what it names", "hal/manifest/state.go",
		"len(text) == 0 || bytes.IndexByte(text, 0) >= 0 {", "len(text) == 0 {",
	},
	{
		"a pod of which only an answered call is remembered is recorded", "S1", "engine/core/view.go",
		"(r.recorded || r.foundOnDisk) && !c.isPast(r) })", "(r.recorded || r.foundOnDisk) })",
	},
	{
		"what a driver was given in an earlier life is never let go", "L12", "engine/meeting.go",
		"\t\tm.releaseGiven(d.name)\n", "\t\t_ = d.name\n",
	},
	{
		"a late removal takes away the object that came after it", "L2", "engine/objects.go",
		"if !known || hal.IdentityOf(old) != hal.IdentityOf(object) {",
		"if !known {",
	},
	{
		"a late removal takes away the pod that came after it", "S1", "engine/objects.go",
		`entry != nil &&
			hal.IdentityOf(entry.pod) == hal.IdentityOf(pod) {`,
		"entry != nil {",
	},
}
