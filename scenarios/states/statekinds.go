package states

import (
	"reflect"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// This file says what is a part of the state of a run, and how.

// kind is how the values of a type are followed.
type kind struct {
	fields    []field // of a struct
	of, key   *kind   // of what a pointer, a list or a table is made of
	text      string
	isAgent   bool // its instants are of the agent's clock
	isName    bool // a number that is only compared with others of its type
	isTime    bool
	isObject  bool // of the cluster, and never changed
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
	asSetUp      // an instant that counts only where a scenario mounts over a volume
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
	// Who looks on; what was set before the run and stays; counters that give numbers to what comes, and numbers that
	// nobody compares; what is for one event, and left over between two. How full the journal is: no scenario fills a
	// tenth of one.
	asNothing: `
		world.Run: Cfg H Bare Traits News Shows OpenAt Canary Probe Cover probing Lines storm Actual Leaks IsKnown IsOver
		world.Run: Crowd Meter tokens
		world.Place: sent
		world.HandOver: Life
		sim.World: config profile observe entered enteredFor start pids rpcCount borrowed slabs hungAt
		sim.chance: sched chooser faults menus script nth trace faulted lives
		sim.Cluster: chance source post
		sim.incarnation: number started drained queue drain
		sim.task: inc w index parked
		sim.node: found changed
		sim.driver: pid registrar
		sim.backend: processes
		sim.boot: began
		sim.filesystem: minor
		sim.superblock: inodes moves
		sim.mount: rootPath rootSeen
		sim.mountTable: last spelt base
		sim.pageCache: count
		sim.clusterObject: said merged
		core.Core: now step lastOp lastSeq order fresh stale round decided illegal troubles batch atlas keepers work
		core.identity: spot
		core.record: seq
		core.Record: Seq
		journal.Journal: live generation end seq synced sum buffer batch
		engine.waits: last
		engine.port: h cfg
		engine.podEvents: known swept
		engine.stream: runtime
		engine.ears: runtime cluster
		engine.own: changed
		scrub.Scrubber: seed key mu secrets tokens
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
		core.backoff: since
		world.Run: FailedAt
		world.Place: TouchedAt
		world.Foreign: Since
		world.HandOver: Unused`,
	asSetUp: `
		sim.volume: setUpUntil
		world.Place: SetUpUntil`,
	asLife: `
		world.Run: M Core Synced Heard
		world.Pod: Told IsWaiting
		sim.World: inc
		sim.clusterObject: as left newest
		sim.Cluster: watch watcher outages`,
	asText: `
		engine.starting: why
		engine.socket: why`,
	asNotice: `
		sim.clusterObject: told
		sim.Cluster: listed`,
	asReading: `
		engine.drift: since`,
	asChange: `
		core.schedule: changed`,
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

func (c *Comparer) kindOf(t reflect.Type) *kind {
	if k := c.kinds[t]; k != nil {
		return k
	}
	name := t.String()
	k := &kind{
		text:    name,
		isAgent: strings.Contains(t.PkgPath(), "/engine") || strings.Contains(t.PkgPath(), "/hal/manifest"),
		isName: t == reflect.TypeFor[hal.MountID]() || t == reflect.TypeFor[hal.OpID]() ||
			t == reflect.TypeFor[core.Waiter](),
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
