package host

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { Main(m) }

// The whole story once: up, adopted after a kill, down.
func TestStory(t *testing.T) {
	h := New(t)
	h.StartDriver("--volume=vol-1=dir")
	h.Apply("driver.yaml", DriverObject)
	h.Apply("data.yaml", ClaimAndVolume("data", "vol-1", ""))
	h.Apply("web.yaml", Pod("web", "uid-web", "data", Claim("data"), "scratch", "emptyDir: {}"))
	a := h.Start()
	h.Wait("pod/default/web", "ready")
	before := h.Mounts()
	require.Len(t, before, 2)
	calls := len(h.DriverCalls(0))
	a.Kill()
	a = h.Start()
	h.Wait("pod/default/web", "ready")
	require.Equal(t, before, h.Mounts())
	for _, method := range h.DriverCalls(calls) {
		require.NotRegexp(t, "Volume$", method)
	}
	h.Remove("web.yaml")
	h.Wait("pod/default/web", "gone")
	h.Wait("all", "gone")
	require.Empty(t, h.Leftovers())
	require.Zero(t, h.Status().Journal.Records)
	_, err := os.Stat(a.Trace)
	require.NoError(t, err)
}
