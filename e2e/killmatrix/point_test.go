package killmatrix

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/hal/fault"
)

// point is one call of a phase.
type point struct {
	phase  phase
	rule   fault.Rule // with dirMark for the directory of the host, and no moment
	method string     // of an RPC that asks for an effect, else ""
}

// dirMark stands for a host's directory, in which its root directory and its manifests are.
const dirMark = "HOST"

func (p point) String() string {
	text, _, _ := strings.Cut(p.rule.String(), " "+fault.Before.String()+" ")
	return string(p.phase) + ": " + text
}

// at is the rule that kills the agent of h on one side of the call.
func (p point) at(h *host.Host, when fault.When) fault.Rule {
	r := p.rule
	r.Object, r.When = strings.ReplaceAll(r.Object, dirMark, h.Dir), when
	return r
}

// call is one line of a trace.
type call struct {
	Op     uint64 `json:"op"`
	Rung   string `json:"rung"`
	Call   string `json:"call"`
	Object string `json:"object"`
	Class  string `json:"class"`
	Effect bool   `json:"effect"`
}

// readTrace returns the calls of one life of the agent.
func readTrace(t *testing.T, file string) []call {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var calls []call
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var c call
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c), lines.Text())
		calls = append(calls, c)
	}
	return calls
}

// points names the calls of a life of the agent from the given one on.
func points(h *host.Host, p phase, calls []call, from int) []point {
	type name struct{ call, object, rung string }
	seen := map[name]int{}
	var all []point
	for i, c := range calls {
		object, isWhole := stable(c.Object)
		n := name{c.Call, object, c.Rung}
		seen[n]++
		if i < from || byTheClock(h, c, seen[n]) {
			continue
		}
		rule := fault.Rule{
			Site: fault.SiteName(c.Call), Object: strings.ReplaceAll(object, h.Dir, dirMark), Exact: isWhole,
			Rung: c.Rung, Nth: seen[n], Kill: true,
		}
		if c.Rung == "" {
			rule.Rung = fault.NoRung
		}
		at := point{phase: p, rule: rule}
		if c.Class == "rpc" && c.Effect {
			at.method = c.Call
		}
		all = append(all, at)
	}
	return all
}

// stable is what an object begins with that is the same on each host: the name of a pack of manifests is a digest of
// them, and they name directories of their host.
func stable(object string) (begins string, isWhole bool) {
	const pack = "/.pack-"
	if url, dir, is := strings.Cut(object, "/app/.git "); is && strings.HasPrefix(url, "http://") {
		return "/app/.git " + dir, false // the port is the server's own
	}
	before, _, has := strings.Cut(object, pack)
	if has {
		return before + pack, false
	}
	return object, true
}

// byTheClock tells the calls that come more or less often from run to run: what no operation asks is asked again every
// so often, and which mounts are looked at together, and when, depends on when notices of them arrive.
func byTheClock(h *host.Host, c call, nth int) bool {
	if c.Op != 0 || c.Effect {
		return false
	}
	return nth > 1 || c.Call == "mounts within" || strings.HasPrefix(c.Object, h.Manifests) ||
		strings.HasPrefix(c.Object, h.Root+"/volnode/manifests")
}
