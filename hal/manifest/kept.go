package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file writes down, for the next run, the objects that are kept though no manifest has them any more. No copy of a
// manifest has them either.

const (
	// kept is the file's name, which no manifest has. It has a line of JSON for each object, and then one with their
	// checksum.
	kept = ".kept.json"
	// maxKept bounds what is read of it.
	maxKept = 1 << 30
)

// loadKept reads what the last run kept. If the file is damaged, or has less than the ledger says, nothing is torn down
// while any manifest is bad, and what was up waits for a person.
func (r reader) loadKept(s *state) error {
	data, err := r.h.Files.Read(r.call, path.Join(r.o.CacheDir, kept), maxKept)
	if err != nil && !isNoFile(err) {
		return err
	}
	s.keeping = data
	var c content
	lines, isWhole := summed(data, s.ledger.owner == Owner{})
	isDamaged := err != nil && !hal.Is(err, syscall.ENOENT) || !isWhole
	if !isWhole {
		lines = nil // any of it may be of an object that never was
	}
	for line := range bytes.Lines(lines) {
		if o, is := keptContent(line); is {
			c.objects = append(c.objects, o)
			continue
		}
		isDamaged = c.add(r.o.NodeName, &document{json: line}) != nil || isDamaged
	}
	if isDamaged || len(c.objects) < s.ledger.kept {
		s.lostRecord = true
		r.reportOwn(s, kept, err)
	}
	for i := range c.objects {
		c.objects[i].keptIn = s.ledger.keptIn
		s.objects.set(c.objects[i].id, c.objects[i])
	}
	s.kept, s.wrote = c.objects, c.objects
	return nil
}

// contentLine is a Secret, a ConfigMap or a ClusterTrustBundle that is kept, without what it holds.
type contentLine struct {
	Content id                `json:"content"`
	Sum     []byte            `json:"contentSum"`
	Signer  string            `json:"signer,omitempty"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// keptContent reads a contentLine.
func keptContent(line []byte) (object, bool) {
	var l contentLine
	if json.Unmarshal(line, &l) != nil || l.Content == (id{}) || len(l.Sum) != sha256.Size {
		return object{}, false
	}
	o := &hal.Content{
		Kind: l.Content.Kind, Namespace: l.Content.Namespace, Name: l.Content.Name, UID: l.Content.UID, Signer: l.Signer,
		Labels: l.Labels,
	}
	return object{id: l.Content, value: o, sum: [sha256.Size]byte(l.Sum)}, true
}

// dropSuperseded drops objects from copies that are older than what counted: a kept object has their name or their uid,
// and counted later. Their manifests say what counts now.
func (s *state) dropSuperseded() {
	for _, o := range s.kept {
		for _, key := range []id{byName(o.id), byUID(o.id)} {
			for _, name := range s.holders.of(key) {
				if f := s.files.of(name); f.lost {
					f.objects = slices.DeleteFunc(slices.Clone(f.objects), func(other object) bool {
						return other.id != o.id && (byName(other.id) == key || byUID(other.id) == key)
					})
					s.put(name, f)
				}
			}
		}
	}
}

// summed is the lines before the checksum, and whether it is theirs. The file of an earlier version has none.
func summed(data []byte, isEarlier bool) (lines []byte, isWhole bool) {
	at := bytes.LastIndexByte(bytes.TrimSuffix(data, []byte("\n")), '\n') + 1
	if last := data[at:]; bytes.HasPrefix(last, []byte(sumOf)) {
		return data[:at], bytes.Equal(last, sumLine(data[:at]))
	}
	return data, isEarlier || len(data) == 0
}

// sumOf begins the line with the checksum.
const sumOf = `{"sum":`

func sumLine(lines []byte) []byte {
	return fmt.Appendf(nil, "%s%d}\n", sumOf, crc32.ChecksumIEEE(lines))
}

// uncopied is what is served of files without a copy of what counts in them: the disk failed, and the file may have
// changed since.
func (s *state) uncopied() (all []object) {
	for _, name := range s.restlessly() {
		if f := s.files.of(name); f.known && !f.copied {
			all = append(all, slices.DeleteFunc(slices.Clone(f.objects), func(o object) bool {
				_, isServed := s.objects.get(o.id)
				return !isServed
			})...)
		}
	}
	return all
}

// keptUntil is what is kept until the copies and the ledger have it: what was kept so far, what is now, what has no
// copy, and, if several files change, what they held: while some of their copies are old and some are new, an object
// that moved or changed its name may be in none of them.
func (r reader) keptUntil(f *finding) (all []object) {
	objects := map[id]object{}
	for _, o := range slices.Concat(r.before.wrote, f.state.kept, r.before.uncopied()) {
		objects[o.id] = o
	}
	changes, former := 0, []object(nil)
	for _, name := range f.state.touched() {
		this, isOurs := f.state.files.get(name)
		if before := r.before.files.of(name); isOurs && this.known && !this.copied || !isOurs && before.known {
			changes++
			former = append(former, before.objects...)
		}
	}
	for _, o := range former {
		if _, served := r.before.objects.get(o.id); served && changes > 1 {
			objects[o.id] = o
		}
	}
	for _, key := range inOrder(objects) {
		all = append(all, objects[key])
	}
	return all
}

// keepsKept writes what is kept, if it has changed.
func (r reader) keepsKept(f *finding, objects []object) bool {
	var data bytes.Buffer
	for _, o := range objects {
		var text []byte
		var err error
		if c, is := o.value.(*hal.Content); is {
			text, err = json.Marshal(contentLine{o.id, o.sum[:], c.Signer, c.Labels})
		} else {
			text, err = json.Marshal(o.value)
		}
		if err != nil {
			continue // it was decoded from JSON
		}
		data.Write(text)
		data.WriteByte('\n')
	}
	if data.Len() > 0 {
		data.Write(sumLine(data.Bytes()))
	}
	if bytes.Equal(data.Bytes(), f.state.keeping) {
		return true
	}
	var err error
	if data.Len() > 0 {
		err = r.keep(kept, data.Bytes())
	} else {
		err = r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, kept))
		if err == nil {
			err = r.h.Files.Sync(r.call, r.o.CacheDir)
		}
	}
	if err != nil && !hal.Is(err, syscall.ENOENT) {
		f.retry = true
		f.trouble(hal.Trouble{
			Where: r.o.CacheDir,
			Problem: "cannot save the state of pods whose manifests have changed or are bad; such changes may not " +
				"count until it is saved: " + err.Error() + "; " +
				hal.DiskAdvice(r.o.CacheDir, err),
		})
		return false
	}
	f.state.keeping, f.state.wrote = data.Bytes(), objects
	return true
}

// holdsBack decides about files that are gone and of whose objects an earlier run knew more: what they held may have
// been moved to a file that is bad. So they are not forgotten while there is one, and nothing is torn down. It reports
// whether that is so.
func (r reader) holdsBack(f *finding) bool {
	isAnyBad := false
	var gone []string
	for _, name := range f.state.restlessly() {
		switch this := f.state.files.of(name); {
		case this.isGone:
			gone = append(gone, name)
		case this.problem != "" && (this.isOpaque() || len(this.texts) > 0):
			isAnyBad = true
		}
	}
	for _, name := range gone {
		this := f.state.files.of(name)
		this.problem = ""
		switch { // what it held, as far as that is known, is in no file any more
		case isAnyBad:
			this.problem = "is gone, and volnode does not know all that it held: a manifest that is bad may hold " +
				"that now"
			fallthrough
		case f.unconfirmed:
			this.known, this.objects = false, nil
			f.state.put(name, this)
		default:
			f.state.forget(name)
			f.state.seen.drop(name)
		}
	}
	return (isAnyBad || f.unconfirmed) && len(gone) > 0
}

// losesPod reports whether a file has just come to count whose copy is lost, and a pod of before this run is in no good
// manifest: that file may have held it, and it may be in one that is bad now, or be kept for an object that does not
// count.
func (r reader) losesPod(f *finding) bool {
	isRead := func(name string) bool { return !f.state.files.of(name).lost }
	isDisputed := func(name string) bool { return isRead(name) && len(f.state.files.of(name).refused) > 0 }
	isBad := func(name string) bool {
		this := f.state.files.of(name)
		return this.problem != "" && (this.opaque || len(this.texts) > 0) // its uid may be made of a name in it
	}
	lost := r.before.lost()
	mayBeThere := slices.ContainsFunc(lost, isRead) && slices.ContainsFunc(f.state.restlessly(), isBad) ||
		slices.ContainsFunc(lost, isDisputed)
	return mayBeThere &&
		slices.ContainsFunc(r.left, func(uid string) bool { return !f.state.hasPod(uid) })
}

// unnamed returns the pods of before this run that no manifest names, if what an earlier run knew of the manifests is
// lost, or was never there: another agent's root directory was taken over. Nothing says that they were removed: the
// directory may be another one than it was, or not be mounted.
func (r reader) unnamed(f *finding) (uids []string) {
	for _, uid := range r.left {
		if f.state.lostRecord && !f.state.hasPod(uid) {
			uids = append(uids, uid)
		}
	}
	return uids
}
