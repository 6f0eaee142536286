// Package iscsi is the volume source iscsi: a disk (LUN) of a target on the storage network, with a filesystem (K:G75
// to G84). Its ladder is bind/pod → mount/disk → device/disk → session.
//
// The node asks for no list of targets: a volume names its target and its portal. A session is on an interface of
// volnode's own, so that one of somebody else is never ended. Nothing tells one disk from another but its WWID: a disk
// is used only if it answers with the WWID that the volume has had so far.
package iscsi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
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
	Kind        core.Kind = "iscsi"
	KindMount   core.Kind = "iscsi.mount"
	KindDevice  core.Kind = "iscsi.device"
	KindSession core.Kind = "iscsi.session"
	KindMap     core.Kind = "iscsi.map"  // of raw block volumes, as is
	KindHold    core.Kind = "iscsi.hold" // this
)

const pluginName = "kubernetes.io/iscsi"

// directory is where such volumes are below a pod.
var directory = plugin.DirectoryOf(pluginName)

const (
	paramTarget    = "target"
	paramPortal    = "portal"
	paramInterface = "interface" // of volnode, for the session
	paramFrom      = "from"      // the interface of the node whose settings it has
	paramInitiator = "initiator" // the iSCSI name of the node in the session; "" for that of the interface
	paramLUN       = "lun"
	paramVersion   = "secretVersion" // of the Secret with the credentials
	paramCHAP      = "chap"          // the session has credentials
	paramPortals   = "portals"       // all, with commas between them
	paramMany      = "many"          // the disk has several paths
)

// limits are those of a session: iscsid tries to log in for as long as the records say.
var limits = core.Limits{SetUp: 2 * hal.LoginMost, TearDown: 2 * hal.LoginMost, LateWindow: hal.LoginMost}

// Source is iscsi: PersistentVolumes with spec.iscsi, and volumes of pods.
func Source() plugin.Source {
	return plugin.Source{
		Name: "iscsi", Plugin: pluginName,
		InPod:    func(spec *corev1.Volume) bool { return spec.ISCSI != nil },
		InVolume: func(pv *corev1.PersistentVolume) bool { return pv.Spec.ISCSI != nil },
		Ladder:   Ladder,
		Kinds: []plugin.Kind{
			{Name: Kind, Verbs: disk.BindVerbs(), Measure: plugin.MeasurePath, Health: health},
			{Name: KindMount, Verbs: disk.MountVerbs(), IsDevice: true, IsShared: true},
			{Name: KindDevice, Verbs: deviceVerbs(), IsDevice: true, IsShared: true},
			{Name: KindSession, Verbs: sessionVerbs(), IsDevice: true, IsShared: true},
			{Name: KindMap, Verbs: disk.MapVerbs()},
			{Name: KindHold, Verbs: disk.HoldVerbs(), IsDevice: true, IsShared: true},
		},
		PodSecrets: secretsOfPod, VolumeSecrets: secretsOfVolume,
		Scan: func() plugin.Scan {
			return &scan{
				binds: plugin.Directories{Found: bindRung, Bad: plugin.BadObjectName},
				maps:  disk.Maps{Map: KindMap, Hold: KindHold, Directory: directory},
			}
		},
	}
}

// volume is what the fields of a PersistentVolume, or of a volume of a pod, say.
type volume struct {
	field                func(name string) string // the path of a field
	target, portal       string
	lun                  int32
	from, initiator      string
	fsType               string
	isReadOnly, hasCHAP  bool
	secret, of, pv, spec string
	portals              []string // beside portal; all portals, that one first, once settled
}

// renewEvery is how often, in seconds, the paths to a disk are looked at.
const renewEvery = 60

// understand reads the fields of a volume.
func understand(v plugin.Volume) volume {
	if v.PV != nil {
		src := v.PV.Spec.ISCSI
		is := volume{
			field:  func(name string) string { return v.PVField("spec.iscsi." + name) },
			target: src.IQN, portal: src.TargetPortal, lun: src.Lun, from: src.ISCSIInterface, fsType: src.FSType,
			isReadOnly: src.ReadOnly, hasCHAP: src.SessionCHAPAuth, portals: src.Portals, pv: v.PV.Name, spec: v.PV.Name,
		}
		if src.InitiatorName != nil {
			is.initiator = *src.InitiatorName
		}
		if src.SecretRef != nil {
			namespace := src.SecretRef.Namespace
			if namespace == "" {
				namespace = v.Pod.Namespace // K:G78
			}
			is.secret = namespace + "/" + src.SecretRef.Name
		}
		return is
	}
	src := v.Spec.ISCSI
	is := volume{
		field:  func(name string) string { return v.Field(".iscsi." + name) },
		target: src.IQN, portal: src.TargetPortal, lun: src.Lun, from: src.ISCSIInterface, fsType: src.FSType,
		isReadOnly: src.ReadOnly, hasCHAP: src.SessionCHAPAuth, portals: src.Portals, spec: v.Spec.Name,
		of: "volume " + v.Spec.Name + " of pod " + v.Pod.Namespace + "/" + v.Pod.Name,
	}
	if src.InitiatorName != nil {
		is.initiator = *src.InitiatorName
	}
	if src.SecretRef != nil {
		is.secret = v.Pod.Namespace + "/" + src.SecretRef.Name
	}
	return is
}

// Ladder makes the rungs of an iSCSI volume, or says why it can't be served.
func Ladder(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if p := v.BadNames(); p != nil {
		return nil, p
	}
	if v.PV == nil && v.Spec.ISCSI == nil || v.PV != nil && v.PV.Spec.ISCSI == nil {
		return nil, plugin.Problemf(v.Field(""), "is not an iSCSI volume")
	}
	is := understand(v)
	if p := is.settle(v); p != nil {
		return nil, p
	}
	device := core.Rung{
		Key: DeviceKey(is.target, is.lun), Kind: KindDevice, Volume: is.name(), Intent: true, Want: is.whose(v),
	}
	var sessions []core.Rung
	for _, portal := range is.portals {
		sessions = append(sessions, is.session(v, portal))
		device.Below = append(device.Below, sessions[len(sessions)-1].Key)
	}
	device.Want = append(device.Want, pathsOf(len(sessions) > 1, is.portals)...)
	if len(sessions) > 1 {
		device.Need, device.Renew, device.Looks = 1, renewEvery, true
	}
	if v.Block {
		return append(is.raw(v, device).Rungs(to, v), sessions...), nil
	}
	bind := bindRung(v.Root, string(v.Pod.UID), is.spec)
	bind.Volume = is.name()
	bind.Want = append(bind.Want, is.healthOf()...)
	if is.pv != "" {
		bind.Want = append(bind.Want, core.Param{Name: plugin.ParamPV, Value: is.pv})
	}
	mount := mountRung(v.Root, "iface-"+is.from, is.entry())
	mount.Want = append(mount.Want, is.whose(v)...)
	all, p := disk.Ladder{
		Bind: bind, Mount: mount, Device: device, FSType: is.fsType, FSTypeField: is.field("fsType"),
		Name: "iscsi volume " + is.target + " " + strconv.Itoa(int(is.lun)), IsReadOnly: is.isReadOnly,
		Same: sameOf(is.record(is.portal), is.lun),
	}.Rungs(to, v)
	if p != nil {
		return nil, p
	}
	return append(all, sessions...), nil
}

// raw is the ladder of a raw block volume.
func (is *volume) raw(v plugin.Volume, device core.Rung) disk.RawLadder {
	l := disk.RawLadder{
		Map:    disk.MapRung(KindMap, v.Root, string(v.Pod.UID), directory, is.spec),
		Hold:   disk.HoldRung(KindHold, disk.HoldKey(KindHold, string(device.Key))),
		Device: device, IsReadOnly: is.isReadOnly, Same: sameOf(is.record(is.portal), is.lun),
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

// settle gives what is left out its default, and says what is wrong with the rest.
func (is *volume) settle(v plugin.Volume) *plugin.Problem {
	if is.from == "" {
		is.from = "default"
	}
	if is.fsType == "" {
		is.fsType = "ext4"
	}
	isOdd := func(text, more string) bool {
		return strings.HasPrefix(text, "-") || strings.ContainsFunc(text, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(more, r)
		})
	}
	isName := func(name string) bool {
		hasKind := slices.ContainsFunc([]string{"iqn.", "eui.", "naa."},
			func(kind string) bool { return strings.HasPrefix(name, kind) })
		return hasKind && len(name) <= mostName && !isOdd(name, ".:-_")
	}
	portal, isGood := portalOf(is.portal)
	portals, odd := portalsOf(portal, is.portals)
	switch {
	case !isName(is.target):
		return plugin.Problemf(is.field("iqn"), "%.250q is no iSCSI name; it begins with iqn., eui. or naa. and has at most "+
			"%d characters (RFC 7143, 4.2.7)", is.target, mostName)
	case !isGood:
		return plugin.Problemf(is.field("targetPortal"), "%.250q is no address; write an IP address, and its port behind "+
			"a colon if that is not %d", is.portal, defaultPort)
	case odd != "":
		return plugin.Problemf(is.field("portals"), "%.250q is no address; write an IP address, and its port behind a colon "+
			"if that is not %d", odd, defaultPort)
	case len(portals) > mostPortals:
		return plugin.Problemf(is.field("portals"), "has %d portals with targetPortal; volnode uses at most %d", len(portals),
			mostPortals)
	case is.lun < 0 || is.lun > mostLUN:
		return plugin.Problemf(is.field("lun"), "%d is not between 0 and %d", is.lun, mostLUN)
	case isOdd(is.from, ".:-_") || len(is.from) > mostInterface:
		return plugin.Problemf(is.field("iscsiInterface"), "%.100q is no name of an interface (iscsiadm -m iface)", is.from)
	case strings.HasPrefix(is.from, hal.OwnInterface):
		return plugin.Problemf(is.field("iscsiInterface"), "%.100q is one of volnode's own; name another one", is.from)
	case is.initiator != "" && !isName(is.initiator):
		return plugin.Problemf(is.field("initiatorName"), "%.250q is no iSCSI name; it begins with iqn., eui. or naa. and "+
			"has at most %d characters (RFC 7143, 4.2.7)", is.initiator, mostName)
	case is.hasCHAP && (is.secret == "" || strings.HasSuffix(is.secret, "/")):
		return plugin.Problemf(is.field("secretRef"), "is missing; chapAuthSession asks for credentials: name their Secret")
	case v.Block && v.PV == nil:
		return plugin.Problemf(is.field("iqn"), "is of no PersistentVolume, so it has no volumeMode; name it in volumeMounts")
	default:
		is.portal, is.portals = portal, portals
	}
	return nil
}

const (
	mostName      = 223 // bytes (RFC 7143, 4.2.7.1)
	mostInterface = 64
	mostLUN       = 255 // validation of Kubernetes
	defaultPort   = 3260
	mostPortals   = 16 // paths to a disk; each volume needs room for the records of all
)

// portalsOf are all portals, each once; odd is one that is no address.
func portalsOf(first string, more []string) (all []string, odd string) {
	all = []string{first}
	for _, text := range more {
		portal, isGood := portalOf(text)
		switch {
		case !isGood:
			return nil, text
		case !slices.Contains(all, portal):
			all = append(all, portal)
		}
	}
	return all, ""
}

// portalOf spells a portal as the kernel does, with its port (K:G76). A name that may lead elsewhere is none.
func portalOf(text string) (portal string, isGood bool) {
	at, err := netip.ParseAddrPort(text)
	if err != nil {
		address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
		if err != nil {
			return "", false
		}
		at = netip.AddrPortFrom(address, defaultPort)
	}
	return at.String(), at.Port() != 0 && at.Addr().Zone() == ""
}

func (is *volume) name() string { return nameOf(is.target, is.lun) }

// nameOf names a disk.
func nameOf(target string, lun int32) string {
	return string(Kind) + "^" + target + " lun " + strconv.Itoa(int(lun))
}

func (is *volume) record(portal string) hal.ISCSIRecord {
	return hal.ISCSIRecord{Target: is.target, Portal: portal, Interface: is.own()}
}

// entry is the name of the directory at which the filesystem of the disk is mounted (K:G76).
func (is *volume) entry() string {
	return is.portal + "-" + is.target + "-lun-" + strconv.Itoa(int(is.lun))
}

// own is the interface of volnode that a session has: one for each interface of the node, and for each name that a
// volume gives to the initiator.
func (is *volume) own() string {
	if is.from == "default" && is.initiator == "" {
		return hal.OwnInterface
	}
	sum := sha256.Sum256([]byte(is.from + " " + is.initiator))
	return hal.OwnInterface + "-" + hex.EncodeToString(sum[:8])
}

// sameOf is what the rungs of a disk and of its mount have in common.
func sameOf(r hal.ISCSIRecord, lun int32) []core.Param {
	return append(paramsOf(r),
		core.Param{Name: paramLUN, Value: strconv.Itoa(int(lun)), OnChange: core.OnChangeRebuild})
}

// pathsOf says which paths a disk has. If it has several, it changes nothing of what is mounted which they are.
func pathsOf(isMany bool, portals []string) []core.Param {
	many := ""
	if isMany {
		many = plugin.Yes
	}
	return []core.Param{
		{Name: paramMany, Value: many, OnChange: core.OnChangeRebuild},
		portalsParam(portals),
	}
}

func portalsParam(portals []string) core.Param {
	return core.Param{Name: paramPortals, Value: strings.Join(portals, ","), OnChange: core.OnChangeRefresh}
}

// paramsOf says which session it is.
func paramsOf(r hal.ISCSIRecord) []core.Param {
	const change = core.OnChangeRebuild
	return []core.Param{
		{Name: paramTarget, Value: r.Target, OnChange: change},
		{Name: paramPortal, Value: r.Portal, OnChange: change},
		{Name: paramInterface, Value: r.Interface, OnChange: change},
	}
}

// sessionRung is all that a session says of its rung.
func sessionRung(r hal.ISCSIRecord) core.Rung {
	return core.Rung{
		Key: sessionKey(r), Kind: KindSession, Volume: string(KindSession) + "^" + r.Target + " " + r.Portal, Intent: true,
		Limits: limits, Want: plugin.Sorted(paramsOf(r)),
	}
}

// session is the rung of the session at a portal.
func (is *volume) session(v plugin.Volume, portal string) core.Rung {
	const change = core.OnChangeRebuild
	chap, version := "", ""
	if is.hasCHAP {
		chap = plugin.Yes
		namespace, name, _ := strings.Cut(is.secret, "/")
		if found := v.Contents.Content(hal.SecretKind, namespace, name); found != nil {
			version = found.Version
		}
	} else {
		is.secret = ""
	}
	r := sessionRung(is.record(portal))
	r.Want = plugin.Sorted(append(r.Want,
		core.Param{Name: paramFrom, Value: is.from, OnChange: change},
		core.Param{Name: paramInitiator, Value: is.initiator, OnChange: change},
		core.Param{Name: paramCHAP, Value: chap, OnChange: change},
		core.Param{Name: plugin.ParamSecret, Value: is.secret, OnChange: change},
		core.Param{Name: paramVersion, Value: version, OnChange: core.OnChangeRefresh},
		core.Param{Name: plugin.ParamPV, Value: is.pv},
		core.Param{Name: plugin.ParamOf, Value: is.of}))
	return r
}

func sessionKey(r hal.ISCSIRecord) hal.Key {
	return hal.Key(string(KindSession) + "/" + r.Target + "/" + r.Portal + "/" + r.Interface)
}

// DeviceKey is the key of a disk.
func DeviceKey(target string, lun int32) hal.Key {
	return hal.Key(string(KindDevice) + "/" + target + "/" + strconv.Itoa(int(lun)))
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

// secretsOfPod names the Secrets with the credentials of a pod's volumes.
func secretsOfPod(pod *corev1.Pod) (names []string) {
	for i := range pod.Spec.Volumes {
		if src := pod.Spec.Volumes[i].ISCSI; src != nil && src.SecretRef != nil {
			names = append(names, pod.Namespace+"/"+src.SecretRef.Name)
		}
	}
	return names
}

// secretsOfVolume names the one of a PersistentVolume. Without a namespace it is in that of the claim.
func secretsOfVolume(pv *corev1.PersistentVolume) []string {
	src := pv.Spec.ISCSI
	if src == nil || src.SecretRef == nil {
		return nil
	}
	namespace := src.SecretRef.Namespace
	if namespace == "" && pv.Spec.ClaimRef != nil {
		namespace = pv.Spec.ClaimRef.Namespace
	}
	return []string{namespace + "/" + src.SecretRef.Name}
}
