package linux

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
)

// agentRole is an agent that makes one directory of the host and says how it went.
func agentRole(args []string) {
	h, err := New(Options{RootDir: args[0]})
	if err != nil {
		panic(err)
	}
	fmt.Println("calling")
	fmt.Println(h.HAL().HostPaths.Make(hal.Call{Key: "publish/v/p"}, args[1], hal.TypeDirectory))
}

// frozen returns a mounted ext4 whose writers wait until thaw (ioctl_fifreeze(2)).
func frozen(t *testing.T) (dir string, thaw func()) {
	t.Helper()
	device := ext4Loop(t)
	dir = t.TempDir()
	require.NoError(t, unix.Mount(device, dir, "ext4", 0, ""))
	f, err := os.Open(dir)
	require.NoError(t, err)
	const fifreeze, fithaw = 0xc0045877, 0xc0045878
	require.NoError(t, unix.IoctlSetInt(int(f.Fd()), fifreeze, 0))
	thawed := false
	thaw = func() {
		if !thawed {
			thawed = true
			require.NoError(t, unix.IoctlSetInt(int(f.Fd()), fithaw, 0))
		}
	}
	t.Cleanup(func() {
		thaw()
		require.NoError(t, f.Close())
		require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) // a test that failed may have left a helper in it
	})
	return dir, thaw
}

// waitForD looks again and again until the process hangs in mkdir(2); false if it has ended.
func waitForD(t *testing.T, pid int) bool {
	t.Helper()
	// Any wait for the disk shows as D for a moment, so the number of the system call counts as well: mkdir and mkdirat
	// of amd64, mkdirat of arm64 (proc_pid_syscall(5)).
	calls := []string{"83", "258", "34"}
	dir := fmt.Sprintf("/proc/%d/", pid)
	for began := time.Now(); time.Since(began) < patience; {
		alive, state, err := threadStates(dir)
		require.NoError(t, err)
		call, _ := os.ReadFile(dir + "syscall")
		number, _, _ := strings.Cut(string(call), " ")
		if !alive || state == "D" && slices.Contains(calls, number) {
			return alive
		}
		_, _ = unix.Poll(nil, 1)
	}
	require.FailNow(t, "the helper neither hangs nor ends")
	return false
}

func TestHungHelperIsFoundByTheNextAgent(t *testing.T) {
	dir, thaw := frozen(t)
	root := t.TempDir()
	agent := exec.Command("/proc/self/exe", root, filepath.Join(dir, "made"))
	agent.Env = append(os.Environ(), "VOLNODE_TEST_ROLE=agent")
	out, err := agent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, agent.Start())
	says := bufio.NewScanner(out)
	require.True(t, says.Scan())
	require.Equal(t, "calling", says.Text())
	helper := childOf(t, agent.Process.Pid)
	require.True(t, waitForD(t, helper), "the helper ended, and the filesystem is frozen")
	require.NoError(t, agent.Process.Kill())
	_ = agent.Wait()

	h := startHostAt(t, root)
	living, err := h.children.Living(hal.Call{})
	require.NoError(t, err)
	require.Len(t, living, 1)
	require.Equal(t, hal.Child{
		PID: helper, Start: living[0].Start, Key: "publish/v/p",
		What: "mkdir " + filepath.Join(dir, "made"), State: "D",
	}, living[0])
	session, err := unix.Getsid(helper)
	require.NoError(t, err)
	require.Equal(t, helper, session, "the helper is in a session of its own")

	ended := make(chan struct{})
	h.children.Gone(living[0], func() { close(ended) })
	require.NoError(t, unix.Kill(helper, unix.SIGKILL)) // it hangs, so this does nothing yet
	select {
	case <-ended:
		require.Fail(t, "gone while it hangs")
	default:
	}
	thaw()
	receive(t, ended, "end of the helper")
	living, err = h.children.Living(hal.Call{})
	require.NoError(t, err)
	require.Empty(t, living)
	// Whether the directory was made is the kernel's affair: the kill may have come first. That is why the rung was
	// fenced.
}

// childOf waits for the one child of a process to be the helper.
func childOf(t *testing.T, pid int) int {
	t.Helper()
	child := childUnless(t, pid, func() bool { return false })
	require.NotZero(t, child, "no helper was started")
	return child
}

// childUnless returns 0 if it is over before the helper was seen.
func childUnless(t *testing.T, pid int, isOver func() bool) int {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience && !isOver(); {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		require.NoError(t, err)
		for _, task := range tasks {
			children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
			if err != nil || len(children) == 0 {
				continue
			}
			child, err := strconv.Atoi(string(children[:len(children)-1]))
			require.NoError(t, err)
			if cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); len(cmdline) > len(helperName) &&
				string(cmdline[:len(helperName)]) == helperName {
				return child
			}
		}
		_, _ = unix.Poll(nil, 1)
	}
	return 0
}

func TestHelperIsKilledAtTheDeadline(t *testing.T) {
	h, root := startHost(t)
	// A FIFO whose other end nobody opens holds no stat(2); a stopped helper stands in for one that is slow and can be
	// killed.
	h.options.HelperPath = stoppingHelper(t, root)
	err := (&hostPaths{h}).Make(hal.Call{Deadline: h.runtime.Now().Add(50e6)}, filepath.Join(root, "x"),
		hal.TypeDirectory)
	e := requireHALError(t, err)
	require.Equal(t, hal.Unknown, e.Outcome)
	require.Equal(t, unix.ETIMEDOUT, e.Errno)
	living, err := h.children.Living(hal.Call{})
	require.NoError(t, err)
	require.Empty(t, living)
}

// A helper that hangs in the kernel outlives its deadline and its kill: the call goes on, so that the rung stays taken.
func TestHungHelperOutlivesItsDeadline(t *testing.T) {
	dir, thaw := frozen(t)
	h, _ := startHost(t)
	var deadline hal.Instant
	ended := make(chan error, 1)
	// The deadline must leave the helper the time to come to the call: more each time, on a busy machine.
	for wait := 200 * time.Millisecond; ; wait *= 2 {
		deadline = h.runtime.Now().Add(wait)
		h.runtime.Go(func() {
			c := hal.Call{Key: "k", Deadline: deadline}
			ended <- h.HAL().HostPaths.Make(c, filepath.Join(dir, "made"), hal.TypeDirectory)
		})
		if child := childUnless(t, os.Getpid(), func() bool { return len(ended) > 0 }); child != 0 &&
			waitForD(t, child) {
			break
		}
		receive(t, ended, "end of a helper that was too slow")
	}
	killed := make(chan struct{})
	h.runtime.At(deadline.Add(100*time.Millisecond), func() { close(killed) })
	receive(t, killed, "deadline")
	require.Empty(t, ended)
	living, err := h.children.Living(hal.Call{})
	require.NoError(t, err)
	require.Empty(t, living, "it is this run's")
	thaw()
	err = receive(t, ended, "end of the helper")
	require.Equal(t, hal.Unknown, hal.OutcomeOf(err))
}

// stoppingHelper is a program that stops itself.
func stoppingHelper(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(dir, "helper.sh")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nkill -STOP $$\n"), 0o755))
	return path
}

func TestMakeSaysWhatItLeft(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(root+"/f", nil, 0o600))
	outcome, err := hostMake(root+"/f/a/b", hal.TypeDirectory)
	require.ErrorIs(t, err, unix.ENOTDIR)
	require.Equal(t, hal.NotDone, outcome)
	long := strings.Repeat("x", 300)
	outcome, err = hostMake(root+"/a/b/"+long, hal.TypeDirectory)
	require.ErrorIs(t, err, unix.ENAMETOOLONG)
	require.Equal(t, hal.Unknown, outcome, "its parents were made")
	require.DirExists(t, root+"/a/b")
	require.NoError(t, unix.Symlink("nothing", root+"/l"))
	_, err = hostMake(root+"/l", hal.TypeDirectory)
	require.ErrorIs(t, err, unix.EEXIST)
	outcome, err = hostMake(root+"/a/b/c", hal.TypeDirectory)
	require.NoError(t, err)
	require.Equal(t, hal.Done, outcome)
	h, _ := startHost(t)
	require.ErrorIs(t, h.HAL().HostPaths.Make(hal.Call{}, root+"/x", hal.TypeSocket), unix.EINVAL)
	require.ErrorIs(t, h.HAL().HostPaths.Make(hal.Call{Deadline: 1}, root+"/x", hal.TypeFile), unix.ETIMEDOUT)
	_, err = h.HAL().HostPaths.Find(hal.Call{}, "relative")
	require.ErrorIs(t, err, unix.EINVAL)
}

func TestHelperThatDiesLeavesTheOutcomeUnknown(t *testing.T) {
	h, root := startHost(t)
	h.options.HelperPath = "/bin/false"
	err := (&hostPaths{h}).Make(hal.Call{}, filepath.Join(root, "x"), hal.TypeDirectory)
	e := requireHALError(t, err)
	require.Equal(t, hal.Unknown, e.Outcome)
	require.Equal(t, 1, e.Exit)

	h.options.HelperPath = "/nonexistent"
	err = (&hostPaths{h}).Make(hal.Call{}, filepath.Join(root, "x"), hal.TypeDirectory)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	require.ErrorIs(t, err, unix.ENOENT)
}

func TestLivingTakesOnlyRootsWordForIt(t *testing.T) {
	h, root := startHost(t)
	// A helper child whose request never comes: it waits for it and does nothing.
	start := func(user uint32, argv ...string) int {
		cmd := &exec.Cmd{Path: "/proc/self/exe", Args: argv, Env: []string{}, SysProcAttr: &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: user}, Pdeathsig: syscall.SIGKILL,
		}}
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() {
			require.NoError(t, in.Close())
			require.Error(t, cmd.Wait(), "it was given nothing to do")
		})
		return cmd.Process.Pid
	}
	ours := start(0, helperName, root, "key", "mkdir /a b")
	start(65534, helperName, root, "forged", "mkdir /a")
	start(0, helperName, "/another/root", "key", "mkdir /a")
	start(0, helperName, root)
	living, err := h.children.Living(hal.Call{})
	require.NoError(t, err)
	require.Len(t, living, 1)
	require.Equal(t, ours, living[0].PID)
	require.Equal(t, "key mkdir /a b", string(living[0].Key)+" "+living[0].What)
	_, ok, err := readChild(1<<22-1, root)
	require.NoError(t, err)
	require.False(t, ok, "no such process")
}

func TestHelperKeepsNothingOfTheAgents(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	fd, err := unix.Open(lock, unix.O_CREAT|unix.O_RDWR, 0o600) // without O_CLOEXEC
	require.NoError(t, err)
	require.NoError(t, unix.Flock(fd, unix.LOCK_EX))
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{helperName, "/", "", ""}, Env: []string{}}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, in.Close())
		_ = cmd.Wait()
	})
	require.NoError(t, unix.Close(fd))
	again, err := unix.Open(lock, unix.O_RDWR|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(again)
	require.NoError(t, unix.Flock(again, unix.LOCK_EX)) // waits for the helper to have begun, and no longer
}

func TestGoneOfAProcessThatIsGone(t *testing.T) {
	h, _ := startHost(t)
	ended := make(chan struct{})
	// the pid was given to somebody else
	h.children.Gone(hal.Child{PID: os.Getpid(), Start: 1}, func() { close(ended) })
	receive(t, ended, "end")
}

// TestUsageStartsNoHelperForWhatIsInMemory: a node with a thousand local volumes starts no thousand processes a minute.
func TestUsageStartsNoHelperForWhatIsInMemory(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	h, root := startHost(t)
	at := filepath.Join(root, "t")
	require.NoError(t, h.HAL().Tree.Mkdir(hal.Call{}, at, 0o755))
	require.NoError(t, h.HAL().Mounts.Mount(hal.Call{}, hal.NewMount{FSType: "tmpfs", Source: "tmpfs", Target: at}))
	t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
	h.options.HelperPath = "/nonexistent"
	for path, needsHelper := range map[string]bool{at: false, "/proc": true} {
		var st unix.Statfs_t
		require.NoError(t, unix.Statfs(path, &st))
		is, err := h.HAL().HostPaths.Usage(hal.Call{}, path)
		if needsHelper {
			require.True(t, hal.Is(err, syscall.ENOENT), "%v", err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, usageOf(&st).Bytes.Total, is.Bytes.Total)
	}
}
