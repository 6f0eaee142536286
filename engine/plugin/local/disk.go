package local

import (
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is local volumes that are block devices with a filesystem: a PersistentVolume with fsType. Pods share the
// two rungs below their own: the device, which says what is on it, and the mount of its filesystem, which makes the
// filesystem first if that is nothing. What the device says is durable before the rung above begins to act, as that has
// an intent: so a start knows of a device that is not blank any more that it was, and that what is on it may be a part
// of a filesystem which nobody has used.

// The kinds of the rungs that pods share.
const (
	KindDevice core.Kind = "local.device"
	KindMount  core.Kind = "local.mount"
)

const (
	paramFSType  = "fsType"
	paramOptions = "options" // of the filesystem, with commas between them; with its flags
	paramUUID    = "uuid"    // of the filesystem that is made if there is none

	factDevice = "device" // the number of the device, and its sequence
	factDisk   = "disk"   // the name of the disk: see work.disk
	factHolds  = "holds"  // the uuid of the filesystem on it, or blank
	blank      = "blank"
)

// fsTypes are the filesystems that a device can have. Not btrfs: its mounts have a number that is no device's, so a
// mount does not say which disk it is of.
var fsTypes = []string{"ext2", "ext3", "ext4", "xfs"}

// Options that a filesystem may have. None opens another device, names a file, or stops the node.
var (
	mountFlags = []string{"nodev", "noexec", "nosuid", "ro"}
	plain      = []string{
		"acl", "delalloc", "discard", "inode32", "inode64", "lazytime", "noacl", "nodelalloc", "nodiscard", "nouuid",
		"user_xattr",
	}
	valued = []string{"allocsize", "commit", "data", "inode_readahead_blks", "logbsize", "logbufs", "stripe"}
)

// DeviceKey is the key of the device of a PersistentVolume; MountKey, of the mount of its filesystem.
func DeviceKey(pv string) hal.Key { return hal.Key(string(KindDevice) + "/" + pv) }

// MountKey is the key of the mount of a device's filesystem.
func MountKey(pv string) hal.Key { return hal.Key(string(KindMount) + "/" + pv) }

// diskLadder makes the rungs of a device with a filesystem.
func diskLadder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	fsType := *v.PV.Spec.Local.FSType
	if !slices.Contains(fsTypes, fsType) {
		return nil, plugin.Problemf(v.PVField("spec.local.fsType"), "%.50q is not served; use one of %s", fsType,
			strings.Join(fsTypes, ", "))
	}
	options, p := optionsOf(v)
	if p != nil {
		return nil, p
	}
	isReadOnly := v.ReadOnly || slices.Contains(options, "ro")
	if isReadOnly {
		p = v.WantsContext()
	} else {
		p = v.WantsOwnership()
	}
	if p != nil {
		return nil, p
	}
	source := core.Param{Name: paramSource, Value: path.Clean(v.PV.Spec.Local.Path), OnChange: core.OnChangeRebuild}
	made := core.Param{Name: paramUUID, Value: uuidOf(v.PV), OnChange: core.OnChangeRebuild}
	is := core.Param{Name: paramFSType, Value: fsType, OnChange: core.OnChangeRebuild}
	device := core.Rung{
		Key: DeviceKey(v.PV.Name), Kind: KindDevice, Volume: string(KindDevice) + "^" + v.PV.Name,
		Want: plugin.Sorted([]core.Param{source, made, is}),
	}
	mount := mountRung(v.Root, v.PV.Name)
	mount.Below = []hal.Key{device.Key}
	mount.Want = plugin.Sorted(append(mount.Want, source, made, is,
		core.Param{Name: paramOptions, Value: strings.Join(options, ","), OnChange: core.OnChangeRebuild}))

	top := rung(v.Root, string(v.Pod.UID), v.PV.Name)
	top.Below = []hal.Key{mount.Key}
	var flags []string
	if isReadOnly {
		flags = []string{"ro"}
	}
	top.Want = plugin.Sorted(append(top.Want, wanted(flags, plugin.PathOf(mount.Want))...))
	top.Exclusive = v.Exclusive(top.Volume)
	return append(to, top, mount, device), nil
}

// optionsOf are the options of the filesystem, sorted.
func optionsOf(v plugin.Volume) (options []string, p *plugin.Problem) {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	for _, option := range v.PV.Spec.MountOptions {
		name, value, hasValue := strings.Cut(option, "=")
		isGood := !hasValue && (slices.Contains(plain, name) || slices.Contains(mountFlags, name)) ||
			slices.Contains(valued, name) && value != "" && !strings.ContainsFunc(value, odd)
		switch {
		case option == "rw":
		case !isGood:
			return nil, plugin.Problemf(v.PVField("spec.mountOptions"), "%.100q is not an option that volnode gives to a "+
				"filesystem; it gives %s, and, with a value, %s", option,
				strings.Join(slices.Concat(mountFlags, plain), ", "), strings.Join(valued, ", "))
		default:
			options = append(options, option)
		}
	}
	slices.Sort(options)
	return slices.Compact(options), nil
}

// uuidOf is the uuid of the filesystem that volnode makes on the device of a PersistentVolume: always the same, so that
// it is known again (RFC 9562, version 8).
func uuidOf(pv *corev1.PersistentVolume) string {
	sum := sha256.Sum256([]byte("volnode local volume " + pv.Name + " " + string(pv.UID)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// mountRung is all that the place of a mount says of its rung.
func mountRung(root, pv string) core.Rung {
	place := plugin.LocalPlace(root, pv)
	return core.Rung{
		Key: MountKey(pv), Kind: KindMount, Volume: string(KindDevice) + "^" + pv, Intent: true,
		Want: append(make([]core.Param, 0, 7),
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamPV, Value: pv},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}

// scan is what a start finds of local volumes.
type scan struct {
	binds  plugin.Directories
	mounts []string
}

func (l *scan) Entry(s *plugin.Scanner, uid, name string) { l.binds.Entry(s, uid, name) }

// Node lists where filesystems of devices are mounted.
func (l *scan) Node(s *plugin.Scanner) error {
	dir := plugin.LocalMountsDir(s.Root)
	names, err := s.Top(dir)
	if err != nil {
		return err
	}
	l.mounts = s.Directories(dir, names)
	return nil
}

func (l *scan) Discover(d *plugin.Discovery) {
	isFound := map[string]bool{}
	for _, pv := range l.mounts {
		if bad := plugin.BadObjectName(pv); bad != "" {
			d.Unrecognised(plugin.LocalMountsDir(d.Root)+"/"+pv, "the name "+bad)
			continue
		}
		isFound[pv] = true
		d.Lower = append(d.Lower, mountRung(d.Root, pv))
	}
	before := len(d.Upper)
	l.binds.Discover(d)
	for i := range d.Upper[before:] {
		if r := &d.Upper[before+i]; isFound[core.Value(r.Want, plugin.ParamPV)] {
			r.Below = []hal.Key{MountKey(core.Value(r.Want, plugin.ParamPV))}
		}
	}
}
