package iscsi

import (
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// mountsDir is where the filesystems of disks are mounted (K:G76).
func mountsDir(root string) string { return root + "/plugins/" + pluginName }

// mountKey is the key of the mount of a disk's filesystem.
func mountKey(iface, entry string) hal.Key {
	return hal.Key(string(KindMount) + "/" + iface + "/" + entry)
}

// mountRung is all that the place of a mount says of its rung.
func mountRung(root, iface, entry string) core.Rung {
	dir := mountsDir(root)
	_, of, _ := strings.Cut(entry, "-")
	target, lun, _ := cutLast(of, "-lun-")
	return core.Rung{
		Key: mountKey(iface, entry), Kind: KindMount, Volume: string(Kind) + "^" + target + " lun " + lun, Intent: true,
		Want: append(make([]core.Param, 0, 12),
			core.Param{Name: plugin.ParamPath, Value: dir + "/" + iface + "/" + entry, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamStop, Value: dir},
		),
	}
}

func cutLast(text, at string) (before, after string, found bool) {
	i := strings.LastIndex(text, at)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(at):], true
}

// scan is what a start finds of iSCSI volumes.
type scan struct {
	binds  plugin.Directories
	mounts [][2]string // interface, and name
}

func (l *scan) Entry(s *plugin.Scanner, uid, name string) { l.binds.Entry(s, uid, name) }

// Node lists where filesystems of disks are mounted.
func (l *scan) Node(s *plugin.Scanner) error {
	dir := mountsDir(s.Root)
	names, err := s.Top(dir)
	if err != nil {
		return err
	}
	for _, iface := range s.Directories(dir, names) {
		entries, ok := s.Names(dir + "/" + iface)
		if !ok {
			continue
		}
		for _, entry := range s.Directories(dir+"/"+iface, entries) {
			l.mounts = append(l.mounts, [2]string{iface, entry})
		}
	}
	return nil
}

func (l *scan) Discover(d *plugin.Discovery) {
	for _, m := range l.mounts {
		iface, entry := m[0], m[1]
		if _, _, is := cutLast(entry, "-lun-"); !is || !strings.HasPrefix(iface, "iface-") {
			d.Unrecognised(mountsDir(d.Root)+"/"+iface+"/"+entry, "the name is not that of a disk of a target")
			continue
		}
		d.Lower = append(d.Lower, mountRung(d.Root, iface, entry))
	}
	l.binds.Discover(d)
}
