// Package projected is secret, configMap, downwardAPI and projected as scenarios know them.
package projected

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/projected"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Rooms are the sources. What is noted and judged of all of them, the last one does.
func Rooms() []*world.Room {
	var rooms []*world.Room
	for _, source := range projected.Sources() {
		rooms = append(rooms, &world.Room{
			Source: source, Words: words[source.Name], Mode: 0o755, IsGiven: true,
			Use: func(v world.Claimed) (world.Use, bool) {
				return world.Use{Path: pathOf(&source, v.UID, v.Spec.Name), Memory: v.Spec.ConfigMap == nil}, true
			},
			Path: func(uid, volume string) string { return pathOf(&source, uid, volume) },
			Differs: func(w *sim.World, path string, isMounted bool) string {
				if isMounted && len(w.MountsAt(path)) == 0 {
					return "nothing is mounted at " + path
				}
				return ""
			},
		})
	}
	rooms[1].Leave = leave // what lies in memory goes with its filesystem
	last := rooms[len(rooms)-1]
	last.Hunted = hunted
	last.Begin = begin
	last.New = func() world.RoomRun { return &run{} }
	return rooms
}

func pathOf(source *plugin.Source, uid, volume string) string {
	return plugin.PodPlace(lang.RootDir, uid, source.Directory(), volume).Path
}

// leave makes a volume as a kubelet leaves it, with a file in it that somebody else has put there.
func leave(w *sim.World, path string) []string {
	w.WriteFile(path+"/..2026_11_28_07_10_10.123456789/conf", []byte("port = 80"))
	_ = w.Symlink("..2026_11_28_07_10_10.123456789", path+"/..data") // nothing is there yet
	_ = w.Symlink("..data/conf", path+"/conf")
	w.WriteFile(path+"/precious", []byte("of another agent"))
	return []string{path + "/precious"}
}

// words are secret:NAME and configmap:NAME, whole, downward, projected:NAME of both objects of that name, if they are
// there, and token:AUDIENCE.
var words = map[string][]lang.Word{
	"secret": {{Form: "secret:NAME", Volume: func(name string) (corev1.VolumeSource, bool) {
		return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}, name != ""
	}}},
	"configMap": {{Form: "configmap:NAME", Volume: func(name string) (corev1.VolumeSource, bool) {
		return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name},
		}}, name != ""
	}}},
	"downwardAPI": {lang.Plain("downward", corev1.VolumeSource{
		DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: itself},
	})},
	"projected": {{Form: "projected:NAME", Volume: func(name string) (corev1.VolumeSource, bool) {
		yes, ref := true, corev1.LocalObjectReference{Name: name}
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{Secret: &corev1.SecretProjection{LocalObjectReference: ref, Optional: &yes}},
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref, Optional: &yes}},
		}}}, name != ""
	}}, {Form: "token:AUDIENCE", Volume: func(audience string) (corev1.VolumeSource, bool) {
		return corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{tokenFor(audience)},
		}}, audience != ""
	}}},
}

// tokenFor is a source that is a token of the shortest lifetime.
func tokenFor(audience string) corev1.VolumeProjection {
	lasts := int64(600)
	return corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
		Audience: audience, ExpirationSeconds: &lasts, Path: "token",
	}}
}

// itself is files that say what a pod is.
var itself = []corev1.DownwardAPIVolumeFile{
	{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
	{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
}

// The objects of hunts, in the namespace of the pods. Nobody needs spare.
const (
	namespace = "default"
	app       = "app"
	spare     = "spare"
)

// objects are the objects of hunts.
var objects = []struct{ kind, namespace, name string }{
	{hal.SecretKind, namespace, app},
	{hal.ConfigMapKind, namespace, app},
	{hal.ConfigMapKind, namespace, spare},
	{hal.TrustBundleKind, "", bundleA},
	{hal.TrustBundleKind, "", bundleB},
	{hal.TrustBundleKind, "", plain},
}

// hunted are volumes that differ in how names, modes and objects come and go.
var hunted = func() world.Hunted {
	yes, mode, other := true, int32(0o400), int32(0o440)
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	return world.Hunted{
		Name: "config", Site: "workload.config", Never: 4,
		Volumes: []world.HuntedShape{
			{Text: "the files of a Secret", Source: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: app, DefaultMode: &mode},
			}},
			{Text: "the files of a ConfigMap", Source: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref(app)},
			}},
			{Text: "files of a Secret and two ConfigMaps", Source: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref(spare), Optional: &yes}},
					{Secret: &corev1.SecretProjection{LocalObjectReference: ref(app), Items: []corev1.KeyToPath{
						{Key: "key", Path: "keys/of/app", Mode: &other}, {Key: "version", Path: "version"},
					}}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref(app), Items: []corev1.KeyToPath{
						{Key: "version", Path: "keys/version"},
					}}},
					{DownwardAPI: &corev1.DownwardAPIProjection{Items: itself}},
				}},
			}},
			{Text: "files that say what it is", Source: corev1.VolumeSource{
				DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: itself, DefaultMode: &mode},
			}},
			{Text: "the files of a ConfigMap that need not be there", Source: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref(spare), Optional: &yes},
			}},
			{Text: "certificates of a signer", Source: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{Sources: certificatesOf()},
			}},
			{Text: "a token and a file of a ConfigMap", Source: corev1.VolumeSource{
				Projected: &corev1.ProjectedVolumeSource{DefaultMode: &other, Sources: []corev1.VolumeProjection{
					tokenFor("vault"),
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: ref(app), Items: []corev1.KeyToPath{
						{Key: "version", Path: "version"},
					}}},
				}},
			}},
		},
	}
}()

// versionOf is what an object of a hunt holds in a version: of a Secret or a ConfigMap a name that comes and goes with
// versions, one that stays and changes, and one that stays as it is.
func versionOf(kind, name string, version int) map[string]string {
	if kind == hal.TrustBundleKind {
		return bundleOf(name, version)
	}
	return map[string]string{
		"key": world.SecretsOfHunts["stage"]["key"], "version": fmt.Sprintf("%d\n", version),
		fmt.Sprintf("of-%d", version%3): strings.Repeat("x", version),
	}
}

// begin makes the objects, and draws how people change, remove and make them again. In a world that draws nothing they
// are made once calm comes, if a pod needs them: so what is kept of other worlds stays as it was.
func begin(g world.Planner) {
	for _, m := range g.Run().Rooms {
		if h, is := m.(*run); is {
			h.isHunted = true
		}
	}
	if g.Pick("workload.contents", "", 0, 1, 3) == 0 {
		return
	}
	for _, o := range objects {
		g.Run().Holds(o.kind, o.namespace, o.name, versionOf(o.kind, o.name, 0))
		version := 0
		for n := range cases.Slots {
			object := strings.ToLower(o.kind) + " " + o.name
			what := g.Pick("workload.content", object, n, 4, 3, 1, 1)
			if what == 0 {
				continue
			}
			version++
			holds := versionOf(o.kind, o.name, version)
			g.At(g.Time("workload.content-time", object, n, cases.Chaos), object, func() {
				switch what {
				case 1:
					g.Run().Holds(o.kind, o.namespace, o.name, holds)
				case 2:
					g.Run().Drops(o.kind, o.namespace, o.name)
				default:
					_ = g.Run().Misplaces(o.kind, o.namespace+"/"+o.name, time.Second+
						g.Time("workload.content-lasts", object, n, cases.Chaos))
				}
			})
		}
	}
}

// Mends is people who make the objects that pods of hunts need.
func (h *run) Mends(r *world.Run) {
	isNeeded := func(isFor func(corev1.VolumeProjection) bool) bool {
		return h.isHunted && slices.ContainsFunc(r.Pods, func(p *world.Pod) bool {
			return p.IsWanted && slices.ContainsFunc(p.Uses, func(u world.Use) bool {
				of := projection(p, u)
				return of != nil && slices.ContainsFunc(of.Sources, isFor)
			})
		})
	}
	isOfBundle := func(s corev1.VolumeProjection) bool { return s.ClusterTrustBundle != nil }
	needsApp := isNeeded(func(s corev1.VolumeProjection) bool { return !isOfBundle(s) })
	needsBundle := isNeeded(isOfBundle)
	for _, o := range objects {
		is := r.HeldBy(o.kind, o.namespace+"/"+o.name).Present()
		switch {
		case needsApp && o.name == app && is == nil:
			r.Holds(o.kind, o.namespace, o.name, versionOf(o.kind, o.name, cases.Slots+1))
		case needsBundle && o.name == bundleA && !world.IsChosen(certificatesOf()[0].ClusterTrustBundle, o.name, is):
			r.Holds(o.kind, o.namespace, o.name, bundleOf(o.name, 0))
		}
	}
}
