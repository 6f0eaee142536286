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
	// maxChanges is after how many readings a file that is another one each time counts as bad: nobody waits for it any longer.
	maxChanges = 25
)

// background is what an Await of a task waits under: the owner answers at once, or the run is over for all.
func background() context.Context { return context.Background() }

// reader reads the directory once, in a task.
type reader struct {
	h        hal.Host
	o        Options
	call     hal.Call
	before   state
	accepted accepted
	recorded []string
	isBare   bool
	packs    map[string]pack // those that were read
	ours     listing         // of the cache directory, as this reading began
}

// finding is what one reading came to.
type finding struct {
	state     state
	troubles  []hal.Trouble
	passed    []string // names in the directory that are no manifest's, sorted; those that begin with a dot are nobody's business
	listed    bool     // passed is known
	synced    bool     // all that exists is in state
	unsettled bool     // something has changed and must be read again before it counts
	retry     bool     // something could not be read, and nobody will tell when it can
}

func (f *finding) trouble(t hal.Trouble) { f.troubles = append(f.troubles, t) }

func (r reader) read() finding {
	if !r.before.loaded {
		loaded, err := r.load()
		if err != nil {
			f := finding{retry: true}
			f.trouble(hal.Trouble{Where: r.o.CacheDir, Problem: "the last good copies of manifests cannot be read, and are tried again; no manifest counts before: " + err.Error()})
			return f
		}
		r.before = loaded
	}
	r.ours = r.listsOurs()
	r.before, _ = r.before.without(r.ours)
	names, passed, here, problem := r.list()
	if problem != "" {
		f := finding{state: r.before, retry: true}
		f.state.in = dirID{}
		f.trouble(hal.Trouble{Where: r.o.Dir, Problem: problem})
		return f
	}
	f := finding{state: r.before, passed: passed, listed: true}
	f.state.spares = nil
	f.state.in, f.state.files, f.state.seen, f.state.readings = here, map[string]file{}, map[string]sum{}, map[string]reading{}
	texts := map[string][]byte{}
	for _, name := range names {
		r.file(&f, name, texts)
	}
	for _, name := range slices.Sorted(maps.Keys(r.before.files)) {
		if _, listed := slices.BinarySearch(names, name); !listed {
			r.absent(&f, name)
		}
	}
	r.count(&f, texts)
	return f
}

// count puts the files together, and keeps what counts now for the next run.
func (r reader) count(f *finding, texts map[string][]byte) {
	isUnknown := false
	for _, this := range f.state.files { // the order does not matter
		isUnknown = isUnknown || this.problem != "" && (this.lost || f.state.blind && !this.known)
	}
	troubles := f.state.resolve(resolver{o: r.o, keepAll: isUnknown})
	f.state.served = true
	if f.state.unnamed = r.unnamed(f); len(f.state.unnamed) > 0 {
		isUnknown = true
		if f.unsettled { // their manifests may be there, and not be read yet
			f.state.unnamed = nil
		} else {
			troubles = append(troubles, r.troubleOfPods(f.state.unnamed))
		}
	}
	if f.synced = !isUnknown && !f.unsettled; f.synced {
		f.state.blind = false
	}
	r.copies(f, texts)
	isKnown := f.state.isListed() || r.unlists(f)
	for _, name := range slices.Sorted(maps.Keys(f.state.files)) {
		if this := f.state.files[name]; this.problem+this.warning != "" {
			f.trouble(r.troubleOf(name, this))
		}
	}
	f.troubles = append(f.troubles, troubles...)
	if !isKnown { // nothing new counts before
		before := r.before
		before.seen, before.keeping, before.ledger, before.listed = f.state.seen, f.state.keeping, f.state.ledger, f.state.listed
		f.state, f.synced = before, false
	}
}

// unnamed returns the pods of an earlier run that no manifest names, if what that run knew of the manifests is lost.
// Nothing says that they were removed: the directory may be another one than it was.
func (r reader) unnamed(f *finding) (uids []string) {
	for _, uid := range r.recorded {
		if f.state.blind && !f.state.hasPod(uid) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// podsOfJournal is where the trouble of pods is that only the journal knows.
const podsOfJournal = "pods of the journal"

func (r reader) troubleOfPods(uids []string) hal.Trouble {
	pods, their, them := "the pods "+some(uids), "their manifests", "them"
	if len(uids) == 1 {
		pods, their, them = "pod "+uids[0], "its manifest", "it"
	}
	return hal.Trouble{Where: podsOfJournal, Accept: true, Problem: "what an earlier run knew of the manifests is lost, and no manifest names " + pods +
		", which that run had volumes for, so nothing is torn down; put " + their + " back into " + r.o.Dir + ", or run 'volnode sources --accept' to have " +
		them + " removed"}
}

// noCopy is said of a manifest that serves from memory alone.
const noCopy = ", and a restart would not find it: no copy of it can be kept before the manifest is good again"

// troubleOf tells of a file that does not count as it is.
func (r reader) troubleOf(name string, this file) hal.Trouble {
	t := hal.Trouble{Where: r.path(name), Problem: this.problem, Accept: this.missing}
	switch {
	case this.missing && this.known && !this.copied:
		t.Problem += noCopy
	case this.missing:
	case this.problem == "":
		t.Problem = this.warning
	case this.known:
		t.Problem += "; its last good content is used meanwhile"
		if !this.copied {
			t.Problem += noCopy
		}
	case this.lost:
		t.Problem += "; what it held before is not known, so nothing is torn down until it is corrected or removed"
	case this.isOpaque():
		t.Problem += "; nothing in it counts, and pods whose manifests disappear are kept until it is corrected or removed"
	case len(this.texts) > 0:
		t.Problem += "; nothing in it counts, and pods that it names and that are up are kept until it is corrected or removed"
	}
	return t
}

// list names the manifests and what is passed over, sorted, and says which directory holds them. A problem is one of the
// directory itself: then nothing is known of what it holds.
func (r reader) list() (names, passed []string, here dirID, problem string) {
	info, err := r.h.Tree.Stat(r.call, r.o.Dir)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return nil, nil, here, "the directory is missing; create it, empty if no pod is wanted"
	case err != nil:
		return nil, nil, here, err.Error()
	case info.Type != hal.TypeDirectory:
		return nil, nil, here, "is a " + info.Type.String() + ", not a directory"
	case insecure(info) != "":
		return nil, nil, here, insecure(info)
	}
	entries, err := r.h.Tree.List(r.call, r.o.Dir)
	if err != nil {
		return nil, nil, here, err.Error()
	}
	here = dirOf(info, r.h.Runtime.BootID())
	if info, err = r.h.Tree.Stat(r.call, r.o.Dir); err != nil || !here.is(dirOf(info, here.Boot)) {
		return nil, nil, here, "was replaced while it was read; it is read again"
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
		return nil, nil, here, fmt.Sprintf("holds %d manifests, and %d are allowed", len(names), maxFiles)
	}
	slices.Sort(names)
	slices.Sort(passed)
	return names, passed, here, ""
}

// manifest says whether a name is a manifest's. What has such a name and is no regular file is refused aloud.
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
func insecure(i hal.Info) string {
	switch {
	case i.UID != 0:
		return fmt.Sprintf("belongs to user %d, not to root; run chown root", i.UID)
	case i.Mode&writable != 0:
		return fmt.Sprintf("may be written by others than root (mode %04o); run chmod go-w", i.Mode&0o7777)
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
		refused.Detail = "is a " + info.Type.String() + ", not a regular file; put the manifest itself there, or remove it"
		refused.Errno = errnoOf[info.Type]
		return nil, refusal{refused}
	case insecure(info) != "":
		refused.Detail = insecure(info)
		return nil, refusal{refused}
	}
	return r.h.Files.Read(r.call, file, maxFile)
}

// refusal is an error of a file that could be read and is not to be. Where it is, is told with it.
type refusal struct{ is *hal.Error }

func (r refusal) Error() string { return r.is.Detail }
func (r refusal) Unwrap() error { return r.is }

// errnoOf tells types that hold no manifest, whatever somebody moves there, from a link, which may lead to one.
var errnoOf = map[hal.FileType]syscall.Errno{
	hal.TypeDirectory: syscall.EISDIR, hal.TypeSocket: syscall.EINVAL, hal.TypeBlockDevice: syscall.EINVAL, hal.TypeCharDevice: syscall.EINVAL,
	hal.TypeFIFO: syscall.EINVAL, hal.TypeOther: syscall.EINVAL, hal.TypeSymlink: syscall.ELOOP,
}

// changed reads the content of a manifest, but for that of a quiet one that is as it was when its content was read last.
func (r reader) changed(f *finding, name string) (data []byte, isSame bool, err error) {
	info, err := r.h.Tree.Stat(r.call, r.path(name))
	if err != nil {
		return nil, false, err
	}
	last, isRead := r.before.readings[name]
	isRead = isRead && last.info == info
	if isRead && last.isSettled && r.before.files[name].isQuiet() {
		f.state.readings[name] = last
		return nil, true, nil
	}
	if data, err = r.content(name, info); err == nil && info.Changed != 0 {
		this := reading{info: info, since: r.h.Runtime.Now()}
		if isRead {
			this.since, this.isSettled = last.since, this.since.Sub(last.since) >= settles
		}
		f.state.readings[name] = this
	}
	return data, false, err
}

// file reads one manifest and decides what counts of it. What it may have held since two readings agreed last is not forgotten before two agree again.
func (r reader) file(f *finding, name string, texts map[string][]byte) {
	before := r.before.of(name)
	data, isSame, err := r.changed(f, name)
	switch {
	case isSame:
		before.in = f.state.in
		f.state.files[name] = before
		return
	case hal.Is(err, syscall.ENOENT):
		r.absent(f, name) // it went after it was listed
		return
	}
	before.missing, before.going, before.in = false, false, f.state.in
	now := sum(sha256.Sum256(data))
	if err != nil {
		now = sha256.Sum256([]byte("unreadable: " + err.Error()))
	}
	seen, ok := r.before.seen[name]
	agrees := ok && seen == now
	if agrees {
		before.texts, before.opaque = nil, false
	}
	if err != nil {
		f.retry = true
		f.state.seen[name] = now
		before.opaque = before.opaque || !hal.Is(err, syscall.EISDIR) && !hal.Is(err, syscall.EINVAL)
		before.problem = err.Error()
		f.state.files[name] = before
		return
	}
	if before.known && now == before.sum && !before.lost {
		before.problem, before.warning, before.changes = "", "", 0
		if len(before.texts) > 0 || before.opaque {
			f.unsettled, f.state.seen[name] = true, now
		}
		texts[name], f.state.files[name] = data, before
		return
	}
	before.texts = append(slices.Clone(before.texts), textOf(data))
	// It stays in seen: a bad file is not unsettled as long as it is bad in the same way.
	f.state.seen[name] = now
	if !agrees {
		if before.changes++; before.changes > maxChanges {
			f.retry = true
			before.problem = "is another one at each reading"
			before.texts, before.opaque = before.texts[len(before.texts)-1:], true
			f.state.files[name] = before
			return
		}
		f.unsettled = true
		f.state.files[name] = before // not known, if it is new
		return
	}
	before.changes = 0
	content, err := decodeNew(r.o.NodeName, name, data)
	if err != nil {
		before.problem = err.Error()
		f.state.files[name] = before
		return
	}
	if before.known {
		if former, err := r.copy(name, before.pack); err == nil && isBeginning(data, former) {
			before.problem = "ends within a document, as what it was before began: it looks half written. If that is meant, add a line to its end"
			before.opaque = true
			f.state.files[name] = before
			return
		}
	}
	good := fileOf(content, now)
	good.in, good.pack, good.packSize = f.state.in, before.pack, before.packSize
	texts[name], f.state.files[name] = data, good
}

// absent decides what it means that a manifest is not there any more. In the directory in which it was seen last, it was removed, once two readings
// agree; another directory says nothing of it.
func (r reader) absent(f *finding, name string) {
	before := r.before.files[name]
	before.going = false
	accepted := r.o.AcceptsAnyDirectory || r.accepted.in.is(f.state.in) && slices.Contains(r.accepted.files, name)
	mayMatter := before.known || before.lost || before.problem != "" && len(before.texts) > 0 || before.isOpaque()
	if mayMatter && !accepted && !before.in.is(f.state.in) { // if it was bad, it may hold what it might have held there
		before.missing = true
		if before.in != (dirID{}) {
			before.was = before.in
		}
		here, was := f.state.in.String(), before.was.String()
		switch {
		case before.was == (dirID{}): // an earlier version has not written it down
			was = ""
		case was == here:
			was = " (the same, made or mounted another time)"
		default:
			was = " (" + was + ")"
		}
		before.problem = "is not there, but the directory is another one (" + here + ") than the one in which it was seen last" + was + r.served(before) +
			"; mount or restore that directory (findmnt -T " + r.o.Dir + " shows what is mounted there), or " + acceptIt
		f.state.files[name] = before
		return
	}
	if before.missing { // somebody has accepted that it is gone: it is no trouble any more
		before.missing, before.problem = false, ""
	}
	if last, ok := r.before.seen[name]; !ok || last != (sum{}) {
		before.going = true
		f.state.files[name] = before
		f.state.seen[name] = sum{}
		f.unsettled = true
	}
}

// served names what a file that is missing keeps up.
func (r reader) served(f file) string {
	pods := f.pods()
	switch {
	case !f.known && !f.lost:
		return "; it could not be understood there and may hold pods whose manifests are gone, so those are kept"
	case len(pods) == 0:
		return ", so it still counts"
	}
	verb := " stay up"
	if len(pods) == 1 {
		verb = " stays up"
	}
	return ", so it still counts: " + some(pods) + verb
}

// some names the first of many.
func some(names []string) string {
	more := ""
	if n := len(names) - 3; n > 0 {
		names, more = names[:3], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}

func fileOf(c content, s sum) file {
	return file{known: true, sum: s, objects: c.objects, secrets: slices.Sorted(maps.Keys(c.secrets))}
}
