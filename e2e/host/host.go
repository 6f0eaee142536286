package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/hal/haltest"
)

// NodeName is the node's name.
const NodeName = "node-a"

// Host is one node: a directory with all that its processes need. Its methods fail the test when something can't be
// done.
type Host struct {
	T   testing.TB
	Dir string

	Root      string // the agent's root directory, on a shared mount of its own
	Manifests string
	Output    string // directory of what the processes write: logs, traces, the driver's call log
	Config    string // the agent's configuration file
	Settings  Settings

	drivers    []*Driver // the node's first
	registrars []*Registrar
	agents     []*Agent
}

// Settings are what tests choose of the agent's configuration.
type Settings struct {
	CallTimeout, UnstageTimeout, LateWindow time.Duration
	JournalBytes                            string
	Metrics                                 string        // address; "" is none
	VolumeStats                             time.Duration // between questions to how full volumes are; 0 is never
	Run                                     []string      // further arguments of volnode run
}

// Quick makes the bound of a call without a reply a matter of seconds.
var Quick = Settings{
	CallTimeout: 2 * time.Second, UnstageTimeout: 2 * time.Second, LateWindow: time.Second,
	JournalBytes: "64Ki",
}

// New makes a node without processes. It is gone at the end of the test. The test is skipped where nothing may be
// mounted.
func New(t testing.TB) *Host {
	t.Helper()
	haltest.NeedPrivateMounts(t)
	_, err := build()
	require.NoError(t, err)
	// Short, as the path of a socket has little room.
	dir, err := os.MkdirTemp("", "vh")
	require.NoError(t, err)
	dir, err = filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	h := &Host{
		T: t, Dir: dir, Root: filepath.Join(dir, "root"), Manifests: filepath.Join(dir, "manifests"),
		Output: filepath.Join(dir, "out"),
		Config: filepath.Join(dir, "volnode.yaml"), Settings: Quick,
	}
	for _, d := range []string{h.Root, h.Manifests, h.Output, h.driverDir()} {
		require.NoError(t, os.MkdirAll(d, 0o755))
	}
	h.mountRoot("")
	t.Cleanup(h.cleanUp)
	return h
}

// mountRoot makes the root directory a shared mount: of itself, or of a tmpfs of that size.
func (h *Host) mountRoot(size string) {
	h.T.Helper()
	if size == "" {
		require.NoError(h.T, unix.Mount(h.Root, h.Root, "", unix.MS_BIND, ""))
	} else {
		require.NoError(h.T, unix.Mount("small", h.Root, "tmpfs", 0, "mode=0755,size="+size))
	}
	require.NoError(h.T, unix.Mount("", h.Root, "", unix.MS_SHARED, ""))
}

// SmallRoot puts the root directory on a disk of that size, in memory. Before anything is started.
func (h *Host) SmallRoot(size string) {
	h.T.Helper()
	require.NoError(h.T, unix.Unmount(h.Root, 0))
	h.mountRoot(size)
}

func (h *Host) cleanUp() {
	for _, a := range h.agents {
		a.kill()
	}
	for _, r := range h.registrars {
		r.kill()
	}
	for _, d := range h.drivers {
		d.kill()
		if err := csidriver.Cleanup(filepath.Join(d.dir, "state")); err != nil {
			h.T.Errorf("clean up of driver %s: %v", d.name, err)
		}
	}
	if h.T.Failed() {
		h.show(max(0, len(h.agents)-3))
	}
	for _, m := range h.allMounts() {
		_ = unix.Unmount(m, unix.MNT_DETACH)
	}
	if err := os.RemoveAll(h.Dir); err != nil {
		h.T.Errorf("clean up: %v", err)
	}
}

// show prints the end of what the driver and the agents from the given one on have said.
func (h *Host) show(from int) {
	h.T.Helper()
	const lines = 60
	logs := []string{filepath.Join(h.Output, "csidriver.log")}
	for _, a := range h.agents[from:] {
		logs = append(logs, a.Log)
	}
	for _, log := range logs {
		if text, err := os.ReadFile(log); err == nil {
			all := strings.Split(strings.TrimSpace(string(text)), "\n")
			h.T.Logf("%s:\n%s", filepath.Base(log), strings.Join(all[max(0, len(all)-lines):], "\n"))
		}
	}
}

// Apply writes a manifest in one step: under a hidden name first.
func (h *Host) Apply(name, text string) {
	h.T.Helper()
	next := filepath.Join(h.Manifests, "."+name)
	require.NoError(h.T, os.WriteFile(next, []byte(text), 0o600))
	require.NoError(h.T, os.Rename(next, filepath.Join(h.Manifests, name)))
}

// Applied tells whether a manifest of that name is there.
func (h *Host) Applied(name string) bool {
	_, err := os.Stat(filepath.Join(h.Manifests, name))
	return err == nil
}

// Use has t fail in place of the test that made the host, until the function that it returns is called.
func (h *Host) Use(t testing.TB) func() {
	maker, agents := h.T, len(h.agents)
	h.T = t
	return func() {
		if t.Failed() {
			h.show(agents)
		}
		h.T = maker
	}
}

// Remove removes a manifest.
func (h *Host) Remove(name string) {
	h.T.Helper()
	require.NoError(h.T, os.Remove(filepath.Join(h.Manifests, name)))
}

// Fresh takes away what a dead agent keeps on an idle node, so that the next start is the first.
func (h *Host) Fresh() {
	h.T.Helper()
	for _, d := range []string{"volnode", "pods", "plugins"} {
		require.NoError(h.T, os.RemoveAll(filepath.Join(h.Root, d)))
	}
}

func patience() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), Patience)
}
