package killmatrix

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/hal/fault"
)

// phase is what the agent does when it is killed.
type phase string

const (
	mount   phase = "mount"   // from an empty root directory until the pods are ready
	unmount phase = "unmount" // from the removal of the pods until nothing is left
	restart phase = "restart" // from the start with healthy pods until they are ready
)

var phases = []phase{mount, unmount, restart}

const (
	web, webUID     = "pod/default/web", "3f0e1d5c-0000-4000-8000-000000000001"   // has a volume of the driver
	cache, cacheUID = "pod/default/cache", "3f0e1d5c-0000-4000-8000-000000000002" // has an emptyDir
	other, otherUID = "pod/default/other", "3f0e1d5c-0000-4000-8000-000000000003" // has the volume of -volume
	volume          = "vol-1"
)

// node makes a host with a driver and all objects but the pods.
func node(t *testing.T) *host.Host {
	h := host.New(t)
	h.Settings.CallTimeout, h.Settings.UnstageTimeout, h.Settings.LateWindow = 1500*time.Millisecond,
		1500*time.Millisecond,
		500*time.Millisecond
	h.StartDriver("--volume=" + volume + "=dir")
	h.Apply("driver.yaml", host.DriverObject)
	h.Apply("data.yaml", host.ClaimAndVolume("data", volume, ""))
	require.NoError(t, os.MkdirAll(h.VolumeData(volume), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(h.VolumeData(volume), "old"), []byte("written before\n"), 0o600))
	return h
}

// Pods apart, so that no two rungs share a directory: what is called does not depend on which of them comes first.
func applyPods(h *host.Host) {
	pods := host.Pod("web", webUID, "data", host.Claim("data")) + "---\n" + host.Pod("cache", cacheUID, "scratch",
		"emptyDir: {}")
	if *more != "" {
		pods += "---\n" + host.Pod("other", otherUID, "more", *more)
	}
	h.Apply("pods.yaml", pods)
}

// pods are those that must be ready.
func pods() []string {
	if *more != "" {
		return []string{web, cache, other}
	}
	return []string{web, cache}
}

func ready(h *host.Host) {
	for _, pod := range pods() {
		h.Wait(pod, "ready")
	}
}

func target(h *host.Host) string {
	return filepath.Join(h.Root, "pods", webUID, "volumes", "kubernetes.io~csi", "data", "mount")
}

func scratch(h *host.Host) string {
	return filepath.Join(h.Root, "pods", cacheUID, "volumes", "kubernetes.io~empty-dir", "scratch")
}

func staging(h *host.Host) string {
	dirs, err := filepath.Glob(filepath.Join(h.Root, "plugins", "kubernetes.io", "csi", csidriver.DefaultName, "*",
		"globalmount"))
	require.NoError(h.T, err)
	if len(dirs) == 0 {
		return ""
	}
	require.Len(h.T, dirs, 1)
	return dirs[0]
}

// healthy brings the pods up, writes to their volumes, and kills the agent.
func healthy(h *host.Host) {
	a := h.Start()
	ready(h)
	write(h)
	a.Kill()
}

func write(h *host.Host) {
	require.NoError(h.T, os.WriteFile(filepath.Join(target(h), "new"), []byte("written by the pod\n"), 0o600))
	require.NoError(h.T, os.WriteFile(filepath.Join(scratch(h), "kept"), []byte("kept\n"), 0o600))
}

// launch brings the node to where the phase begins, starts the agent, and returns how many calls it had made when the
// phase began. The agent may be dead when it returns.
func launch(h *host.Host, p phase, rules ...fault.Rule) (a *host.Agent, from int) {
	h.DriverFaults()
	h.Fresh()
	applyPods(h)
	if p != mount {
		healthy(h)
	}
	a = h.Launch(rules...)
	if p != unmount {
		return a, 0
	}
	require.True(h.T, a.Serves(), "killed before the pods were removed")
	ready(h)
	if len(rules) == 0 {
		from = len(readTrace(h.T.(*testing.T), a.Trace))
	}
	h.Remove("pods.yaml")
	return a, from
}

// arrive waits until the phase is over, or the agent dead: then it is false.
func arrive(h *host.Host, a *host.Agent, p phase) bool {
	if !a.Serves() {
		return false
	}
	waits := [][]string{{"wait", "all", "--for=gone"}}
	if p != unmount {
		waits = nil
		for _, pod := range pods() {
			waits = append(waits, []string{"wait", pod, "--for=ready"})
		}
	}
	for _, w := range waits {
		if out, errs, status := a.Run(append(w, "--timeout=60s")...); status != 0 {
			require.Contains(h.T, []int{-1, 69, 75}, status, "%v: %s%s", w, out, errs)
			a.Exit()
			return false
		}
	}
	return true
}

// moment is when the agent is killed, seen from the call.
type moment string

const (
	before  moment = "before"
	after   moment = "after"
	between moment = "between effect and reply"
)

// kill runs the phase and kills the agent at the moment. It is false if the phase was over before it came to the call.
func kill(h *host.Host, p point, m moment) bool {
	if m == between {
		return killBetween(h, p)
	}
	when := fault.Before
	if m == after {
		when = fault.After
	}
	a, _ := launch(h, p.phase, p.at(h, when))
	if arrive(h, a, p.phase) {
		a.Kill()
		return false
	}
	require.True(h.T, a.Killed(), "volnode ended, but not by SIGKILL")
	return true
}

// killBetween has the driver hold its reply, waits for the effect, and kills the agent.
func killBetween(h *host.Host, p point) bool {
	hold := csidriver.Rule{Method: p.method, Times: 1, DelayAfter: csidriver.Duration(host.Patience)}
	var a *host.Agent
	if p.phase == unmount {
		a, _ = launch(h, p.phase)
		h.DriverFaults(hold)
	} else {
		h.DriverFaults()
		h.Fresh()
		h.DriverFaults(hold)
		applyPods(h)
		a = h.Launch()
	}
	h.Await(p.method, func() bool { return effected(h, p.method) }, filepath.Dir(h.CallLog()), h.StateDir())
	a.Kill()
	h.DriverFaults()
	return true
}

// effected tells whether the driver has done what a call asks for.
func effected(h *host.Host, method string) bool {
	s := h.DriverState()
	_, staged := s.Staged[volume]
	published := len(s.Published[volume]) > 0
	switch method {
	case "NodeStageVolume":
		return staged && h.MountedAt(staging(h))
	case "NodePublishVolume":
		return published && h.MountedAt(target(h))
	case "NodeUnpublishVolume":
		return !published && !h.MountedAt(target(h))
	case "NodeUnstageVolume":
		return !staged && !h.MountedAt(staging(h))
	}
	require.FailNow(h.T, "no effect known of "+method)
	return false
}

// recover starts the agent again and checks all that must hold.
func recovers(h *host.Host, p phase) {
	mounts, calls := h.Mounts(), len(h.DriverCalls(0))
	a := h.Start()
	if p != unmount {
		ready(h)
		if p == restart {
			require.Equal(h.T, mounts, h.Mounts(), "what was healthy has been mounted again")
			for _, method := range h.DriverCalls(calls) {
				require.False(h.T, strings.HasSuffix(method, "Volume"), "%s was called for a healthy volume", method)
			}
			requireContent(h.T, filepath.Join(scratch(h), "kept"), "kept\n")
		} else {
			write(h)
		}
		requireContent(h.T, filepath.Join(target(h), "old"), "written before\n")
		requireContent(h.T, filepath.Join(target(h), "new"), "written by the pod\n")
		h.Remove("pods.yaml")
	}
	h.Wait("all", "gone")
	require.Empty(h.T, h.Leftovers())
	status := h.Status()
	require.Zero(h.T, status.Journal.Records)
	require.Empty(h.T, status.Rungs)
	requireContent(h.T, filepath.Join(h.VolumeData(volume), "old"), "written before\n")
	requireContent(h.T, filepath.Join(h.VolumeData(volume), "new"), "written by the pod\n")
	a.Kill()
}

func requireContent(t testing.TB, file, want string) {
	t.Helper()
	got, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(got), file)
}
