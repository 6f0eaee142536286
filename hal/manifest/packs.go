package manifest

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file keeps the copies of manifests that change together in one file, a pack: one write and one sync serve all.
// Their forms lie beside them. The ledger says which copies lie in a pack. What else is in it is of the past, and
// counts for nothing. Without a ledger the newest copy serves a manifest that is there and is bad, and no copy serves
// one that is not there.

const (
	// packed begins the names of packs. No manifest has such a name.
	packed = ".pack-"
	// mostAlone is how many copies are written each by itself.
	mostAlone = 3
	// A pack is full once it has so many copies, or so many bytes.
	packCopies, packBytes = 256, 1 << 20
	// maxPack bounds what is read of one, which is written in base64.
	maxPack = 2 * (packBytes + 2*maxFile)
)

// pack is copies, and their forms, by the names of their manifests.
type pack struct {
	copies, forms map[string][]byte
	isDamaged     bool // somebody has changed it
}

// size is how many copies were written into a pack. One that somebody has changed counts as one of which most is of the
// past: what is still good in it moves out, see scattered.
func (p pack) size() int {
	if p.isDamaged {
		return 3 * packCopies
	}
	return len(p.copies)
}

// copy reads the last good copy of a manifest, which lies in a pack, or by itself if in is "".
func (r reader) copy(name, in string) ([]byte, error) {
	if in == "" {
		return r.h.Files.Read(r.call, path.Join(r.o.CacheDir, name), maxFile)
	}
	p, err := r.pack(in)
	if err != nil {
		return nil, err
	}
	if text, ok := p.copies[name]; ok {
		return text, nil
	}
	const lacks = "the pack of copies does not hold it"
	return nil, &hal.Error{
		Op: "read", Object: name, Class: hal.ClassFile, Outcome: hal.NotDone, Errno: syscall.ENOENT, Detail: lacks,
	}
}

// pack reads a pack, once for all who ask this reader. One that is damaged has nothing.
func (r reader) pack(in string) (pack, error) {
	if p, ok := r.packs[in]; ok {
		return p, nil
	}
	data, err := r.h.Files.Read(r.call, path.Join(r.o.CacheDir, in), maxPack)
	if err != nil {
		return pack{}, err
	}
	p := packOf(data)
	if in != packName(sha256.Sum256(data)) {
		p.forms, p.isDamaged = nil, true // the ledger says which copies are good, and nothing says which forms are
	}
	r.packs[in] = p
	return p, nil
}

// packOf is the JSON of a pack, read in steps: most of a start's reading was json's. What is spelt in another way than
// it is written is left to that.
func packOf(data []byte) pack {
	p := pack{copies: map[string][]byte{}, forms: map[string][]byte{}}
	rest, isPack := bytes.CutPrefix(data, []byte("{"))
	for isPack {
		var name, text []byte
		var hasName, hasText bool
		name, rest, hasName = quoted(rest)
		rest, isPack = bytes.CutPrefix(rest, []byte(":"))
		text, rest, hasText = quoted(rest)
		is, err := base64.StdEncoding.AppendDecode(make([]byte, 0, base64.StdEncoding.DecodedLen(len(text))), text)
		if !isPack || !hasName || !isPlain(name) || !hasText || err != nil {
			break
		}
		if p.add(string(name), is); string(rest) == "}" {
			return p
		}
		rest, isPack = bytes.CutPrefix(rest, []byte(","))
	}
	var all map[string][]byte
	if p = (pack{copies: map[string][]byte{}, forms: map[string][]byte{}}); json.Unmarshal(data, &all) != nil {
		return p
	}
	for name, text := range all { // the order does not matter
		p.add(name, text)
	}
	return p
}

func (p pack) add(name string, text []byte) {
	if of, isForm := strings.CutPrefix(name, beginsForm); isForm {
		p.forms[of] = text
	} else {
		p.copies[name] = text
	}
}

// isPlain reports whether a quotation is spelt without escapes.
func isPlain(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return c == '\\' || c < ' ' || c > '~' })
}

// quoted cuts a quotation off the beginning of JSON. It ends at an escape of a quotation mark, too.
func quoted(data []byte) (text, rest []byte, ok bool) {
	data, isQuoted := bytes.CutPrefix(data, []byte(`"`))
	text, rest, isWhole := bytes.Cut(data, []byte(`"`))
	return text, rest, isQuoted && isWhole
}

// isNoCopy: what has the name of a copy is none, and will not become one by itself.
func isNoCopy(err error) bool {
	none := []syscall.Errno{
		syscall.ENOENT, syscall.EFBIG, syscall.EISDIR, syscall.ENOTDIR, syscall.ELOOP, syscall.EINVAL, syscall.ENXIO,
		syscall.EXDEV,
	}
	return slices.ContainsFunc(none, func(n syscall.Errno) bool { return hal.Is(err, n) })
}

// isNoFile is isNoCopy for what volnode must know in full: below another filesystem its own file may lie.
func isNoFile(err error) bool { return isNoCopy(err) && !hal.Is(err, syscall.EXDEV) }

// spares returns the newest copy of each manifest that lies in a pack, for a start without a ledger.
func (r reader) spares(entries []hal.Entry) (map[string]file, error) {
	changed := map[string]int64{}
	for _, e := range entries {
		if strings.HasPrefix(e.Name, packed) && e.Type == hal.TypeFile {
			info, err := r.h.Tree.Stat(r.call, path.Join(r.o.CacheDir, e.Name))
			if err != nil && !isNoCopy(err) {
				return nil, err
			}
			changed[e.Name] = info.Changed
		}
	}
	newestLast := slices.SortedFunc(maps.Keys(changed), func(a, b string) int {
		return cmp.Or(cmp.Compare(changed[a], changed[b]), cmp.Compare(a, b))
	})
	all := map[string]file{}
	for _, in := range newestLast {
		p, err := r.pack(in)
		if err != nil && !isNoCopy(err) {
			return nil, err
		}
		for name := range p.copies { // the order does not matter
			if f, err := r.recall(name, entry{Pack: in}); err == nil && f.copied && manifest(name) {
				all[name] = f
			}
		}
	}
	return all, nil
}

// groups says which copies are written together. One with a Secret is not: it goes with its manifest.
func groups(names []string, texts map[string][]byte, s *state) (all [][]string) {
	isAlone := func(name string) bool {
		return len(names) <= mostAlone || slices.ContainsFunc(s.files.of(name).objects, object.isSecret)
	}
	for _, name := range names {
		if isAlone(name) {
			all = append(all, []string{name})
		}
	}
	names = slices.DeleteFunc(slices.Clone(names), isAlone)
	begin, size := 0, 0
	for i, name := range names {
		size += len(texts[name]) + len(s.files.of(name).form)
		if i+1 == len(names) || i+1-begin == packCopies || size >= packBytes {
			all = append(all, names[begin:i+1])
			begin, size = i+1, 0
		}
	}
	return all
}

// keeping is what came of one copy: the pack it lies in, if any, and how many lie there.
type keeping struct {
	in   string
	size int
	err  error
}

// replaceAll writes a group of copies. It returns the pack that they lie in, "" if it is one by itself.
func (r reader) replaceAll(names []string, texts map[string][]byte, s *state) (in string, err error) {
	if len(names) == 1 {
		return "", r.replace(names[0], texts[names[0]])
	}
	p := make(map[string][]byte, 2*len(names))
	for _, name := range names {
		p[name] = texts[name]
		if form := s.files.of(name).form; form != nil {
			p[beginsForm+name] = form
		}
	}
	data, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	in = packName(sha256.Sum256(data))
	return in, r.replace(in, data)
}

// packName is the name of a pack, which is of its content.
func packName(is sum) string { return packed + hex.EncodeToString(is[:8]) }

// scattered returns the manifests whose copies lie in packs of which most is of the past, and their texts. A reading of
// everything adds those without a form beside their copies, as those that lie alone, once they are as many as fill a
// pack: the next start is spared their files, and their YAML.
func (r reader) scattered(s *state) map[string][]byte {
	texts, from := map[string][]byte{}, map[string]bool{}
	for in, is := range s.packs.all() {
		from[in] = 2*is.living < is.size
	}
	bare := 0
	if r.isWhole {
		for _, f := range s.files.all() {
			if f.isBare() {
				bare++
			}
		}
	}
	gathers := bare >= cmp.Or(r.o.gathers, packCopies)
	if !gathers && !slices.Contains(slices.Collect(maps.Values(from)), true) {
		return nil
	}
	for name, f := range s.files.all() {
		if !f.copied || !from[f.pack] && !(gathers && f.isBare()) {
			continue
		}
		text, err := r.copy(name, f.pack)
		if err == nil && sha256.Sum256(text) == f.sum {
			texts[name] = text
		}
	}
	return texts
}

// isBare reports whether a form could lie beside the copy of f, and does not.
func (f file) isBare() bool { return f.copied && f.form != nil && !f.isFormed }

// sweepPacks removes packs in which no copy lies any more, and reports whether none is left.
func (r reader) sweepPacks(entries []hal.Entry, s *state) bool {
	var err error
	for _, e := range entries {
		if strings.HasPrefix(e.Name, packed) && e.Type == hal.TypeFile && !s.packs.has(e.Name) {
			err = cmp.Or(err, r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, e.Name)))
		}
	}
	return err == nil
}
