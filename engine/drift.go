package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// drift compares the mount table with what core believes: all of it at the start and every so often, and where it has
// changed each time it has.
type drift struct {
	*port
	strangerCame func() // others have mounted something at no volume's place

	// What is to be read next: all of the table, or what is at some paths and below them, sorted.
	isAll bool     // the whole table
	news  []string // some paths; of no account while isAll

	reading bool                 // a task reads the table
	at      []string             // what is being read; nil is all
	since   uint64               // the last step of core when the reading began
	blocked map[hal.Key]inTheWay // what was at the place of each Blocked rung when it was read last
	due     hal.Instant          // of the next reading of all without a notice; 0 is none

	base    hal.MountID        // on which the root directory was at the start
	lost    []core.Cover       // what has the root directory be another one
	strange []stranger         // what others have mounted below the root directory, by path
	covers  []core.Cover       // the mounts of others that hide places of volumes
	below   map[hal.Key]string // what others have mounted below a volume
}

// inTheWay is what is at the place of a rung, and what others have mounted below it.
type inTheWay struct{ top, below string }

// driftRetry is the wait after a table that could not be read.
const driftRetry = time.Second

// tableEvery is how often the table is read without a notice while volumes are up: of a filesystem that turns read-only
// by itself, or loses its device, the kernel gives none.
const tableEvery = 2 * time.Minute

// coveredRetry is the wait while a mount hides what is to be looked at.
const coveredRetry = 30 * time.Second

// tableChanged has what has come and gone at some paths compared, or everything if they are nil.
func (d *drift) tableChanged(at []string) {
	d.readLater(at)
	d.readTable()
}

// readTable reads what is to be read next, unless a reading is under way.
func (d *drift) readTable() {
	if d.reading {
		return
	}
	at := d.concerning(d.news)
	if d.isAll {
		at = nil
	} else if len(at) == 0 {
		d.news = nil
		return
	}
	d.isAll, d.news = false, nil
	d.reading, d.at, d.since = true, at, d.core.Seq()
	d.h.Runtime.Go(func() {
		table, err := d.mountsAt(at)
		d.h.Runtime.Post(func() { d.tableRead(table, err) })
	})
}

// concerning returns those of some sorted paths at which a mount may concern a volume, without those below another
// one. A mount on what leads to the root directory concerns everything: then it returns nil, and all is to be read.
func (d *drift) concerning(paths []string) []string {
	root := d.cfg.RootDir
	concerned := paths[:0:0]
	for _, at := range paths {
		switch {
		case at == root || at == "/" || isBelow(root, at):
			d.isAll = true
			return nil
		case (isBelow(at, root) || d.core.IsPlace(at)) && !isAmong(at, concerned):
			concerned = append(concerned, at)
		}
	}
	return concerned
}

// mountsAt reads the mounts at some paths and below them, nil for all, a stack bottom first.
func (d *drift) mountsAt(paths []string) ([]hal.Mount, error) {
	if paths == nil {
		return d.h.Mounts.Table(hal.Call{})
	}
	var all []hal.Mount
	for _, at := range paths {
		found, err := d.h.Mounts.Within(hal.Call{}, at)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

func (d *drift) tableRead(table []hal.Mount, err error) {
	at, since := d.at, d.since
	d.reading, d.at = false, nil
	if err != nil {
		d.readLater(at)
		d.h.Runtime.At(d.h.Runtime.Now().Add(driftRetry), d.readTable)
		return
	}
	changed := d.mindStrangers(at, table)
	d.readsAgain()
	tops := make(map[string]*hal.Mount, len(table))
	for i := range table {
		tops[table[i].Path] = &table[i] // a stack is listed bottom first
	}
	// What an answered call has brought over another volume is told before that volume is found covered: else it would
	// come up on top.
	for _, e := range append(d.appeared(at, tops, table, since), d.differing(at, tops, since)...) {
		d.emit(VolumeChanged{e.Key, e.Fingerprint})
		step(d.port, e)
	}
	for _, key := range d.unblocked(at, tops, changed) {
		step(d.port, core.Unblocked{Key: key})
	}
	// Of what has come to stand since the reading began it says nothing for certain, and there may be no other notice:
	// what differs is read again.
	if now := d.core.Seq(); now > since && len(d.differing(at, tops, now))+len(d.appeared(at, tops, table, now)) > 0 {
		d.readLater(at)
	}
	d.readTable()
}

// readLater has something be read next, or all if it is nil.
func (d *drift) readLater(at []string) {
	if d.isAll = d.isAll || at == nil; d.isAll {
		d.news = nil
		return
	}
	d.news = append(slices.Clone(d.news), at...)
	slices.Sort(d.news)
	d.news = slices.Compact(d.news)
}

// readsAgain plans the next reading without a notice.
func (d *drift) readsAgain() {
	if now := d.h.Runtime.Now(); d.due <= now && d.core.HasMounts() {
		at := now.Add(tableEvery)
		d.due = at
		d.h.Runtime.At(at, func() {
			if d.due == at {
				d.tableChanged(nil)
			}
		})
	}
}

// differing returns the rungs that are up, were a mount and are not that mount any more, and those without one on which
// something was mounted that matters. What a mount above hides is as it was.
func (d *drift) differing(paths []string, tops map[string]*hal.Mount, since uint64) []core.Observed {
	var events []core.Observed
	d.core.EachPresent(paths, since, func(key hal.Key, made []core.Param, fingerprint string) {
		at := plugin.PathOf(made)
		_, isCovered := d.core.CoverOf(key)
		if at == "" || isCovered {
			return
		}
		mount, ok := tops[at]
		if !strings.HasPrefix(fingerprint, "mount ") && (!ok || !d.mindsMount(key)) {
			return
		}
		if ok && mount.Is(fingerprint) {
			return
		}
		found := ""
		if ok {
			found = mount.Fingerprint()
		}
		events = append(events, core.Observed{Key: key, Fingerprint: found, Since: since})
	})
	return events
}

// mindsMount reports whether a mount matters at the place of a rung that is up without one: over an emptyDir, or if a
// call of ours may have brought it. Once that can't be any more, a start would take it for another's.
func (d *drift) mindsMount(key hal.Key) bool {
	kind, _, _ := strings.Cut(string(key), "/")
	b, _ := d.core.Belief(key)
	return d.cfg.VolumeSources.IsDirectory(core.Kind(kind)) || b.SetUpOpen != 0
}

// appeared returns the rungs that were down, and at or below whose place something is mounted now: an effect of a call
// that was answered with an error.
func (d *drift) appeared(paths []string, tops map[string]*hal.Mount, table []hal.Mount, since uint64,
) []core.Observed {
	var events []core.Observed
	var mounted []string
	d.core.Remembered(paths, since, func(key hal.Key, at, beside string) {
		if at == "" {
			return
		}
		if beside != "" {
			i := slices.IndexFunc(table, func(mount hal.Mount) bool { return mount.Path == at && !mount.Was(beside) })
			if i >= 0 {
				events = append(events, core.Observed{Key: key, Fingerprint: table[i].Fingerprint(), Since: since})
			}
			return
		}
		if mounted == nil {
			mounted = slices.Sorted(maps.Keys(tops))
		}
		i, is := slices.BinarySearch(mounted, at)
		if !is {
			i, _ = slices.BinarySearch(mounted, at+"/")
		}
		if is || i < len(mounted) && isBelow(mounted[i], at) {
			events = append(events, core.Observed{Key: key, Fingerprint: tops[mounted[i]].Fingerprint(), Since: since})
		}
	})
	return events
}

// ended takes in the end of an operation: what is at the place of a rung that is Blocked from here on is read, so that
// later changes are compared with it.
func (d *drift) ended(op *core.Op, res *core.Result) {
	if at := plugin.PathOf(op.Params); res.Blocked && at != "" {
		d.tableChanged([]string{at})
	} else {
		delete(d.blocked, op.Key)
	}
}

// unblocked returns the Blocked rungs in whose way something else is than when it was read last: at some paths and
// below them, nil for all, and those below which something has come or gone.
func (d *drift) unblocked(paths []string, tops map[string]*hal.Mount, changed []hal.Key) []hal.Key {
	before := d.blocked
	if paths == nil {
		d.blocked = map[hal.Key]inTheWay{}
	}
	var unblocked []hal.Key
	note := func(key hal.Key, now inTheWay) {
		if was, known := before[key]; known && was != now {
			unblocked = append(unblocked, key)
		}
		d.blocked[key] = now
	}
	for _, key := range changed {
		if was, known := before[key]; known && paths != nil {
			note(key, inTheWay{was.top, d.below[key]})
		}
	}
	d.core.Blocked(paths, func(key hal.Key, at string) {
		now := inTheWay{below: d.below[key]}
		if mount, ok := tops[at]; ok {
			now.top = mount.Fingerprint()
		}
		note(key, now)
	})
	return unblocked
}

func childText(c hal.Child) string {
	return fmt.Sprintf("helper of an earlier run still runs: pid %d (state %s): %s", c.PID, c.State, c.What)
}

func itoa(n int) string { return strconv.Itoa(n) }
