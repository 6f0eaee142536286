package vm

import (
	"bytes"
	"context"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/vm/guest"
)

// budget ends the tests in time where that counts, as in CI: another commit begins with others.
var (
	budget = flag.Duration("budget", 0, "begin no test after this time; 0 is no limit")
	began  = time.Now()
)

func TestMain(m *testing.M) {
	if os.Getpid() == 1 { // this program is in the machine, too
		guest.Main()
	}
	var err error
	if programs.dir, err = os.MkdirTemp("", "volnode-vm-programs-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(programs.dir)
	os.Exit(status)
}

// machine returns the machine with a kernel, and a directory that it is to share. The test then runs beside others:
// each machine has one processor.
func machine(t *testing.T, kernel string) (*Image, Job) {
	t.Helper()
	if testing.Short() {
		t.Skip("boots machines; make e2e-vm runs it")
	}
	t.Parallel()
	if *budget > 0 && time.Since(began) > *budget {
		t.Skipf("NOT RUN: %s were over before it was its turn; make e2e-vm runs all", *budget)
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

// programs are what was built, each once, by its arguments.
var programs struct {
	mu  sync.Mutex
	dir string
	all map[string]string // the files
}

// program puts a program into a directory, by its name there. go gets the arguments; it runs on any Linux.
func program(t *testing.T, file string, args ...string) {
	t.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	what := strings.Join(args, " ")
	made, is := programs.all[what]
	if !is {
		made = filepath.Join(programs.dir, strconv.Itoa(len(programs.all)))
		c := exec.Command("go", append([]string{args[0], "-o", made}, args[1:]...)...)
		c.Dir, c.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
		out, err := c.CombinedOutput()
		require.NoError(t, err, string(out))
		if programs.all == nil {
			programs.all = map[string]string{}
		}
		programs.all[what] = made
	}
	require.NoError(t, os.Link(made, file))
}

// put puts files of testdata into a directory.
func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile("testdata/" + name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o755))
	}
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
	put(t, j.Share, "offers.sh")
	runs(t, image, j, "bash", "offers.sh")
}

func TestNFSVolumes(t *testing.T) {
	image, j := machine(t, Kernels[0])
	put(t, j.Share, "nfs.sh")
	program(t, filepath.Join(j.Share, "volnode"), "build", "./cmd/volnode")
	runs(t, image, j, "bash", "nfs.sh")
}

func TestProjectQuotas(t *testing.T) {
	for _, fsType := range []string{"ext4", "xfs"} {
		t.Run(fsType, func(t *testing.T) {
			image, j := machine(t, Kernels[0])
			put(t, j.Share, "quotas.sh")
			program(t, filepath.Join(j.Share, "volnode"), "build", "-tags", "volnode_faults", "./cmd/volnode")
			runs(t, image, j, "bash", "quotas.sh", fsType)
		})
	}
}

// volnode serves disks of targets that the machine's own kernel has: as users have them, while things go wrong, and
// over its own death.
func TestISCSIVolumes(t *testing.T) {
	for _, story := range []string{"iscsi", "iscsi-faults", "iscsi-kills", "iscsi-paths"} {
		t.Run(story, func(t *testing.T) {
			image, j := machine(t, Kernels[0])
			put(t, j.Share, "iscsi-lib.sh", story+".sh")
			program(t, filepath.Join(j.Share, "volnode"), "build", "-tags", "volnode_faults", "./cmd/volnode")
			runs(t, image, j, "bash", story+".sh")
		})
	}
}

// volnode serves disks of Fibre Channel, over Ethernet, of ports that the machine's own kernel has.
func TestFCVolumes(t *testing.T) {
	image, j := machine(t, Kernels[0])
	put(t, j.Share, "iscsi-lib.sh", "fc.sh")
	program(t, filepath.Join(j.Share, "volnode"), "build", "-tags", "volnode_faults", "./cmd/volnode")
	runs(t, image, j, "bash", "fc.sh")
}

// hal/linux uses disks of targets that the machine's own kernel has.
func TestISCSI(t *testing.T) {
	image, j := machine(t, Kernels[1])
	program(t, filepath.Join(j.Share, "linux.test"), "test", "-c", "./hal/linux")
	runs(t, image, j, "./linux.test", "-test.run", "^TestISCSI", "-test.v")
}

// The cases of iSCSI are as they were recorded, on the newer kernel.
func TestISCSICases(t *testing.T) {
	image, j := machine(t, Kernels[0])
	program(t, filepath.Join(j.Share, "conform"), "build", "./hal/haltest/conform")
	runs(t, image, j, "./conform", "-san")
}

// hal/linux has maps made of the paths to such disks.
func TestMultipath(t *testing.T) {
	image, j := machine(t, Kernels[1])
	program(t, filepath.Join(j.Share, "linux.test"), "test", "-c", "./hal/linux")
	runs(t, image, j, "./linux.test", "-test.run", "^TestMultipath", "-test.v")
}

// The cases of maps are as they were recorded, on the newer kernel.
func TestMultipathCases(t *testing.T) {
	image, j := machine(t, Kernels[0])
	program(t, filepath.Join(j.Share, "conform"), "build", "./hal/haltest/conform")
	runs(t, image, j, "./conform", "-multipath")
}

// hal/linux uses disks of Fibre Channel, over Ethernet, of ports that the machine's own kernel has.
func TestFC(t *testing.T) {
	image, j := machine(t, Kernels[0])
	program(t, filepath.Join(j.Share, "linux.test"), "test", "-c", "./hal/linux")
	program(t, filepath.Join(j.Share, "conform"), "build", "./hal/haltest/conform")
	runs(t, image, j, "sh", "-c", "./linux.test -test.run ^TestFC -test.v && ./conform -fc")
}

// hal/linux does on older kernels what it does on this host's: without statmount(2), with one that tells no source, and
// without mount events.
func TestOlderKernels(t *testing.T) {
	for _, kernel := range Kernels {
		t.Run(kernel, func(t *testing.T) {
			image, j := machine(t, kernel)
			program(t, filepath.Join(j.Share, "conform"), "build", "./hal/haltest/conform")
			runs(t, image, j, "sh", "-c", "./conform -sequences 200 && ./conform -quotas ext4 && ./conform -quotas xfs")
		})
		t.Run(kernel+" linux", func(t *testing.T) {
			image, j := machine(t, kernel)
			program(t, filepath.Join(j.Share, "linux.test"), "test", "-c", "./hal/linux")
			runs(t, image, j, "./linux.test", "-test.short")
		})
	}
}
