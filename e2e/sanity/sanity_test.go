package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSanity runs this package's own program, as ginkgo suites cannot share a process. -short leaves out the two suites
// that vary the driver.
func TestSanity(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: the driver mounts filesystems, which needs root")
	}
	dir := t.TempDir()
	// A directory as output makes go build name each program after its package.
	build := exec.Command("go", "build", "-o", dir, "../cmd/csidriver", ".")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	require.NoError(t, build.Run())
	suites := "mount,loop,block,nostage"
	if testing.Short() {
		suites = "mount,block"
	}
	program := filepath.Join(dir, "sanity")
	run := exec.Command(program, "--driver", filepath.Join(dir, "csidriver"), "--suites", suites)
	run.Stdout, run.Stderr = os.Stdout, os.Stderr
	require.NoError(t, run.Run())
}
