package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/volnode/volnode/hal"
)

type sum [sha256.Size]byte

func (s sum) beginning() uint64 { return binary.BigEndian.Uint64(s[:]) }

// reading is what a file was when its content was read.
type reading struct {
	info        hal.Info
	since       hal.Instant // of the first of the readings that found it so
	isOldEnough bool        // it was read again later than that, when a change could not have the same time any more
}

// mtimeSlack is how long after the first reading of a file a change of it must show another time: two seconds is the
// coarsest clock of a filesystem (FAT).
const mtimeSlack = 3 * time.Second

// file is what one manifest comes to.
type file struct {
	known   bool  // its objects are known, from the file or from its copy
	in      dirID // where it was seen last
	was     dirID // of one that is missing: the same, also after a restart
	sum     sum   // of the content its objects are from
	objects []object
	refused []id   // those of them that do not count
	problem string // why the file itself does not count
	warning string // it counts, but has no copy
	copied  bool   // its copy in the cache directory is of this content
	pack    string // where its last copy lies, of this content or not; "" if it is a file of its own
	alone   bool   // one lies by itself
	missing bool   // it is not in the directory, which is another one than before
	going   bool   // it is not there, and is gone if the next reading agrees
	isGone  bool   // it is gone; it was lost, and what it held may be in a file that is bad
	changes int    // how many readings in a row have found another content

	packSize int    // how many copies were written into that pack
	form     []byte // of that content; nil if there is none, see form.go
	isFormed bool   // it lies beside the copy

	// Of what was accepted in an earlier run nothing is known, or not all: its copy is gone, or older.
	lost bool

	// What the file may hold that is not known: the texts of one that is bad, or not accepted yet, since two readings
	// agreed last.
	texts []text
	// it may hold anything whatever the texts: it could not be read, or looks half written, or is never the same
	opaque bool
}

// text is one that a file may hold.
type text struct {
	data []byte
	// isCut is asked only about what somebody misses: it decodes the text.
	isCut func() bool
}

func (m *Memo) textOf(data []byte) text {
	return text{data, sync.OnceValue(func() bool { return m.isCut(data) })}
}

// isOpaque reports whether f may hold anything.
func (f file) isOpaque() bool {
	return f.opaque || slices.ContainsFunc(f.texts, func(t text) bool { return t.isCut() })
}

// pods names the pods of a file, as namespace/name.
func (f file) pods() (names []string) {
	for _, o := range f.objects {
		if o.id.Kind == "Pod" && !slices.Contains(f.refused, o.id) {
			names = append(names, o.id.Namespace+"/"+o.id.Name)
		}
	}
	return names
}

// isQuiet reports whether there is nothing to be done about f as long as its content is the same.
func (f file) isQuiet() bool {
	return f.known && f.copied && !f.lost && !f.missing && !f.going && !f.opaque && f.problem+f.warning == "" &&
		len(f.texts) == 0
}

// mayHold reports whether an object that no manifest has any more may be in the part of f that cannot be understood:
// somebody may have moved it there. A text that is whole holds only what it names: by uid, or by name, if the name is
// enough: no other object has it now, or the object's uid is made of it. Escapes could spell either in another way.
func (f file) mayHold(o id, isNameEnough bool) bool {
	switch {
	case f.isOpaque():
		return true
	}
	return slices.ContainsFunc(f.texts, func(t text) bool {
		return isNameEnough && mentions(t.data, o.Name) || mentions(t.data, o.UID) || hasEscapes(t.data)
	})
}

// mentions reports whether a text that is not accepted has a uid.
func (f file) mentions(uid string) bool {
	return slices.ContainsFunc(f.texts, func(t text) bool { return mentions(t.data, uid) })
}

// hasEscapes reports whether a text may spell a letter by its number (YAML 1.2, 5.7; JSON), or a name over two lines.
func hasEscapes(text []byte) bool {
	for _, escape := range []string{`\x`, `\u`, `\U`, "\\\n", "\\\r"} {
		if bytes.Contains(text, []byte(escape)) {
			return true
		}
	}
	return false
}

// mentions reports whether a text has a name as a word of its own: not as a part of a longer name.
func mentions(text []byte, name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
	for at := 0; name != ""; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 {
			return false
		}
		i += at
		end := i + len(name)
		isBegin := i == 0 || strings.IndexByte(letters, text[i-1]) < 0
		isEnd := end == len(text) || strings.IndexByte(letters, text[end]) < 0
		if isBegin && isEnd {
			return true
		}
		at = i + 1
	}
	return false
}

// isCut reports whether a text may be only the beginning of what somebody writes: it does not end with a line, or the
// end is nothing but zeros, as a crash leaves it, or a bracket or a quotation is open, or its last object has no name
// yet, or lacks something else. JSON needs no last line, and ends with a brace.
func isCut(text []byte) bool {
	if len(text) == 0 || bytes.IndexByte(text, 0) >= 0 {
		return true
	}
	if words := bytes.TrimSpace(text); bytes.HasPrefix(words, []byte("{")) {
		return words[len(words)-1] != '}' || isOpen(text)
	}
	return text[len(text)-1] != '\n' || isOpen(text[bytes.LastIndex(text, []byte("\n---"))+1:]) || isNameToCome(text) ||
		isMoreToCome(text)
}

// isMoreToCome reports whether the last object of a text is good as far as it goes, and lacks what it can't be without
// and what may come in lines that follow. A volume that a container names can't, once the containers have begun below
// the volumes.
func isMoreToCome(text []byte) bool {
	last := text[bytes.LastIndex(text, []byte("\n---"))+1:]
	c, err := Options{}.decode("", last)
	if err != nil || len(c.objects) == 0 {
		return false
	}
	l := lackOf(c.objects[len(c.objects)-1].value)
	return l.value || len(l.all) > 0 && !isVolumesFirst(last)
}

// isVolumesFirst reports whether a text ends in the containers of a pod, whose volumes came before, each as a block.
func isVolumesFirst(text []byte) bool {
	indent, is := -1, false
	for line := range bytes.Lines(text) {
		at := len(line) - len(bytes.TrimLeft(line, " "))
		switch string(bytes.TrimSpace(line)) {
		case "volumes:":
			indent, is = at, false
		case "containers:":
			is = indent == at
		}
	}
	return is
}

// isOpen reports whether a document ends within brackets or within a quotation. A quotation begins where a word could.
func isOpen(text []byte) bool {
	depth, quote, before := 0, byte(0), byte('\n')
	for i := 0; i < len(text); i++ {
		c := text[i]
		isFirst := strings.IndexByte(" \t\n[{,:", before) >= 0
		switch before = c; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && isFirst:
			quote = c
		case c == '#' && isFirst:
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		}
	}
	return depth > 0 || quote != 0
}

// isBeginning reports whether a text is what another began with, up to a place within a line, or to one within a
// document or the line that begins one if it lacks later documents: as if it was written again, and not all of it is
// there.
func isBeginning(text, former []byte) bool {
	rest, ok := bytes.CutPrefix(former, text)
	if !ok || len(rest) == 0 {
		return false
	}
	if !bytes.HasSuffix(text, []byte("\n")) && len(bytes.TrimSpace(rest)) > 0 {
		return true // within a line
	}
	isAtEnd := bytes.HasPrefix(rest, []byte("---")) || bytes.HasPrefix(rest, []byte("\n---"))
	return bytes.HasSuffix(bytes.TrimSpace(text), []byte("\n---")) || bytes.Contains(rest, []byte("\n---")) && !isAtEnd
}

// isNameToCome reports whether the last document of a text is an object without a name, or nothing yet: who writes it
// line by line has not come to the name.
func isNameToCome(text []byte) bool {
	last := text[bytes.LastIndex(text, []byte("\n---"))+1:]
	documents, err := splitYAML(last)
	if err != nil {
		return !mentions(last, "name")
	}
	return len(documents) == 0 || isNameless(documents[len(documents)-1].json)
}

// objectKeys are those that an object may begin with.
var objectKeys = []string{"apiVersion", "kind", "metadata", "spec", "status", "items", "data", "stringData", "type"}

// isNameless reports whether a document is an object without a name, or what one begins with, or a List that ends with
// one.
func isNameless(data []byte) bool {
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return false
	}
	if len(keys) > 0 && !slices.ContainsFunc(objectKeys, func(key string) bool { _, ok := keys[key]; return ok }) {
		return false
	}
	var o struct {
		Kind     string
		Metadata struct{ Name string }
		Items    []json.RawMessage
	}
	_ = json.Unmarshal(data, &o) // what has another type has no name
	if len(o.Items) > 0 {
		return o.Kind != "List" || isNameless(o.Items[len(o.Items)-1])
	}
	return o.Metadata.Name == ""
}

// dirID says which directory a path led to.
type dirID struct {
	Boot   hal.BootID  `json:"boot"`
	Device hal.Device  `json:"device"`
	Inode  uint64      `json:"inode"`
	Born   int64       `json:"born"`  // 0 if its filesystem does not know
	Mount  hal.MountID `json:"mount"` // 0 if it is not to be compared
}

func dirOf(info hal.Info, boot hal.BootID) dirID {
	return dirID{boot, info.Device, info.Inode, info.Born, info.Mount}
}

func (d dirID) String() string {
	return fmt.Sprintf("inode %d of device %d:%d", d.Inode, d.Device.Major, d.Device.Minor)
}

// is reports whether two are one directory. Inodes are used again, so the birth time counts too. Device numbers and
// mounts mean nothing in another boot: there, a directory without a birth time is never the same.
func (d dirID) is(other dirID) bool {
	switch {
	case d.Inode == 0 || d.Inode != other.Inode || d.Born != other.Born:
		return false
	case d.Boot != other.Boot:
		return d.Born != 0
	}
	return d.Device == other.Device && (d.Mount == other.Mount || d.Mount == 0 || other.Mount == 0)
}

// kept is d as it is written down. Mount numbers mean nothing in another mount namespace, which the next run may have.
func (d dirID) kept() dirID {
	if d.Born != 0 {
		d.Mount = 0
	}
	return d
}

func (r reader) path(name string) string { return path.Join(r.o.Dir, name) }
