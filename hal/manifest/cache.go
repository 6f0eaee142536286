package manifest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

const (
	// next is where a copy is written before it is renamed. No manifest has this name.
	next = ".next"
	// ledger lists the files that count, and where each was seen. No manifest has this name.
	ledger = ".ledger.json"
	// maxLedger bounds what is read of it.
	maxLedger = 1 << 30
)

// entry is a line of the ledger.
type entry struct {
	In dirID `json:"in"`
	// Was is where it was seen last, if it is missing.
	Was *dirID `json:"was,omitempty"`
	// Stale: its copy is not of what counts, or there is none.
	Stale bool `json:"stale,omitempty"`
	// Bad: it could not be understood. If it is missing in another directory, it may hold what no manifest has any more.
	Bad bool `json:"bad,omitempty"`
	// New: it never counted.
	New bool `json:"new,omitempty"`
	// Pack is the pack that its copy lies in, "" if it is a file of its own.
	Pack string `json:"pack,omitempty"`
	// Refused: those of its objects that do not count, as another has their name or uid.
	Refused []id `json:"refused,omitempty"`
}

func (e entry) was() dirID {
	if e.Was == nil {
		return dirID{}
	}
	return *e.Was
}

// ledgerText is the ledger as it is written.
type ledgerText struct {
	// Blind: what an earlier run without a ledger knew is not known in full.
	Blind bool             `json:"blind,omitempty"`
	Files map[string]entry `json:"files"`
}

// load reads what the last run knew. An error says that it may be readable later.
func (r reader) load() (state, error) {
	s := state{loaded: true, blind: true, files: map[string]file{}, seen: map[string]sum{}}
	data, err := r.h.Files.Read(r.call, path.Join(r.o.CacheDir, ledger), maxLedger)
	if err != nil && !hal.Is(err, syscall.ENOENT) && !hal.Is(err, syscall.EFBIG) {
		return s, err
	}
	var l ledgerText
	if err == nil && json.Unmarshal(data, &l) == nil { // else it is damaged, or this is the first run of a version with a ledger
		s.blind, s.listed, s.ledger = l.Blind, l.Files, data
	}
	entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
	if err != nil && !hal.Is(err, syscall.ENOENT) {
		return s, err
	}
	for _, e := range entries {
		line, isListed := s.listed[e.Name]
		if !manifest(e.Name) || e.Type != hal.TypeFile || line.Pack != "" || !isListed && s.ledger != nil {
			continue // what the ledger does not list was removed, or never counted
		}
		if s.files[e.Name], err = r.recall(e.Name, line); err != nil {
			return s, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.listed)) {
		line := s.listed[name]
		if _, ok := s.files[name]; ok || !manifest(name) {
			continue
		}
		f := file{lost: !line.New, opaque: line.Bad, in: line.In, was: line.was()}
		if line.Pack != "" {
			if f, err = r.recall(name, line); err != nil {
				return s, err
			}
		}
		s.files[name] = f
	}
	if s.ledger == nil {
		if s.spares, err = r.spares(entries); err != nil {
			return s, err
		}
	}
	if err := r.loadKept(&s); err != nil {
		return s, err
	}
	s.blind = s.blind && !r.isBare
	s.resolve(resolver{o: r.o, starts: true})
	return s, nil
}

// recall makes a file of its copy and its line of the ledger. A copy that cannot be decoded is as good as none.
func (r reader) recall(name string, line entry) (file, error) {
	f := file{lost: true, opaque: line.Bad, in: line.In, was: line.was(), refused: line.Refused}
	data, err := r.copy(name, line.Pack)
	if err != nil && isNoCopy(err) {
		return f, nil
	}
	if err != nil {
		return file{}, err
	}
	content, err := decode(r.o.NodeName, name, data)
	if err != nil {
		return f, nil //nolint:nilerr // the copy is damaged: its manifest must be good to count
	}
	good := fileOf(content, sum(sha256.Sum256(data)))
	good.in, good.was, good.lost, good.opaque, good.refused = line.In, line.was(), line.Stale, line.Bad, line.Refused
	good.copied, good.pack, good.packSize = true, line.Pack, len(r.packs[line.Pack])
	return good, nil
}

// copies keeps the last good copies of files that count, and their ledger. The ledger lists a file, and which of its objects are refused, before it has
// the copy: a copy that is not listed is of a file that was removed.
func (r reader) copies(f *finding, texts map[string][]byte) {
	if !r.keepsKept(f, r.keptUntil(f)) {
		return // the copies that are there still tell of it
	}
	maps.DeleteFunc(texts, func(name string, _ []byte) bool { return f.state.files[name].copied })
	if !f.unsettled {
		maps.Copy(texts, r.scattered(f.state.files))
	}
	names := slices.Sorted(maps.Keys(texts))
	isListed := func(name string) bool {
		line, ok := f.state.listed[name]
		return ok && slices.Equal(line.Refused, f.state.files[name].refused)
	}
	isDone := !slices.ContainsFunc(names, func(name string) bool { return !isListed(name) }) || r.lists(f)
	if isDone {
		all := r.keepAll(names, texts, f.state.files)
		for _, name := range names {
			this, kept := f.state.files[name], all[name]
			err := kept.err
			if err != nil && this.copied {
				continue // it lies where it lay
			}
			if err != nil {
				this.warning = "it is good, but no copy of it can be kept, so a bad change to it after a restart would find none: " + err.Error()
				f.retry, isDone = true, false
			} else {
				this.copied, this.warning, this.pack, this.packSize = true, "", kept.in, kept.size
			}
			f.state.files[name] = this
		}
	}
	if !r.lists(f) {
		return
	}
	if !f.unsettled && !r.sweep(f.state.files, true) {
		f.retry = true // a copy of what is gone is still there
	}
	if isDone {
		r.keepsKept(f, f.state.kept)
	}
}

// isListed reports whether the ledger, as it was written last, tells of all that counts. A later start would take for new what it does not list.
func (s state) isListed() bool {
	for name, this := range s.files { // the order does not matter
		if line, ok := s.listed[name]; this.known && (!ok || !this.copied && !line.Stale) {
			return false
		}
	}
	return true
}

// unlists removes the ledger: without it a start knows that it does not know all, and takes each copy for a manifest's. So the copies of what is gone go
// first, also if the ledger went earlier, and with it goes all that lies in packs. It reports whether that is durable.
func (r reader) unlists(f *finding) bool {
	if !r.sweep(f.state.files, false) {
		return false
	}
	if err := r.h.Files.Sync(r.call, r.o.CacheDir); err != nil && !hal.Is(err, syscall.ENOENT) {
		return false
	}
	if f.state.ledger == nil {
		return true
	}
	err := r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, ledger))
	if err == nil || hal.Is(err, syscall.ENOENT) {
		f.state.ledger, f.state.listed = nil, nil
		err = r.h.Files.Sync(r.call, r.o.CacheDir)
	}
	return err == nil || hal.Is(err, syscall.ENOENT)
}

// lists writes the ledger, if it has changed.
func (r reader) lists(f *finding) bool {
	l := ledgerText{Blind: f.state.blind, Files: map[string]entry{}}
	for name, this := range f.state.files { // the order does not matter
		isBad, isNew := this.problem != "" && (len(this.texts) > 0 || this.opaque), !this.known && !this.lost
		if isNew && !isBad {
			continue
		}
		line := entry{this.in.kept(), nil, !isNew && (this.lost || !this.copied), isBad, isNew, this.pack, this.refused}
		if this.missing { // also after a restart it waits for a person, or for its return
			line.In, line.Was = dirID{}, &this.was
		}
		l.Files[name] = line
	}
	data, err := json.Marshal(l)
	if err == nil && bytes.Equal(data, f.state.ledger) {
		return true
	}
	if err == nil {
		err = r.keep(ledger, data)
	}
	if err != nil {
		f.retry = true
		f.trouble(hal.Trouble{Where: r.o.CacheDir, Problem: "the ledger of manifests cannot be written; until it is, new and changed manifests may not " +
			"count, and a bad or missing file may stop more than it must: " + err.Error() + "; " + hal.DiskAdvice(r.o.CacheDir, err)})
		return false
	}
	f.state.ledger, f.state.listed = data, l.Files
	return true
}

// keep writes a copy such that after any interruption the old or the new one is there.
func (r reader) keep(name string, data []byte) error {
	return r.keepAll([]string{name}, map[string][]byte{name: data}, nil)[name].err
}

// keepAll is keep for many: they share what need be done only once. files tells more of them. It returns what came of each.
func (r reader) keepAll(names []string, texts map[string][]byte, files map[string]file) map[string]keeping {
	if len(names) == 0 {
		return nil
	}
	all, err := map[string]keeping{}, r.prepare()
	for _, group := range groups(names, texts, files) {
		this := keeping{size: len(group), err: err}
		if err == nil {
			this.in, this.err = r.replaceAll(group, texts)
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

// sweep removes copies of manifests that are gone, or that lie in a pack by now, and reports whether none is left. Without a ledger, a start takes each copy
// for a manifest's, and none that is in a pack. So packs stay if the ledger is about to go.
func (r reader) sweep(files map[string]file, withPacks bool) bool {
	if !r.ours.isKnown {
		return false
	}
	for _, e := range r.ours.entries {
		if f, ok := files[e.Name]; ok && f.pack == "" || !manifest(e.Name) || e.Type != hal.TypeFile {
			continue
		}
		if r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, e.Name)) != nil {
			return false
		}
	}
	return !withPacks || r.sweepPacks(files)
}
