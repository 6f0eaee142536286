package manifest

import (
	"cmp"
	"crypto/sha256"
	"hash/crc32"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

const (
	// next is where a copy is written before it is renamed. No manifest has this name.
	next = ".next"
)

// load reads what the last run knew. An error says that it may be readable later.
func (r reader) load() (state, error) {
	s := state{loaded: true, lostRecord: true}.begin()
	if err := r.loadLedger(&s); err != nil {
		return s, err
	}
	if !s.ledger.owner.is(r.owner) && len(s.ledger.lines.base) > 0 {
		if err := r.setAside(); err != nil {
			return s, err
		}
		return r.load()
	}
	entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
	if err != nil && !isNoFile(err) {
		return s, err
	}
	strays := map[string]file{}
	for _, e := range entries {
		line, isListed := s.ledger.lines.get(e.Name)
		if !manifest(e.Name) || e.Type != hal.TypeFile || line.Pack != "" || !isListed && s.ledger.isThere {
			continue // what the ledger does not list was removed, or never counted
		}
		f, err := r.recall(e.Name, line)
		if err != nil {
			return s, err
		}
		if s.ledger.isThere || r.mayBeOurs(f) {
			s.put(e.Name, f)
		} else {
			strays[e.Name] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.ledger.lines.base)) {
		line := s.ledger.lines.of(name)
		if s.files.has(name) || !manifest(name) {
			continue
		}
		f := file{lost: !line.New, opaque: line.Bad, in: line.In, was: line.was(), refused: line.Refused}
		if line.Pack != "" {
			if f, err = r.recall(name, line); err != nil {
				return s, err
			}
		}
		s.put(name, f)
	}
	if !s.ledger.isThere {
		if s.spares, err = r.spares(entries); err != nil {
			return s, err
		}
		maps.Copy(s.spares, strays)
	}
	if err := r.loadKept(&s); err != nil {
		return s, err
	}
	r.reportAside(&s)
	s.lostRecord = s.lostRecord && !r.isBare
	s.dropSuperseded()
	s.objects = s.objects.merge().begin() // what was kept is what was before
	s.resolve(resolver{o: r.o, starts: true}, s.touched())
	return s.merge(), nil
}

// loadLedger reads the ledger, and says whether what the last run knew is not known in full.
func (r reader) loadLedger(s *state) error {
	is := r.ledgerIs()
	data, err := r.h.Files.Read(r.call, path.Join(r.o.CacheDir, ledger), maxLedger)
	if err != nil && !isNoFile(err) {
		return err
	}
	if err == nil {
		s.ledger = bookOf(data)
		s.ledger.is, s.ledger.sum = is, crc32.ChecksumIEEE(data)
		s.ledger.lines = s.ledger.lines.begin()
	}
	if s.key = s.ledger.key; s.key == "" {
		random := r.h.Machine.Random()
		s.key = string(random[:])
	}
	switch {
	case s.ledger.isThere: // else it is damaged, or this is the first run of a version with a ledger
		s.lostRecord = s.ledger.lostRecord
	case !hal.Is(err, syscall.ENOENT):
		r.reportOwn(s, ledger, err)
	}
	return nil
}

// recall makes a file of its copy and its line of the ledger. A copy that cannot be decoded, or that somebody has
// changed, is as good as none.
func (r reader) recall(name string, line entry) (file, error) {
	f := file{lost: true, opaque: line.Bad, in: line.In, was: line.was(), refused: line.Refused}
	data, err := r.copy(name, line.Pack)
	if err != nil && isNoCopy(err) {
		return f, nil
	}
	if err != nil {
		return file{}, err
	}
	is, form := sum(sha256.Sum256(data)), r.packs[line.Pack].forms[name]
	if line.Sum != 0 && line.Sum != is.beginning() {
		return f, nil
	}
	content, ok := understand(r.o.NodeName, is, form)
	if !ok {
		if content, err = r.o.decode(name, data); err != nil {
			return f, nil //nolint:nilerr // the copy is damaged: its manifest must be good to count
		}
		form = formOf(content, is)
	}
	good := fileOf(content, is)
	good.form, good.isFormed = form, ok
	good.in, good.was, good.lost, good.opaque, good.refused = line.In, line.was(), line.Stale, line.Bad, line.Refused
	good.copied, good.pack, good.packSize, good.alone = true, line.Pack, r.packs[line.Pack].size(), line.Pack == ""
	return good, nil
}

// copies keeps the last good copies of files that count, and their ledger. The ledger lists a file, and which of its
// objects are refused, before it has the copy: a copy that is not listed is of a file that was removed.
func (r reader) copies(f *finding, texts map[string][]byte) {
	isTidy := false
	// only a reading of everything finds all that nobody needs
	defer func() { f.whole = f.whole || r.isWhole && !isTidy }()
	if !r.keepsKept(f, r.keptUntil(f)) {
		f.state.ledger.isLate = true
		return // the copies that are there still have it
	}
	maps.DeleteFunc(texts, func(name string, _ []byte) bool { return f.state.files.of(name).copied })
	if !f.unconfirmed {
		maps.Copy(texts, r.scattered(&f.state))
	}
	names := slices.Sorted(maps.Keys(texts))
	isListed := func(name string) bool {
		line, ok := f.state.ledger.lines.get(name)
		return ok && slices.Equal(line.Refused, f.state.files.of(name).refused)
	}
	isDone := !slices.ContainsFunc(names, func(name string) bool { return !isListed(name) }) || r.lists(f)
	if isDone {
		all := r.keepAll(names, texts, &f.state)
		for _, name := range names {
			this, kept := f.state.files.of(name), all[name]
			err := kept.err
			if err != nil && this.copied {
				continue // it lies where it lay
			}
			if err != nil {
				this.warning = "it is good, but volnode cannot keep a copy of it, so it has none for a bad change " +
					"after a restart: " + err.Error()
				f.retry, isDone = true, false
			} else {
				this.copied, this.warning, this.pack, this.packSize = true, "", kept.in, kept.size
				this.alone, this.isFormed = this.alone || kept.in == "", kept.in != ""
			}
			f.state.put(name, this)
		}
	}
	if !r.lists(f) {
		return
	}
	if !f.unconfirmed {
		isTidy = r.tidy(f)
		f.retry = f.retry || !isTidy // a copy of what is gone is still there
	}
	if isDone {
		r.keepsKept(f, append(slices.Clone(f.state.kept), f.state.uncopied()...))
	}
}

// keep writes a copy such that after any interruption the old or the new one is there.
func (r reader) keep(name string, data []byte) error {
	return r.keepAll([]string{name}, map[string][]byte{name: data}, nil)[name].err
}

// keepAll is keep for many files: they share what need be done only once. s has their states. It returns each file's
// outcome.
func (r reader) keepAll(names []string, texts map[string][]byte, s *state) map[string]keeping {
	if len(names) == 0 {
		return nil
	}
	all, err := map[string]keeping{}, r.prepare()
	for _, group := range groups(names, texts, s) {
		this := keeping{size: len(group), err: err}
		if err == nil {
			this.in, this.err = r.replaceAll(group, texts, s)
		}
		for _, name := range group {
			all[name] = this
		}
	}
	if err == nil {
		err = r.h.Files.Sync(r.call, r.o.CacheDir)
	}
	for _, name := range names {
		this := all[name]
		this.err = cmp.Or(this.err, err)
		all[name] = this
	}
	return all
}

// prepare makes the cache directory.
func (r reader) prepare() error {
	if err := r.h.Tree.Mkdir(r.call, r.o.CacheDir, cacheMode); err != nil && !hal.Is(err, syscall.EEXIST) {
		return err
	}
	// Also if it was there: the agent may have died before it synced the name.
	return r.h.Files.Sync(r.call, path.Dir(r.o.CacheDir))
}

// replace gives a copy its name, durable once the directory is.
func (r reader) replace(name string, data []byte) error {
	at := path.Join(r.o.CacheDir, next)
	if err := r.h.Files.Write(r.call, at, data, copyMode); err != nil {
		return err
	}
	if err := r.h.Files.Sync(r.call, at); err != nil {
		return err
	}
	return r.h.Tree.Rename(r.call, at, path.Join(r.o.CacheDir, name))
}

// tidy removes the copies that nobody needs any more, and reports whether none is left. A reading of everything looks
// for more than it knows of.
func (r reader) tidy(f *finding) bool {
	s, isTidy := &f.state, !r.isWhole || r.sweep(&f.state, true)
	for _, name := range slices.Sorted(maps.Keys(maps.Collect(s.litter.all()))) {
		this, isOurs := s.files.get(name)
		isBack := isOurs && this.pack == ""
		if !isBack && !s.packs.has(name) && !r.isWhole {
			err := r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, name))
			isTidy = isTidy && (err == nil || hal.Is(err, syscall.ENOENT))
		}
		if !isTidy {
			return false
		}
		if s.litter.drop(name); isOurs {
			this.alone = isBack
			s.put(name, this)
		}
	}
	return isTidy
}

// sweep removes copies of manifests that are gone, or that lie in a pack by now, and reports whether none is left.
// Without a ledger, a start takes each copy for a manifest's, and none that is in a pack. So packs stay if the ledger
// is about to go.
func (r reader) sweep(s *state, withPacks bool) bool {
	entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
	if err != nil {
		return isNoFile(err)
	}
	for _, e := range entries {
		if f, ok := s.files.get(e.Name); ok && f.pack == "" || !manifest(e.Name) || e.Type != hal.TypeFile {
			continue
		}
		if r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, e.Name)) != nil {
			return false
		}
	}
	return !withPacks || r.sweepPacks(entries, s)
}
