package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/fault"
)

// Agent is one life of volnode run.
type Agent struct {
	host  *Host
	cmd   *exec.Cmd
	Log   string // file of its log
	Trace string // file of its calls, one JSON line each

	notify  *net.UnixConn
	ready   chan struct{} // closed once it serves
	changed chan struct{} // holds a token once something has changed
	done    chan struct{} // closed once it is reaped
	once    sync.Once
}

// socket is the control socket.
func (h *Host) socket() string { return filepath.Join(h.Dir, "run", "volnode.sock") }

// Images is the directory of images.
func (h *Host) Images() string { return filepath.Join(h.Dir, "images") }

// writeConfig writes the configuration file.
func (h *Host) writeConfig() {
	h.T.Helper()
	text := fmt.Sprintf(`apiVersion: volnode.dev/v1alpha1
kind: NodeConfiguration
nodeName: %s
rootDir: %s
manifestDir: %s
imageDir: %s
gitRepoVolumes: [http]
flexVolumeDir: %s
mountNamespace: own
socket: %s
csi:
  callTimeout: %s
  unstageTimeout: %s
  lateWindow: %s
journalBytes: %s
volumeStatsPeriod: %s
metrics:
  address: %q
`, NodeName, h.Root, h.Manifests, h.Images(), h.FlexVolumes(), h.socket(),
		h.Settings.CallTimeout, h.Settings.UnstageTimeout,
		h.Settings.LateWindow,
		h.Settings.JournalBytes, h.Settings.VolumeStats, h.Settings.Metrics)
	require.NoError(h.T, os.WriteFile(h.Config, []byte(text), 0o600))
}

// Launch starts volnode with faults, if any, and does not wait for anything.
func (h *Host) Launch(faults ...fault.Rule) *Agent {
	h.T.Helper()
	h.writeConfig()
	life := len(h.agents) + 1
	a := &Agent{
		host: h, Log: filepath.Join(h.Output, fmt.Sprintf("volnode.%d.log", life)),
		Trace: filepath.Join(h.Output, fmt.Sprintf("trace.%d.jsonl", life)),
		ready: make(chan struct{}), changed: make(chan struct{}, 1), done: make(chan struct{}),
	}
	at := &net.UnixAddr{Name: filepath.Join(h.Dir, fmt.Sprintf("notify.%d", life)), Net: "unixgram"}
	var err error
	a.notify, err = net.ListenUnixgram("unixgram", at)
	require.NoError(h.T, err)
	log, err := os.OpenFile(a.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(h.T, err)
	defer log.Close()
	var rules []string
	for _, r := range faults {
		rules = append(rules, r.String())
	}
	a.cmd = exec.Command(program("volnode"), append([]string{"run", "--config", h.Config, "--trace", a.Trace},
		h.Settings.Run...)...)
	a.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+at.Name, "VOLNODE_FAULT="+strings.Join(rules, "; "))
	a.cmd.Stdout, a.cmd.Stderr = log, log
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(h.T, a.cmd.Start())
	h.agents = append(h.agents, a)
	go a.listen()
	go func() {
		defer close(a.done)
		_ = a.cmd.Wait()
		_ = a.notify.Close()
		_ = os.Remove(at.Name)
	}()
	return a
}

// listen takes in what the agent tells its service manager (sd_notify(3)): that it serves, and a line whenever
// something has changed.
func (a *Agent) listen() {
	message := make([]byte, 4096)
	for {
		n, err := a.notify.Read(message)
		if err != nil {
			return
		}
		if bytes.HasPrefix(message[:n], []byte("READY=1")) {
			a.once.Do(func() { close(a.ready) })
		}
		select {
		case a.changed <- struct{}{}:
		default: // the token that is there will do
		}
	}
}

// Start starts volnode without faults and waits until it serves.
func (h *Host) Start() *Agent {
	h.T.Helper()
	a := h.Launch()
	if !a.Serves() {
		require.FailNow(h.T, "volnode ended", "%s", a.ended())
	}
	return a
}

// Serves waits until the agent serves, or has ended: then it is false.
func (a *Agent) Serves() bool {
	a.host.T.Helper()
	ctx, cancel := patience()
	defer cancel()
	select {
	case <-a.ready:
		return true
	case <-a.done:
		return false
	case <-ctx.Done():
		require.FailNow(a.host.T, "volnode does not serve and does not end")
		return false
	}
}

// Pid is the agent's process id.
func (a *Agent) Pid() int { return a.cmd.Process.Pid }

// Done is closed once the agent has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

func (a *Agent) kill() {
	_ = a.cmd.Process.Kill()
	<-a.done
}

// Kill ends the agent by SIGKILL.
func (a *Agent) Kill() {
	a.host.T.Helper()
	a.kill()
	require.True(a.host.T, a.Killed(), "volnode had ended before: %s", a.ended())
}

// Terminate sends the agent SIGTERM.
func (a *Agent) Terminate() error { return a.cmd.Process.Signal(syscall.SIGTERM) }

// Exit waits for the end of the agent and returns its exit status, -1 after a signal.
func (a *Agent) Exit() int {
	a.host.T.Helper()
	ctx, cancel := patience()
	defer cancel()
	select {
	case <-a.done:
	case <-ctx.Done():
		require.FailNow(a.host.T, "volnode does not end")
	}
	return a.cmd.ProcessState.ExitCode()
}

// Killed waits for the end of the agent and tells whether it was SIGKILL.
func (a *Agent) Killed() bool {
	a.host.T.Helper()
	a.Exit()
	status, ok := a.cmd.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

func (a *Agent) ended() string {
	text, _ := os.ReadFile(a.Log)
	return fmt.Sprintf("%v\n%s", a.cmd.ProcessState, text)
}

// Run runs a command of volnode's and returns what it wrote, both streams apart, and its exit status.
func (h *Host) Run(args ...string) (stdout, stderr string, status int) {
	h.T.Helper()
	ctx, cancel := patience()
	defer cancel()
	return h.run(ctx, args...)
}

// Run is the host's, for a command that is killed when the agent has ended: its status is -1 then.
func (a *Agent) Run(args ...string) (stdout, stderr string, status int) {
	a.host.T.Helper()
	ctx, cancel := patience()
	defer cancel()
	go func() {
		select {
		case <-a.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return a.host.run(ctx, args...)
}

func (h *Host) run(ctx context.Context, args ...string) (stdout, stderr string, status int) {
	h.T.Helper()
	cmd := exec.CommandContext(ctx, program("volnode"), append(args, "--socket", h.socket())...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); !exited && ctx.Err() == nil {
		require.NoError(h.T, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Ask gets a page from the daemon over its control socket.
func (h *Host) Ask(page string) string {
	h.T.Helper()
	text, err := h.TryAsk(page)
	require.NoError(h.T, err)
	return text
}

// TryAsk is Ask, for a daemon that may be too busy to answer.
func (h *Host) TryAsk(page string) (string, error) {
	ctx, cancel := patience()
	defer cancel()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", h.socket())
		},
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://volnode"+page, nil)
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}

// waitTimeout is shorter, so that volnode itself can say what is missing.
const waitTimeout = Patience / 2

// Wait runs volnode wait: what is "pod/default/web" or "all", condition "ready" or "gone".
func (h *Host) Wait(what, condition string) {
	h.T.Helper()
	stdout, stderr, status := h.Run("wait", what, "--for="+condition, "--timeout="+waitTimeout.String())
	require.Zero(h.T, status, "volnode wait %s --for=%s: %s%s", what, condition, stdout, stderr)
}

// Status is volnode status -o json.
func (h *Host) Status() engine.Status {
	h.T.Helper()
	stdout, stderr, status := h.Run("status", "-o", "json")
	require.Zero(h.T, status, stderr)
	var s engine.Status
	require.NoError(h.T, json.Unmarshal([]byte(stdout), &s), stdout)
	return s
}

// AwaitStatus asks for the status whenever the agent says that something has changed, until it is as ok wants it.
func (a *Agent) AwaitStatus(what string, ok func(engine.Status) bool) engine.Status {
	a.host.T.Helper()
	ctx, cancel := patience()
	defer cancel()
	for {
		s := a.host.Status()
		if ok(s) {
			return s
		}
		if !a.next(ctx) {
			text, _ := json.MarshalIndent(s, "", " ")
			require.FailNow(a.host.T, "the status never showed "+what, "%s", text)
		}
	}
}

// next waits for a sign of change.
func (a *Agent) next(ctx context.Context) bool {
	select {
	case <-a.changed:
		return true
	case <-a.done:
		return false
	case <-ctx.Done():
		return false
	}
}
