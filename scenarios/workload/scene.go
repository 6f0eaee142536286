package workload

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/identity"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/judges"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// Scene is what the statements of a scenario act on and ask about.
type Scene struct {
	S        *lang.Scenario
	R        *world.Run
	W        *sim.World
	Calls    []sim.Effect // RPCs that were sent
	Before   int          // how many when the agent started last
	Log      []engine.Line
	IsVaried bool // more goes wrong than the scenario says
}

// Pod returns the pod of the words "pod NAME": the one that the cluster has, else the one of that name that came last;
// before any has come, its first version.
func (t *Scene) Pod(name string) (*corev1.Pod, *world.Pod) {
	var last *world.Pod
	for _, p := range t.R.Pods {
		if p.Name == name && (last == nil || !last.IsWanted) {
			last = p
		}
	}
	if last != nil {
		return last.Object, last
	}
	object, _ := t.S.Object("pod "+name, "").(*corev1.Pod)
	return object, nil
}

// EngineStatus is the engine's own status, empty if there is none.
func (t *Scene) EngineStatus() engine.Status {
	s, _ := judges.Status(t.R)
	return s
}

// Action is one kind of statement: its words, as a Language has them.
type Action struct {
	Words string
	Do    func(t *Scene, args []string) string // returns why it does not hold, or can't be done
}

// Duration reads a time of a line that the language has accepted.
func Duration(text string) time.Duration {
	d, _ := time.ParseDuration(text) // match has looked at it
	return d
}

// RemoveTree removes a path and all below it, as somebody on the node would.
func (t *Scene) RemoveTree(at string) string {
	judges.Removes(t.R, at)
	t.R.TypedAt = t.W.Now() // a hostPath may lead there
	if errno := judges.RemoveTree(t.R, at); errno != 0 {
		return at + ": " + errno.Error()
	}
	t.W.SyncDirectory(path.Dir(at)) // what a person has put in order stays so
	return ""
}

// spoil makes a pod's manifest one that nobody understands. It is not cut, and names no other pod.
func (t *Scene) spoil(name string) string {
	object, _ := t.Pod(name)
	if !t.S.Files {
		return "only manifests can be spoilt; write: objects from files"
	}
	t.W.WriteFile(t.R.FileOf(object),
		[]byte("apiVersion: v1\nkind: Pod\nspeck: {}\nmetadata: {name: "+object.Name+"}\n"))
	return ""
}

// ExpectAtMost is a statement: the agent has made so many calls of the host, or fewer.
func (t *Scene) ExpectAtMost(calls string) string {
	most, _ := strconv.Atoi(calls) // match has looked at it
	if n := t.W.Trace().Count(sim.MarkCall); n > uint64(most) {
		return fmt.Sprintf("the agent has made %d calls of the host", n)
	}
	return ""
}

// MakeFile makes an empty file, or empties the one that is there.
func (t *Scene) MakeFile(at string) string {
	if world.Below(at, identity.Dir(lang.RootDir)) {
		judges.Removes(t.R, at)
	}
	t.R.TypedAt = t.W.Now() // a hostPath may lead there
	t.W.WriteFile(at, nil)
	return ""
}

// Use returns a volume of a pod.
func (t *Scene) Use(volume, name string) (world.Use, string) {
	_, p := t.Pod(name)
	if p == nil {
		return world.Use{}, "the pod was never applied"
	}
	i := slices.IndexFunc(p.Uses, func(u world.Use) bool { return u.Name == volume })
	if i < 0 {
		return world.Use{}, "the pod has no such volume"
	}
	return p.Uses[i], ""
}

// Container returns a volume of a pod for what its containers do there.
func (t *Scene) Container(volume, name string) (world.Use, string) {
	u, why := t.Use(volume, name)
	if _, p := t.Pod(name); why == "" && !p.IsRunning {
		why = "no container of the pod runs"
	}
	return u, why
}

// BoundDirectory is what a container binds into its volume.
const BoundDirectory = "/srv/bound"
