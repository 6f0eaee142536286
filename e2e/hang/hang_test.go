package hang

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/host"
	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
)

func TestMain(m *testing.M) { host.Main(m) }

const (
	stuck    = "pod/default/stuck"
	stuckUID = "5c0ffee0-0000-4000-8000-000000000001"
	stuckKey = hal.Key("hostpath/" + stuckUID + "/logs")
	web      = "pod/default/web"
)

// startBound is the time that a start may take beside a helper that hangs.
const startBound = 5 * time.Second

// hanging makes a node with a pod whose hostPath is to be made on a frozen filesystem, and waits until the helper that
// makes it hangs.
func hanging(t *testing.T) (*host.Host, *host.Agent, *host.Frozen, host.Helper) {
	h := host.New(t)
	frozen := h.Freeze(h.MountImage("disk"))
	h.Apply("driver.yaml", host.DriverObject)
	h.Apply("data.yaml", host.ClaimAndVolume("data", "vol-1", ""))
	h.StartDriver("--volume=vol-1=dir")
	a := h.Start()
	source := fmt.Sprintf("hostPath: {path: %s, type: DirectoryOrCreate}", filepath.Join(frozen.Path, "logs"))
	h.Apply("stuck.yaml", host.Pod("stuck", stuckUID, "logs", source))
	helper := h.AwaitHanging("mkdir")
	require.Equal(t, string(stuckKey), helper.Rung)
	return h, a, frozen, helper
}

func webPod() string {
	return host.Pod("web", "uid-web", "data", host.Claim("data"), "scratch", "emptyDir: {}")
}

func rungOf(s engine.Status, key hal.Key) engine.RungStatus {
	at := slices.IndexFunc(s.Rungs, func(r engine.RungStatus) bool { return r.Key == key })
	if at < 0 {
		return engine.RungStatus{}
	}
	return s.Rungs[at]
}

// An agent dies while its helper hangs. The next one starts at once, serves others, says what is stuck, and by whom,
// and goes on once it ends.
func TestKilledAgent(t *testing.T) {
	h, a, frozen, helper := hanging(t)
	a.Kill()
	require.Equal(t, []host.Helper{helper}, h.Helpers(), "the helper outlives its agent")

	began := time.Now()
	a = h.Start()
	h.Apply("web.yaml", webPod())
	h.Wait(web, "ready")
	require.Less(t, time.Since(began), startBound)

	rung := rungOf(h.Status(), stuckKey)
	require.Equal(t, engine.Stuck, rung.State)
	require.Contains(t, rung.Why, fmt.Sprintf("helper of an earlier run still runs: pid %d (state D): mkdir %s/logs",
		helper.PID,
		frozen.Path))
	require.Equal(t, "waits for a helper process of an earlier run to end", rung.Next)
	text, _, status := h.Run("status", "-o", "wide")
	require.Zero(t, status)
	require.Contains(t, text, stuckKey)
	require.Contains(t, text, fmt.Sprintf("pid %d", helper.PID))
	_, errs, status := h.Run("wait", stuck, "--for=ready", "--timeout=0s")
	require.Equal(t, 3, status, "not ready in time")
	require.Contains(t, errs, fmt.Sprintf("pid %d", helper.PID))

	// Not a second helper for the same, however often it is started.
	a.Kill()
	h.Start()
	h.Wait(web, "ready")
	require.Equal(t, []host.Helper{helper}, h.Helpers())

	frozen.Thaw()
	h.Wait(stuck, "ready")
	require.DirExists(t, filepath.Join(frozen.Path, "logs"))
	require.Empty(t, h.Helpers())
	h.Remove("stuck.yaml")
	h.Remove("web.yaml")
	h.Wait("all", "gone")
	require.Empty(t, h.Leftovers())
	require.DirExists(t, filepath.Join(frozen.Path, "logs"), "a hostPath is the host's")
}

// SIGTERM does not wait for it either, and a pod that goes meanwhile waits for it alone.
func TestTerminatedAgent(t *testing.T) {
	h, a, frozen, helper := hanging(t)
	began := time.Now()
	require.NoError(t, a.Terminate())
	require.Zero(t, a.Exit())
	require.Less(t, time.Since(began), startBound)

	h.Apply("web.yaml", webPod())
	h.Remove("stuck.yaml")
	a = h.Start()
	h.Wait(web, "ready")
	rung := rungOf(h.Status(), stuckKey)
	require.Equal(t, engine.Stuck, rung.State, "%+v", rung)
	require.Contains(t, rung.Why, fmt.Sprintf("pid %d", helper.PID))
	frozen.Thaw()
	a.AwaitStatus("the end of the helper", func(s engine.Status) bool { return rungOf(s, stuckKey).Key == "" })
	h.Remove("web.yaml")
	h.Wait("all", "gone")
	require.Empty(t, h.Leftovers())
	_, err := os.Stat(frozen.Path)
	require.NoError(t, err)
}
