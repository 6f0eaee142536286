package haltest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// Multipathed is a [SAN] whose node has multipathd, which the cases of testdata/multipath.txt need. The map of the disk
// "patient" queues while it has no path, that of others fails; multipathd makes no map of the disk "hidden".
type Multipathed interface {
	SAN
	// SetMultipathd starts multipathd, as it is at first ("on"): it makes a map if it is asked for it, and adds paths to
	// one. Or it starts it so that it makes a map of each disk ("greedy"), or stops it ("off").
	SetMultipathd(how string)
	// Reconfigure is a person who has multipathd look at all disks again.
	Reconfigure()
	// WWIDs are those of the disks of which multipathd makes a map whenever it sees one.
	WWIDs() []string
	// Grow has a disk be twice as large as it was made. Nobody tells the node.
	Grow(disk string)
	// Unplug is a person who has the kernel forget the disk at a path, whoever uses it.
	Unplug(path string)
	// MakeDevice is a person who makes a device of the device mapper that is no map of paths.
	MakeDevice(name string)
	// Pause waits a moment, and reports whether anything may be different then.
	Pause() bool
}

func (r *run) multipathed() Multipathed {
	m, is := r.world.(Multipathed)
	if !is {
		panic("haltest: this world has no multipathd")
	}
	return m
}

// mapOf is the map of a disk as maps has listed it last. One that it has not listed is a map that is not there.
func (r *run) mapOf(a args) hal.MultipathMap {
	m, isKnown := r.san.maps[a[0]]
	if !isKnown {
		m = hal.MultipathMap{UUID: "mpath-none", Name: "none", Node: "dm-4000", Sequence: 1}
	}
	if slices.Contains(a[1:], "other") {
		m.Sequence++
	}
	return m
}

var multipathVerbs = map[string]verb{
	"multipathd": func(r *run, a args) ([]string, error) {
		if a[0] == "again" {
			r.multipathed().Reconfigure()
		} else {
			r.multipathed().SetMultipathd(a[0])
		}
		return nil, nil
	},
	"kept": func(r *run, _ args) (lines []string, err error) {
		for _, wwid := range r.multipathed().WWIDs() {
			lines = append(lines, r.wwid(wwid))
		}
		slices.Sort(lines)
		return lines, nil
	},
	"grow": func(r *run, a args) ([]string, error) {
		r.multipathed().Grow(a[0])
		return nil, nil
	},
	"unplug": func(r *run, a args) ([]string, error) {
		r.multipathed().Unplug(r.disks[a[0]].path)
		return nil, nil
	},
	"device": func(r *run, a args) ([]string, error) {
		r.multipathed().MakeDevice(a[0])
		return nil, nil
	},
	"assemble": func(r *run, a args) ([]string, error) {
		var disks []hal.SCSIDisk
		for _, name := range a {
			d := r.san.luns[strings.TrimSuffix(name, "~")]
			if strings.HasSuffix(name, "~") {
				d.Sequence++
			}
			disks = append(disks, d)
		}
		return nil, r.host.Multipath.Assemble(r.call(), disks)
	},
	"maps":  func(r *run, _ args) ([]string, error) { return r.listMaps() },
	"await": (*run).awaitMap,
	"remove": func(r *run, a args) ([]string, error) {
		return nil, r.host.Multipath.Remove(r.call(), r.mapOf(a), !slices.Contains(a, "now"))
	},
	"resize": func(r *run, a args) ([]string, error) { return nil, r.host.Multipath.Resize(r.call(), r.mapOf(a)) },
	"failqueued": func(r *run, a args) ([]string, error) {
		return nil, r.host.Multipath.FailQueued(r.call(), r.mapOf(a))
	},
	"mapsays": func(r *run, a args) ([]string, error) {
		m := r.mapOf(a)
		is, err := r.host.Blocks.Probe(r.call(), "/dev/"+m.Node)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("it says %s, the same device %t", r.wwid(is.Says), is.Is() == m.Is())}, nil
	},
}

// listMaps lists the maps, and gives each the name map:DISK.
func (r *run) listMaps() (lines []string, err error) {
	r.storage().Settle()
	all, err := r.host.Multipath.Maps(r.call())
	for tries := 0; tries < 50 && slices.ContainsFunc(all, isOpen) && r.multipathed().Pause(); tries++ {
		all, err = r.host.Multipath.Maps(r.call()) // somebody may just have a look at it
	}
	for _, m := range all {
		of := r.wwid(m.WWID)
		r.san.maps[of] = m
		r.disks["map:"+of] = &disk{path: "/dev/" + m.Node}
		r.names.disks["/dev/"+m.Node] = "map:" + of
		first := cmp.Or(r.san.sizes[of], m.Size)
		r.san.sizes[of] = first
		line := fmt.Sprintf("%s is the map of %s, q%d, size x%d", m.Node, of, numbered(r.san.sequences, m.Sequence),
			m.Size/first)
		for _, p := range r.pathsOf(m) {
			line += ", " + p
		}
		if isOpen(m) {
			line += ", open"
		}
		if m.Queues {
			line += ", queues"
		}
		if m.IsSuspended {
			line += ", suspended"
		}
		lines = append(lines, line)
	}
	return lines, err
}

// isOpen reports whether somebody has a map open. What looks at a map that queues waits, so that is not told.
func isOpen(m hal.MultipathMap) bool { return m.Opens > 0 && (m.IsUp() || !m.Queues) }

func (r *run) pathsOf(m hal.MultipathMap) (all []string) {
	for _, p := range m.Paths {
		state := " failed"
		if p.Active {
			state = " active"
		}
		all = append(all, cmp.Or(r.names.disks["/dev/"+p.Name], "a path")+state)
	}
	slices.Sort(all)
	return all
}

// awaitMap waits until the map of a disk has paths of which so many are active and so many have failed, or until it is
// gone.
func (r *run) awaitMap(a args) ([]string, error) {
	for tries := 0; tries < 600; tries++ {
		all, err := r.host.Multipath.Maps(hal.Call{})
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(all, func(m hal.MultipathMap) bool { return r.wwid(m.WWID) == a[0] })
		if i < 0 && a[1] == "gone" {
			return nil, nil
		}
		if i >= 0 && a[1] != "gone" {
			active := 0
			for _, p := range all[i].Paths {
				if p.Active {
					active++
				}
			}
			if int64(active) == a.number(1, 0) && int64(len(all[i].Paths)-active) == a.number(2, 0) {
				return nil, nil
			}
		}
		if !r.multipathed().Pause() {
			break
		}
	}
	return nil, syscall.ETIMEDOUT
}
