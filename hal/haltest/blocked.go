package haltest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// blockedEnv tells a test program which system calls it is to be refused.
const blockedEnv = "VOLNODE_BLOCKED_CALLS"

// blockable is the calls of each name that RunBlocked knows.
var blockable = map[string][]uint32{
	"events":    {unix.SYS_FANOTIFY_INIT},
	"statmount": {unix.SYS_STATMOUNT, unix.SYS_LISTMOUNT},
}

// RunBlocked runs tests of this program once more, in a child that is refused some system calls (seccomp(2)), as on a
// kernel that does not have them: "events" of mounts, "statmount". pattern is as of go test -run. No test of the
// child may skip.
func RunBlocked(t *testing.T, calls, pattern string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run="+pattern, "-test.v", "-test.short", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), blockedEnv+"="+calls)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) || bytes.Contains(out, []byte("--- SKIP")) {
		t.Errorf("without %s: %v\n%s", calls, err, out)
	}
}

// usesMountIDsAgain reports whether mount ids come from /proc/self/mountinfo, as on Linux before 6.8: the id of a mount
// that is gone may be the next one's.
var usesMountIDsAgain = sync.OnceValue(func() bool {
	_, _, errno := unix.Syscall6(unix.SYS_STATMOUNT, 0, 0, 0, 0, 0, 0)
	return errno == unix.ENOSYS
})

// BlockCalls has this process refused what [RunBlocked] says, with ENOSYS, in all its threads and children. It is the
// first thing that TestMain does.
func BlockCalls() {
	names := os.Getenv(blockedEnv)
	if names == "" {
		return
	}
	if err := block(strings.Fields(names)); err != nil {
		fmt.Fprintln(os.Stderr, "blocking system calls:", err)
		os.Exit(1)
	}
}

func block(names []string) error {
	const number = 0 // of the call, in struct seccomp_data
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number}}
	for _, name := range names {
		for _, call := range blockable[name] {
			filter = append(filter,
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
		}
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	const set, all = unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, set, all, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	if _, err := unix.FanotifyInit(unix.FAN_CLASS_NOTIF, unix.O_RDONLY); !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("a call that is to be refused answers %w", err)
	}
	return nil
}
