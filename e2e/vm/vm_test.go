package vm

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/vm/guest"
)

func TestMain(m *testing.M) {
	if os.Getpid() == 1 { // this program is in the machine, too
		guest.Main()
	}
	os.Exit(m.Run())
}

// machine returns the machine with a kernel, and a directory that it is to share.
func machine(t *testing.T, kernel string) (*Image, Job) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots machines; make e2e-vm runs it")
	}
	image, err := Build(Cache, kernel, os.Stderr)
	require.NoError(t, err)
	dir := t.TempDir()
	return image, Job{
		Share: dir, Memory: 2048, Timeout: 20 * time.Minute, Log: filepath.Join(t.TempDir(), "kernel.log"),
	}
}

// runs runs a command in the machine, and fails the test unless it ends well. A kernel that panics under emulation says
// nothing of the command: the machine is tried once more, and the panic is logged.
func runs(t *testing.T, image *Image, j Job, args ...string) {
	t.Helper()
	var out bytes.Buffer
	j.Args, j.Output = args, &out
	status, err := image.Run(context.Background(), j)
	log, _ := os.ReadFile(j.Log)
	if err != nil && bytes.Contains(log, []byte("Kernel panic")) {
		t.Logf("the machine's kernel has panicked: %v\n%s", err, log)
		out.Reset()
		status, err = image.Run(context.Background(), j)
		log, _ = os.ReadFile(j.Log)
	}
	require.NoError(t, err, "%s\n%s", out.String(), log)
	require.Zero(t, status, "%s\n%s", out.String(), log)
}

// build makes a program of a package that runs on any Linux.
func build(t *testing.T, file string, args ...string) {
	t.Helper()
	c := exec.Command("go", append([]string{args[0], "-o", file}, args[1:]...)...)
	c.Dir, c.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestACommandRunsAsOnThisHost(t *testing.T) {
	image, j := machine(t, Kernels[0])
	require.NoError(t, os.WriteFile(filepath.Join(j.Share, "in"), []byte("from the host"), 0o644))
	var out bytes.Buffer
	j.Output, j.Env = &out, []string{"SAID=yes"}
	j.Args = []string{"sh", "-c", `echo "$SAID $(id -u) $(cat in)"; echo to stderr >&2; echo back >out; exit 42`}
	status, err := image.Run(context.Background(), j)
	require.NoError(t, err)
	require.Equal(t, 42, status)
	require.Equal(t, "yes 0 from the host\nto stderr\n", out.String())
	back, err := os.ReadFile(filepath.Join(j.Share, "out"))
	require.NoError(t, err)
	require.Equal(t, "back\n", string(back))
}

func TestAMachineThatGoesDownHasNoStatus(t *testing.T) {
	image, j := machine(t, Kernels[0])
	j.Output, j.Args = os.Stderr, []string{"sh", "-c", "echo c >/proc/sysrq-trigger"}
	_, err := image.Run(context.Background(), j)
	require.ErrorContains(t, err, "went down before its command had ended")
	j.Args, j.Timeout = []string{"sleep", "1000"}, 30*time.Second
	_, err = image.Run(context.Background(), j)
	require.ErrorContains(t, err, "has not ended within 30s")
}

func TestWhatAHostMayLackIsThere(t *testing.T) {
	image, j := machine(t, Kernels[0])
	script, err := os.ReadFile("testdata/offers.sh")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(j.Share, "offers.sh"), script, 0o755))
	runs(t, image, j, "bash", "offers.sh")
}

func TestNFSVolumes(t *testing.T) {
	image, j := machine(t, Kernels[0])
	script, err := os.ReadFile("testdata/nfs.sh")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(j.Share, "nfs.sh"), script, 0o755))
	build(t, filepath.Join(j.Share, "volnode"), "build", "./cmd/volnode")
	runs(t, image, j, "bash", "nfs.sh")
}

func TestProjectQuotas(t *testing.T) {
	script, err := os.ReadFile("testdata/quotas.sh")
	require.NoError(t, err)
	for _, fsType := range []string{"ext4", "xfs"} {
		t.Run(fsType, func(t *testing.T) {
			image, j := machine(t, Kernels[0])
			require.NoError(t, os.WriteFile(filepath.Join(j.Share, "quotas.sh"), script, 0o755))
			build(t, filepath.Join(j.Share, "volnode"), "build", "-tags", "volnode_faults", "./cmd/volnode")
			runs(t, image, j, "bash", "quotas.sh", fsType)
		})
	}
}

// hal/linux uses disks of targets that the machine's own kernel has.
func TestISCSI(t *testing.T) {
	image, j := machine(t, Kernels[1])
	build(t, filepath.Join(j.Share, "linux.test"), "test", "-c", "./hal/linux")
	runs(t, image, j, "./linux.test", "-test.run", "^TestISCSI", "-test.v")
}

// The cases of iSCSI are as they were recorded, on the newer kernel.
func TestISCSICases(t *testing.T) {
	image, j := machine(t, Kernels[0])
	build(t, filepath.Join(j.Share, "conform"), "build", "./hal/haltest/conform")
	runs(t, image, j, "./conform", "-san")
}

// hal/linux uses disks of Fibre Channel, over Ethernet, of ports that the machine's own kernel has.
func TestFC(t *testing.T) {
	image, j := machine(t, Kernels[0])
	build(t, filepath.Join(j.Share, "linux.test"), "test", "-c", "./hal/linux")
	build(t, filepath.Join(j.Share, "conform"), "build", "./hal/haltest/conform")
	runs(t, image, j, "sh", "-c", "./linux.test -test.run ^TestFC -test.v && ./conform -fc")
}

// hal/linux does on older kernels what it does on this host's: without statmount(2), with one that tells no source, and
// without mount events.
func TestOlderKernels(t *testing.T) {
	for _, kernel := range Kernels {
		t.Run(kernel, func(t *testing.T) {
			image, j := machine(t, kernel)
			build(t, filepath.Join(j.Share, "conform"), "build", "./hal/haltest/conform")
			build(t, filepath.Join(j.Share, "linux.test"), "test", "-c", "./hal/linux")
			runs(t, image, j, "sh", "-c", "./conform -sequences 200 && ./conform -quotas ext4 && ./conform -quotas xfs && "+
				"./linux.test -test.short")
		})
	}
}
