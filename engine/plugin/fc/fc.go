// Package fc is the volume source fc: a disk (LUN) of ports of Fibre Channel, or one that is known by its WWID (K:G85,
// K:G86). Its ladder is bind/pod → mount/disk → device/disk, or, of a raw block volume, map/pod → hold/disk →
// device/disk: there is nothing to log in to, as the node's own ports do that.
//
// The kernel is made to ask for one disk of one port, never for all of a bus, and no port is reset. Of a disk that is
// known by its WWID alone nothing says where it is: it is used if the kernel has it.
package fc

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/disk"
	"github.com/volnode/volnode/hal"
)

// The kinds of the rungs of this package.
const (
	Kind       core.Kind = "fc"
	KindMount  core.Kind = "fc.mount"
	KindDevice core.Kind = "fc.device"
	KindMap    core.Kind = "fc.map"  // of raw block volumes, as is
	KindHold   core.Kind = "fc.hold" // this
)

const pluginName = "kubernetes.io/fc"

// directory is where such volumes are below a pod.
var directory = plugin.DirectoryOf(pluginName)

// The parameters that say which disk it is: a port and a LUN, or a WWID in the kernel's words.
const (
	paramPort  = "port"
	paramPorts = "ports" // all that have the disk, that one first, with commas between them
	paramLUN   = "lun"
	paramWWID  = "wwid"
)

// Source is fc: PersistentVolumes with spec.fc, and volumes of pods.
func Source() plugin.Source {
	return plugin.Source{
		Name: "fc", Plugin: pluginName,
		InPod:    func(spec *corev1.Volume) bool { return spec.FC != nil },
		InVolume: func(pv *corev1.PersistentVolume) bool { return pv.Spec.FC != nil },
		Ladder:   Ladder,
		Kinds: []plugin.Kind{
			{Name: Kind, Verbs: disk.BindVerbs(), Measure: plugin.MeasurePath, Health: health},
			{Name: KindMount, Verbs: disk.MountVerbs(), IsDevice: true, IsShared: true},
			{Name: KindDevice, Verbs: deviceVerbs(), IsDevice: true, IsShared: true},
			{Name: KindMap, Verbs: disk.MapVerbs()},
			{Name: KindHold, Verbs: disk.HoldVerbs(), IsDevice: true, IsShared: true},
		},
		Scan: func() plugin.Scan {
			return &scan{
				binds: plugin.Directories{Found: bindRung, Bad: plugin.BadObjectName},
				maps:  disk.Maps{Map: KindMap, Hold: KindHold, Directory: directory},
			}
		},
	}
}

// which is the disk that a volume names.
type which struct {
	ports []hal.WWPN // each has the disk; the first names it
	lun   int32
	wwid  string // in the kernel's words, "naa.600…"; "" of a disk that ports have
}

// volume is what the fields of a PersistentVolume, or of a volume of a pod, say.
type volume struct {
	which
	field        func(name string) string // the path of a field
	src          *corev1.FCVolumeSource
	fsType       string
	of, pv, spec string
}

// understand reads the fields of a volume.
func understand(v plugin.Volume) volume {
	if v.PV != nil {
		return volume{
			field: func(name string) string { return v.PVField("spec.fc." + name) }, src: v.PV.Spec.FC,
			fsType: v.PV.Spec.FC.FSType, pv: v.PV.Name, spec: v.PV.Name,
		}
	}
	return volume{
		field: func(name string) string { return v.Field(".fc." + name) }, src: v.Spec.FC, fsType: v.Spec.FC.FSType,
		spec: v.Spec.Name, of: "volume " + v.Spec.Name + " of pod " + v.Pod.Namespace + "/" + v.Pod.Name,
	}
}

// Ladder makes the rungs of a Fibre Channel volume, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	if v.PV == nil && v.Spec.FC == nil || v.PV != nil && v.PV.Spec.FC == nil {
		return nil, plugin.Problemf(v.Field(""), "is not a Fibre Channel volume")
	}
	is := understand(v)
	if p := is.settle(v); p != nil {
		return nil, p
	}
	device := core.Rung{
		Key: is.key(), Kind: KindDevice, Volume: is.name(), Intent: true, Want: is.whose(v),
	}
	if len(is.ports) > 0 {
		device.Want = append(device.Want, is.waysParam())
	}
	if v.Block {
		return is.raw(v, device).Rungs(to, v), nil
	}
	bind := bindRung(v.Root, string(v.Pod.UID), is.spec)
	bind.Volume = is.name()
	bind.Want = append(bind.Want, is.healthOf()...)
	if is.pv != "" {
		bind.Want = append(bind.Want, core.Param{Name: plugin.ParamPV, Value: is.pv})
	}
	mount := mountRung(v.Root, is.entry(), is.which)
	mount.Want = append(mount.Want, is.whose(v)...)
	return disk.Ladder{
		Bind: bind, Mount: mount, Device: device, FSType: is.fsType, FSTypeField: is.field("fsType"),
		Name: "fc volume " + is.entry(), IsReadOnly: is.src.ReadOnly, Same: is.params(),
	}.Rungs(to, v)
}

// raw is the ladder of a raw block volume.
func (is *volume) raw(v plugin.Volume, device core.Rung) disk.RawLadder {
	l := disk.RawLadder{
		Map:    disk.MapRung(KindMap, v.Root, string(v.Pod.UID), directory, is.spec),
		Hold:   disk.HoldRung(KindHold, disk.HoldKey(KindHold, string(device.Key))),
		Device: device, IsReadOnly: is.src.ReadOnly, Same: is.params(),
	}
	l.Map.Volume = is.name()
	l.Map.Want = append(l.Map.Want, core.Param{Name: plugin.ParamPV, Value: is.pv})
	l.Hold.Want = append(l.Hold.Want, is.whose(v)[1:]...)
	return l
}

// whose says whose volume a rung is of that pods share.
func (is *volume) whose(v plugin.Volume) []core.Param {
	return []core.Param{
		{Name: core.ParamOwner, Value: v.Owner()}, {Name: plugin.ParamPV, Value: is.pv}, {Name: plugin.ParamOf, Value: is.of},
	}
}

const (
	mostLUN   = 255 // validation of Kubernetes
	mostPorts = 16  // that have a disk; each volume needs room for the names of all
)

// settle gives what is left out its default, and says what is wrong with the rest.
func (is *volume) settle(v plugin.Volume) *plugin.Problem {
	if is.fsType == "" {
		is.fsType = "ext4"
	}
	ports, wwids := is.src.TargetWWNs, is.src.WWIDs
	switch {
	case len(ports) == 0 && len(wwids) == 0:
		return plugin.Problemf(is.field("targetWWNs"), "is missing; name the port of the target and a lun, or one of wwids")
	case len(ports) > 0 && len(wwids) > 0:
		return plugin.Problemf(is.field("wwids"), "stands beside targetWWNs; Kubernetes allows one of the two: remove the "+
			"other")
	case len(ports) > mostPorts:
		return plugin.Problemf(is.field("targetWWNs"), "has %d ports; volnode uses at most %d", len(ports), mostPorts)
	case len(wwids) > 1:
		return plugin.Problemf(is.field("wwids"), "has %d WWIDs, and a disk has one, by each of its paths; name that",
			len(wwids))
	case v.Block && v.PV == nil:
		return plugin.Problemf(is.field("targetWWNs"), "is of no PersistentVolume, so it has no volumeMode; name it in "+
			"volumeMounts")
	case len(wwids) == 1:
		return is.settleWWID(wwids[0])
	}
	for _, text := range ports {
		port, isGood := portOf(text)
		if !isGood {
			return plugin.Problemf(is.field("targetWWNs"), "%.50q is no name of a port; it has 16 hexadecimal digits", text)
		}
		if !slices.Contains(is.ports, port) {
			is.ports = append(is.ports, port)
		}
	}
	switch {
	case is.src.Lun == nil:
		return plugin.Problemf(is.field("lun"), "is missing; it says which disk of the port it is")
	case *is.src.Lun < 0 || *is.src.Lun > mostLUN:
		return plugin.Problemf(is.field("lun"), "%d is not between 0 and %d", *is.src.Lun, mostLUN)
	}
	is.lun = *is.src.Lun
	return nil
}

func (is *volume) settleWWID(text string) *plugin.Problem {
	wwid, isGood := wwidOf(text)
	if !isGood {
		return plugin.Problemf(is.field("wwids"), "%.100q is no WWID that volnode knows; write 3 and the 16 or 32 "+
			"hexadecimal digits of an NAA name, or 2 and those of an EUI-64 name, as /lib/udev/scsi_id prints it", text)
	}
	is.wwid = wwid
	return nil
}

// portOf reads the name of a port.
func portOf(text string) (hal.WWPN, bool) {
	n, err := strconv.ParseUint(text, 16, 64)
	return hal.WWPN(n), err == nil && len(text) == 16 && n != 0
}

// kinds are the kinds of WWIDs: the digit by which scsi_id(8) begins them, and the kernel's word. Of each it has the
// lengths that names have, in digits.
var kinds = []struct {
	digit, word string
	lengths     []int
}{{"3", "naa.", []int{16, 32}}, {"2", "eui.", []int{16, 24, 32}}}

// wwidOf has a WWID in the kernel's words.
func wwidOf(text string) (wwid string, isGood bool) {
	text = strings.ToLower(text)
	for _, k := range kinds {
		digits, is := strings.CutPrefix(text, k.word)
		if !is {
			digits, is = strings.CutPrefix(text, k.digit)
		}
		isHex := !strings.ContainsFunc(digits, func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'f') })
		if is && isHex && slices.Contains(k.lengths, len(digits)) {
			return k.word + digits, true
		}
	}
	return "", false
}

// entry is the name of the directory at which the filesystem of the disk is mounted (K:G86): a WWID is as scsi_id(8)
// has it.
func (d which) entry() string {
	for _, k := range kinds {
		if digits, is := strings.CutPrefix(d.wwid, k.word); is {
			return k.digit + digits
		}
	}
	return d.ports[0].String() + lunMark + strconv.Itoa(int(d.lun))
}

const lunMark = "-lun-"

// whichOf reads an entry.
func whichOf(entry string) (d which, isOne bool) {
	port, lun, isLUN := strings.Cut(entry, lunMark)
	if !isLUN {
		d.wwid, isOne = wwidOf(entry)
		return d, isOne && d.entry() == entry
	}
	n, err := strconv.ParseInt(lun, 10, 32)
	first, isOne := portOf(port)
	d.ports, d.lun = []hal.WWPN{first}, int32(n)
	return d, isOne && err == nil && d.entry() == entry && n >= 0 && n <= mostLUN
}

// name names the disk.
func (d which) name() string {
	if d.wwid != "" {
		return string(Kind) + "^" + d.wwid
	}
	return string(Kind) + "^" + d.ports[0].String() + " lun " + strconv.Itoa(int(d.lun))
}

// people is the disk as people know it.
func (d which) people() string {
	if d.wwid != "" {
		return "the disk " + d.wwid
	}
	return "LUN " + strconv.Itoa(int(d.lun)) + " of port " + d.ports[0].String()
}

func (d which) key() hal.Key { return hal.Key(string(KindDevice) + "/" + d.entry()) }

// DeviceKey is the key of a disk that a port has.
func DeviceKey(port hal.WWPN, lun int32) hal.Key {
	return which{ports: []hal.WWPN{port}, lun: lun}.key()
}

// params says which disk it is.
func (d which) params() []core.Param {
	const change = core.OnChangeRebuild
	if d.wwid != "" {
		return []core.Param{{Name: paramWWID, Value: d.wwid, OnChange: change}}
	}
	return []core.Param{
		{Name: paramLUN, Value: strconv.Itoa(int(d.lun)), OnChange: change},
		{Name: paramPort, Value: d.ports[0].String(), OnChange: change},
	}
}

// waysParam says which ports have the disk. It changes nothing of what is mounted which they are, but for the first.
func (d which) waysParam() core.Param {
	var names []string
	for _, port := range d.ports {
		names = append(names, port.String())
	}
	return core.Param{Name: paramPorts, Value: strings.Join(names, ","), OnChange: core.OnChangeRefresh}
}

// whichHas is the disk that parameters of a rung say.
func whichHas(params []core.Param) which {
	if wwid := core.Value(params, paramWWID); wwid != "" {
		return which{wwid: wwid}
	}
	lun, _ := strconv.ParseInt(core.Value(params, paramLUN), 10, 32)
	d := which{lun: int32(lun)}
	for _, text := range strings.Split(cmp.Or(core.Value(params, paramPorts), core.Value(params, paramPort)), ",") {
		port, _ := portOf(text)
		d.ports = append(d.ports, port)
	}
	return d
}

// Key is the key of a pod's volume. spec is the name of the PersistentVolume, or the pod's volume if inline.
func Key(uid, spec string) hal.Key { return hal.Key(string(Kind) + "/" + uid + "/" + spec) }

// bindRung is all that the place of a volume in a pod says of its rung.
func bindRung(root, uid, spec string) core.Rung {
	place := plugin.PodPlace(root, uid, directory, spec)
	return core.Rung{
		Key: Key(uid, spec), Kind: Kind, Pod: core.PodUID(uid), Pins: true,
		Want: append(make([]core.Param, 0, 12), // one is who the pod is
			core.Param{Name: plugin.ParamPath, Value: place.Path, OnChange: core.OnChangeRebuild},
			core.Param{Name: plugin.ParamSpec, Value: spec},
			core.Param{Name: plugin.ParamStop, Value: place.Stop},
		),
	}
}
