package scenarios

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/journal"
	"github.com/volnode/volnode/hal"
)

// This file tells whether two runs of one scenario have come to one state, from which both go on alike. It follows every field
// of the world, the engine and the checks, so that what somebody adds is a part of the state: at worst, two are told apart that
// are one. What is left out stands in notAsItIs.

// State is a hash of all that decides how a run goes on.
type State uint64

// Comparer makes the states of runs of one scenario, which can be compared if one Comparer has made them. One goroutine at a time may use it.
type Comparer struct {
	seed  maphash.Seed
	kinds map[reflect.Type]*kind
}

// NewComparer returns a Comparer that has made no state yet.
func NewComparer() *Comparer {
	return &Comparer{seed: maphash.MakeSeed(), kinds: map[reflect.Type]*kind{}}
}

// kind is how the values of a type are followed.
type kind struct {
	fields   []field // of a struct
	isAgent  bool    // its instants are of the agent's clock
	isName   bool    // a number that is only compared with others of its type
	isTime   bool
	isObject bool // of the cluster, and never changed: its address is enough
	isDevice bool
	isNode   bool // a pointer to a name in a filesystem
	isLogged bool // something that a power cut can undo for a while
}

type field struct {
	index int
	name  string
	as    as
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
)

// longestAge is after how long it does not matter any more when something was: see noticing and forceAfter.
const longestAge = 10 * time.Minute

// notAsItIs is the fields that are no part of the state, or not by their values.
var notAsItIs = fieldsAs(map[as]string{
	// Who looks on; what was set before the run and stays; counters that give numbers to what comes, and numbers that nobody compares; what is for one
	// event, and left over between two. How full the journal is: no scenario fills a tenth of one.
	asNothing: `
		scenarios.run: cfg h canary probe cover probing lines storm actual mark
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
		core.rung: changed seq
		core.Record: Seq
		journal.Journal: live generation end seq synced buffer batch
		engine.VolumeManager: h cfg starts lastWaiter
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
		scenarios.place: touchedAt
		scenarios.foreign: since
		scenarios.handOver: unused`,
	asClimb: `
		sim.volume: climbing
		scenarios.place: climbUntil`,
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

// visit is one walk through a run.
type visit struct {
	*Comparer
	hash      maphash.Hash
	now       hal.Instant // of the world's clock
	agent     hal.Instant // the same of the agent's
	isAgent   bool        // the struct that is followed has instants of that
	seen      map[address]uint64
	names     map[string]uint64
	isCovered bool
}

// state returns the state of a run before a statement of its timeline; false if something is under way, which no field tells.
//
// A timer of the agent is known by when it is due: what it is for, the engine notes elsewhere. Of two, which is which would not be known.
func (t *story) state(c *Comparer, step int) (State, bool) {
	events, isSettled := t.w.Upcoming()
	if !isSettled || !t.r.alive() {
		return 0, false
	}
	v := &visit{Comparer: c, now: t.w.Now(), agent: t.r.h.Runtime.Now(), seen: map[address]uint64{}, names: map[string]uint64{}}
	v.hash.SetSeed(c.seed)
	v.number(uint64(step))
	if t.hasDates(step) {
		v.number(uint64(v.now))
	}
	v.number(uint64(len(events)))
	timer := hal.Instant(0)
	for _, e := range events {
		if e.IsAgent && timer != 0 && timer != e.At {
			return 0, false
		}
		if e.IsAgent {
			timer = e.At
		}
		v.number(uint64(e.At.Sub(v.now)))
		v.number(e.Name)
	}
	v.value(reflect.ValueOf(t.met))
	v.isCovered = t.s.mountsOver()
	v.value(reflect.ValueOf(t.r))
	return State(v.hash.Sum64()), true
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
func (v *visit) name(what string) {
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
		isAgent:  strings.Contains(t.PkgPath(), "/engine") || strings.Contains(t.PkgPath(), "/hal/manifest"),
		isName:   t == reflect.TypeFor[hal.MountID]() || t == reflect.TypeFor[hal.OpID]() || t == reflect.TypeFor[core.Waiter](),
		isTime:   t == reflect.TypeFor[hal.Instant](),
		isObject: t.Kind() == reflect.Pointer && strings.HasPrefix(t.Elem().PkgPath(), "k8s.io/"),
		isDevice: t == reflect.TypeFor[hal.Device](),
		isNode:   name == "*sim.node",
		isLogged: name == "sim.change" || name == "sim.sectorUndo",
	}
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			f := t.Field(i)
			if is := notAsItIs[name+"."+f.Name]; is != asNothing {
				k.fields = append(k.fields, field{i, f.Name, is})
			}
		}
	}
	c.kinds[t] = k
	return k
}

// value follows a value.
func (v *visit) value(x reflect.Value) {
	k := v.kindOf(x.Type())
	switch x.Kind() {
	case reflect.Bool:
		v.flag(x.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.signed(k, x.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		if k.isName {
			v.name(x.Type().String() + strconv.FormatUint(x.Uint(), 10))
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
		v.list(x)
	case reflect.Map:
		v.table(x)
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
			v.name("hal.MountID" + parts[0])
			v.name("device " + parts[2])
			s = parts[3]
		}
	}
	if isJournal(s) {
		s = "journal"
	}
	if boot, ok := strings.CutPrefix(s, "00000000-0000-4000-8000-000"); ok { // World.bootNode
		n, _ := strconv.Atoi(boot)
		v.name("number " + strconv.Itoa(n))
		return
	}
	if driver, life, ok := strings.Cut(s, "/"); ok {
		if boot, process, ok := strings.Cut(life, "."); ok && isNumber(boot) && isNumber(process) { // sim.DriverState.Instance
			v.plain(driver)
			v.name("number " + boot)
			v.name("process " + process)
			return
		}
	}
	v.plain(s)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// isJournal: a file of the journal, or its directory. What is in it that counts is in the journal's own fields, as it was written, once all of it is.
func isJournal(name string) bool { return name == "journal" || strings.HasPrefix(name, "journal.") }

func (v *visit) pointer(k *kind, x reflect.Value) {
	at := address{x.Pointer(), x.Type()}
	switch {
	case x.IsNil():
		v.number(0)
	case k.isNode && isJournal(x.Elem().FieldByName("name").String()):
	case k.isObject:
		v.number(uint64(x.Pointer()))
	case v.seen[at] != 0:
		v.number(v.seen[at])
	default:
		v.seen[at] = uint64(len(v.seen)) + 1
		v.value(x.Elem())
	}
}

func (v *visit) structure(k *kind, x reflect.Value) {
	switch {
	case k.isDevice:
		v.name("device " + strconv.FormatUint(x.Field(0).Uint(), 10) + ":" + strconv.FormatUint(x.Field(1).Uint(), 10))
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
			v.name(name + " " + strconv.FormatUint(y.Uint(), 10))
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
		case asRecord:
			record, err := journal.DecodeRecord(y.Bytes())
			v.flag(err == nil)
			v.value(reflect.ValueOf(record))
		default:
			v.value(y)
		}
	}
}

// isWritten: a power cut does not undo it, as the kernel has written it by itself, or it is about a file of the journal.
func (v *visit) isWritten(x reflect.Value) bool {
	if v.now.Sub(hal.Instant(x.FieldByName("at").Int())) > writeback {
		return true
	}
	dir := x.FieldByName("dir")
	return dir.IsValid() && !dir.IsNil() && isJournal(dir.Elem().FieldByName("name").String())
}

// writeback is after how long a kernel writes things out without being asked (hal/sim).
const writeback = 30 * time.Second

func (v *visit) list(x reflect.Value) {
	of := x.Type().Elem()
	if k := v.kindOf(of); !k.isLogged && !k.isNode { // of which some do not count
		v.number(uint64(x.Len()))
	}
	if of.Kind() == reflect.Uint8 && (x.Kind() == reflect.Slice || x.CanAddr()) {
		_, _ = v.hash.Write(x.Bytes()) // a hash never fails
		return
	}
	for i := range x.Len() {
		v.value(x.Index(i))
	}
}

// table follows a map in the order of its keys.
func (v *visit) table(x reflect.Value) {
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
		v.value(key)
		v.value(x.MapIndex(key))
	}
}
