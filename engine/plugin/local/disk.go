package local

import (
	"fmt"
	"path"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

// This file is local volumes that are block devices with a filesystem: a PersistentVolume with fsType. Pods share the
// two rungs below their own: the device, which says what is on it, and the mount of its filesystem (see package disk).

// The kinds of the rungs that pods share.
const (
	KindDevice core.Kind = "local.device"
	KindMount  core.Kind = "local.mount"
	KindHold   core.Kind = "local.hold" // of a raw block volume
)

// KindMap is the kind of the rung of a raw block volume that a pod has.
const KindMap core.Kind = "local.map"

// DeviceKey is the key of the device of a PersistentVolume; MountKey, of the mount of its filesystem.
func DeviceKey(pv string) hal.Key { return hal.Key(string(KindDevice) + "/" + pv) }

// MountKey is the key of the mount of a device's filesystem.
func MountKey(pv string) hal.Key { return hal.Key(string(KindMount) + "/" + pv) }

// diskLadder makes the rungs of a device with a filesystem.
func diskLadder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	src := v.PV.Spec.Local
	return disk.Ladder{
		Bind: rung(v.Root, string(v.Pod.UID), v.PV.Name), Mount: mountRung(v.Root, v.PV.Name),
		Device: core.Rung{
			Key: DeviceKey(v.PV.Name), Kind: KindDevice, Volume: string(KindDevice) + "^" + v.PV.Name,
		},
		FSType: *src.FSType, FSTypeField: v.PVField("spec.local.fsType"),
		Name: "local volume " + v.PV.Name + " " + string(v.PV.UID),
		Same: []core.Param{{Name: disk.ParamSource, Value: path.Clean(src.Path), OnChange: core.OnChangeRebuild}},
	}.Rungs(to, v)
}

// rawLadder is the ladder of a raw block volume. Which disk it has is kept for as long as the PersistentVolume is
// there: no filesystem tells it from another one.
func rawLadder(v plugin.Volume) disk.RawLadder {
	pv := v.PV.Name
	whose := core.Param{Name: plugin.ParamPV, Value: pv}
	l := disk.RawLadder{
		Map:  disk.MapRung(KindMap, v.Root, string(v.Pod.UID), directory, pv),
		Hold: disk.HoldRung(KindHold, disk.HoldKey(KindHold, pv)),
		Device: core.Rung{
			Key: DeviceKey(pv), Kind: KindDevice, Volume: string(KindDevice) + "^" + pv,
			Want: []core.Param{{Name: core.ParamOwner, Value: v.Owner()}, whose},
		},
		Same: []core.Param{
			{Name: disk.ParamSource, Value: path.Clean(v.PV.Spec.Local.Path), OnChange: core.OnChangeRebuild},
		},
	}
	l.Map.Volume = string(Kind) + "^" + pv
	l.Map.Want, l.Hold.Want = append(l.Map.Want, whose), append(l.Hold.Want, whose)
	return l
}

// setUpDevice looks what is on the device. It changes nothing.
func setUpDevice(h *hal.Host, o core.Op) core.Result {
	c, source := op.Call(o), core.Value(o.Params, disk.ParamSource)
	is, err := h.Blocks.Probe(c, source)
	switch {
	case hal.Is(err, syscall.ENOTBLK) && plugin.IsBlock(o.Params):
		return op.NotDone(source + " is no block device, and the volume is a raw one (volumeMode Block); name a block " +
			"device in spec.local.path")
	case hal.Is(err, syscall.ENOTBLK):
		return op.NotDone(fmt.Sprintf("%s is no block device; name one in spec.local.path, or remove spec.local.fsType if "+
			"it is a directory", source))
	case err != nil:
		return op.NotDone(err.Error())
	}
	name := diskOf(h, is)
	if plugin.IsBlock(o.Params) {
		name = nameOf(h, is)
	}
	holds, why := disk.Holds(o, is, name)
	if why != "" {
		return op.NotDone(fmt.Sprintf("%s (device %s): %s", source, is.Is(), why))
	}
	return core.Result{
		Outcome: hal.Done, Fingerprint: is.Is(),
		Facts: []core.Fact{
			{Name: disk.FactDevice, Value: is.Is()}, {Name: disk.FactDisk, Value: name}, {Name: disk.FactHolds, Value: holds},
		},
	}
}

// nameOf is diskOf of a disk that may grow while pods have it.
func nameOf(h *hal.Host, is hal.BlockDevice) string {
	switch {
	case is.Disk != "":
		return is.Disk
	case is.Sequence != 0:
		return is.Is() + disk.InBoot + string(h.Runtime.BootID())
	}
	return ""
}

// diskOf names the disk that a device is, so that no other one has that name: in every boot, or else in this one; "" if
// nobody can tell it from another.
func diskOf(h *hal.Host, is hal.BlockDevice) string {
	switch {
	case is.Disk != "":
		return fmt.Sprintf("%s of %d bytes", is.Disk, is.Size)
	case is.Sequence != 0:
		return fmt.Sprintf("%s of %d bytes in boot %s", is.Is(), is.Size, h.Runtime.BootID())
	}
	return ""
}

// inspectDevice tells of the same device by its fingerprint, and does not touch it: a start inspects each, and a device
// may hang. Of what nobody can tell it knows nothing; the setup that follows looks.
func inspectDevice(h *hal.Host, o core.Op) core.Result {
	is, err := h.Blocks.Identify(op.Call(o), core.Value(o.Params, disk.ParamSource))
	if err != nil {
		return core.Result{Outcome: hal.Done}
	}
	return core.Result{Outcome: hal.Done, Fingerprint: is.Is()}
}

// tearDownDevice has nothing to take down.
func tearDownDevice(*hal.Host, core.Op) core.Result { return core.Result{Outcome: hal.Done} }

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
	maps   disk.Maps
	mounts []string
}

func (l *scan) Entry(s *plugin.Scanner, uid, name string) { l.binds.Entry(s, uid, name) }

func (l *scan) Device(s *plugin.Scanner, uid string, e hal.Entry) { l.maps.Device(s, uid, e) }

// Node lists where filesystems of devices are mounted.
func (l *scan) Node(s *plugin.Scanner) error {
	if err := l.maps.Node(s); err != nil {
		return err
	}
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
	l.maps.Discover(d, func(string) hal.Key { return "" })
	before := len(d.Upper)
	l.binds.Discover(d)
	for i := range d.Upper[before:] {
		if r := &d.Upper[before+i]; isFound[core.Value(r.Want, plugin.ParamPV)] {
			r.Below = []hal.Key{MountKey(core.Value(r.Want, plugin.ParamPV))}
		}
	}
}
