package linux

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Where inotify has no instance, or no watch, to give, somebody is told once what to raise, changes are found by
// looking, and all is watched as soon as that can be. The limits are those of a user namespace of its own.
func TestInotifyRunsOut(t *testing.T) {
	_, root := startHost(t)
	cmd := exec.Command("/proc/self/exe", root)
	cmd.Env = append(os.Environ(), "VOLNODE_TEST_ROLE=short")
	ids := []syscall.SysProcIDMap{{HostID: 0, Size: 1}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids}
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Skipf("no user namespace: %v", err)
	}
	require.NoError(t, err, string(out))
}

// shortRole is the program of TestInotifyRunsOut, as root in a user namespace.
func shortRole(args []string) {
	limit := func(of string, most int) {
		if err := os.WriteFile("/proc/sys/user/max_inotify_"+of, fmt.Append(nil, most), 0o644); err != nil {
			panic(err)
		}
	}
	limit("instances", 0)
	dir, told := args[0]+"/d", make(chan string, 1000)
	h, err := New(Options{RootDir: args[0], Unwatched: func(why string) { told <- why }})
	if err != nil {
		panic(err)
	}
	h.watches.rescanEvery = 20 * time.Millisecond
	go h.Run(context.Background())
	if err := os.Mkdir(dir, 0o755); err != nil {
		panic(err)
	}
	news := make(chan struct{}, 1000)
	changed := h.HAL().Watches.Directory(dir, func() { news <- struct{}{} })
	changed()
	moved := make(chan struct{}, 1000)
	h.HAL().Watches.Path(dir+"/p", func() { moved <- struct{}{} })
	expect := func(want string) {
		select {
		case why := <-told:
			if want == "" && why != "" || !strings.Contains(why, want) {
				panic(fmt.Sprintf("%q was told, not %q", why, want))
			}
		case <-time.After(patience): //nolint:forbidigo // the bound of a failure
			panic("nobody tells " + want)
		}
	}
	notices := func(path string) {
		for range 5 { // each inspection tries to watch again
			for range len(news) {
				<-news
			}
			if err := os.Mkdir(path, 0o755); err != nil {
				panic(err)
			}
			<-news
			changed() // whoever hears of news asks, and that watches again, too
			<-moved
			if err := os.Remove(path); err != nil {
				panic(err)
			}
			<-moved
		}
	}
	expect("raise fs.inotify.max_user_instances")
	notices(dir + "/p")
	if len(told) > 0 {
		panic("it is told more than once: " + <-told)
	}
	limit("watches", 0)
	limit("instances", 100)
	// While some have an instance already, and others do not, both are told.
	for why := ""; strings.Contains(why, "instances") || !strings.Contains(why, "raise fs.inotify.max_user_watches"); {
		select {
		case why = <-told:
		case <-news:
			changed()
		}
	}
	notices(dir + "/p")
	limit("watches", 100)
	for why := "none"; why != ""; {
		select {
		case why = <-told:
		case <-news:
			changed()
		}
	}
	changed()
	if err := os.WriteFile(dir+"/f", nil, 0o644); err != nil {
		panic(err)
	}
	if names, isAny := changed(); isAny || !slices.Equal(names, []string{"f"}) {
		panic(fmt.Sprintf("changed: %q, any %v", names, isAny))
	}
	h.watches.places.mu.Lock()
	defer h.watches.places.mu.Unlock()
	if h.watches.places.dirs[dir].watch < 0 {
		panic("what leads to a path is not watched again")
	}
	if unix.Getuid() != 0 || len(told) > 0 {
		panic("told once more: " + <-told)
	}
}
