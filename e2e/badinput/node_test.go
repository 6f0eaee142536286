package badinput

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
)

// workers is how many tests run at a time. Most of a test is waiting.
const workers = 4

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(workers)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	host.Main(m)
}

const (
	web    = "pod/default/web"
	webUID = "ca11ab1e-0000-4000-8000-000000000001"
)

// node is a host on which a pod runs that must not suffer.
type node struct {
	*host.Host
	agent  *host.Agent
	mounts []host.Mount
	calls  int
}

// running makes a node with a pod that is up, and has written. Other tests run beside it.
func running(t *testing.T, volumes ...string) *node {
	t.Helper()
	t.Parallel()
	h := host.New(t)
	flags := []string{"--volume=vol-1=dir"}
	for _, v := range volumes {
		flags = append(flags, "--volume="+v+"=dir")
	}
	h.StartDriver(flags...)
	return settled(h)
}

// settled brings the pod up on h.
func settled(h *host.Host) *node {
	h.T.Helper()
	h.Apply("driver.yaml", host.DriverObject)
	h.Apply("data.yaml", host.ClaimAndVolume("data", "vol-1", ""))
	h.Apply("web.yaml", webPod())
	n := &node{Host: h, agent: h.Start()}
	h.Wait(web, "ready")
	n.write(n.claimPath())
	n.write(n.scratchPath())
	n.mounts, n.calls = h.Mounts(), len(h.DriverCalls(0))
	return n
}

func webPod() string {
	return host.Pod("web", webUID, "data", host.Claim("data"), "scratch", "emptyDir: {}")
}

func (n *node) volumes() string { return filepath.Join(n.Root, "pods", webUID, "volumes") }
func (n *node) claimPath() string {
	return filepath.Join(n.volumes(), "kubernetes.io~csi", "data", "mount")
}

func (n *node) scratchPath() string {
	return filepath.Join(n.volumes(), "kubernetes.io~empty-dir", "scratch")
}

func (n *node) write(dir string) {
	require.NoError(n.T, os.WriteFile(filepath.Join(dir, "file"), []byte("of the pod\n"), 0o600))
}

// unharmed checks that the pod's mounts are the very same, with what it wrote, and that the driver was not asked to
// change any.
func (n *node) unharmed() {
	n.T.Helper()
	now := n.Mounts()
	for _, m := range n.mounts {
		require.Contains(n.T, now, m)
	}
	for _, dir := range []string{n.claimPath(), n.scratchPath()} {
		text, err := os.ReadFile(filepath.Join(dir, "file"))
		require.NoError(n.T, err)
		require.Equal(n.T, "of the pod\n", string(text))
	}
	for _, call := range n.DriverEvents(n.calls) {
		require.False(n.T, call.VolumeID == "vol-1", "%s of the running pod's volume", call.Method)
	}
}

// restarted kills the agent and starts it again.
func (n *node) restarted() {
	n.T.Helper()
	n.agent.Kill()
	n.agent = n.Start()
	n.Wait(web, "ready")
	n.unharmed()
}

// ends takes the pod down and checks that nothing is left.
func (n *node) ends() {
	n.T.Helper()
	n.Remove("web.yaml")
	n.Wait("all", "gone")
	require.Empty(n.T, n.Leftovers())
}

// trouble waits until the status tells of a trouble whose place ends in where, or has it, and returns the sentence.
func (n *node) trouble(where string) string {
	n.T.Helper()
	var why string
	n.agent.AwaitStatus("trouble at "+where, func(s engine.Status) bool {
		at := slices.IndexFunc(s.Sources, func(t engine.SourceTrouble) bool { return strings.Contains(t.Where, where) })
		if at >= 0 {
			why = s.Sources[at].Why
		}
		return at >= 0
	})
	return why
}

// calm waits until no source is in trouble.
func (n *node) calm() {
	n.T.Helper()
	n.agent.AwaitStatus("the end of the trouble", func(s engine.Status) bool { return len(s.Sources) == 0 })
}

// volume waits until a pod's volume is in the state, and returns why.
func (n *node) volume(pod, volume string, state engine.Condition) string {
	n.T.Helper()
	var why string
	n.agent.AwaitStatus("volume "+volume+" of "+pod+" as "+string(state), func(s engine.Status) bool {
		for _, p := range s.Pods {
			for _, v := range p.Volumes {
				if p.Name == pod && v.Name == volume && v.State == state {
					why = v.Why
					return true
				}
			}
		}
		return false
	})
	return why
}
