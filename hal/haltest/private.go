package haltest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
)

// privateEnv tells a program that it runs in a mount namespace of its own.
const privateEnv = "VOLNODE_PRIVATE_MOUNTS"

// InPrivateMounts runs f in a mount namespace of its own, so that no mount it makes is seen outside or outlives it: the
// program starts itself again there (unshare(2), CLONE_NEWNS; all propagation off). It returns the exit code. Without
// root f runs where it is, and tests that call [NeedPrivateMounts] skip.
func InPrivateMounts(f func() int) int {
	if os.Getenv(privateEnv) != "" || os.Geteuid() != 0 {
		return f()
	}
	// The namespace's first process dies with the thread that started it, whatever ends this program.
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), privateEnv+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "a private mount namespace:", err)
		return 1
	}
	return 0
}

// PrivateMounts reports whether this program runs in a mount namespace of its own.
func PrivateMounts() bool { return os.Getenv(privateEnv) != "" }

// NeedPrivateMounts skips a test that mounts, where it may not.
func NeedPrivateMounts(t testing.TB) {
	t.Helper()
	if !PrivateMounts() {
		t.Skip("needs root: it mounts, in a mount namespace of its own (unshare -m)")
	}
}
