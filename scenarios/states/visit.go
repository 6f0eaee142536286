package states

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
)

// This file follows the values of a run.

// Value follows a value.
func (v *Walk) Value(x reflect.Value) { v.follow(v.kindOf(x.Type()), x) }

// follow follows a value of a kind.
func (v *Walk) follow(k *kind, x reflect.Value) {
	switch x.Kind() {
	case reflect.Bool:
		v.Flag(x.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.signed(k, x.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if k.isName {
			v.name(k.text, x.Uint())
			return
		}
		v.Number(x.Uint())
	case reflect.Float32, reflect.Float64:
		v.Number(math.Float64bits(x.Float()))
	case reflect.String:
		v.text(x.String())
	case reflect.Func:
		v.Number(uint64(x.Pointer()))
	case reflect.Pointer:
		v.pointer(k, x)
	case reflect.Interface:
		v.Flag(x.IsNil())
		if !x.IsNil() {
			v.Plain(x.Elem().Type().String())
			v.Value(x.Elem())
		}
	case reflect.Struct:
		v.structure(k, x)
	case reflect.Slice, reflect.Array:
		v.list(k, x)
	case reflect.Map:
		v.table(k, x)
	default:
		panic("states: a " + x.Type().String() + " is no state")
	}
}

// signed adds a number. Of a time that has passed only that it has.
func (v *Walk) signed(k *kind, x int64) {
	now := v.now
	if v.isAgent {
		now = v.agent
	}
	if k.isTime && x != 0 {
		x = max(int64(hal.Instant(x).Sub(now)), -1)
	}
	v.Number(uint64(x))
}

// text adds a text, in which numbers of mounts, devices, boots, processes and files of the journal are names.
func (v *Walk) text(s string) {
	if rest, ok := strings.CutPrefix(s, "mount "); ok {
		if parts := strings.SplitN(rest, " ", 4); len(parts) == 4 && parts[1] == "dev" { // hal.Mount.Fingerprint
			v.name("hal.MountID", numberOf(parts[0]))
			major, minor, _ := strings.Cut(parts[2], ":")
			v.device(numberOf(major), numberOf(minor))
			s = parts[3]
		}
	}
	if isJournal(s) {
		s = "journal"
	}
	if boot, ok := strings.CutPrefix(s, "00000000-0000-4000-8000-000"); ok { // World.bootNode
		v.name("number", numberOf(boot))
		return
	}
	if driver, life, ok := strings.Cut(s, "/"); ok {
		if boot, process, ok := strings.Cut(life, "."); ok && isNumber(boot) && isNumber(process) {
			// sim.DriverState.Instance
			v.Plain(driver)
			v.name("number", numberOf(boot))
			v.name("process", numberOf(process))
			return
		}
	}
	v.Plain(s)
}

// device adds the number of a device.
func (v *Walk) device(major, minor uint64) { v.name("device", major<<32|minor) }

// numberOf is the number that a text is, 0 if it is none.
func numberOf(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// isJournal: a file of the journal, or its directory.
func isJournal(name string) bool { return name == "journal" || strings.HasPrefix(name, "journal.") }

// journal adds a file of the journal. Once the agent has read it, and while all of it is durable, what is in it that
// counts is in the journal's own fields. Else it is what a start would read: as it is, and with a sector as it was
// before it was written last, for each that is not durable. That is all that one fault more can make of it; if there
// may be more, it is every byte.
func (v *Walk) journal(name string, file reflect.Value) {
	var undo []reflect.Value // newest first, one for each sector
	isPlain := !v.isStrict
	for _, u := range file.FieldByName("undo").Seq2() {
		if v.isWritten(u) {
			continue
		}
		isPlain = isPlain && !u.FieldByName("lost").Bool() && u.FieldByName("grows").Uint() == 0
		undo = slices.DeleteFunc(undo,
			func(o reflect.Value) bool { return o.FieldByName("sector").Int() == u.FieldByName("sector").Int() })
		undo = append(undo, u)
	}
	v.Number(uint64(len(undo)))
	generation, isGeneration := journal.Generation(name)
	if !isGeneration {
		v.Plain(name)
	}
	switch {
	case !v.isUnread && len(undo) == 0:
		return
	case !isPlain:
		v.Value(file)
		return
	case v.generation == 0:
		v.generation = generation
	}
	v.Number(generation - v.generation)
	size := file.FieldByName("size").Int()
	v.Number(uint64(size))
	image := imageOf(file)
	v.examine(generation, image, size)
	for _, u := range undo {
		before := slices.Clone(image)
		putSector(before, int(u.FieldByName("sector").Int()), u.FieldByName("old"))
		v.examine(generation, before, size)
	}
}

// imageOf is a file without the sectors at its end that were never written to.
func imageOf(file reflect.Value) []byte {
	sectors := file.FieldByName("sectors")
	n := sectors.Len()
	for n > 0 && sectors.Index(n-1).IsNil() {
		n--
	}
	image := make([]byte, min(int64(n)*sectorSize, file.FieldByName("size").Int()))
	for i := range n {
		putSector(image, i, sectors.Index(i))
	}
	return image
}

const sectorSize = 512

// putSector puts the i-th sector into an image, if it reaches so far. A nil pointer is one of zeros.
func putSector(image []byte, i int, sector reflect.Value) {
	if i*sectorSize >= len(image) {
		return
	}
	if sector.IsNil() {
		clear(image[i*sectorSize : min((i+1)*sectorSize, len(image))])
		return
	}
	copy(image[i*sectorSize:], sector.Elem().Bytes())
}

// examine adds what a start would make of a file of the journal. Of a spare, which is no generation, it looks whether
// it was written to.
func (v *Walk) examine(generation uint64, image []byte, size int64) {
	if generation == 0 {
		v.Flag(slices.ContainsFunc(image, func(b byte) bool { return b != 0 }))
		return
	}
	e, err := journal.Examine(generation, image, size, v.boot)
	v.Flag(err == nil)
	v.Value(reflect.ValueOf(e))
}

// object returns the hash of what an object says. It keeps the object: another one at its address would be taken for
// it.
func (c *Comparer) object(x reflect.Value) uint64 {
	at := x.UnsafePointer()
	sum, ok := c.objects[at]
	if !ok {
		text, err := json.Marshal(reflect.NewAt(x.Type().Elem(), at).Interface())
		if err != nil {
			panic("an object of the cluster has no JSON: " + err.Error())
		}
		sum = maphash.Bytes(c.seed, text)
		c.objects[at] = sum
	}
	return sum
}

func (v *Walk) pointer(k *kind, x reflect.Value) {
	at := address{x.Pointer(), x.Type()}
	switch {
	case x.IsNil():
		v.Number(0)
	case k.isObject:
		v.Number(v.object(x))
	case v.seen[at] != 0:
		v.Number(v.seen[at])
	default:
		v.seen[at] = uint64(len(v.seen)) + 1
		if k.isNode {
			if name := x.Elem().FieldByName("name").String(); isJournal(name) && !x.Elem().FieldByName("file").IsNil() {
				v.journal(name, x.Elem().FieldByName("file").Elem())
				return
			}
		}
		if k.isManager {
			if d := x.Elem().FieldByName("drift").Elem(); d.FieldByName("reading").Bool() {
				v.since = d.FieldByName("since").Uint()
			}
		}
		v.follow(k.of, x.Elem())
	}
}

func (v *Walk) structure(k *kind, x reflect.Value) {
	switch {
	case k.isDevice:
		v.device(x.Field(0).Uint(), x.Field(1).Uint())
		return
	case k.isLogged && v.isWritten(x):
		return
	}
	defer func(was bool) { v.isAgent = was }(v.isAgent)
	v.isAgent = k.isAgent
	for _, f := range k.fields {
		y := x.Field(f.index)
		switch f.as {
		case asName:
			name := f.name
			if other := sameNames[name]; other != "" {
				name = other
			}
			v.name(name, y.Uint())
		case asAge:
			age := longestAge
			if at := hal.Instant(y.Int()); at != 0 {
				now := v.now
				if v.isAgent {
					now = v.agent
				}
				age = min(now.Sub(at), age)
			}
			v.Number(uint64(age))
		case asSetUp:
			if v.isCovered {
				v.Value(y)
			}
		case asLife:
			if !v.isDead {
				v.Value(y)
			}
		case asText:
			v.Flag(y.Len() > 0)
			v.Flag(v.leaks.In(y.String()) != "")
		case asNotice:
			v.Number(uint64(max(hal.Instant(y.Int()).Sub(v.now)+1, time.Microsecond)))
		case asReading:
			if x.FieldByName("reading").Bool() {
				v.Number(v.steps - y.Uint())
			}
		case asChange:
			v.Flag(y.Uint() > v.since)
		default:
			v.follow(f.kind, y)
		}
	}
}

// isWritten: a power cut does not undo it, as the kernel has written it by itself.
func (v *Walk) isWritten(x reflect.Value) bool {
	return v.now.Sub(hal.Instant(x.FieldByName("at").Int())) > writeback
}

// writeback is after how long a kernel writes things out without being asked (hal/sim).
const writeback = 30 * time.Second

func (v *Walk) list(k *kind, x reflect.Value) {
	if !k.of.isLogged { // of which some do not count
		v.Number(uint64(x.Len()))
	}
	if x.Type().Elem().Kind() == reflect.Uint8 && (x.Kind() == reflect.Slice || x.CanAddr()) {
		_, _ = v.hash.Write(x.Bytes()) // a hash never fails
		return
	}
	for i := range x.Len() {
		v.follow(k.of, x.Index(i))
	}
}

// table follows a map in the order of its keys.
func (v *Walk) table(k *kind, x reflect.Value) {
	v.Number(uint64(x.Len()))
	keys := x.MapKeys()
	text := func(k reflect.Value) string {
		if k.Kind() == reflect.String {
			return k.String()
		}
		return fmt.Sprint(k)
	}
	slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(text(a), text(b)) })
	for _, key := range keys {
		v.follow(k.key, key)
		v.follow(k.of, x.MapIndex(key))
	}
}
