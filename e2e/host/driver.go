package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/csidriver"
)

// Driver is one life of the CSI driver.
type Driver struct {
	host *Host
	cmd  *exec.Cmd
	done chan struct{} // closed once it is reaped
}

// RegistryDir is where drivers register.
func (h *Host) RegistryDir() string { return filepath.Join(h.Root, "plugins_registry") }

func (h *Host) driverDir() string { return filepath.Join(h.Dir, "driver") }
func (h *Host) faults() string    { return filepath.Join(h.driverDir(), "faults.json") }

// StateDir is where the driver keeps its state and its volumes.
func (h *Host) StateDir() string { return filepath.Join(h.driverDir(), "state") }

// CallLog is the driver's log of its calls.
func (h *Host) CallLog() string { return filepath.Join(h.Output, "calls.jsonl") }

// VolumeData is the directory in which a volume of the driver's has its files, of the backend dir.
func (h *Host) VolumeData(volume string) string {
	return filepath.Join(h.StateDir(), "volumes", volume, "data")
}

// StartDriver starts the CSI driver with further flags, like --volume=vol-1=dir.
func (h *Host) StartDriver(flags ...string) *Driver {
	h.T.Helper()
	args := append([]string{
		"--endpoint", filepath.Join(h.driverDir(), "csi.sock"), "--state-dir", h.StateDir(), "--node-id", NodeName,
		"--registration-dir", h.RegistryDir(), "--call-log", h.CallLog(), "--faults", h.faults(),
	}, flags...)
	cmd := exec.Command(program("csidriver"), args...)
	log, err := os.OpenFile(filepath.Join(h.Output, "csidriver.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(h.T, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(h.T, cmd.Start())
	d := &Driver{host: h, cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(d.done)
		_ = cmd.Wait()
	}()
	h.driver = d
	return d
}

func (d *Driver) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
}

// Kill ends the driver by SIGKILL.
func (d *Driver) Kill() { d.kill() }

// DriverFaults replaces the rules of the driver's faults; none ends them all.
func (h *Host) DriverFaults(rules ...csidriver.Rule) {
	h.T.Helper()
	require.NoError(h.T, csidriver.WriteFaults(h.faults(), rules...))
}

// DriverState is what the driver remembers.
func (h *Host) DriverState() csidriver.State {
	h.T.Helper()
	s, err := csidriver.ReadState(h.StateDir())
	require.NoError(h.T, err)
	return s
}

// DriverEvents returns the calls that the driver was sent, from the given number on.
func (h *Host) DriverEvents(from int) []csidriver.Call {
	h.T.Helper()
	calls, err := csidriver.ReadCalls(h.CallLog())
	require.NoError(h.T, err)
	calls = slices.DeleteFunc(calls, func(c csidriver.Call) bool { return c.Event != csidriver.CallStarted })
	return calls[min(from, len(calls)):]
}

// DriverCalls is DriverEvents by their methods alone.
func (h *Host) DriverCalls(from int) []string {
	h.T.Helper()
	var methods []string
	for _, c := range h.DriverEvents(from) {
		methods = append(methods, c.Method)
	}
	return methods
}
