package world

import (
	"cmp"
	"slices"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

// Room is a volume source as scenarios know it: how its volumes are written, which of them the pods of hunts have, what
// must be true of them, and what goes wrong with them alone.
type Room struct {
	// Source is the engine's side.
	Source plugin.Source
	// Words are how scenarios write volumes of it.
	Words []lang.Word
	// Hunted are the volumes of which a pod of a hunt has one or none. The zero value is none.
	Hunted Hunted
	// Rare are those of which few pods of a hunt have one. The zero value is none.
	Rare Rare
	// Begin makes what there is before the first pod of a hunt comes, nil for nothing.
	Begin func(g Planner)
	// HasServer: its volumes need a server, a driver for one, which no test of this package has.
	HasServer bool
	// New makes what a run notes of the source, and judges. nil if that is nothing.
	New func() RoomRun
	// Path is where the containers of a pod find a volume, in a place that is the pod's own; "" if nothing can be there.
	// nil if volumes of the source have no such place.
	Path func(uid, volume string) string
	// RawPath is Path of a raw block volume, whose rung in the pod is of RawKind; nil if there are none.
	RawPath func(uid, volume string) string
	RawKind core.Kind
	// Mode is that of a volume's directory; 0 if it is as those above.
	Mode uint32
	// IsGiven: it is of the group of the pod's files, with the set-group-ID bit.
	IsGiven bool
	// IsOfNoGroup: the agent refuses its volumes to a pod that wants its files to be of a group.
	IsOfNoGroup bool
	// Use is how containers use a volume of a source that has no Path, or of which more is to be said; false if that
	// can't be told. nil is the path alone.
	Use func(v Claimed) (Use, bool)
	// Differs says how what is at a Path differs from a volume that is up, "" if it does not. Something is there.
	// isMounted: it is to be a mount. nil if nothing more is to be true of it.
	Differs func(w *sim.World, path string, isMounted bool) string
	// Leave makes a volume as another agent has left it, at its Path, and names the files that go only once somebody
	// has said that the pod is gone. nil if others leave none.
	Leave func(w *sim.World, path string) (kept []string)
	// Harms are what the world does to a volume at its Path while containers use it. The agent is to have mended it
	// after its next start.
	Harms []Harm
	// HarmSite is the site of the choice of them, "workload." and the name of the source in words.
	HarmSite string
}

// Rooms are the sources of all scenarios. Package rooms sets it, once.
var Rooms []*Room

// mostRooms bounds the table.
const mostRooms = 16

// Hunted are volumes of which a pod of a hunt has one or none.
type Hunted struct {
	Name    string        // what pods call it
	Site    string        // of the choice
	Never   uint32        // the weight of none; each volume has 1
	Volumes []HuntedShape // 1 and up are the values of the choice
}

// HuntedShape is one of those volumes.
type HuntedShape struct {
	Text   string // for people: "an emptyDir in memory"
	Source corev1.VolumeSource
	PV     *corev1.PersistentVolume // that its claim names; nil if it is no claim: see [Persistent]
	InTree bool                     // of a source for which Kubernetes once had a plugin: see [Cluster.InTree]
}

// Persistent is a volume that pods have by a claim. The caller gives the PersistentVolume a name, a source, access
// modes and options; the claim gets the same name. Both are there in worlds that [Planner.Persists].
func Persistent(text string, pv *corev1.PersistentVolume) HuntedShape {
	pv.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: lang.DefaultNamespace, Name: pv.Name}
	return HuntedShape{Text: text, PV: pv, Source: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: pv.Name},
	}}
}

// objects are those that a volume of a PersistentVolume needs.
func (v *HuntedShape) objects() []any {
	if v.PV == nil {
		return nil
	}
	return []any{v.PV, &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: lang.DefaultNamespace, Name: v.PV.Name},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: v.PV.Name, AccessModes: v.PV.Spec.AccessModes, VolumeMode: v.PV.Spec.VolumeMode,
			Resources: corev1.VolumeResourceRequirements{Requests: v.PV.Spec.Capacity},
		},
	}}
}

// Rare are volumes of which few pods of a hunt have one, and what people do to them there.
type Rare struct {
	// Name is what pods call it.
	Name string
	// Plan draws which volume pod i has, from 1, and what happens to it.
	Plan func(g Planner, m *Room, i int, name string) (which uint8)
	// Volume is that volume. edited is what somebody has edited it to since, 0 for nothing.
	Volume func(uid string, which, edited uint8) corev1.VolumeSource
}

// Harm is something that the world does to a volume.
type Harm struct {
	Text string // for people, behind the name of the volume: "loses its marker"
	Do   func(w *sim.World, path string) syscall.Errno
}

// Claimed is a volume of a pod with its PersistentVolume.
type Claimed struct {
	UID      string // of the pod
	Spec     *corev1.Volume
	PV       *corev1.PersistentVolume // nil if it has none
	IsBlock  bool
	ReadOnly bool // all mounts of the pod are
}

// roomOf is the source of a volume, nil if scenarios know none.
func roomOf(v Claimed) *Room {
	for _, m := range Rooms {
		if m.Source.Serves(v.PV, v.Spec) {
			return m
		}
	}
	return nil
}

// Weights are those of the choice.
func (h *Hunted) Weights() []uint32 { return weights(h.Never, len(h.Volumes)) }

// HarmWeights are those of the choice of a harm.
func (m *Room) HarmWeights() []uint32 { return weights(uint32(10*len(m.Harms)), len(m.Harms)) }

func weights(never uint32, each int) []uint32 {
	return append([]uint32{never}, slices.Repeat([]uint32{1}, each)...)
}

// Chosen says what the choice at a site gives a pod, "" if the site is no source's.
func Chosen(site, pod string, value int64) string {
	for _, m := range Rooms {
		switch {
		case value <= 0:
		case site == m.Hunted.Site && value <= int64(len(m.Hunted.Volumes)):
			return pod + " has " + m.Hunted.Volumes[value-1].Text
		case site == m.HarmSite && value <= int64(len(m.Harms)):
			return pod + "/" + m.Hunted.Name + " " + m.Harms[value-1].Text
		}
	}
	return ""
}

// HasDirectory reports whether a pod has a volume whose directory holds the data itself.
func (s *Shape) HasDirectory() bool {
	for i, m := range Rooms {
		if s.Chosen[i] != 0 && (&Use{Room: m}).IsDirectory() {
			return true
		}
	}
	return false
}

// Harms: the world has harmed what a pod uses. The present life of the agent need not notice it.
func (r *Run) Harms(p *Pod, u Use) {
	r.Harmed[u.Path] = r.W.Life()
	r.Faults(p, u)
}

// Faults: the rungs of what a pod uses have met a fault of the world.
func (r *Run) Faults(p *Pod, u Use) {
	if r.Faulty != nil {
		for _, k := range u.kinds() {
			r.Faulty[u.key(k.Name, p.Uid)] = true
		}
	}
}

// RoomOf is the source whose rungs are of a kind and at paths of their pods' own, nil if there is none.
func RoomOf(kind core.Kind) *Room {
	for _, m := range Rooms {
		isOwn := func(k plugin.Kind) bool { return k.Name == kind && !k.IsShared }
		if m.Path != nil && slices.ContainsFunc(m.Source.Kinds, isOwn) {
			return m
		}
	}
	return nil
}

// DirectoryAt is the source whose volume is a directory, with a Mode, at a path below a pod's, or that has the path
// within; nil if there is none.
func DirectoryAt(path string) (m *Room, isWithin bool) {
	_, rest, _ := strings.Cut(path, "/volumes/")
	parts := strings.Split(rest, "/")
	at := slices.IndexFunc(Rooms, func(m *Room) bool { return m.Mode != 0 && m.Source.Directory() == parts[0] })
	if at < 0 || len(parts) < 2 {
		return nil, false
	}
	return Rooms[at], len(parts) > 2
}

// OwnPath is the Path of the volume that a rung's key names, if it is of such a source: KIND/UID/VOLUME; else "".
func OwnPath(key hal.Key) string {
	kind, rest, _ := strings.Cut(string(key), "/")
	if m := RoomOf(core.Kind(kind)); m != nil {
		uid, volume, _ := strings.Cut(rest, "/")
		if core.Kind(kind) == m.RawKind {
			return m.RawPath(uid, volume)
		}
		return m.Path(uid, volume)
	}
	return ""
}

// IsDirectory reports whether the directory at the path of a use holds the data itself, as that of an emptyDir.
func (u *Use) IsDirectory() bool {
	return slices.ContainsFunc(u.kinds(), func(k plugin.Kind) bool { return k.IsDirectory })
}

// HoldsData reports whether what is at the path of a use is the pod's own data, which is lost if it goes.
func (u *Use) HoldsData() bool {
	return slices.ContainsFunc(u.kinds(), func(k plugin.Kind) bool { return k.Deletes != nil })
}

// IsHosts reports whether what containers use is the host's own, and no place of their pod's.
func (u *Use) IsHosts() bool {
	return slices.ContainsFunc(u.kinds(), func(k plugin.Kind) bool { return k.IsOfHost })
}

// key is that of the rung of a kind that a use is of, if its path is the pod's own.
func (u *Use) key(kind core.Kind, uid core.PodUID) hal.Key {
	return hal.Key(string(kind) + "/" + string(uid) + "/" + cmp.Or(u.Spec, u.Name))
}

// kinds are the kinds of rungs that volumes of its source are, none if that is not known.
func (u *Use) kinds() []plugin.Kind {
	if u.Room == nil {
		return nil
	}
	return u.Room.Source.Kinds
}

// use is how the containers of a pod use a volume; false if that can't be told.
func (v Claimed) use() (u Use, ok bool) {
	m := roomOf(v)
	switch {
	case m == nil:
		return Use{Name: v.Spec.Name}, false
	case m.Use != nil:
		u, ok = m.Use(v)
	default:
		u, ok = Use{Path: m.Path(v.UID, v.Spec.Name)}, true
	}
	u.Name, u.Room = v.Spec.Name, m
	return u, ok
}
