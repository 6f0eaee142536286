package manifest

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"maps"
	"path"
	"slices"

	"github.com/volnode/volnode/hal"
)

// This file is the ledger: which files count, and where each was seen last. It is lines of JSON. The first line lists
// all files, and comes into its place by a rename. Each further line is what one reading has changed, appended and
// synced before that counts. So a change costs one line, however many files there are. Once the lines behind the first
// are longer than that, or a line is half as long, all is written again, as it is by the first change of each run: a
// run adds nothing to what a power cut may have torn.
//
// A power cut may tear the last line, and no other: each line is durable before the next is written, and after an error
// nothing is appended any more. A last line that is not whole never counted. Any other that is not whole is a damage,
// and the ledger is as good as lost.
//
// The ledger of earlier versions is the first line alone, without an end. They take one with more lines for damaged,
// and tear nothing down.

const (
	// ledger is its name. No manifest has this name.
	ledger = ".ledger.json"
	// maxLedger bounds what is read of it.
	maxLedger = 1 << 30
	// moreLines is how many bytes of lines may follow, whatever the length of the first.
	moreLines = 1 << 10
)

// entry is what the ledger has of a file.
type entry struct {
	In dirID `json:"in"`
	// Was is where it was seen last, if it is missing.
	Was *dirID `json:"was,omitempty"`
	// Stale: its copy is not of what counts, or there is none.
	Stale bool `json:"stale,omitempty"`
	// Bad: it could not be understood. If it is missing in another directory, it may hold what no manifest has any
	// more.
	Bad bool `json:"bad,omitempty"`
	// New: it never counted.
	New bool `json:"new,omitempty"`
	// Pack is the pack that its copy lies in, "" if it is a file of its own.
	Pack string `json:"pack,omitempty"`
	// Sum is the beginning of that of its copy's content; 0 if nobody knows, as in ledgers of earlier versions.
	Sum uint64 `json:"sum,omitempty"`
	// Refused: those of its objects that do not count, as another has their name or uid.
	Refused []id `json:"refused,omitempty"`
}

func (e entry) was() dirID {
	if e.Was == nil {
		return dirID{}
	}
	return *e.Was
}

// ledgerLine is a line of the ledger.
type ledgerLine struct {
	// Owner is in the first line alone.
	Owner Owner `json:"owner,omitzero"`
	// Key is that of versions (see versionOf); in the first line alone.
	Key []byte `json:"key,omitempty"`
	// LostRecord: the record of what earlier runs knew is lost, or a part of it. Each line repeats it.
	LostRecord bool `json:"blind,omitempty"`
	// Kept is how many objects the file of kept objects has at least. Each line repeats it.
	Kept int `json:"kept,omitempty"`
	// KeptIn is the directory in which they are kept; of several, one that is not there. Each line repeats it.
	KeptIn dirID            `json:"keptIn,omitzero"`
	Files  map[string]entry `json:"files"`
	// in a further line: files of lines before that do not count any more
	Gone []string `json:"gone,omitempty"`
}

// book is the ledger as it lies on the disk. It is not changed once it has been handed out.
type book struct {
	isThere    bool // what is in lines may be believed
	owner      Owner
	key        string
	lines      layer[string, entry]
	lostRecord bool
	kept       int
	keptIn     dirID
	// first is how long its first line is, size how long all is. size is 0 if nothing may be appended.
	first, size int64
	is          hal.Info // its file, as the last write left it; zero if nobody could look
	sum         uint32   // of what that file says
	isLate      bool     // it could not be written as it should be
}

func noBook() book { return book{lines: layer[string, entry]{}.begin()} }

// bookOf reads a ledger. It is not there if it is damaged.
func bookOf(data []byte) book {
	b := book{lines: layer[string, entry]{base: map[string]entry{}}}
	for at := 0; at < len(data); {
		line, rest, isWhole := bytes.Cut(data[at:], []byte("\n"))
		var l ledgerLine
		isWhole = (isWhole || at == 0) && json.Unmarshal(line, &l) == nil
		switch {
		case !isWhole && at > 0 && len(rest) == 0:
			return b // it was torn
		case !isWhole:
			return book{}
		}
		if at == 0 {
			b.owner, b.key = l.Owner, string(l.Key)
		}
		b.isThere, b.lostRecord, b.kept, b.keptIn = true, l.LostRecord, l.Kept, l.KeptIn
		maps.Copy(b.lines.base, l.Files)
		for _, name := range l.Gone {
			delete(b.lines.base, name)
		}
		at = len(data) - len(rest)
	}
	return b
}

// due names the files of which the ledger may have something else than it should, sorted: those that this reading has
// changed, or all if an earlier one could not write it.
func (s state) due() []string {
	if s.ledger.isThere && !s.ledger.isLate {
		return s.touched()
	}
	all := map[string]bool{}
	for name := range s.files.all() {
		all[name] = true
	}
	for name := range s.ledger.lines.all() {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// isListed reports whether the ledger, as it was written last, lists all that counts. A later start would take for
// new what it does not list.
func (s state) isListed() bool {
	for _, name := range s.due() {
		this := s.files.of(name)
		if line, ok := s.ledger.lines.get(name); this.known && (!ok || !this.copied && !line.Stale) {
			return false
		}
	}
	return true
}

// unlists removes the ledger: without it a start knows that it does not know all, and takes each copy for a manifest's.
// So the copies of what is gone go first, also if the ledger went earlier, and with it goes all that lies in packs. It
// reports whether that is durable.
func (r reader) unlists(f *finding) bool {
	if !r.sweep(&f.state, false) {
		return false
	}
	if err := r.h.Files.Sync(r.call, r.o.CacheDir); err != nil && !isNoFile(err) {
		return false
	}
	if !f.state.ledger.isThere {
		return true
	}
	err := r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, ledger))
	if err == nil || isNoFile(err) {
		f.state.ledger = noBook()
		err = r.h.Files.Sync(r.call, r.o.CacheDir)
	}
	return err == nil || isNoFile(err)
}

// entry is what the ledger is to have of a file, and whether it is to list it.
func (f file) entry() (line entry, isListed bool) {
	isBad, isNew := f.problem != "" && (len(f.texts) > 0 || f.opaque), !f.known && !f.lost
	if isNew && !isBad {
		return entry{}, false
	}
	line = entry{
		In: f.in.kept(), Stale: !isNew && (f.lost || !f.copied), Bad: isBad, New: isNew,
		Pack: f.pack, Refused: f.refused,
	}
	if !line.Stale && f.copied {
		line.Sum = f.sum.beginning()
	}
	if f.missing { // also after a restart it waits for a person, or for its return
		line.In, line.Was = dirID{}, &f.was
	}
	return line, true
}

// keptIn is the directory in which objects are kept: another one than the present, if one is; zero if none is written
// down.
func (s state) keptIn() dirID {
	for _, o := range s.elsewhere() {
		return o.keptIn
	}
	if len(s.kept)+len(s.wrote) == 0 {
		return dirID{}
	}
	return s.in
}

// elsewhere is what is kept for what was in another directory.
func (s state) elsewhere() (all []object) {
	for _, o := range s.kept {
		if o.isElsewhere(s.in) {
			all = append(all, o)
		}
	}
	return all
}

func (e entry) is(o entry) bool {
	return e.In == o.In && e.was() == o.was() && e.Stale == o.Stale && e.Bad == o.Bad && e.New == o.New &&
		e.Pack == o.Pack && e.Sum == o.Sum && slices.Equal(e.Refused, o.Refused)
}

// lists writes what counts now to the ledger, if the ledger does not list it yet.
func (r reader) lists(f *finding) bool {
	now := f.state.ledger
	l := ledgerLine{
		LostRecord: f.state.lostRecord, Kept: len(f.state.kept), KeptIn: f.state.keptIn().kept(), Files: map[string]entry{},
	}
	for _, name := range f.state.due() {
		this, isOurs := f.state.files.get(name)
		line, isListed := this.entry()
		switch was, ok := now.lines.get(name); {
		case isOurs && isListed && !(ok && was.is(line)):
			l.Files[name] = line
		case ok && !(isOurs && isListed):
			l.Gone = append(l.Gone, name)
		}
	}
	isSame := len(l.Files)+len(l.Gone) == 0 && l.LostRecord == now.lostRecord && l.Kept == now.kept &&
		l.KeptIn == now.keptIn && now.owner == r.owner && now.key == f.state.key
	if now.isThere && isSame {
		f.state.ledger.isLate = false
		return true
	}
	if err := r.writes(&now, l, f.state.key); err != nil {
		f.state.ledger.size, f.state.ledger.isLate = 0, true
		f.retry = true
		f.trouble(hal.Trouble{
			Where: r.o.CacheDir,
			Problem: "cannot write the ledger of manifests; until it is written, new and changed manifests may not " +
				"count, and a bad or missing file may hold back more pods: " + err.Error() + "; " +
				hal.DiskAdvice(r.o.CacheDir, err),
		})
		return false
	}
	for name, line := range l.Files { // the order does not matter
		now.lines.set(name, line)
	}
	for _, name := range l.Gone {
		now.lines.drop(name)
	}
	now.isThere, now.isLate, now.lostRecord = true, false, l.LostRecord
	now.kept, now.keptIn = l.Kept, l.KeptIn
	f.state.ledger = now
	return true
}

// writes changes the ledger on the disk: by a line with the difference, or as a whole.
func (r reader) writes(now *book, l ledgerLine, key string) error {
	at := path.Join(r.o.CacheDir, ledger)
	line, err := json.Marshal(l)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	size, long := now.size+int64(len(line)), int64(len(line)) > now.first/2+moreLines
	is, appends := now.is, now.key == key && now.size > 0 && size <= 2*now.first+moreLines && !long
	if now.is = (hal.Info{}); appends && r.ledgerIs() == is {
		err = r.h.Files.WriteAt(r.call, at, now.size, line)
		if err == nil {
			err = r.h.Files.Sync(r.call, at)
		}
		if err == nil {
			now.size, now.is, now.sum = size, r.ledgerIs(), crc32.Update(now.sum, crc32.IEEETable, line)
			return nil
		}
	}
	all := maps.Collect(now.lines.all())
	maps.Copy(all, l.Files)
	for _, name := range l.Gone {
		delete(all, name)
	}
	l.Owner, l.Key, l.Files, l.Gone = r.owner, []byte(key), all, nil
	if line, err = json.Marshal(l); err != nil {
		return err
	}
	line = append(line, '\n')
	if err = r.keep(ledger, line); err == nil {
		now.first, now.size, now.is = int64(len(line)), int64(len(line)), r.ledgerIs()
		now.sum, now.owner, now.key = crc32.ChecksumIEEE(line), r.owner, key
	}
	return err
}

// ledgerIs is the file of the ledger, zero if nobody can look.
func (r reader) ledgerIs() hal.Info {
	info, err := r.h.Tree.Stat(r.call, path.Join(r.o.CacheDir, ledger))
	if err != nil {
		return hal.Info{}
	}
	return info
}
