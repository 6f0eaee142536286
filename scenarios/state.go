package scenarios

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// This file tells whether two runs of one scenario have come to one state, from which both go on alike. It follows every field
// of the world, the engine and the checks, so that what somebody adds is a part of the state: at worst, two are told apart that
// are one. What is left out stands in notAsItIs.

// State is a hash of all that decides how a run goes on.
type State uint64

// Comparer makes the states of runs of one scenario, which can be compared if one Comparer has made them. One goroutine at a time may use it.
type Comparer struct {
	seed     maphash.Seed
	isStrict bool // more than one fault may follow a state
	kinds    map[reflect.Type]*kind
	notes    map[uint64]bool // see isNoted
}

// NewComparer returns a Comparer that has made no state yet. faults is how many faults at most follow a state.
func NewComparer(faults int) *Comparer {
	return &Comparer{isStrict: faults > 1, seed: maphash.MakeSeed(), kinds: map[reflect.Type]*kind{}, notes: map[uint64]bool{}}
}

// kind is how the values of a type are followed.
type kind struct {
	fields    []field // of a struct
	of, key   *kind   // of what a pointer, a list or a table is made of
	text      string
	isAgent   bool // its instants are of the agent's clock
	isName    bool // a number that is only compared with others of its type
	isTime    bool
	isObject  bool // of the cluster, and never changed: its address is enough
	isDevice  bool
	isNode    bool // a pointer to a name in a filesystem
	isManager bool // a pointer to the engine
	isLogged  bool // something that a power cut can undo for a while
}

type field struct {
	index int
	name  string
	as    as
	kind  *kind
}

// as is how a field is a part of the state.
type as uint8

const (
	asItIs    as = iota
	asNothing    // it decides nothing of what happens from here on
	asName       // a number that is only compared with others
	asAge        // an instant of the past that counts: how long ago it was, up to longestAge
	asClimb      // an instant that counts only where a scenario mounts over a volume
	asRecord     // an encoded record of the journal
	asLife       // it counts only while the agent lives
	asText       // for people: that there is one counts, and whether it has a secret
	asNotice     // when a notice arrives: the next comes after it
	asReading    // a step of core at which a reading began, if one is under way
	asChange     // a step of core of which a reading that is under way knows, or does not
)

// longestAge is after how long it does not matter any more when something was: see noticing and forceAfter.
const longestAge = 10 * time.Minute

// notAsItIs is the fields that are no part of the state, or not by their values.
var notAsItIs = fieldsAs(map[as]string{
	// Who looks on; what was set before the run and stays; counters that give numbers to what comes, and numbers that nobody compares; what is for one
	// event, and left over between two. How full the journal is: no scenario fills a tenth of one.
	asNothing: `
		scenarios.run: cfg h canary probe cover probing lines storm actual mark isKnown isOver
		scenarios.place: sent
		scenarios.handOver: life
		sim.World: config chooser faults profile menus nth trace observe faulted entered start pids lives rpcCount sched borrowed slabs hungAt
		sim.incarnation: number started drained queue
		sim.task: inc w index parked
		sim.driver: pid registrar
		sim.backend: processes
		sim.boot: began
		sim.filesystem: minor
		sim.superblock: inodes moves
		sim.mount: rootPath rootSeen
		sim.mountTable: last spelt base
		sim.pageCache: count
		sim.clusterObject: said merged
		core.Core: now step lastOp lastSeq order round decided batch
		core.rung: seq
		core.Record: Seq
		journal.Journal: live generation end seq synced buffer batch
		engine.VolumeManager: h cfg lastWaiter
		engine.socket: gen`,
	asName: `
		sim.driver: process
		sim.conn: process
		sim.node: life inode
		sim.change: number
		sim.sectorUndo: grows
		sim.boot: number`,
	asAge: `
		sim.change: at
		sim.sectorUndo: at
		sim.child: since
		scenarios.place: touchedAt
		scenarios.foreign: since
		scenarios.handOver: unused`,
	asClimb: `
		sim.volume: climbing
		scenarios.place: climbUntil`,
	asLife: `
		scenarios.run: m core synced registered
		scenarios.pod: told isWaiting
		sim.World: inc
		sim.clusterObject: as left newest
		sim.clusterTruth: watch watcher outages`,
	asText: `
		core.rung: reason
		engine.VolumeManager: why
		engine.socket: why`,
	asNotice: `
		sim.clusterObject: told
		sim.clusterTruth: listed`,
	asReading: `
		engine.drift: since`,
	asChange: `
		core.rung: changed`,
	asRecord: `
		journal.entry: encoded`,
})

// sameNames is the fields whose numbers are those of another field.
var sameNames = map[string]string{"life": "process", "grows": "number"}

func fieldsAs(table map[as]string) map[string]as {
	all := map[string]as{}
	for is, text := range table {
		for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
			owner, names, _ := strings.Cut(strings.TrimSpace(line), ": ")
			for _, name := range strings.Fields(names) {
				all[owner+"."+name] = is
			}
		}
	}
	return all
}

// address is of a value: that of a struct is also that of its first field.
type address struct {
	at uintptr
	of reflect.Type
}

// aName is one of the numbers that are only compared with others of their kind.
type aName struct {
	kind   string
	number uint64
}

// visit is one walk through a run.
type visit struct {
	*Comparer
	hash       maphash.Hash
	now        hal.Instant // of the world's clock
	agent      hal.Instant // the same of the agent's
	isAgent    bool        // the struct that is followed has instants of that
	isDead     bool        // no agent lives, or it is about to die
	steps      uint64      // that core has made
	since      uint64      // when the reading of the mount table that is under way began, in steps; else more than there are
	generation uint64      // of the first file of the journal that was met
	seen       map[address]uint64
	names      map[aName]uint64
	isCovered  bool
}

// Moment is one moment of a play. It is valid until the play goes on.
type Moment struct{ t *story }

// State is the state of the play; false if something is under way, which no field tells.
func (m Moment) State(c *Comparer) (State, bool) { return m.t.state(c, false) }

// AfterDeath is the state in which the play would be if the agent died now, or the node with it; false if something is under way that outlives them.
func (m Moment) AfterDeath(c *Comparer) (State, bool) { return m.t.state(c, true) }

// At is the time since the play began.
func (m Moment) At() time.Duration { return m.t.w.Now().Sub(0) }

// IsDue: the next statement comes now, or calm.
func (m Moment) IsDue() bool { return m.t.w.Now() >= m.t.end }

// IsCalm: what is left is to see whether all comes to rest.
func (m Moment) IsCalm() bool { return m.t.next == len(m.t.s.Steps) }

// state follows a run. A timer of the agent is known by its code and when it is due, a task that has not run yet by its code: what they are for, the
// engine notes elsewhere. Of two of one code, which is which would not be known.
func (t *story) state(c *Comparer, dies bool) (State, bool) {
	events, isSettled := t.w.Upcoming(dies)
	if !isSettled || slices.ContainsFunc(events, func(e sim.Upcoming) bool { return e.Kind == sim.UpcomingTask && !c.isNoted(e.Name) }) {
		return 0, false
	}
	v := &visit{
		Comparer: c, now: t.w.Now(), isDead: dies || !t.w.AgentLives(), since: math.MaxUint64, seen: map[address]uint64{}, names: map[aName]uint64{},
		isCovered: t.s.mountsOver(),
	}
	v.hash.SetSeed(c.seed)
	if t.r.h.Runtime != nil {
		v.agent = t.r.h.Runtime.Now()
	}
	if !v.isDead && t.r.core != nil {
		v.steps = t.r.core.Seq()
	}
	v.number(uint64(t.next))
	v.number(uint64(t.end.Sub(v.now)))
	v.flag(t.hasActed)
	if !t.play.IsSteady && t.hasDates(t.next) {
		v.number(uint64(v.now))
	}
	v.number(uint64(len(events)))
	for i, e := range events {
		if e.Kind != sim.UpcomingEvent && slices.ContainsFunc(events[:i], func(f sim.Upcoming) bool { return f.Kind == e.Kind && f.Name == e.Name }) {
			return 0, false
		}
		v.number(uint64(e.At.Sub(v.now)))
		v.number(uint64(e.Kind))
		v.number(e.Name)
	}
	v.value(reflect.ValueOf(t.met))
	t.remembered(v)
	v.value(reflect.ValueOf(t.r))
	return State(v.hash.Sum64()), true
}

// remembered adds what an expectation that is still to come counts or looks for in the past, if it is waited for.
func (t *story) remembered(v *visit) {
	for _, s := range t.s.Steps[t.next:] {
		switch {
		case !s.Within:
		case slices.Contains(s.Words, "calls"):
			v.number(uint64(t.before))
			for _, e := range t.calls {
				v.plain(e.Method + " " + e.Volume)
			}
			return
		case slices.Contains(s.Words, "log"):
			for _, e := range t.log {
				v.plain(LogLine(e))
			}
			return
		}
	}
}

// noted is the tasks of the engine that have no memory when they begin but what its fields hold.
var noted = []string{"launch", "commit", "start", "tableChanged"}

// isNoted: the code at an address is that of such a task.
func (c *Comparer) isNoted(code uint64) bool {
	is, ok := c.notes[code]
	if !ok {
		name := runtime.FuncForPC(uintptr(code)).Name()
		is = slices.ContainsFunc(noted, func(of string) bool { return strings.HasSuffix(name, "/engine.(*VolumeManager)."+of+".func1") })
		c.notes[code] = is
	}
	return is
}

// hasDates: a statement from there on comes at a time since the beginning.
func (t *story) hasDates(step int) bool {
	return slices.ContainsFunc(t.s.Steps[step:], func(s Step) bool { return !s.Since })
}

// mountsOver: somebody mounts over a volume in the scenario.
func (s *Scenario) mountsOver() bool {
	return slices.ContainsFunc(s.Steps, func(s Step) bool { return s.Words[0] == "mount" })
}

func (v *visit) number(x uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], x)
	_, _ = v.hash.Write(b[:]) // a hash never fails
}

// plain adds a text as it is.
func (v *visit) plain(s string) {
	v.number(uint64(len(s)))
	_, _ = v.hash.WriteString(s)
}

// name adds what is only compared with others: by when it was met first.
func (v *visit) name(of string, number uint64) {
	what := aName{of, number}
	n, ok := v.names[what]
	if !ok {
		n = uint64(len(v.names))
		v.names[what] = n
	}
	v.number(n)
}

func (v *visit) flag(is bool) {
	if is {
		v.number(1)
		return
	}
	v.number(0)
}

func (c *Comparer) kindOf(t reflect.Type) *kind {
	if k := c.kinds[t]; k != nil {
		return k
	}
	name := t.String()
	k := &kind{
		text:      name,
		isAgent:   strings.Contains(t.PkgPath(), "/engine") || strings.Contains(t.PkgPath(), "/hal/manifest"),
		isName:    t == reflect.TypeFor[hal.MountID]() || t == reflect.TypeFor[hal.OpID]() || t == reflect.TypeFor[core.Waiter](),
		isTime:    t == reflect.TypeFor[hal.Instant](),
		isObject:  t.Kind() == reflect.Pointer && strings.HasPrefix(t.Elem().PkgPath(), "k8s.io/"),
		isDevice:  t == reflect.TypeFor[hal.Device](),
		isNode:    name == "*sim.node",
		isManager: name == "*engine.VolumeManager",
		isLogged:  name == "sim.change" || name == "sim.sectorUndo",
	}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			f := t.Field(i)
			if is := notAsItIs[name+"."+f.Name]; is != asNothing {
				k.fields = append(k.fields, field{index: i, name: f.Name, as: is})
			}
		}
	}
	c.kinds[t] = k
	for i := range k.fields {
		k.fields[i].kind = c.kindOf(t.Field(k.fields[i].index).Type)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		k.of = c.kindOf(t.Elem())
	}
	if t.Kind() == reflect.Map {
		k.key = c.kindOf(t.Key())
	}
	return k
}

// value follows a value.
func (v *visit) value(x reflect.Value) { v.follow(v.kindOf(x.Type()), x) }

// follow follows a value of a kind.
func (v *visit) follow(k *kind, x reflect.Value) {
	switch x.Kind() {
	case reflect.Bool:
		v.flag(x.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.signed(k, x.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if k.isName {
			v.name(k.text, x.Uint())
			return
		}
		v.number(x.Uint())
	case reflect.Float32, reflect.Float64:
		v.number(math.Float64bits(x.Float()))
	case reflect.String:
		v.text(x.String())
	case reflect.Func:
		v.number(uint64(x.Pointer()))
	case reflect.Pointer:
		v.pointer(k, x)
	case reflect.Interface:
		v.flag(x.IsNil())
		if !x.IsNil() {
			v.plain(x.Elem().Type().String())
			v.value(x.Elem())
		}
	case reflect.Struct:
		v.structure(k, x)
	case reflect.Slice, reflect.Array:
		v.list(k, x)
	case reflect.Map:
		v.table(k, x)
	default:
		panic("scenarios: a " + x.Type().String() + " is no state")
	}
}

// signed adds a number. Of a time that has passed only that it has.
func (v *visit) signed(k *kind, x int64) {
	now := v.now
	if v.isAgent {
		now = v.agent
	}
	if k.isTime && x != 0 {
		x = max(int64(hal.Instant(x).Sub(now)), -1)
	}
	v.number(uint64(x))
}

// text adds a text, in which numbers of mounts, devices, boots, processes and files of the journal are names.
func (v *visit) text(s string) {
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
		if boot, process, ok := strings.Cut(life, "."); ok && isNumber(boot) && isNumber(process) { // sim.DriverState.Instance
			v.plain(driver)
			v.name("number", numberOf(boot))
			v.name("process", numberOf(process))
			return
		}
	}
	v.plain(s)
}

// device adds the number of a device.
func (v *visit) device(major, minor uint64) { v.name("device", major<<32|minor) }

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

// journal adds a file of the journal. While the agent lives, and all of it is durable, what is in it that counts is in the journal's own fields.
// Else it is what a start would read: as it is, and with a sector as it was before it was written last, for each that is not durable. That is all
// that one fault more can make of it; if there may be more, it is every byte.
func (v *visit) journal(name string, file reflect.Value) {
	var undo []reflect.Value // newest first, one for each sector
	isPlain := !v.isStrict
	for _, u := range file.FieldByName("undo").Seq2() {
		if v.isWritten(u) {
			continue
		}
		isPlain = isPlain && !u.FieldByName("lost").Bool() && u.FieldByName("grows").Uint() == 0
		undo = slices.DeleteFunc(undo, func(o reflect.Value) bool { return o.FieldByName("sector").Int() == u.FieldByName("sector").Int() })
		undo = append(undo, u)
	}
	v.number(uint64(len(undo)))
	generation, isGeneration := journal.Generation(name)
	if !isGeneration {
		v.plain(name)
	}
	switch {
	case !v.isDead && len(undo) == 0:
		return
	case !isPlain:
		v.value(file)
		return
	case v.generation == 0:
		v.generation = generation
	}
	v.number(generation - v.generation)
	v.number(uint64(file.FieldByName("size").Int()))
	image := imageOf(file)
	v.examine(generation, image)
	for _, u := range undo {
		before := slices.Clone(image)
		putSector(before, int(u.FieldByName("sector").Int()), u.FieldByName("old"))
		v.examine(generation, before)
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

// examine adds what a start would make of a file of the journal. Of a spare, which is no generation, it looks whether it was written to.
func (v *visit) examine(generation uint64, image []byte) {
	if generation == 0 {
		v.flag(slices.ContainsFunc(image, func(b byte) bool { return b != 0 }))
		return
	}
	e, err := journal.Examine(generation, image)
	v.flag(err == nil)
	v.value(reflect.ValueOf(e))
}

func (v *visit) pointer(k *kind, x reflect.Value) {
	at := address{x.Pointer(), x.Type()}
	switch {
	case x.IsNil():
		v.number(0)
	case k.isObject:
		v.number(uint64(x.Pointer()))
	case v.seen[at] != 0:
		v.number(v.seen[at])
	default:
		v.seen[at] = uint64(len(v.seen)) + 1
		if k.isNode {
			if name := x.Elem().FieldByName("name").String(); isJournal(name) && !x.Elem().FieldByName("file").IsNil() {
				v.journal(name, x.Elem().FieldByName("file").Elem())
				return
			}
		}
		if k.isManager {
			if d := x.Elem().FieldByName("drift"); d.FieldByName("reading").Bool() {
				v.since = d.FieldByName("since").Uint()
			}
		}
		v.follow(k.of, x.Elem())
	}
}

func (v *visit) structure(k *kind, x reflect.Value) {
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
				age = min(v.now.Sub(at), age)
			}
			v.number(uint64(age))
		case asClimb:
			if v.isCovered {
				v.value(y)
			}
		case asLife:
			if !v.isDead {
				v.value(y)
			}
		case asText:
			v.flag(y.Len() > 0)
			v.flag(strings.Contains(y.String(), secretMark))
		case asNotice:
			v.number(uint64(max(hal.Instant(y.Int()).Sub(v.now)+1, time.Microsecond)))
		case asReading:
			if x.FieldByName("reading").Bool() {
				v.number(v.steps - y.Uint())
			}
		case asChange:
			v.flag(y.Uint() > v.since)
		case asRecord:
			record, err := journal.DecodeRecord(y.Bytes())
			v.flag(err == nil)
			v.value(reflect.ValueOf(record))
		default:
			v.follow(f.kind, y)
		}
	}
}

// isWritten: a power cut does not undo it, as the kernel has written it by itself.
func (v *visit) isWritten(x reflect.Value) bool {
	return v.now.Sub(hal.Instant(x.FieldByName("at").Int())) > writeback
}

// writeback is after how long a kernel writes things out without being asked (hal/sim).
const writeback = 30 * time.Second

func (v *visit) list(k *kind, x reflect.Value) {
	if !k.of.isLogged { // of which some do not count
		v.number(uint64(x.Len()))
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
func (v *visit) table(k *kind, x reflect.Value) {
	v.number(uint64(x.Len()))
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
