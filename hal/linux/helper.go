package linux

import (
	"bytes"
	"encoding/gob"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// helperName is argv[0] of a helper child. After it come the agent's root directory, the rung's key and the call, for
// [children.Living] of a later agent: neither key nor call holds a secret, since everybody on the node may read them.
const helperName = "volnode-helper"

// request is what a helper child is to do, exactly one of its fields. It comes on standard input, since mount options
// may hold secrets, and as gob, since JSON would change a path that is not UTF-8.
type request struct {
	Mount    *hal.NewMount
	Bind     *hal.BindSpec
	Unmount  *unmountRequest
	Find     *findRequest
	Make     *makeRequest
	Usage    *string // the path
	Count    *findRequest
	Unpack   *unpackRequest
	Probe    *string // the path
	Format   *hal.NewFilesystem
	Check    *hal.FilesystemCheck
	Hold     *holdRequest
	Release  *releaseRequest
	Clone    *cloneRequest
	Flex     *flexRequest
	Login    *loginRequest
	Logout   *logoutRequest
	Scan     *hal.SCSIAddress
	Forget   *forgetRequest
	Assemble []hal.SCSIDisk
	Map      *mapRequest
}

type unmountRequest struct {
	Path  string
	ID    hal.MountID
	Which int // kind of id: see topMount
}

type findRequest struct{ Path, Root string }

type makeRequest struct {
	Path string
	Type hal.FileType
}

// response is what a helper child answers on standard output.
type response struct {
	Failed  bool
	Errno   syscall.Errno
	Detail  string
	Outcome hal.Outcome
	Found   hal.HostFile
	Usage   hal.Usage
	Block   hal.BlockDevice
	Checked hal.Checked

	Answered bool // a driver has said so
	Flex     hal.FlexCapabilities
}

// help runs req in a helper child and waits until it is reaped. A call of class helper kills the child at its deadline;
// if that does not end it, because it hangs in the kernel, the wait goes on. Without an answer the outcome is Unknown.
func (h *Host) help(c hal.Call, class hal.Class, op, object string, req request) (response, error) {
	var in, out bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(req); err != nil {
		return response{}, failure(class, op, object, err)
	}
	cmd := &exec.Cmd{
		Path: h.options.HelperPath, Args: []string{helperName, h.options.RootDir, string(c.Key), op + " " + object},
		Env: []string{}, Dir: "/", Stdin: &in, Stdout: &out,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := h.children.start(cmd); err != nil {
		return response{}, failure(class, op, object, err)
	}
	var kill *time.Timer
	if class == hal.ClassHelper && c.Deadline != 0 {
		kill = time.AfterFunc(c.Deadline.Sub(h.runtime.Now()), func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with what it has started
		})
	}
	waited := cmd.Wait()
	h.children.ended(cmd)
	late := kill != nil && !kill.Stop()

	var resp response
	if err := gob.NewDecoder(&out).Decode(&resp); err != nil {
		return response{}, unanswered(class, op, object, cmd, waited, late)
	}
	if resp.Failed {
		return resp, &hal.Error{
			Op: op, Object: object, Class: class, Outcome: resp.Outcome, Errno: resp.Errno, Detail: resp.Detail,
		}
	}
	return resp, nil
}

// unanswered is the error of a call whose helper child ended without a word.
func unanswered(class hal.Class, op, object string, cmd *exec.Cmd, waited error, late bool) error {
	e := &hal.Error{
		Op: op, Object: object, Class: class, Outcome: hal.Unknown, Exit: cmd.ProcessState.ExitCode(),
		Detail: "helper child ended without an answer",
	}
	if waited != nil {
		e.Detail += ": " + waited.Error()
	}
	if late {
		e.Detail = "helper child killed at its deadline"
		e.Errno = syscall.ETIMEDOUT
	}
	return e
}

// children is hal.Children, and the helper children of this run.
type children struct {
	host *Host

	mu      sync.Mutex
	running map[int]bool // pids of this run's helpers
}

// start holds the lock over the fork, so that Living never takes a child of this run for one of an earlier one.
func (ch *children) start(cmd *exec.Cmd) error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	ch.running[cmd.Process.Pid] = true
	return nil
}

func (ch *children) ended(cmd *exec.Cmd) {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	delete(ch.running, cmd.Process.Pid)
}

func init() {
	if IsHelper() {
		// A process whose first thread has ended while another hangs in the kernel looks like a zombie in /proc: keep
		// the call on the first one.
		runtime.LockOSThread()
	}
}
