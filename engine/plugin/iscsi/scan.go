package iscsi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
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
	target, lun := splitEntry(entry)
	return core.Rung{
		Key: mountKey(iface, entry), Kind: KindMount, Volume: string(Kind) + "^" + target + " lun " + lun, Intent: true,
		Want: append(make([]core.Param, 0, 12),
			core.Param{Name: plugin.ParamPath, Value: dir + "/" + iface + "/" + entry, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamStop, Value: dir},
		),
	}
}

// splitEntry takes a name of a mount apart.
func splitEntry(entry string) (target, lun string) {
	_, of, _ := strings.Cut(entry, "-")
	target, lun, _ = cutLast(of, "-lun-")
	return target, lun
}

// deviceOf is the key of the disk that such a name is of.
func deviceOf(entry string) hal.Key {
	target, text := splitEntry(entry)
	lun, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return ""
	}
	return DeviceKey(target, int32(lun))
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
	maps   disk.Maps
	mounts [][2]string // interface, and name
	// records are what volnode has, or may have, sessions of; disks are by them.
	records []hal.ISCSIRecord
	disks   map[hal.ISCSIRecord][]hal.SCSIDisk
	multi   []hal.MultipathMap // of paths
	shown   disk.Shown
}

func (l *scan) Entry(s *plugin.Scanner, uid, name string) { l.binds.Entry(s, uid, name) }

func (l *scan) Device(s *plugin.Scanner, uid string, e hal.Entry) { l.maps.Device(s, uid, e) }

// Node lists where filesystems of disks are mounted, and the sessions on interfaces of volnode.
func (l *scan) Node(s *plugin.Scanner) error {
	if err := l.sessions(s); err != nil {
		return err
	}
	if err := l.maps.Node(s); err != nil {
		return err
	}
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
	if len(l.mounts) > 0 {
		return l.shown.Look(s)
	}
	return nil
}

func (l *scan) sessions(s *plugin.Scanner) error {
	sessions, err := s.Host.ISCSI.Sessions(s.Call)
	if err != nil {
		return err
	}
	if l.records, err = s.Host.ISCSI.Records(s.Call); err != nil {
		return err
	}
	if l.multi, err = s.Host.Multipath.Maps(s.Call); err != nil {
		return err
	}
	l.disks = map[hal.ISCSIRecord][]hal.SCSIDisk{}
	for _, is := range sessions {
		if !strings.HasPrefix(is.Interface, hal.OwnInterface) {
			continue
		}
		disks, err := s.Host.SCSI.Disks(s.Call, is.Host)
		if err != nil {
			return err
		}
		l.disks[is.ISCSIRecord] = append(l.disks[is.ISCSIRecord], disks...)
		if !slices.Contains(l.records, is.ISCSIRecord) {
			l.records = append(l.records, is.ISCSIRecord)
		}
	}
	return nil
}

// Discover makes rungs of sessions, of their disks, and of what is mounted of those.
func (l *scan) Discover(d *plugin.Discovery) {
	isFound, devices := map[hal.Key]bool{}, map[string]hal.Key{}
	upper := len(d.Upper)
	for _, r := range l.records {
		d.Lower = append(d.Lower, sessionRung(r))
		for _, at := range l.disks[r] {
			lun := int32(min(at.Address.LUN, mostLUN+1))
			key := DeviceKey(r.Target, lun)
			if isFound[key] || lun > mostLUN {
				continue
			}
			device, is := l.device(r, lun, at)
			isFound[key], devices[is] = true, key
			d.Lower = append(d.Lower, device)
		}
	}
	lower := len(d.Lower)
	for _, m := range l.mounts {
		iface, entry := m[0], m[1]
		if _, _, is := cutLast(entry, "-lun-"); !is || !strings.HasPrefix(iface, "iface-") {
			d.Unrecognised(mountsDir(d.Root)+"/"+iface+"/"+entry, "the name is not that of a disk of a target")
			continue
		}
		mount := mountRung(d.Root, iface, entry)
		if of := deviceOf(entry); isFound[of] {
			mount.Below = []hal.Key{of}
		}
		d.Lower = append(d.Lower, mount)
	}
	l.binds.Discover(d)
	l.shown.Stand(d.Upper[upper:], d.Lower[lower:])
	l.maps.Discover(d, func(is string) hal.Key { return devices[is] })
}

// device is the rung of a disk, and what is used of it: the disk itself, or the map that has it as a path. That stands
// on all sessions with the target.
func (l *scan) device(r hal.ISCSIRecord, lun int32, at hal.SCSIDisk) (device core.Rung, is string) {
	device = core.Rung{
		Key: DeviceKey(r.Target, lun), Kind: KindDevice, Volume: nameOf(r.Target, lun), Intent: true,
		Below: []hal.Key{sessionKey(r)}, Want: sameOf(r, lun),
	}
	i := slices.IndexFunc(l.multi, func(m hal.MultipathMap) bool { return m.HasPath(at) })
	if i < 0 {
		device.Want = plugin.Sorted(device.Want)
		return device, at.Is()
	}
	var portals []string
	device.Below = nil
	for _, other := range l.records {
		if other.Target == r.Target && other.Interface == r.Interface {
			portals, device.Below = append(portals, other.Portal), append(device.Below, sessionKey(other))
		}
	}
	if len(portals) > 1 {
		device.Need = 1
	}
	// Nothing tells which portal the volume names first, or if it names several.
	device.Want = slices.DeleteFunc(device.Want, func(p core.Param) bool { return p.Name == paramPortal })
	device.Want = plugin.Sorted(append(device.Want, portalsParam(portals)))
	return device, l.multi[i].Is()
}
