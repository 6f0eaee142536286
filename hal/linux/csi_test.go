package linux

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/volnode/volnode/hal"
)

// fakeDriver answers NodeStageVolume by the volume's id.
type fakeDriver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer
	entered chan string        // the id of each volume whose Stage begins, if set
	release chan struct{}      // "slow" waits for it
	left    chan time.Duration // of the deadline of each Stage, if set
}

func (d *fakeDriver) NodeStageVolume(
	ctx context.Context, r *csi.NodeStageVolumeRequest,
) (*csi.NodeStageVolumeResponse, error) {
	if d.left != nil {
		end, _ := ctx.Deadline()
		d.left <- time.Until(end)
	}
	if d.entered != nil {
		d.entered <- r.GetVolumeId()
	}
	switch r.GetVolumeId() {
	case "abort":
		s := r.GetSecrets()
		return nil, status.Errorf(codes.Aborted, "busy,\n  user %s password %q", s["user"], s["password"])
	case "slow":
		select {
		case <-d.release:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	case "die":
		os.Exit(0)
	}
	return &csi.NodeStageVolumeResponse{}, nil
}

// serve runs a driver at socket until stop.
func (d *fakeDriver) serve(t testing.TB, socket string) (stop func()) {
	t.Helper()
	s := grpc.NewServer()
	csi.RegisterNodeServer(s, d)
	csi.RegisterIdentityServer(s, d)
	l := listen(t, socket)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	stop = func() {
		s.Stop()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

func listen(t testing.TB, socket string) net.Listener {
	t.Helper()
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(socket, 0o755))
	return l
}

// driverRole is a driver in a process of its own.
func driverRole(args []string) {
	s := grpc.NewServer()
	csi.RegisterNodeServer(s, &fakeDriver{})
	l, err := net.Listen("unix", args[0])
	if err != nil {
		panic(err)
	}
	fmt.Println("listening")
	if err := s.Serve(l); err != nil {
		panic(err)
	}
}

// startDriver starts a driver process, in a cgroup if one is given.
func startDriver(t *testing.T, socket string, cgroup *os.File) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", socket)
	cmd.Env = append(os.Environ(), "VOLNODE_TEST_ROLE=driver")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if cgroup != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(cgroup.Fd())
	}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	says := bufio.NewScanner(out)
	require.True(t, says.Scan(), "the driver did not start")
	return cmd
}

func stage(h *Host, c hal.Call, volume string) error {
	_, err := h.HAL().CSINode.Stage(c, "d", &csi.NodeStageVolumeRequest{
		VolumeId: volume, Secrets: map[string]string{"user": "alice", "password": `s3cr"t`},
	})
	return err
}

func connected(t *testing.T, d *fakeDriver) (h *Host, socket string, stop func()) {
	t.Helper()
	h, root := startHost(t)
	socket = filepath.Join(root, "csi.sock")
	stop = d.serve(t, socket)
	peer, err := h.drivers.Connect(hal.Call{}, "d", socket, hal.PeerEvents{})
	require.NoError(t, err)
	require.Equal(t, os.Getpid(), peer.PID)
	require.NotEmpty(t, peer.Instance)
	return h, socket, stop
}

func TestCallAndItsStatus(t *testing.T) {
	h, _, _ := connected(t, &fakeDriver{})
	require.NoError(t, stage(h, hal.Call{}, "ok"))

	e := requireHALError(t, stage(h, hal.Call{}, "abort"))
	require.Equal(t, hal.ReplyStatus, e.Reply)
	require.Equal(t, hal.CodeAborted, e.Code)
	require.Equal(t, hal.Unknown, e.Outcome)
	require.Equal(t, "d abort", e.Object)
	require.Equal(t, "busy,\n  user alice password \"s3cr\\\"t\"", e.Detail, "as the driver says it")

	_, err := h.HAL().CSINode.Info(hal.Call{}, "d", &csi.NodeGetInfoRequest{})
	e = requireHALError(t, err)
	require.Equal(t, hal.ReplyStatus, e.Reply)
	require.Equal(t, hal.CodeUnimplemented, e.Code)
}

func requireNeverSent(t *testing.T, err error) *hal.Error {
	t.Helper()
	e := requireHALError(t, err)
	require.Equal(t, hal.ReplyNever, e.Reply, e)
	require.Equal(t, hal.NotDone, e.Outcome)
	return e
}

func TestCallsThatAreNeverSent(t *testing.T) {
	d := &fakeDriver{entered: make(chan string, 1)}
	h, _, stop := connected(t, d)
	requireNeverSent(t, stage(h, hal.Call{Deadline: h.runtime.Now()}, "ok"))
	_, err := h.HAL().CSINode.Stage(hal.Call{}, "unknown", &csi.NodeStageVolumeRequest{})
	requireNeverSent(t, err)
	stop() // and its socket is removed
	e := requireNeverSent(t, stage(h, hal.Call{}, "ok"))
	require.Equal(t, unix.ENOENT, e.Errno)
	h.drivers.Disconnect("d")
	requireNeverSent(t, stage(h, hal.Call{}, "ok"))
	require.Empty(t, d.entered)
}

func TestAnswerAfterTheDeadlineIsGivenToLate(t *testing.T) {
	d := &fakeDriver{entered: make(chan string, 1), release: make(chan struct{}), left: make(chan time.Duration, 1)}
	h, _, _ := connected(t, d)
	late := make(chan error, 1)
	c := hal.Call{
		Deadline: h.runtime.Now().Add(200 * time.Millisecond),
		Late:     func(_ hal.OpID, err error) { late <- err },
	}
	err := stage(h, c, "slow")
	e := requireHALError(t, err)
	require.Equal(t, hal.ReplyNone, e.Reply)
	require.Equal(t, hal.CodeDeadlineExceeded, e.Code)
	require.Equal(t, hal.Unknown, e.Outcome)
	require.Greater(t, receive(t, d.left, "stage"), 100*time.Second, "the server may go on for the late window")
	close(d.release)
	require.NoError(t, receive(t, late, "late answer"))
}

func TestWithoutLateTheDeadlineIsTheServers(t *testing.T) {
	d := &fakeDriver{release: make(chan struct{}), left: make(chan time.Duration, 1)}
	h, _, _ := connected(t, d)
	e := requireHALError(t, stage(h, hal.Call{Deadline: h.runtime.Now().Add(200 * time.Millisecond)}, "slow"))
	require.Equal(t, hal.CodeDeadlineExceeded, e.Code)
	require.Equal(t, hal.Unknown, e.Outcome)
	require.Less(t, receive(t, d.left, "stage"), time.Second)
}

// While the connection is being made again nothing has been sent, and nothing is sent after the deadline.
func TestDeadlineBeforeTheConnection(t *testing.T) {
	h, socket, stop := connected(t, &fakeDriver{})
	stop()
	l := listen(t, socket) // accepts and never answers
	defer l.Close()
	late := make(chan error, 1)
	c := hal.Call{
		Deadline: h.runtime.Now().Add(50 * time.Millisecond),
		Late:     func(_ hal.OpID, err error) { late <- err },
	}
	requireNeverSent(t, stage(h, c, "ok"))
	require.Empty(t, late)
}

func TestDisconnectLeavesCallsInFlight(t *testing.T) {
	d := &fakeDriver{entered: make(chan string, 1), release: make(chan struct{})}
	h, _, _ := connected(t, d)
	answer := make(chan error, 1)
	h.runtime.Go(func() { answer <- stage(h, hal.Call{}, "slow") })
	receive(t, d.entered, "stage")
	h.drivers.Disconnect("d")
	requireNeverSent(t, stage(h, hal.Call{}, "ok"))
	close(d.release)
	require.NoError(t, receive(t, answer, "answer"))
}

func TestConnectionThatBreaksInACall(t *testing.T) {
	h, root := startHost(t)
	socket := filepath.Join(root, "csi.sock")
	driver := startDriver(t, socket, nil)
	first, err := h.drivers.Connect(hal.Call{}, "d", socket, hal.PeerEvents{})
	require.NoError(t, err)
	require.Equal(t, driver.Process.Pid, first.PID)
	e := requireHALError(t, stage(h, hal.Call{}, "die"))
	require.Equal(t, hal.ReplyNone, e.Reply, e)
	require.Equal(t, hal.Unknown, e.Outcome)
	_ = driver.Wait()

	e = requireNeverSent(t, stage(h, hal.Call{}, "ok"))
	require.Equal(t, unix.ECONNREFUSED, e.Errno)
	require.NoError(t, os.Remove(socket))
	startDriver(t, socket, nil)
	e = requireNeverSent(t, stage(h, hal.Call{}, "ok"))
	require.Contains(t, e.Detail, "another process")
	second, err := h.drivers.Connect(hal.Call{}, "d", socket, hal.PeerEvents{})
	require.NoError(t, err)
	require.NotEqual(t, first.Instance, second.Instance)
	require.NoError(t, stage(h, hal.Call{}, "ok"))
}

// A connection that the same process closed is made again by the next call.
func TestConnectionIsMadeAgain(t *testing.T) {
	d := &fakeDriver{}
	h, socket, stop := connected(t, d)
	require.NoError(t, stage(h, hal.Call{}, "ok"))
	stop()
	d.serve(t, socket)
	require.NoError(t, stage(h, hal.Call{}, "ok"))
}

func TestConnectToWhatDoesNotAnswer(t *testing.T) {
	h, root := startHost(t)
	silent := filepath.Join(root, "silent.sock")
	l := listen(t, silent)
	defer l.Close()
	_, err := h.drivers.Connect(hal.Call{Deadline: h.runtime.Now().Add(100 * time.Millisecond)}, "d", silent,
		hal.PeerEvents{})
	e := requireNeverSent(t, err)
	require.Equal(t, unix.ETIMEDOUT, e.Errno)

	_, err = h.drivers.Connect(hal.Call{}, "d", filepath.Join(root, "nothing"), hal.PeerEvents{})
	require.ErrorIs(t, err, unix.ENOENT)
	_, err = h.drivers.Connect(hal.Call{}, "d", "relative", hal.PeerEvents{})
	require.ErrorIs(t, err, unix.EINVAL)
	require.NoError(t, os.Symlink(silent, filepath.Join(root, "link")))
	_, err = h.drivers.Connect(hal.Call{}, "d", "unix://"+filepath.Join(root, "link"), hal.PeerEvents{})
	require.ErrorIs(t, err, unix.ELOOP)
	require.NoError(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	_, err = h.drivers.Connect(hal.Call{}, "d", "unix:"+filepath.Join(root, "file"), hal.PeerEvents{})
	require.ErrorIs(t, err, unix.ENOTSOCK)
	require.NoError(t, os.Chmod(silent, 0o777))
	_, err = h.drivers.Connect(hal.Call{}, "d", silent, hal.PeerEvents{})
	require.ErrorIs(t, err, unix.EACCES)
}

// A connection that its driver's end has broken is told as lost, also under another name; one that was replaced or
// forgotten is not.
func TestLostConnectionIsTold(t *testing.T) {
	h, root := startHost(t)
	socket := filepath.Join(root, "csi.sock")
	driver := startDriver(t, socket, nil)
	lost := make(chan string, 10)
	connect := func(name, what string) {
		t.Helper()
		_, err := h.drivers.Connect(hal.Call{}, name, socket, hal.PeerEvents{Lost: func() { lost <- what }})
		require.NoError(t, err)
	}
	connect("d", "replaced")
	connect(hal.Candidate("d"), "kept")
	h.drivers.Rename(hal.Candidate("d"), "d")
	connect("e", "forgotten")
	h.drivers.Disconnect("e")
	require.NoError(t, driver.Process.Kill())
	require.Equal(t, "kept", receive(t, lost, "notice"))
	_ = driver.Wait()
	requireNeverSent(t, stage(h, hal.Call{}, "ok"))
	quiet(t, h, lost)
	require.Empty(t, lost)
}

// The owner forgets a driver while a call waits for its connection, which may last as long as the call may: the owner
// does not wait for that.
func TestDisconnectDoesNotWaitForAConnection(t *testing.T) {
	h, socket, stop := connected(t, &fakeDriver{})
	stop()
	l := listen(t, socket) // accepts and never answers
	defer l.Close()
	ended := make(chan error, 1)
	h.runtime.Go(func() { ended <- stage(h, hal.Call{Deadline: h.runtime.Now().Add(3 * time.Second)}, "ok") })
	for h.drivers.byName["d"].mu.TryLock() {
		h.drivers.byName["d"].mu.Unlock()
		_, _ = unix.Poll(nil, 1)
	}
	begin := time.Now()
	h.drivers.Disconnect("d")
	require.Less(t, time.Since(begin), time.Second)
	requireNeverSent(t, receive(t, ended, "end of the call"))
}

func TestGoneIsToldWhenTheCgroupIsEmpty(t *testing.T) {
	group, path := makeCgroup(t)
	h, root := startHost(t)
	socket := filepath.Join(root, "csi.sock")
	driver := startDriver(t, socket, group)
	// What the driver left behind: it may still act.
	daemon := exec.Command("/bin/sleep", "1000")
	daemon.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd()), Pdeathsig: syscall.SIGKILL}
	require.NoError(t, daemon.Start())
	gone := make(chan struct{})
	_, err := h.drivers.Connect(hal.Call{}, "d", socket, hal.PeerEvents{Gone: func() { close(gone) }})
	require.NoError(t, err)
	require.NoError(t, driver.Process.Kill())
	_ = driver.Wait()
	events, err := os.ReadFile(filepath.Join(path, "cgroup.events"))
	require.NoError(t, err)
	require.Contains(t, string(events), "populated 1")
	select {
	case <-gone:
		require.Fail(t, "told gone while its daemon lives")
	default:
	}
	require.NoError(t, daemon.Process.Kill())
	_ = daemon.Wait()
	receive(t, gone, "notice")
}

// makeCgroup makes a version 2 cgroup.
func makeCgroup(t *testing.T) (group *os.File, path string) {
	t.Helper()
	root, err := cgroupRoot()
	if err != nil {
		t.Skip("needs a version 2 cgroup hierarchy: " + err.Error())
	}
	path = filepath.Join(root, fmt.Sprintf("volnode-test-%d", os.Getpid()))
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Skip("needs a cgroup of its own: " + err.Error())
	}
	group, err = os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, group.Close())
		// A killed process leaves its cgroup a moment after it was reaped.
		for os.Remove(path) != nil {
			procs, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
			require.NoError(t, err)
			require.Empty(t, strings.TrimSpace(string(procs)))
		}
	})
	return group, path
}

func TestGoneIsNeverToldOfOurOwnCgroup(t *testing.T) {
	_, err := openCgroup(os.Getpid())
	require.Error(t, err)
	_, err = openCgroup(1)
	require.Error(t, err)
}

func TestTextsAreBounded(t *testing.T) {
	require.Len(t, oneLine(strings.Repeat("é", 2000)), maxDetail-1)
	require.Len(t, bounded(strings.Repeat("é", 20000)), maxMessageText)
}
