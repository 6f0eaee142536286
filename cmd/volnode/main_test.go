package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/internal/wording"
)

// Roles of copies of the test program.
const (
	insideEnv = "VOLNODE_TEST_INSIDE" // runs the tests, in a mount namespace of its own
	mainEnv   = "VOLNODE_TEST_MAIN"   // is volnode
)

// TestMain runs the tests in a private mount namespace, so that no mount outlives them, and lets the test program be
// volnode itself.
func TestMain(m *testing.M) {
	switch {
	case linux.IsHelper():
		linux.HelperMain()
	case os.Getenv(mainEnv) != "":
		main()
	case os.Geteuid() != 0 || os.Getenv(insideEnv) != "":
		os.Exit(m.Run())
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideEnv+"=1")
	// Unshareflags also makes the mounts below / private.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("skipped: volnode run needs root")
	}
}

// ended is how a run of volnode came out.
type ended struct {
	status      int
	out, errOut string
}

// volnode runs one command line of volnode to its end.
func volnode(t *testing.T, args ...string) ended {
	t.Helper()
	return finish(t, exec.Command("/proc/self/exe", args...))
}

// mainEnviron makes a copy of the test program be volnode. A program with the race detector sleeps for a second at its
// end, unless told not to.
func mainEnviron() []string { return append(os.Environ(), mainEnv+"=1", "GORACE=atexit_sleep_ms=0") }

func finish(t *testing.T, cmd *exec.Cmd) ended {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	cmd.Env = mainEnviron()
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return ended{cmd.ProcessState.ExitCode(), out.String(), errOut.String()}
}

func TestUsageErrorsEndWithTwo(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"fly"},
		{"status", "now"},
		{"status", "--output=xml"},
		{"--colour"},
		{"wait"},
		{"wait", "web"},
		{"wait", "pod/web"},
		{"wait", "pod/demo/web", "--for=happy"},
		{"wait", "all", "--for=ready"},
		{"wait", "pod/demo/web", "--timeout=soon"},
		{"wait", "pod/demo/web", "--timeout=-1s"},
		{"describe", "pod"},
		{"describe", "node", "a"},
		{"plan", "-o", "yaml"},
		{"run", "--log-level=chatty"},
		{"run", "everything"},
		{"describe", "pod", "a", "b"},
		{"wait", "pod/DEMO/web"},
		{"wait", "pod/demo/Web"},
		{"wait", "pod/demo/web_1"},
		{"wait", "pod/a.b/web"},
		{"wait", "pod/demo/web.", "--for=gone"},
		{"wait", "pod/" + strings.Repeat("n", 64) + "/web"},
		{"wait", "pod/demo/" + strings.Repeat("n", 254)},
		{"describe", "pod", "DEMO/web"},
		{"describe", "pod", "demo/web/data"},
		{"describe", "pod", "-uid"},
		{"describe", "volume", "data"},
		{"describe", "volume", "^data"},
		{"describe", "volume", "dri_ver^data"},
		{"describe", "rung", "data"},
		{"describe", "driver", "csi/driver"},
	} {
		r := volnode(t, args...)
		require.Equal(t, exitUsage, r.status, "volnode %q: %s", args, r.errOut)
		require.Contains(t, r.errOut, "--help", "volnode %q", args)
		require.Empty(t, r.out, "volnode %q", args)
	}
}

// TestWhatIsMeantIsNamed: who mistypes a command, a flag or a value hears what is like it, or how it is written.
func TestWhatIsMeantIsNamed(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"statsu", `there is no command "statsu"; did you mean status? 'volnode --help' lists all`},
		{"fly", `there is no command "fly"; there are: completion, describe, plan, run, sources, status, wait`},
		{"version", "did you mean volnode --version?"},
		{"help wiat", `there is no command "wiat"; did you mean wait?`},
		{"completion zhs", `there is no command "zhs"; did you mean zsh?`},
		{"status --outptu json", "volnode status has no flag --outptu; did you mean --output? 'volnode status " +
			"--help' lists all"},
		{"status -x", "volnode status has no flag -x; 'volnode status --help' lists all"},
		{"status -o jsno", "--output jsno: want json or wide; did you mean json?"},
		{"plan -o yaml", "--output yaml: want json"},
		{"run --rot-dir /x", "did you mean --root-dir?"},
		{"run --root-dir", "--root-dir needs a value: directory for all mounts"},
		{"run --log-level inof", `--log-level: "inof" is none of debug, info, warn, error`},
		{"wait pod/demo/web --timeout 5", "--timeout 5 has no unit: write --timeout 5s for seconds, or 5m for minutes"},
		{"wait pod/demo/web --timeout soon", "--timeout soon: want a time like 90s or 10m"},
		{"status --timeout 5", "--timeout 5 has no unit: write --timeout 5s for seconds, or 5m for minutes"},
		{"wait pod/demo/web --for=redy", "--for=redy: want ready or gone; did you mean ready?"},
		{"wait web", "wait web: want pod/NAMESPACE/NAME or all; did you mean pod/default/web?"},
		{"wait pod/web", "wait pod/web: want pod/NAMESPACE/NAME or all; did you mean pod/default/web?"},
		{"wait demo/web", "did you mean pod/demo/web?"},
		{"wait pods/demo/web", "did you mean pod/demo/web?"},
		{"wait al --for=gone", "did you mean all?"},
		{"describe pdo demo/web", "describe pdo: want pod, volume, rung or driver; did you mean pod?"},
		{"describe pod/demo/web", "did you mean describe pod demo/web?"},
		{"describe demo/web", "did you mean describe pod demo/web?"},
	} {
		r := volnode(t, strings.Fields(c.line)...)
		require.Equal(t, exitUsage, r.status, "volnode %s: %s", c.line, r.errOut)
		require.Contains(t, r.errOut, c.want, "volnode %s", c.line)
		require.Empty(t, wording.Wrong(strings.TrimSpace(r.errOut)), "volnode %s", c.line)
	}
}

func TestADaemonThatIsNotThereIsUnreachable(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "volnode.sock")
	for _, args := range [][]string{
		{"status"},
		{"plan"},
		{"describe", "pod", "demo/web"},
		{"wait", "all", "--for=gone", "--timeout=10ms"},
	} {
		r := volnode(t, append(args, "--socket", socket)...)
		require.Equal(t, exitUnreachable, r.status, "volnode %q", args)
		require.Contains(t, r.errOut, socket)
		require.Contains(t, r.errOut, "start volnode run")
	}
}

func TestVersionSaysWhatItIsBuiltFrom(t *testing.T) {
	r := volnode(t, "--version")
	require.Zero(t, r.status)
	for _, want := range []string{"volnode ", "commit ", "built with go1.", "CSI spec 1."} {
		require.Contains(t, r.out, want)
	}
}

func TestNotRootIsToldSo(t *testing.T) {
	needRoot(t)
	program := filepath.Join(openTempDir(t), "volnode")
	content, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, content, 0o755))
	cmd := exec.Command(program, "run", "--config", "/root/none.yaml")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	r := finish(t, cmd)
	require.Equal(t, exitPermission, r.status, r.errOut)
	require.Contains(t, r.errOut, "needs root to mount filesystems (it runs as uid 65534)")
}

const nobody = 65534

// openTempDir is a temporary directory that everybody may enter.
func openTempDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for at := dir; at != os.TempDir() && strings.HasPrefix(at, os.TempDir()); at = filepath.Dir(at) {
		require.NoError(t, os.Chmod(at, 0o755))
	}
	return dir
}
