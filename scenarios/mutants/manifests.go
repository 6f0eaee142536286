package mutants

// manifests is what the files of people come to, and what the next run knows of them.
var manifests = []Mutant{
	{
		"what is kept of an object is taken for not there", "S20", "hal/manifest.Cluster.held",
		"case isKept:", "case isKept && isSynced && file != \"\":",
	},
	{
		"a path that nobody could look at is accepted to be gone", "S7", "hal/manifest.Cluster.Accept",
		"unnamed := slices.DeleteFunc(slices.Clone(c.state.unnamed), isPath)",
		"unnamed := slices.Clone(c.state.unnamed)",
	},
	{
		"a ledger that is no file is waited for",
		"L1, the next run knows what this one served", "hal/manifest.reader.loadLedger",
		`if err != nil && !isNoFile(err) {
			return err
		}
		if err == nil {`,
		`if err != nil && !hal.Is(err, syscall.ENOENT) {
			return err
		}
		if err == nil {`,
	},
	{
		"a ledger is anybody's", "the next run knows what this one served", "hal/manifest.reader.load",
		"if !s.ledger.owner.is(r.owner) && len(s.ledger.lines.base) > 0 {",
		"if !s.ledger.owner.is(r.owner) && len(s.ledger.lines.base) < 0 {",
	},
	{
		"a copy that no ledger lists starts its pod",
		"the next run knows what this one served", "hal/manifest.reader.load",
		"if s.ledger.isThere || r.mayBeOurs(f) {", "if s.ledger.isThere || f.known {",
	},
	{
		"what was kept and is no file is waited for",
		"L1, the next run knows what this one kept", "hal/manifest.reader.loadKept",
		"if err != nil && !isNoFile(err) {", "if err != nil && !hal.Is(err, syscall.ENOENT) {",
	},
	{
		"what was kept and is damaged is believed",
		"S1, the next run knows what this one kept", "hal/manifest.reader.loadKept",
		`if !isWhole {
			lines = nil`, `if !isWhole && len(lines) == 0 {
			lines = nil`,
	},
	{
		"what was kept has no checksum", "S1, the next run knows what this one kept", "hal/manifest.summed",
		"return data[:at], bytes.Equal(last, sumLine(data[:at]))", "return data[:at], len(last) > 0",
	},
	{
		"copies of manifests that can't be listed are none", "L1, the next run knows what this one served",
		"hal/manifest.reader.load",
		`entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
		if err != nil && !isNoFile(err) {`,
		`entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
		if err != nil && err == nil {`,
	},
	{
		"what was kept and is lost was never kept",
		"S1, the next run knows what this one kept", "hal/manifest.reader.loadKept",
		"if isDamaged || len(c.objects) < s.ledger.kept {", "if isDamaged {",
	},
	{
		"a reading tells of removals and of the rest in two events", "S1, one difference by identity",
		"hal/manifest.Cluster.take",
		`c.deliver(e)
		}
		if f.synced`,
		`c.deliver(hal.Changed{Source: Source, Removed: e.Removed})
		c.deliver(hal.Changed{Source: Source, Applied: e.Applied})
		}
		if f.synced`,
	},
	{
		"of two pods with one uid the first file counts", "S1, a uid has one pod", "hal/manifest.resolver.enter",
		"if r.titleOf(obj, name, f) != with {", "if r.titleOf(obj, name, f) > isNew || with != counted {",
	},
	{
		"what the last run kept is taken for another of its name", "S1, the next run knows what this one kept",
		"hal/manifest.resolver.reason", "isTaken = isTaken && holder.id != key", "_ = holder",
	},
	{
		"a manifest that is missing elsewhere is gone",
		"S1, another directory says nothing", "hal/manifest.reader.absent",
		"if mayMatter && !accepted && !before.in.is(f.state.in) {",
		"if mayMatter && !accepted && before.in != before.in {",
	},
	{
		"a pod that nobody remembers was removed", "S1, what is lost says nothing", "hal/manifest.reader.unnamed",
		"if f.state.lostRecord && !f.state.hasPod(uid) {", `if f.state.lostRecord && uid == "" {`,
	},
	{
		"a path that somebody could look at since is still nobody's", "L2, S7", "hal/manifest.Cluster.read",
		`c.reading = true
		c.findLeft()`, "c.reading = true",
	},
	{
		"it counts for nothing that a pod is accepted to be gone", "L4, what is asked is heard",
		"hal/manifest.Cluster.Accept",
		"return slices.Contains(going, uid) })", `return uid == "" })`,
	},
	{
		"another directory is known by its device", "S1, another directory says nothing", "hal/manifest.dirID.is",
		"case d.Inode == 0 || d.Inode != other.Inode || d.Born != other.Born:", "case d.Inode == 0:",
	},
	{
		"a directory is known without its time of birth", "S1, another directory says nothing", "hal/manifest.dirID.is",
		"d.Inode != other.Inode || d.Born != other.Born:", "d.Inode != other.Inode:",
	},
	{
		"one reading is enough for a removal", "S1, two readings agree on a change", "hal/manifest.reader.absent",
		"; !ok || last != (sum{}) {", "; !ok && last != (sum{}) {",
	},
	{
		"a bad manifest does not hold a pod by its uid", "S1, a bad file may hold what it names",
		"hal/manifest.file.mayHold",
		"|| mentions(t.data, o.UID)", "",
	},
	{
		"escapes in a bad manifest spell nothing", "S1, a bad file may hold what it names", "hal/manifest.file.mayHold",
		"|| hasEscapes(t.data)", "",
	},
	{
		"a bad manifest that ends in a line is whole", "S1, a bad file may hold what it names", "hal/manifest.isCut",
		`return text[len(text)-1] != '\n' || isOpen(`, "return isOpen(",
	},
	{
		"a bad manifest whose last object has no name is whole", "S1, a bad file may hold what it names",
		"hal/manifest.isCut",
		"|| isNameToCome(text)", "",
	},
	{
		"a pod without containers is whole", "S1, a bad file may hold what it names", "hal/manifest.isCut",
		`||
			isMoreToCome(text)`, "",
	},
	{
		"a pod without containers is good", "S1, a bad file may hold what it names", "hal/manifest.Options.decodeNew",
		"if problems = append(problems, c.incomplete()...); len(problems) > 0 {", "if len(problems) > 0 {",
	},
	{
		"what was accepted once is accepted for good",
		"S1, another directory says nothing", "hal/manifest.Cluster.take",
		"return !this.missing && !this.going", `return !this.missing && name == ""`,
	},
	{
		"a bad manifest that is missing elsewhere holds nothing", "S1, another directory says nothing",
		"hal/manifest.reader.absent",
		`before.going = false
		accepted`,
		`before.texts, before.opaque, before.going = nil, false, false
		accepted`,
	},
	{
		"a bad manifest that is not there for a moment holds nothing", "S1, two readings agree",
		"hal/manifest.reader.absent",
		"if last, ok := r.before.seen.get(name); !ok || last != (sum{}) {",
		`before.texts, before.opaque = nil, false
		if last, ok := r.before.seen.get(name); !ok || last != (sum{}) {`,
	},
	{
		"a directory that can't be looked at is empty", "S1, trouble is not absence", "hal/manifest.reader.list",
		`problem != "" {
			return nil, nil, here, problem`,
		`problem != "" {
			return nil, nil, r.before.in, ""`,
	},
	{
		"after an overflow only what is named is read", "L2", "hal/manifest.reader.read",
		"if !r.isWhole && !isAny && r.before.served {",
		"if !r.isWhole && (!isAny || len(r.before.files.base) > 0) && r.before.served {",
	},
	{
		"a manifest that can't be looked at is there",
		"S1, another directory says nothing", "hal/manifest.reader.readSome",
		`problem != "" || again != here || f.whole {`, `problem != "" || again != here {`,
	},
	{
		"what a ledger does not list is new",
		"S1, the next run knows what this one served", "hal/manifest.reader.count",
		"isKnown := f.state.isListed() || r.unlists(f)", "isKnown := f.state.isListed() || f.state.loaded",
	},
	{
		"what the next run must know is not missed", "S1, the next run knows what this one served",
		"hal/manifest.Cluster.Watch",
		"c.h.Watches.Directory(c.o.CacheDir, c.missesOurs)", "c.h.Watches.Directory(c.o.CacheDir, func() {})",
	},
	{
		"what the next run must know and is changed in place is not missed",
		"S30, L3, the next run knows what this one served",
		"hal/manifest.reader.looksAtOurs",
		"is[name] = err == nil && holds", "is[name] = err == nil && (holds || !holds)",
	},
	{
		"a ledger that was changed in place is appended to", "S30, L3, the next run knows what this one served",
		"hal/manifest.reader.holds",
		"return info == r.before.ledger.is, err", "return info.Size > 0, err",
	},
	{
		"a ledger that was changed right after it was written is appended to", "S30", "hal/manifest.reader.look",
		"r.compares = isAny || r.before.ledger.is == r.asked", "r.compares = isAny",
	},
	{
		"a bad manifest of the first start stops all teardown",
		"L4, a bad file harms itself", "hal/manifest.reader.load",
		"s.lostRecord = s.lostRecord && !r.isBare", "",
	},
	{
		"a directory is no manifest", "S1, trouble is not absence", "hal/manifest.reader.list",
		"case manifest(e.Name):", "case manifest(e.Name) && e.Type != hal.TypeDirectory:",
	},
	{
		"a bad manifest stops all teardown", "L4, a bad file harms itself", "hal/manifest.file.mayHold",
		"case f.isOpaque():", `case f.isOpaque() || f.problem != "":`,
	},
	{
		"a manifest that is as it was lies where it lay", "S1, another directory says nothing",
		"hal/manifest.reader.file",
		"now == was.sum && was.in == f.state.in {", "now == was.sum {",
	},
	{
		"a refusal outlasts what it was for", "S1", "hal/manifest.state.unresolved",
		"if !slices.ContainsFunc(names, func(name string) bool { return s.files.base[name].lost }) {", "if true {",
	},
	{
		"a start does not say what still does not count", "L12", "hal/manifest.resolver.waitsForLost",
		"len(r.lost) > 0 && slices.Contains(f.refused, key) {",
		"(r.starts || len(r.lost) > 0) && slices.Contains(f.refused, key) {",
	},
	{
		"who did not count comes before the one that is not read yet", "S1", "hal/manifest.resolver.waitsForLost",
		"len(r.lost) > 0 && slices.Contains(f.refused, key) {", "false && slices.Contains(f.refused, key) {",
	},
	{
		"what a refused object held up goes before its file is read", "S1", "hal/manifest.resolver.reason",
		"if r.waits {", "if false {",
	},
	{
		"the refusal of what no copy has is forgotten", "S1", "hal/manifest.state.resolve",
		"if f.lost {", "if false {",
	},
	{
		"who was kept by the last run has no name", "S1", "hal/manifest.state.resolve",
		"if t == isGoing && !s.served {", "if false {",
	},
	{
		"whose file was renamed while volnode was down has no name", "S1", "hal/manifest.state.resolve",
		"{counted, hasMoved, mayHaveCounted, isGoing, isHere, isNew}", "{counted, hasMoved, mayHaveCounted, isHere, isNew}",
	},
	{
		"copies in a pack are forgotten by a start", "S1, the next run knows what this one served",
		"hal/manifest.reader.load",
		`if line.Pack != "" {`, "if line.Pack == packed {",
	},
	{
		"what a lost manifest held is gone with it", "S22, S1", "hal/manifest.reader.absent",
		"before.isGone = before.lost && !accepted;", "before.isGone = false;",
	},
	{
		"an older copy takes the names of what is kept", "S22", "hal/manifest.reader.load",
		"s.dropSuperseded()", "",
	},
	{
		"a pack that a start finds damaged stays", "S30", "hal/manifest.pack.size",
		"if p.isDamaged {", "if false {",
	},
	{
		"a pack goes while copies lie in it",
		"S1, the next run knows what this one served", "hal/manifest.reader.sweepPacks",
		"&& !s.packs.has(e.Name) {", "&& e.Name != packed {",
	},
	{
		"what is kept for a bad manifest is forgotten by a start", "S1, the next run knows what this one kept",
		"hal/manifest.reader.load",
		"if err := r.loadKept(&s); err != nil {", "if err := error(nil); err != nil {",
	},
	{
		"a dispute of two newcomers takes away whom they replace", "S1, a dispute may be settled wrong",
		"hal/manifest.resolver.reason",
		"if where, ok := r.contested[byName(key)]; ok && !isMoving {",
		"if where, ok := r.contested[byName(key)]; ok && !isMoving && r.starts {",
	},
	{
		"a pod whose uid is made of its name is not held by its name", "S1, a bad file may hold what it names",
		"hal/manifest.resolver.reason",
		"isNameEnough := !isTaken || r.isUIDOfName(key)",
		"isNameEnough := !isTaken",
	},
	{
		"a newcomer comes before who was served", "S1, a uid has one pod", "hal/manifest.state.resolve",
		"{counted, hasMoved, mayHaveCounted, isGoing, isHere, isNew}",
		"{isHere, isNew, counted, hasMoved, mayHaveCounted, isGoing}",
	},
	{
		"who waits for a uid takes it while its pod moves", "S1, a file that does not count yet may hold what it names",
		"hal/manifest.resolver.reserveMoving",
		`f.problem == "" && f.mayHold(key, !isNamed || r.isUIDOfName(key))`, `f.problem == "" && r.starts`,
	},
	{
		"without a record the first of two manifests counts", "L4, a lost record decides nothing",
		"hal/manifest.resolver.rivals", "with >= isHere && r.state.lostRecord", "with >= isHere && r.starts",
	},
	{
		"what has no copy is not kept", "S1, the next run knows what this one served", "hal/manifest.state.uncopied",
		"f.known && !f.copied", "f.known && !f.copied && f.lost",
	},
	{
		"a dispute in a lost file loses its pod", "S1, a lost record decides nothing", "hal/manifest.reader.losesPod",
		"len(f.state.files.of(name).refused) > 0", "f.unconfirmed && len(f.state.files.of(name).refused) > 0",
	},
	{
		"who may have counted has a name and does not count", "S1, a uid has one pod", "hal/manifest.resolver.enter",
		"with <= hasMoved", "with <= mayHaveCounted",
	},
	{
		"who may have counted comes with who was served", "S1, a uid has one pod", "hal/manifest.resolver.titleOf",
		"return mayHaveCounted", "return hasMoved",
	},
	{
		"who counted without a copy is a newcomer", "S1, the next run knows what this one served",
		"hal/manifest.resolver.titleOf", "was.lost &&", "was.lost && r.starts &&",
	},
	{
		"a file with a refused object has no copy", "L4, a bad file harms itself", "hal/manifest.reader.copies",
		"return f.state.files.of(name).copied })",
		"return f.state.files.of(name).copied || f.state.files.of(name).refused != nil })",
	},
	{
		"what two manifests held is forgotten between their copies", "S1, the next run knows what this one served",
		"hal/manifest.reader.keptUntil",
		"served && changes > 1", "served && changes > r.before.files.len()+f.state.files.len()",
	},
	{
		"what was kept is forgotten before its file has a copy", "S1, the next run knows what this one kept",
		"hal/manifest.reader.copies",
		"r.keepsKept(f, r.keptUntil(f))", "r.keepsKept(f, f.state.kept)",
	},
	{
		"a ledger that goes leaves the copies of deleted files", "L2, what was deleted does not come back",
		"hal/manifest.reader.unlists",
		`if !r.sweep(&f.state, false) {
			return false
		}
		if err := r.h`, "if err := r.h",
	},
	{
		"once the ledger has gone, copies of deleted files stay", "L2, what was deleted does not come back",
		"hal/manifest.reader.unlists",
		`if !r.sweep(&f.state, false) {
			return false
		}
		if err := r.h`,
		`if !f.state.ledger.isThere {
			return true
		}
		if !r.sweep(&f.state, false) {
			return false
		}
		if err := r.h`,
	},
	{
		"the end of a former object takes the present one away", "L2, one difference by identity",
		"hal/manifest.Cluster.difference",
		`for _, key := range keys {
			o, ok := c.state.objects.get(key)`,
		`for _, key := range keys {
			o, ok := c.state.objects.get(key)
			if ok && len(e.Removed) > 0 && key.Kind != "Pod" {
				c.known[key] = o
				continue
			}`,
	},
	{
		"what was lost of a manifest does not matter",
		"S1, another directory says nothing", "hal/manifest.reader.absent",
		"before.known || before.lost ||", "before.known ||",
	},
	{
		"a manifest that ends in zeros is whole", "S1, a bad file may hold what it names", "hal/manifest.isCut",
		"len(text) == 0 || bytes.IndexByte(text, 0) >= 0 {", "len(text) == 0 {",
	},
}
