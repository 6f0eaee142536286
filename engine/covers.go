package engine

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is what mounts of others do to the places of volumes: above a place they hide it, below it they stand in
// the way of its deletion.

// isBelow reports whether a path lies below a directory.
func isBelow(at, dir string) bool {
	return len(at) > len(dir) && at[len(dir)] == '/' && at[:len(dir)] == dir
}

// standsOn returns the mount on which a path lies, as the kernel resolves it: from the root on, on each name the top of
// the stack.
func standsOn(table []hal.Mount, at string) hal.Mount {
	var led []hal.Mount // those nearer to the root first: a later mount over a directory hides earlier ones below it
	for _, m := range table {
		if m.Path == "/" || m.Path == at || isBelow(at, m.Path) {
			led = append(led, m)
		}
	}
	slices.SortStableFunc(led, func(a, b hal.Mount) int { return len(a.Path) - len(b.Path) })
	var on hal.Mount
	for _, m := range led {
		if on.ID == 0 || m.Parent == on.ID && m.ID != on.ID {
			on = m
		}
	}
	return on
}

// stranger is a mount below the root directory that is at no volume's place.
type stranger struct {
	path  string     // where it is mounted
	key   hal.Key    // the volume below which it is; "" if it is below none
	text  string     // what it is, of one below a volume
	cover core.Cover // of one that is below no volume, and hides what is below it
}

// strangers returns those of a table, in the order of their paths. own says which volume has its place at a path.
func strangers(table []hal.Mount, root string, own func(path string) (hal.Key, bool)) []stranger {
	var found []stranger
	for _, m := range table {
		if !isBelow(m.Path, root) {
			continue
		}
		if _, isOwn := own(m.Path); isOwn {
			continue
		}
		if key, is := ownAbove(m.Path, root, own); is {
			found = append(found, stranger{path: m.Path, key: key, text: m.Fingerprint() + " is mounted on " + m.Path})
		} else {
			found = append(found, stranger{path: m.Path, cover: coverOf(m.Path, m)})
		}
	}
	slices.SortStableFunc(found, byPath)
	return found
}

func byPath(a, b stranger) int { return strings.Compare(a.path, b.path) }

// coversOf returns what hides places of volumes: first what has the root directory be another one than at the start,
// then the strangers below no volume.
func coversOf(lost []core.Cover, strange []stranger) []core.Cover {
	covers := slices.Clone(lost)
	for _, s := range strange {
		if s.key == "" {
			covers = append(covers, s.cover)
		}
	}
	return covers
}

// rootCovers returns what has the root directory be another one than at the start, when it was on the mount base:
// nothing, or one cover.
func rootCovers(table []hal.Mount, root string, base hal.MountID) []core.Cover {
	if on := standsOn(table, root); on.ID != base {
		return []core.Cover{coverOfRoot(table, root, base, on)}
	}
	return nil
}

// coverOf is a mount that hides what is below a path.
func coverOf(at string, m hal.Mount) core.Cover {
	is := m.Fingerprint()
	why := fmt.Sprintf("%s, mounted on %s, hides the volume's path; volnode does nothing there until you unmount it",
		is,
		m.Path)
	return core.Cover{Path: at, What: is, Why: why, Until: "the unmount of " + m.Path}
}

// coverOfRoot is what has the root directory be another one than at the start: a mount over it or over what leads to
// it, or the end of its own mount.
func coverOfRoot(table []hal.Mount, root string, base hal.MountID, on hal.Mount) core.Cover {
	if slices.ContainsFunc(table, func(m hal.Mount) bool { return m.ID == base }) {
		return coverOf(root, on)
	}
	why := fmt.Sprintf("root directory %s: its mount %d was unmounted, and the path leads to %s; volnode does nothing "+
		"there, and containers keep their mounts; mount the root directory again, then restart volnode",
		root, base, on.Fingerprint())
	return core.Cover{
		Path: root, What: on.Fingerprint(), Why: why,
		Until: "the mount of the root directory and a restart of volnode", IsLost: true,
	}
}

// ownAbove returns the volume in whose place a path lies.
func ownAbove(at, root string, own func(path string) (hal.Key, bool)) (hal.Key, bool) {
	for at = path.Dir(at); len(at) > len(root); at = path.Dir(at) {
		if key, is := own(at); is {
			return key, true
		}
	}
	return "", false
}

// mindStrangers takes in what is at some paths and below them, nil for all, and tells core which mounts hide
// places, if that has changed. It returns the volumes below which something else is mounted now than before.
func (d *drift) mindStrangers(paths []string, table []hal.Mount) []hal.Key {
	found := strangers(table, d.cfg.RootDir, d.core.At)
	switch {
	case paths == nil:
		d.lost, d.strange = rootCovers(table, d.cfg.RootDir, d.base), found
	case slices.Equal(found, strangersWithin(d.strange, paths)):
		return nil
	default:
		kept := slices.DeleteFunc(slices.Clone(d.strange), func(s stranger) bool { return isAmong(s.path, paths) })
		d.strange = append(kept, found...)
		slices.SortStableFunc(d.strange, byPath)
	}
	below := d.below
	d.below = map[hal.Key]string{}
	for _, s := range d.strange {
		if s.key != "" {
			d.below[s.key] = s.text
		}
	}
	covers := coversOf(d.lost, d.strange)
	if !slices.Equal(covers, d.covers) {
		d.covers = covers
		for _, c := range covers {
			d.emit(MountHides{c.Path, c.What, c.Why})
		}
		step(d.port, core.Covered{By: covers})
		d.strangerCame()
	}
	return changedKeys(below, d.below)
}

// strangerBelow returns what others have mounted below a volume, "" for nothing.
func (d *drift) strangerBelow(key hal.Key) string { return d.below[key] }

// strangersWithin returns those of some strangers that are at or below some paths, in order.
func strangersWithin(strange []stranger, paths []string) (within []stranger) {
	take := func(from string, isOne func(at string) bool) {
		i, _ := slices.BinarySearchFunc(strange, stranger{path: from}, byPath)
		for ; i < len(strange) && isOne(strange[i].path); i++ {
			within = append(within, strange[i])
		}
	}
	for _, path := range paths {
		take(path, func(at string) bool { return at == path })
		take(path+"/", func(at string) bool { return isBelow(at, path) })
	}
	slices.SortStableFunc(within, byPath)
	return within
}

// changedKeys returns the keys of which two maps say different things, sorted.
func changedKeys(before, after map[hal.Key]string) (changed []hal.Key) {
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if after[key] != before[key] {
			changed = append(changed, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if before[key] == "" {
			changed = append(changed, key)
		}
	}
	slices.Sort(changed)
	return changed
}

// isAmong reports whether a path is one of some sorted paths, or lies below one.
func isAmong(at string, paths []string) bool {
	for {
		if _, is := slices.BinarySearch(paths, at); is {
			return true
		}
		if at == "/" || at == "." {
			return false
		}
		at = path.Dir(at)
	}
}

// placesOf says which volume has its place at a path, of the volumes that a start knows of.
func placesOf(s *core.Start) func(path string) (hal.Key, bool) {
	own := map[string]hal.Key{}
	for _, rec := range s.Records {
		own[plugin.PathOf(rec.Rung.Want)] = rec.Rung.Key
	}
	for _, r := range s.Orphans {
		own[plugin.PathOf(r.Want)] = r.Key
	}
	return func(path string) (hal.Key, bool) {
		key, is := own[path]
		return key, is
	}
}
