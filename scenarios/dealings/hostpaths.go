package dealings

import (
	"path"
	"strings"

	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/world"
)

// LeadsInto says which place of the agent's a path leads to, "" if none.
func LeadsInto(r *world.Run, at string) string {
	found, errno := r.W.Find(at)
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

// WasTurned: somebody has turned a link since the agent had to look last where those of p lead.
func WasTurned(r *world.Run, p *world.Pod) bool { return r.TurnedAt > max(r.BornAt, p.RetypedAt) }

// isLetIn is S34 of a pod that is told to be ready.
func isLetIn(r *world.Run, p *world.Pod) bool {
	for _, u := range p.Uses {
		if !u.IsHost {
			continue
		}
		r.Judges("S34")
		if at := LeadsInto(r, u.Path); at != "" && !WasTurned(r, p) {
			r.Fail("S34", "told ready", p.Name,
				"pod "+p.Name+" is reported ready, and its hostPath "+u.Path+" leads to "+at+
					", whose content the agent deletes or owns")
			return true
		}
		if u.Path == path.Dir(world.HostFile) {
			r.W.WriteFile(world.HostFile, []byte("of a driver"))
		}
	}
	return false
}
