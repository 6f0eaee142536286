package sim

import (
	"slices"
	"strconv"

	"github.com/volnode/volnode/hal"
)

// hold is one path at which a driver holds a volume staged or published.
type hold struct {
	path     string
	readOnly bool
	group    string  // that its files were given to
	mind     *driver // who remembers it, nil for nobody
}

// knows says whether the driver remembers a hold: of its own making or, from what is durable, of another version's.
func (d *driver) knows(h *hold) bool { return h.mind == d || h.mind != nil && !d.is.Forgetful }

// volume is one volume of a driver.
type volume struct {
	handle    string
	number    uint32
	inline    bool
	attached  bool
	sb        *superblock // of a volume that is a device; else nil
	backing   string      // a directory of the host, for a volume that is not
	device    string      // path of its block device node
	staged    []hold
	published []hold
	share     *share      // of a volume that a server elsewhere serves; else nil
	disk      *connection // of a volume on a device of the node, as it is mounted now; nil if it is not
	// renumbered is added to the number of its device.
	renumbered uint32
	health     []hal.HealthEntry // what its driver says is wrong with it
	setUpUntil hal.Instant       // until when a stage or publish that was sent may act, as far as its sender can know
}

// AddVolume makes a volume of a driver, as its controller would have done.
func (w *World) AddVolume(driver, handle string) { w.mustDriver(driver).addVolume(handle) }

// SetHealth has a driver say from now on that this is wrong with a volume; a status that the CSI spec does not have is
// one that it may have some day.
func (w *World) SetHealth(driver, handle string, all ...hal.HealthEntry) {
	if v := w.mustDriver(driver).volume(handle); v != nil {
		v.health = all
	}
}

// HealthOf is what a driver says is wrong with a volume.
func (w *World) HealthOf(driver, handle string) []hal.HealthEntry {
	if d := w.driver(driver); d != nil {
		if v := d.volume(handle); v != nil {
			return v.health
		}
	}
	return nil
}

// SetStorageHealth is SetHealth of the storage behind a driver. The second entry concerns raw block volumes.
func (w *World) SetStorageHealth(driver string, all ...hal.HealthEntry) {
	w.mustDriver(driver).health = all
}

// StorageHealthOf is what a driver says is wrong with its storage.
func (w *World) StorageHealthOf(driver string) []hal.HealthEntry {
	if d := w.driver(driver); d != nil {
		return d.health
	}
	return nil
}

// SetAttached attaches a volume to the node, or detaches it, as the cluster's controller does by the back-end: what is
// mounted of it stays mounted, and is dead from then on. A driver with Attach stages only what is attached.
func (w *World) SetAttached(driver, handle string, on bool) {
	if v := w.mustDriver(driver).volume(handle); v != nil && v.attached != on {
		v.attached = on
		if !on {
			w.detaches(driver, v)
		}
		w.event(map[bool]string{true: "volume.attached", false: "volume.detached"}[on], driver+"^"+handle)
	}
}

func (d *driver) addVolume(handle string) *volume {
	w := d.w
	w.volumes++
	v := &volume{handle: handle, number: w.volumes}
	name := "vol" + strconv.FormatUint(uint64(v.number), 10)
	v.device = "/dev/" + name
	dev := hal.Device{Major: deviceMajor, Minor: v.number}
	if d.is.Network {
		v.newShare(d.name, dev)
	} else if d.is.BlockDevice {
		v.sb = newSuperblock(dev, "ext4", v.device)
		w.fs.devices = append(w.fs.devices, v.sb)
	} else {
		v.backing = "/var/lib/csi/" + d.name + "/" + name
		w.makeDirs(v.backing)
	}
	w.makeDevice(v)
	d.volumes = append(d.volumes, v)
	return v
}

// deviceMajor is of the volumes of drivers.
const deviceMajor = 253

// makeDevice makes the volume's node below /dev.
func (w *World) makeDevice(v *volume) {
	dir := w.makeDirs("/dev")
	k := dir.n.sb.newNode(hal.TypeBlockDevice, 0o660)
	k.dev = hal.Device{Major: deviceMajor, Minor: v.number}
	if dir.n.child(v.device[len("/dev/"):]) == nil {
		dir.n.attach(v.device[len("/dev/"):], k)
	}
}

// makeDevices fills /dev at a boot.
func (w *World) makeDevices() {
	for _, b := range w.backends {
		for _, v := range b.volumes {
			w.makeDevice(v)
		}
	}
}

func (b *backend) volume(handle string) *volume {
	for _, v := range b.volumes {
		if v.handle == handle {
			return v
		}
	}
	return nil
}

// everVolume is volume, also of one that is deleted: a mount of it may be left.
func (b *backend) everVolume(handle string) *volume {
	if v := b.volume(handle); v != nil {
		return v
	}
	for _, v := range slices.Backward(b.deleted) {
		if v.handle == handle {
			return v
		}
	}
	return nil
}

func (b *backend) removeVolume(v *volume) {
	b.deleted = append(b.deleted, v)
	b.volumes = slices.DeleteFunc(b.volumes, func(k *volume) bool { return k == v })
}

// root is what a mount of the volume shows.
func (w *World) rootOf(v *volume) *node {
	if v.sb != nil {
		return v.sb.root
	}
	at, _, errno := w.walk(v.backing, walkAll)
	if errno != 0 {
		at = w.makeDirs(v.backing)
	}
	return at.n
}

// shows says whether the top mount at a path shows the volume, and returns it.
func (w *World) shows(v *volume, path string) *mount {
	stack := w.mounts.stack(path)
	if len(stack) == 0 {
		return nil
	}
	m := stack[len(stack)-1]
	if m.root == w.rootOf(v) || m.root.kind == hal.TypeBlockDevice && m.root.dev.Minor == v.number {
		return m
	}
	return nil
}

func findHold(list []hold, path string) *hold {
	for i := range list {
		if list[i].path == path {
			return &list[i]
		}
	}
	return nil
}

// setHold notes that the volume is held at path, as d remembers.
func (d *driver) setHold(list []hold, path string, r *rpc) []hold {
	if h := findHold(list, path); h != nil {
		h.mind, h.readOnly = d, r.readOnly
		return list // what is mounted keeps its group
	}
	return append(list, hold{path, r.readOnly, r.group, d})
}

func dropHold(list []hold, path string) []hold {
	return slices.DeleteFunc(list, func(h hold) bool { return h.path == path })
}
