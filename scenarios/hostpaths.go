package scenarios

import (
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
)

// This file is S34: no hostPath leads to a place whose content the agent deletes or owns, and the agent deletes nothing
// of the places where one may.

const (
	hostShare     = "/srv" // that the host mounts from a server in some worlds
	hostDirectory = hostShare + "/shared"

	hostLink = "/opt/link" // leads to the directory of all pods
	hostBind = "/opt/bind" // is a second mount of the root directory, until the node boots
	hostTurn = "/opt/turn" // a link that somebody turns to an emptyDir
	hostUnit = "/opt/unit" // to which it leads before
	hostFile = lang.RootDir + "/plugins/disk.example/kept"

	emptyDirOfFirst = lang.RootDir + "/pods/00000000-0000-4000-8000-000000000000/volumes/kubernetes.io~empty-dir/scratch"
)

// hostPlace is what a hostPath of a hunt names, UID for the uid of its pod.
type hostPlace struct {
	path string
	kind corev1.HostPathType
}

// hostPlaces are all of them, but none for a pod without one. Those below the root directory that come first are what
// drivers mount that run in pods.
var hostPlaces = [...]hostPlace{
	{},
	{hostDirectory, corev1.HostPathDirectoryOrCreate},
	{lang.RootDir + "/pods", corev1.HostPathDirectory},
	{path.Dir(hostFile), corev1.HostPathDirectoryOrCreate},
	{lang.RootDir + "/plugins_registry", corev1.HostPathUnset},
	{lang.RootDir + "/pods/UID/volumes/kubernetes.io~empty-dir/host", corev1.HostPathDirectoryOrCreate},
	{emptyDirOfFirst, corev1.HostPathUnset},
	{lang.RootDir + "/volnode/journal", corev1.HostPathDirectory},
	{lang.RootDir + "/plugins/kubernetes.io/csi/disk.example/data", corev1.HostPathDirectoryOrCreate},
	{hostLink + "/UID/volumes/kubernetes.io~empty-dir/host", corev1.HostPathDirectoryOrCreate},
	{hostBind + "/pods/UID/volumes/kubernetes.io~csi/host", corev1.HostPathDirectoryOrCreate},
	{hostTurn, corev1.HostPathUnset},
	{hostThing, corev1.HostPathDirectory},
}

// hostVolume is the hostPath of a pod.
func (s *shape) hostVolume(uid string) *corev1.HostPathVolumeSource {
	is := hostPlaces[s.hostPath]
	if s.hostKind != 0 {
		is.kind = hostKinds[s.hostKind]
	}
	return &corev1.HostPathVolumeSource{Path: strings.ReplaceAll(is.path, "UID", uid), Type: &is.kind}
}

// isAnyType: nothing is asked of what a hostPath leads to, not even that it is there.
func isAnyType(of *corev1.HostPathVolumeSource) bool {
	return of.Type == nil || *of.Type == corev1.HostPathUnset
}

// planHostPath draws where the hostPath of pod i leads.
func (g *workload) planHostPath(s *shape, name string) {
	s.hostPath = 1 + uint8(g.pick("workload.host-path", name, 0, 8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1))
	if s.hostPath == 1 && g.pick("workload.host-thing", name, 0, 2, 1) == 1 {
		s.hostPath = uint8(len(hostPlaces)) - 1
	}
	g.planHostTypes(s, name)
	if s.hostPath == 1 {
		return
	}
	w := g.r.w
	w.MakeDir(hostUnit)
	_ = w.Symlink(lang.RootDir+"/pods", hostLink) // another pod may have drawn it before
	_ = w.Symlink(hostUnit, hostTurn)
	if _, isMade := w.Exists(hostBind); !isMade {
		w.MakeDir(hostBind)
		_ = w.BindMount(lang.RootDir, hostBind, false)
	}
	if hostPlaces[s.hostPath].path == hostTurn {
		g.at(g.time("workload.host-path-time", name, 0, cases.Chaos), name, func() {
			_ = w.RemoveFile(hostTurn) // it was made at the beginning
			_ = w.Symlink(emptyDirOfFirst, hostTurn)
			g.r.turnedAt = w.Now()
		})
	}
}

// leadsInto says which place of the agent's a path leads to, "" if none.
func (r *run) leadsInto(at string) string {
	found, errno := r.w.Find(at)
	if errno != 0 {
		return ""
	}
	for _, below := range found.Below {
		names := strings.Split(below, "/")
		isPods, isStaged := names[0] == "pods", strings.HasPrefix(below, "plugins/kubernetes.io/csi/")
		if names[0] == "volnode" || isPods && len(names) > 1 || isStaged && len(names) > 4 {
			return lang.RootDir + "/" + below
		}
	}
	return ""
}

// isIntruder reports whether a pod has a hostPath that it must not have, or that is not of the type that it asks for.
func (r *run) isIntruder(p *pod) bool {
	return r.leadsAstray(p) || slices.ContainsFunc(p.uses, func(u use) bool { return r.misfit(u) != "" })
}

// leadsAstray reports whether a pod has a hostPath that leads to a place of the agent.
func (r *run) leadsAstray(p *pod) bool {
	return slices.ContainsFunc(p.uses, func(u use) bool { return u.isHost && r.leadsInto(u.path) != "" })
}

// isIntruding is that of a rung, once nothing of an earlier look of the agent is left.
func (r *run) isIntruding(b *core.Belief) bool {
	p := r.byUID[b.Pod]
	return !b.InFlight && !b.HasChild && strings.HasPrefix(string(b.Key), "hostpath/") && p != nil && r.isIntruder(p)
}

// wasTurned: somebody has turned a link since the agent had to look last where those of p lead.
func (r *run) wasTurned(p *pod) bool { return r.turnedAt > max(r.bornAt, p.retypedAt) }

// isLetIn is S34 of a pod that is told to be ready.
func (r *run) isLetIn(p *pod) bool {
	for _, u := range p.uses {
		if !u.isHost {
			continue
		}
		r.judges("S34")
		if at := r.leadsInto(u.path); at != "" && !r.wasTurned(p) {
			r.fail("S34", "told ready", p.name,
				"pod "+p.name+" is told to be ready, and its hostPath "+u.path+" leads to "+at+
					", whose content the agent deletes or owns")
			return true
		}
		if u.path == path.Dir(hostFile) {
			r.w.WriteFile(hostFile, []byte("of a driver"))
		}
	}
	return false
}

// deletesOfHosts is S34 of names that go.
func (r *run) deletesOfHosts(e *sim.Effect) {
	if e.Actor == "agent" && (e.Path == hostFile || below(hostFile, e.Path)) {
		r.fail("S34", e.Kind.String(), e.Path, "the agent deletes "+e.Path+", which a hostPath leads to")
	}
}

// turnsAway is S34 of the status, a hostPath that the agent refuses says where it leads, and L12 of those that are not
// of the type that is asked for.
func (r *run) turnsAway() bool {
	status, ok := r.status()
	if !ok {
		return true
	}
	for _, s := range status.Pods {
		p := r.byUID[s.UID]
		if p == nil || !p.isWanted || !r.isCurrent(p) {
			continue
		}
		for _, u := range p.uses {
			at := slices.IndexFunc(s.Volumes, func(v engine.VolumeStatus) bool { return v.Name == u.name })
			if at >= 0 && u.isHost && !(r.tellsWhere(p, u, &s.Volumes[at]) && r.tellsMisfit(p, u, &s.Volumes[at])) {
				return false
			}
		}
	}
	return true
}

// tellsWhere is S34 of one status.
func (r *run) tellsWhere(p *pod, u use, v *engine.VolumeStatus) bool {
	if r.leadsInto(u.path) == "" || r.wasTurned(p) {
		return true
	}
	r.judges("S34")
	if v.State != engine.Blocked || !strings.Contains(v.Why, u.path) {
		r.fail("S34", "status", p.name,
			"the hostPath "+u.path+" of pod "+p.name+" leads to "+r.leadsInto(u.path)+", and its status is "+
				string(v.State)+": "+v.Why)
		return false
	}
	return true
}

// turnsBack is a person who turns a link back to where it led, and starts those again who have opened what it led to.
func (r *run) turnsBack() {
	if to, _ := r.w.Find(hostTurn); r.turnedAt != 0 && len(to.Below) > 0 {
		_ = r.w.RemoveFile(hostTurn) // it is there, as it leads somewhere
		_ = r.w.Symlink(hostUnit, hostTurn)
		for _, p := range r.pods {
			if slices.ContainsFunc(p.given, func(u use) bool { return u.path == hostTurn }) {
				p.letGo()
			}
		}
	}
	if kind, _ := r.w.Exists(hostThing); kind == hal.TypeFile {
		r.retypes(hostThing, hal.TypeDirectory)
	}
}

// expels judges the pods whose hostPaths the agent refuses, and is then a person who reads why and deletes them. A look
// that failed before calm came is made again by then.
func (r *run) expels() bool {
	if looked := r.registrars.calm.Add(maxBackoff); slices.ContainsFunc(r.pods, r.isIntruder) && r.w.Now() < looked {
		if !r.until(looked) || !r.awaitRest("L2", "refused", r.bound()) {
			return false
		}
	}
	if !r.turnsAway() {
		return false
	}
	isAny := false
	for i, p := range r.pods {
		switch {
		case !p.isWanted || !r.isIntruder(p):
			continue
		case i&1 == 0 && !p.isLeaving && !r.leadsAstray(p):
			r.asksForAnyType(p)
		default:
			r.remove(p, time.Second)
		}
		isAny = true
	}
	return !isAny || r.comesToRest("L2", "without the pods that are refused", r.bound())
}

// hostActions are the statements about links and mounts that people make on the host.
func hostActions() []action {
	return []action{
		{"link PATH to PATH", func(t *scene, a []string) string { return t.link(a[0], a[1]) }},
		{"bind PATH to PATH", func(t *scene, a []string) string { return t.bindHost(a[0], a[1]) }},
	}
}

// link makes a link, or turns the one that is there.
func (t *scene) link(at, to string) string {
	t.w.MakeDir(path.Dir(at))
	_ = t.w.RemoveFile(at) // it need not be there
	t.r.turnedAt = t.w.Now()
	if err := t.w.Symlink(to, at); err != nil {
		return err.Error()
	}
	return ""
}

// bindHost has the host mount a directory a second time.
func (t *scene) bindHost(from, at string) string {
	t.w.MakeDir(at)
	if errno := t.w.BindMount(from, at, false); errno != 0 {
		return errno.Error()
	}
	return ""
}

func (t *scene) expectNothingAt(at string) string {
	if kind, there := t.w.Exists(at); there {
		return "a " + kind.String() + " is there"
	}
	return ""
}
