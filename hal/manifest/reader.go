package manifest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

const (
	maxFiles  = 10_000
	copyMode  = 0o600
	cacheMode = 0o700
	writable  = 0o022 // by group or others
	// maxChanges is after how many readings a file that is another one each time counts as bad: nobody waits for it any
	// longer.
	maxChanges = 25
)

// background is what an Await of a task waits under: the owner answers at once, or the run is over for all.
func background() context.Context { return context.Background() }

// reader reads the directory once, in a task.
type reader struct {
	h        hal.Host
	o        Options
	owner    Owner
	call     hal.Call
	before   state
	accepted accepted
	left     []string
	isBare   bool
	packs    map[string]pack // those that were read
	changed  question
	ours     question // about the cache directory
	isWhole  bool     // it looks at everything
	isVague  bool     // it looks for all that is to be in the cache directory
	asked    hal.Info // the ledger as it was written before the last inspection
	compares bool     // what the ledger says is compared
	lost     []string // what is to be there and is not
}

// finding is what one reading came to.
type finding struct {
	state       state
	troubles    []hal.Trouble
	synced      bool // all that exists is in state
	unconfirmed bool // something has changed and must be read again before it counts
	retry       bool // something could not be read, and no notice comes when it can
	whole       bool // the next reading is to look at everything
	isVague     bool // whether the copies are there could not be seen
}

// begin is what a reading has found before it looks at any manifest.
func (r reader) begin() finding {
	isAside := func(t hal.Trouble) bool { return strings.HasPrefix(t.Where, r.o.CacheDir+aside) }
	f := finding{state: r.before.begin(), isVague: r.isVague}
	f.retry = r.isVague || slices.ContainsFunc(r.before.ownTroubles, func(t hal.Trouble) bool { return !isAside(t) })
	f.troubles = slices.Clone(r.before.ownTroubles)
	f.state.ownTroubles = slices.DeleteFunc(slices.Clone(r.before.ownTroubles), func(t hal.Trouble) bool {
		want := hal.TypeFile
		if t.Where == r.o.CacheDir {
			want = hal.TypeDirectory
		}
		is, err := r.h.Tree.Stat(r.call, t.Where)
		return err == nil && is.Type == want && !isAside(t) || hal.Is(err, syscall.ENOENT)
	})
	f.state.miss(r.lost)
	return f
}

func (f *finding) trouble(t hal.Trouble) { f.troubles = append(f.troubles, t) }

func (r reader) read() finding {
	names, isAny := r.changed()
	if !r.before.loaded {
		loaded, err := r.load()
		if err != nil {
			f := finding{retry: true, whole: true}
			f.trouble(hal.Trouble{
				Where: r.o.CacheDir,
				Problem: "cannot read the last good copies of manifests; no manifest counts until then: " +
					err.Error() + "; " + hal.DiskAdvice(r.o.CacheDir, err),
			})
			return f
		}
		r.before = loaded
	}
	r.look(r.isWhole || isAny || !r.before.served)
	if !r.isWhole && !isAny && r.before.served {
		if f, ok := r.readSome(names); ok {
			return f
		}
	}
	r.isWhole = true
	return r.readAll()
}

// readAll looks at everything.
func (r reader) readAll() finding {
	names, passed, here, problem := r.list()
	f := r.begin()
	if problem != "" {
		f.state.in, f.retry, f.whole = dirID{}, true, true
		f.trouble(hal.Trouble{Where: r.o.Dir, Problem: problem})
		return f
	}
	f.state.in, f.state.passed = here, passed
	texts := map[string][]byte{}
	for _, name := range names {
		r.file(&f, name, texts)
	}
	for _, name := range slices.Sorted(maps.Keys(r.before.files.base)) {
		if _, listed := slices.BinarySearch(names, name); !listed {
			r.absent(&f, name)
		}
	}
	for name := range r.before.seen.base { // the order does not matter
		if !f.state.files.has(name) {
			f.state.seen.drop(name)
		}
	}
	f.state.spares = nil
	r.count(&f, texts)
	f.whole = f.whole || f.unconfirmed // what it has found is confirmed by another such reading
	return f
}

// readSome looks at the files that have changed, and at the restless ones. It is not ok if that is not enough.
func (r reader) readSome(changed []string) (f finding, ok bool) {
	here, problem := r.directory()
	if problem != "" || here != r.before.in {
		return f, false
	}
	f = r.begin()
	names := f.state.restlessly()
	for _, name := range changed {
		if manifest(name) {
			names = append(names, name)
		} else if !strings.HasPrefix(name, ".") && !r.passes(&f, name) {
			return f, false
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if r.before.files.len()+len(names) > maxFiles {
		return f, false
	}
	texts := map[string][]byte{}
	for _, name := range names {
		r.file(&f, name, texts)
	}
	if again, problem := r.directory(); problem != "" || again != here || f.whole {
		return f, false
	}
	r.count(&f, texts)
	return f, true
}

// passes takes in whether a name that is no manifest's is there. False says that nobody knows.
func (r reader) passes(f *finding, name string) bool {
	_, err := r.h.Tree.Stat(r.call, r.path(name))
	switch {
	case err == nil:
		f.state.passed = with(f.state.passed, name)
	case hal.Is(err, syscall.ENOENT):
		f.state.passed = without(f.state.passed, name)
	default:
		return false
	}
	return true
}

// count puts the files together, and keeps what counts now for the next run.
func (r reader) count(f *finding, texts map[string][]byte) {
	isUnknown := r.holdsBack(f)
	restless := f.state.restlessly()
	for _, name := range restless {
		this := f.state.files.of(name)
		isUnknown = isUnknown || this.problem != "" && (this.lost || f.state.lostRecord && !this.known)
	}
	accepts := r.o.AcceptsAnyDirectory || r.accepted.in.is(f.state.in)
	troubles := f.state.resolve(resolver{o: r.o, keepAll: isUnknown, left: r.left, accepts: accepts}, f.state.unresolved())
	f.state.lostRecord = f.state.lostRecord || r.losesPod(f)
	isUnknown = isUnknown || f.state.lostRecord && f.state.isUndecided()
	f.state.served = true
	f.unconfirmed = f.unconfirmed || len(f.state.going) > 0 // the next reading finds who has their names
	if f.state.unnamed = r.unnamed(f); len(f.state.unnamed) > 0 {
		isUnknown = true
		if f.unconfirmed { // their manifests may be there, and not be read yet
			f.state.unnamed = nil
		} else {
			troubles = append(troubles, r.troublesOfPods(f.state.unnamed)...)
			f.retry = f.retry || slices.ContainsFunc(f.state.unnamed, isPath) // somebody may have looked by then
		}
	}
	if f.synced = !isUnknown && !f.unconfirmed; f.synced {
		f.state.lostRecord = false
	}
	r.copies(f, texts)
	isKnown := f.state.isListed() || r.unlists(f)
	for _, name := range f.state.restlessly() {
		if this := f.state.files.of(name); this.problem+this.warning != "" {
			f.trouble(r.troubleOf(name, this))
		}
	}
	for _, disputes := range f.state.disputes.all() {
		f.troubles = append(f.troubles, disputes...)
	}
	f.troubles = append(f.troubles, troubles...)
	if !isKnown { // nothing new counts before
		before := r.begin().state
		before.seen, before.ledger = f.state.seen, f.state.ledger
		before.keeping, before.wrote = f.state.keeping, f.state.wrote
		f.state, f.synced, f.whole = before, false, true
	}
}

// list names the manifests and what is passed over, sorted, and says which directory holds them.
func (r reader) list() (names, passed []string, here dirID, problem string) {
	if here, problem = r.directory(); problem != "" {
		return nil, nil, here, problem
	}
	entries, err := r.h.Tree.List(r.call, r.o.Dir)
	if err != nil {
		return nil, nil, dirID{}, err.Error() + staysUp + "; it tries again"
	}
	if info, err := r.h.Tree.Stat(r.call, r.o.Dir); err != nil || !here.is(dirOf(info, here.Boot)) {
		return nil, nil, here, "was replaced while volnode read it; volnode reads it again"
	}
	for _, e := range entries {
		switch {
		case manifest(e.Name):
			names = append(names, e.Name)
		case !strings.HasPrefix(e.Name, "."):
			passed = append(passed, e.Name)
		}
	}
	if len(names) > maxFiles {
		return nil, nil, here, fmt.Sprintf("holds %d manifests; the limit is %d", len(names), maxFiles)
	}
	slices.Sort(names)
	slices.Sort(passed)
	return names, passed, here, ""
}

// manifest says whether a name is a manifest's. A name of that form that is no regular file is an error.
func manifest(name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") {
		return false
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// insecure says who else could write what is to be trusted.
func insecure(i hal.Info, at string) string {
	switch {
	case i.UID != 0:
		return fmt.Sprintf("belongs to user %d, not to root; run chown root %s", i.UID, at)
	case i.Mode&writable != 0:
		return fmt.Sprintf("is writable by users other than root (mode %04o); run chmod go-w %s", i.Mode&0o7777, at)
	}
	return ""
}

// manifest reads the content of a manifest.
func (r reader) manifest(name string) ([]byte, error) {
	info, err := r.h.Tree.Stat(r.call, r.path(name))
	if err != nil {
		return nil, err
	}
	return r.content(name, info)
}

// content is manifest for a file that was looked at.
func (r reader) content(name string, info hal.Info) ([]byte, error) {
	file := r.path(name)
	refused := &hal.Error{Op: "read", Object: file, Class: hal.ClassFile, Outcome: hal.NotDone, Errno: syscall.EPERM}
	switch {
	case info.MountPoint:
		refused.Detail = "is a mount point, not a regular file; unmount it"
		return nil, refusal{refused}
	case info.Type != hal.TypeFile:
		refused.Detail = "is a " + info.Type.String() +
			", not a regular file; put the manifest itself there, or remove it"
		refused.Errno = errnoOf[info.Type]
		return nil, refusal{refused}
	case insecure(info, file) != "":
		refused.Detail = insecure(info, file)
		return nil, refusal{refused}
	}
	return r.h.Files.Read(r.call, file, maxFile)
}

// refusal is an error of a file that volnode could read but must not. Whoever shows it adds the path.
type refusal struct{ is *hal.Error }

func (r refusal) Error() string { return r.is.Detail }
func (r refusal) Unwrap() error { return r.is }

// errnoOf separates types that never hold a manifest from a link, which may lead to one.
var errnoOf = map[hal.FileType]syscall.Errno{
	hal.TypeDirectory: syscall.EISDIR, hal.TypeSocket: syscall.EINVAL, hal.TypeBlockDevice: syscall.EINVAL,
	hal.TypeCharDevice: syscall.EINVAL,
	hal.TypeFIFO:       syscall.EINVAL, hal.TypeOther: syscall.EINVAL, hal.TypeSymlink: syscall.ELOOP,
}

// news reads the content of a manifest, except of a quiet one that has not changed since its content was read last.
func (r reader) news(f *finding, name string) (data []byte, isSame bool, err error) {
	info, err := r.h.Tree.Stat(r.call, r.path(name))
	if err != nil {
		f.whole = f.whole || !r.isWhole && !hal.Is(err, syscall.ENOENT) // only a list shows whether it is there
		return nil, false, err
	}
	last, isRead := r.before.readings.get(name)
	isRead = isRead && last.info == info
	if isRead && last.isOldEnough && f.state.files.of(name).isQuiet() {
		f.state.readings.set(name, last)
		return nil, true, nil
	}
	if data, err = r.content(name, info); err == nil && info.Changed != 0 {
		this := reading{info: info, since: r.h.Runtime.Now()}
		if isRead {
			this.since, this.isOldEnough = last.since, this.since.Sub(last.since) >= mtimeSlack
		}
		f.state.readings.set(name, this)
	}
	return data, false, err
}

// file reads one manifest and decides what counts of it. What it may have held since two readings agreed last is not
// forgotten before two agree again.
func (r reader) file(f *finding, name string, texts map[string][]byte) {
	before := f.state.is(name)
	f.state.readings.drop(name)
	f.state.seen.drop(name)
	data, isSame, err := r.news(f, name)
	switch {
	case isSame && before.in == f.state.in:
		return
	case isSame:
		before.in = f.state.in
		f.state.put(name, before)
		return
	case hal.Is(err, syscall.ENOENT):
		r.absent(f, name) // it went after it was listed
		return
	}
	now := sum(sha256.Sum256(data))
	if was, isOurs := f.state.files.get(name); isOurs && err == nil && was.isQuiet() && was.changes == 0 &&
		now == was.sum && was.in == f.state.in {
		return // nothing is to be said of it
	}
	before.missing, before.going, before.in = false, false, f.state.in
	if err != nil {
		now = sha256.Sum256([]byte("unreadable: " + err.Error()))
	}
	seen, ok := r.before.seen.get(name)
	agrees := ok && seen == now
	if agrees {
		before.texts, before.opaque = nil, false
	}
	if err != nil {
		f.retry = true
		f.state.seen.set(name, now)
		before.opaque = before.opaque || !hal.Is(err, syscall.EISDIR) && !hal.Is(err, syscall.EINVAL)
		before.problem = err.Error()
		f.state.put(name, before)
		return
	}
	if before.known && now == before.sum && !before.lost {
		before.problem, before.warning, before.changes = "", "", 0
		if len(before.texts) > 0 || before.opaque {
			f.unconfirmed = true
			f.state.seen.set(name, now)
		}
		texts[name] = data
		f.state.put(name, before)
		return
	}
	before.texts = append(slices.Clone(before.texts), r.o.Memo.textOf(data))
	// It stays in seen: a bad file is not unsettled as long as it is bad in the same way.
	f.state.seen.set(name, now)
	if !agrees {
		if before.changes++; before.changes > maxChanges {
			f.retry = true
			before.problem = "changes at each reading"
			before.texts, before.opaque = before.texts[len(before.texts)-1:], true
			f.state.put(name, before)
			return
		}
		f.unconfirmed = true
		f.state.put(name, before) // not known, if it is new
		return
	}
	before.changes = 0
	this := r.understood(before, name, data)
	if this.problem == "" {
		texts[name] = data
	}
	f.state.put(name, this)
}

// understood is what a content comes to that two readings have found: a good file, or the one before with a problem.
func (r reader) understood(before file, name string, data []byte) file {
	content, err := r.o.decodeNew(name, data)
	if err != nil {
		before.problem = err.Error()
		return before
	}
	if before.known {
		if former, err := r.copy(name, before.pack); err == nil && isBeginning(data, former) {
			before.problem = "ends within a document and is a beginning of its former content: it looks half " +
				"written. If it is complete, add a line to its end"
			before.opaque = true
			return before
		}
	}
	good := fileOf(content, sha256.Sum256(data))
	good.form = formOf(content, good.sum)
	good.in, good.pack, good.packSize, good.alone = before.in, before.pack, before.packSize, before.alone
	return good
}

// absent decides what it means that a manifest is not there any more. In the directory in which it was seen last, it
// was removed, once two readings agree; another directory says nothing of it.
func (r reader) absent(f *finding, name string) {
	before, isKnown := f.state.files.get(name)
	f.state.readings.drop(name)
	if f.state.seen.drop(name); !isKnown {
		return
	}
	before.going = false
	accepted := r.o.AcceptsAnyDirectory || r.accepted.in.is(f.state.in) && slices.Contains(r.accepted.files, name)
	mayMatter := before.known || before.lost || before.problem != "" && len(before.texts) > 0 || before.isOpaque()
	if mayMatter && !accepted && !before.in.is(f.state.in) { // if it was bad, it may hold what it might have held there
		before.missing = true
		if before.in != (dirID{}) {
			before.was = before.in
		}
		before.problem = r.strays(f.state.in, before)
		f.state.put(name, before)
		return
	}
	if before.missing { // somebody has accepted that it is gone: it is no trouble any more
		before.missing, before.problem = false, ""
	}
	if last, ok := r.before.seen.get(name); !ok || last != (sum{}) {
		before.going = true
		f.state.put(name, before)
		f.state.seen.set(name, sum{})
		f.unconfirmed = true
		return
	}
	if before.isGone = before.lost && !accepted; before.isGone {
		f.state.put(name, before)
		f.state.seen.set(name, sum{})
		return
	}
	f.state.forget(name)
}

func fileOf(c content, s sum) file {
	return file{known: true, sum: s, objects: c.objects}
}
