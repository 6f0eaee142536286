package hang

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/host"
)

// TestFlexVolumes has pods use volumes of a driver that is a shell script, over deaths of the agent: the driver comes
// late, hangs, outlives the agent, and is removed.
func TestFlexVolumes(t *testing.T) {
	h := host.New(t)
	const driver = "example.com/fs"
	at := func(uid, name string) string {
		return filepath.Join(h.Root, "pods", uid, "volumes/example.com~fs", name)
	}
	says := func(uid, what string) {
		t.Helper()
		is := func() bool { return strings.Contains(usageOf(h.Status(), uid).Why, what) }
		require.Eventually(t, is, host.Patience, 50*time.Millisecond) //nolint:forbidigo // no notice tells
	}
	h.Apply("a.yaml", host.Pod("a", "uid-a", "data", "flexVolume: {driver: "+driver+", options: {share: home}}"))
	agent := h.Start()
	says("uid-a", "install the driver example.com/fs there")
	dir := h.InstallFlex(driver)
	h.Wait("pod/default/a", "ready")
	require.True(t, h.MountedAt(at("uid-a", "data")))
	told := map[string]string{}
	text, err := os.ReadFile(h.FlexHolds(dir)[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &told))
	require.Equal(t, map[string]string{
		"kubernetes.io/fsType": "", "kubernetes.io/pod.name": "a", "kubernetes.io/pod.namespace": "default",
		"kubernetes.io/pod.uid": "uid-a", "kubernetes.io/pvOrVolumeName": "data", "kubernetes.io/readwrite": "rw",
		"kubernetes.io/serviceAccount.name": told["kubernetes.io/serviceAccount.name"], "share": "home",
	}, told)

	// The driver hangs, and the agent dies. The next one waits for the driver.
	require.NoError(t, os.WriteFile(dir+"/slow", nil, 0o600))
	require.NoError(t, unix.Mkfifo(dir+"/go", 0o600))
	h.Apply("b.yaml", host.Pod("b", "uid-b", "data", "flexVolume: {driver: "+driver+", readOnly: true}"))
	hangs := func() bool {
		return slices.ContainsFunc(h.Helpers(), func(is host.Helper) bool { return strings.HasPrefix(is.Call, "flex mount") })
	}
	require.Eventually(t, hangs, host.Patience, 10*time.Millisecond) //nolint:forbidigo // no notice tells
	agent.Kill()
	h.Start()
	says("uid-b", "helper of an earlier run still runs")
	h.Wait("pod/default/a", "ready")
	require.NoError(t, os.Remove(dir+"/slow"))
	require.NoError(t, os.WriteFile(dir+"/go", []byte("\n"), 0o600))
	h.Wait("pod/default/b", "ready")
	require.Len(t, h.FlexHolds(dir), 2)
	require.Equal(t, "flex\n", mountsAt(t, at("uid-b", "data")), "it is mounted once")

	h.Remove("a.yaml")
	h.Wait("pod/default/a", "gone")
	require.Len(t, h.FlexHolds(dir), 1)
	require.NoError(t, os.Remove(filepath.Join(dir, "fs")))
	h.Remove("b.yaml")
	h.Wait("all", "gone")
	require.Empty(t, h.Leftovers())
}

// mountsAt are the sources of what is mounted at a path, a line each.
func mountsAt(t *testing.T, at string) string {
	t.Helper()
	out, err := exec.Command("findmnt", "-n", "-o", "SOURCE", at).Output()
	require.NoError(t, err)
	return string(out)
}
