package hostpath

import (
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is where the hostPaths of hunts lead, and what people do there.

const (
	shareDir  = "/srv"       // that the host mounts from a server in some worlds
	linkPath  = "/opt/link"  // leads to the directory of all pods
	bindPath  = "/opt/bind"  // is a second mount of the root directory, until the node boots
	turnPath  = "/opt/turn"  // a link that somebody turns to an emptyDir
	unitPath  = "/opt/unit"  // to which it leads before
	thingPath = "/opt/thing" // a directory, which somebody replaces by a file
	driverDir = lang.RootDir + "/plugins/disk.example"
	filePath  = driverDir + "/kept" // a file of a driver

	// scratchOfFirst is the place of an emptyDir of a hunt's first pod.
	scratchOfFirst = lang.RootDir +
		"/pods/00000000-0000-4000-8000-000000000000/volumes/kubernetes.io~empty-dir/scratch"
)

// place is what a hostPath of a hunt names, UID for the uid of its pod.
type place struct {
	path string
	kind corev1.HostPathType
}

// places are all of them, from 1. Those below the root directory that come first are what drivers mount that run in
// pods.
var places = [...]place{
	{},
	{shareDir + "/shared", corev1.HostPathDirectoryOrCreate},
	{lang.RootDir + "/pods", corev1.HostPathDirectory},
	{driverDir, corev1.HostPathDirectoryOrCreate},
	{lang.RootDir + "/plugins_registry", corev1.HostPathUnset},
	{lang.RootDir + "/pods/UID/volumes/kubernetes.io~empty-dir/host", corev1.HostPathDirectoryOrCreate},
	{scratchOfFirst, corev1.HostPathUnset},
	{lang.RootDir + "/volnode/journal", corev1.HostPathDirectory},
	{lang.RootDir + "/plugins/kubernetes.io/csi/disk.example/data", corev1.HostPathDirectoryOrCreate},
	{linkPath + "/UID/volumes/kubernetes.io~empty-dir/host", corev1.HostPathDirectoryOrCreate},
	{bindPath + "/pods/UID/volumes/kubernetes.io~csi/host", corev1.HostPathDirectoryOrCreate},
	{turnPath, corev1.HostPathUnset},
	{lang.RootDir + "/plugins/kubernetes.io/local-volume/mounts/mine", corev1.HostPathDirectoryOrCreate},
	{thingPath, corev1.HostPathDirectory},
}

// edits are the types that people edit hostPaths to; the first stands for what its place asks for.
var edits = [...]corev1.HostPathType{
	corev1.HostPathUnset, corev1.HostPathUnset, corev1.HostPathDirectory, corev1.HostPathDirectoryOrCreate,
	corev1.HostPathFile, corev1.HostPathFileOrCreate, corev1.HostPathSocket,
}

// rare is the hostPaths that pods of hunts have.
var rare = world.Rare{
	Name: "host", Plan: plan,
	Volume: func(uid string, which, edited uint8) corev1.VolumeSource {
		is := places[which]
		if edited != 0 {
			is.kind = edits[edited]
		}
		return corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{
			Path: strings.ReplaceAll(is.path, "UID", uid), Type: &is.kind,
		}}
	},
}

// shares has the host now and then mount what hostPaths are on from a server, which is silent twice.
func shares(g world.Planner) {
	if g.Volumes() < cases.HuntVolumes || g.Pick("workload.host-share", shareDir, 0, 3, 1) == 0 {
		return
	}
	w := g.Run().W
	w.MountShare(shareDir)
	for n := range 2 {
		g.At(g.Time("workload.host-share-time", shareDir, n, cases.Chaos), shareDir, func() {
			w.SilenceShare(shareDir,
				time.Second+g.Time("workload.host-share-silent", shareDir, n, workload.AwayMost))
		})
	}
}

// plan draws where the hostPath of pod i leads.
func plan(g world.Planner, m *world.Room, i int, name string) (which uint8) {
	which = 1 + uint8(g.Pick("workload.host-path", name, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1))
	if which == 1 && g.Pick("workload.host-thing", name, 0, 2, 1) == 1 {
		which = uint8(len(places)) - 1
	}
	planEdits(g, m, i, name, places[which].path)
	if which == 1 {
		return which
	}
	w := g.Run().W
	w.MakeDir(unitPath)
	_ = w.Symlink(lang.RootDir+"/pods", linkPath) // another pod may have drawn it before
	_ = w.Symlink(unitPath, turnPath)
	if _, isMade := w.Exists(bindPath); !isMade {
		w.MakeDir(bindPath)
		_ = w.BindMount(lang.RootDir, bindPath, false)
	}
	if places[which].path == turnPath {
		g.At(g.Time("workload.host-path-time", name, 0, cases.Chaos), name, func() {
			_ = w.RemoveFile(turnPath) // it was made at the beginning
			_ = w.Symlink(scratchOfFirst, turnPath)
			g.Run().TurnedAt = w.Now()
		})
	}
	return which
}

// planEdits draws how people edit the type of the hostPath of pod i, and what they do to what it leads to.
func planEdits(g world.Planner, m *world.Room, i int, name, at string) {
	for n := range cases.Slots {
		kind := uint8(g.Pick("workload.host-type", name, n, 6, 1, 1, 1, 1, 1, 1, 2))
		if kind == 0 {
			continue
		}
		g.At(g.Time("workload.host-type-time", name, n, cases.Chaos), name,
			func() { g.EditVolume(i, m, editOf(kind, at)) })
	}
	if at != thingPath {
		return
	}
	g.Run().W.MakeDir(thingPath)
	for n, kind := range []hal.FileType{hal.TypeFile, hal.TypeDirectory} {
		if g.Pick("workload.host-thing", name, 1+n, 1, 1) == 1 {
			g.At(g.Time("workload.host-thing-time", name, n, cases.Chaos), name, func() { retypes(g.Run(), kind) })
		}
	}
}

// editOf is which of edits a drawn number is for a place; the last one takes all edits back. Nobody makes a file where
// a driver has its directory.
func editOf(drawn uint8, at string) uint8 {
	drawn %= uint8(len(edits))
	if edits[drawn] == corev1.HostPathFileOrCreate && world.Below(at, lang.RootDir) {
		drawn--
	}
	return drawn
}

// retypes is somebody who puts a file or a directory in the place of the other at thingPath.
func retypes(r *world.Run, kind hal.FileType) {
	if is, _ := r.W.Exists(thingPath); is == kind || r.W.RemoveFile(thingPath) != 0 {
		return
	}
	if r.TypedAt = r.W.Now(); kind == hal.TypeDirectory {
		r.W.MakeDir(thingPath)
		return
	}
	r.W.WriteFile(thingPath, nil)
}

// Mends is people who put a link and a directory back, and start those again who have opened what the link led to.
func (*run) Mends(r *world.Run) {
	if to, _ := r.W.Find(turnPath); r.TurnedAt != 0 && len(to.Below) > 0 {
		_ = r.W.RemoveFile(turnPath) // it is there, as it leads somewhere
		_ = r.W.Symlink(unitPath, turnPath)
		for _, p := range r.Pods {
			for _, u := range p.Given {
				if u.Path == turnPath {
					p.LetGo()
					break
				}
			}
		}
	}
	if kind, _ := r.W.Exists(thingPath); kind == hal.TypeFile {
		retypes(r, hal.TypeDirectory)
	}
}

// Sees is S34 of names that go.
func (*run) Sees(r *world.Run, e *sim.Effect) {
	switch e.Kind {
	case sim.EffectRemoved, sim.EffectRemovedTree, sim.EffectRenamed:
	default:
		return
	}
	if e.Actor == "agent" && (e.Path == filePath || world.Below(filePath, e.Path)) {
		r.Fail("S34", e.Kind.String(), e.Path, "the agent deletes "+e.Path+", which a hostPath leads to")
	}
}

// leaves is what the containers of a pod write where its hostPath leads.
func leaves(r *world.Run, u world.Use) {
	if u.Path == path.Dir(filePath) {
		r.W.WriteFile(filePath, []byte("of a driver"))
	}
}
