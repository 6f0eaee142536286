package engine

import (
	"fmt"
	"path"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// This file is what mounts of others do to the places of volumes: above a place they hide it, below it they stand in the way of its deletion.

// isBelow reports whether a path lies below a directory.
func isBelow(at, dir string) bool {
	return len(at) > len(dir) && at[len(dir)] == '/' && at[:len(dir)] == dir
}

// standsOn returns the mount on which a path lies, as the kernel resolves it: from the root on, on each name the top of the stack.
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

// strangers sorts the mounts below the root directory that are at no volume's place: those that hide places, and by volume one that is below it.
// own is the places of volumes. base is the mount on which the root directory was when the agent started.
func strangers(table []hal.Mount, root string, base hal.MountID, own map[string]hal.Key) (covers []core.Cover, below map[hal.Key]string) {
	if on := standsOn(table, root); on.ID != base {
		covers = append(covers, coverOfRoot(table, root, base, on))
	}
	for _, m := range table {
		if _, isOwn := own[m.Path]; isOwn || !isBelow(m.Path, root) {
			continue
		}
		if key, is := ownAbove(m.Path, root, own); !is {
			covers = append(covers, coverOf(m.Path, m))
		} else {
			if below == nil {
				below = map[hal.Key]string{}
			}
			below[key] = m.Fingerprint() + " is mounted on " + m.Path
		}
	}
	return covers, below
}

// coverOf is a mount that hides what is below a path.
func coverOf(at string, m hal.Mount) core.Cover {
	is := m.Fingerprint()
	why := fmt.Sprintf("%s, mounted on %s, hides its place; volnode does nothing there until you unmount it", is, m.Path)
	return core.Cover{Path: at, What: is, Why: why, Until: "the unmount of " + m.Path}
}

// coverOfRoot is what has the root directory be another one than at the start: a mount over it or over what leads to it, or the end of its own mount.
func coverOfRoot(table []hal.Mount, root string, base hal.MountID, on hal.Mount) core.Cover {
	if slices.ContainsFunc(table, func(m hal.Mount) bool { return m.ID == base }) {
		return coverOf(root, on)
	}
	why := fmt.Sprintf("the root directory %s is not the one that volnode started on: mount %d, on which it was, was unmounted, and the path leads to %s "+
		"by now; containers keep what they have; volnode does nothing there; mount the root directory again as it was, and start volnode again",
		root, base, on.Fingerprint())
	return core.Cover{Path: root, What: on.Fingerprint(), Why: why, Until: "the root directory to be mounted again, and a new start of volnode", IsLost: true}
}

// ownAbove returns the volume in whose place a path lies.
func ownAbove(at, root string, own map[string]hal.Key) (hal.Key, bool) {
	for at = path.Dir(at); len(at) > len(root); at = path.Dir(at) {
		if key, is := own[at]; is {
			return key, true
		}
	}
	return "", false
}

// mindStrangers tells core which mounts hide places, if that has changed.
func (m *VolumeManager) mindStrangers(table []hal.Mount) {
	own := map[string]hal.Key{}
	m.core.Places(func(key hal.Key, at string) { own[at] = key })
	var covers []core.Cover
	covers, m.drift.below = strangers(table, m.cfg.RootDir, m.drift.base, own)
	if slices.Equal(covers, m.drift.covers) {
		return
	}
	m.drift.covers = covers
	for _, c := range covers {
		m.log(LevelWarn, "places of volumes are hidden", "path", c.Path, "mount", c.What, "why", c.Why)
	}
	m.step(core.Covered{By: covers})
}

// placesOf is the places of the volumes that a start knows of.
func placesOf(s *core.Start) map[string]hal.Key {
	own := map[string]hal.Key{}
	for _, rec := range s.Records {
		own[core.Value(rec.Rung.Want, "path")] = rec.Rung.Key
	}
	for _, r := range s.Strays {
		own[core.Value(r.Want, "path")] = r.Key
	}
	return own
}
