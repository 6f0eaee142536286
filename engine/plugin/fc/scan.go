package fc

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

// mountsDir is where the filesystems of disks are mounted (K:G86).
func mountsDir(root string) string { return root + "/plugins/" + pluginName }

// mountRung is all that the place of a mount says of its rung.
func mountRung(root, entry string, d which) core.Rung {
	dir := mountsDir(root)
	return core.Rung{
		Key: hal.Key(string(KindMount) + "/" + entry), Kind: KindMount, Volume: d.name(), Intent: true,
		Want: append(make([]core.Param, 0, 12),
			core.Param{Name: plugin.ParamPath, Value: dir + "/" + entry, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamStop, Value: dir},
		),
	}
}

// scan is what a start finds of Fibre Channel volumes. Of a disk nothing says that it is volnode's, as the kernel finds
// those of its ports unasked: the journal does.
type scan struct {
	binds  plugin.Directories
	maps   disk.Maps
	mounts []string
	shown  disk.Shown
}

func (l *scan) Entry(s *plugin.Scanner, uid, name string) { l.binds.Entry(s, uid, name) }

func (l *scan) Device(s *plugin.Scanner, uid string, e hal.Entry) { l.maps.Device(s, uid, e) }

// Node lists where filesystems of disks are mounted, and the disks that are held.
func (l *scan) Node(s *plugin.Scanner) error {
	if err := l.maps.Node(s); err != nil {
		return err
	}
	dir := mountsDir(s.Root)
	names, err := s.Top(dir)
	if err != nil {
		return err
	}
	if l.mounts = s.Directories(dir, names); len(l.mounts) > 0 {
		return l.shown.Look(s)
	}
	return nil
}

// Discover makes rungs of what is mounted of disks.
func (l *scan) Discover(d *plugin.Discovery) {
	lower, upper := len(d.Lower), len(d.Upper)
	for _, entry := range l.mounts {
		is, isOne := whichOf(entry)
		if !isOne {
			d.Unrecognised(mountsDir(d.Root)+"/"+entry, "the name is not that of a disk of Fibre Channel")
			continue
		}
		d.Lower = append(d.Lower, mountRung(d.Root, entry, is))
	}
	l.binds.Discover(d)
	l.shown.Stand(d.Upper[upper:], d.Lower[lower:])
	l.maps.Discover(d, func(string) hal.Key { return "" })
}
