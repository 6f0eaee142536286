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

// Driver is a CSI driver: where it is, and one life of it at a time.
type Driver struct {
	host  *Host
	name  string
	dir   string
	flags []string
	// registry is where it makes its registration socket; "" if it has a registrar for that.
	registry string

	cmd  *exec.Cmd
	done chan struct{} // closed once it is reaped
}

// RegistryDir is where drivers register.
func (h *Host) RegistryDir() string { return filepath.Join(h.Root, "plugins_registry") }

func (h *Host) driverDir() string { return filepath.Join(h.Dir, "driver") }

// StateDir is where the driver keeps its state and its volumes.
func (h *Host) StateDir() string { return filepath.Join(h.driverDir(), "state") }

// CallLog is the driver's log of its calls.
func (h *Host) CallLog() string { return filepath.Join(h.Output, "calls.jsonl") }

// VolumeData is the directory in which a volume of the driver's has its files, of the backend dir.
func (h *Host) VolumeData(volume string) string {
	return filepath.Join(h.StateDir(), "volumes", volume, "data")
}

// StartDriver starts the node's CSI driver, which goes by its default name, with further flags, like
// --volume=vol-1=dir.
func (h *Host) StartDriver(flags ...string) *Driver {
	h.T.Helper()
	d := h.MainDriver(flags...)
	d.Start()
	return d
}

// MainDriver makes the node's CSI driver, as StartDriver does, without starting it.
func (h *Host) MainDriver(flags ...string) *Driver {
	d := &Driver{
		host: h, name: csidriver.DefaultName, dir: h.driverDir(),
		flags: append([]string{"--call-log", h.CallLog()}, flags...), registry: h.RegistryDir(),
	}
	h.drivers = append([]*Driver{d}, h.drivers...)
	return d
}

// OtherDriver makes another CSI driver, without starting it.
func (h *Host) OtherDriver(name string, flags ...string) *Driver {
	h.T.Helper()
	return h.driverIn(name, name, flags...)
}

// RivalDriver makes another CSI driver that goes by the name of the node's, with an endpoint of its own, without
// starting it.
func (h *Host) RivalDriver(flags ...string) *Driver {
	h.T.Helper()
	return h.driverIn(csidriver.DefaultName, "rival", flags...)
}

func (h *Host) driverIn(name, dir string, flags ...string) *Driver {
	h.T.Helper()
	d := &Driver{host: h, name: name, dir: filepath.Join(h.Dir, dir), flags: flags, registry: h.RegistryDir()}
	require.NoError(h.T, os.Mkdir(d.dir, 0o755))
	h.drivers = append(h.drivers, d)
	return d
}

func (d *Driver) faults() string { return filepath.Join(d.dir, "faults.json") }

// Start starts the driver.
func (d *Driver) Start() {
	h := d.host
	h.T.Helper()
	args := append([]string{
		"--name", d.name, "--endpoint", filepath.Join(d.dir, "csi.sock"), "--state-dir", filepath.Join(d.dir, "state"),
		"--node-id", NodeName,
		"--registration-dir", d.registry, "--faults", d.faults(),
	}, d.flags...)
	d.cmd = exec.Command(program("csidriver"), args...)
	log, err := os.OpenFile(filepath.Join(h.Output, "csidriver.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(h.T, err)
	defer log.Close()
	d.cmd.Stdout, d.cmd.Stderr = log, log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(h.T, d.cmd.Start())
	cmd, done := d.cmd, make(chan struct{})
	d.done = done
	go func() {
		defer close(done)
		_ = cmd.Wait()
	}()
}

func (d *Driver) kill() {
	if d.cmd != nil {
		_ = d.cmd.Process.Kill()
		<-d.done
	}
}

// Kill ends the driver by SIGKILL. Its registration socket stays, as a dead process leaves it.
func (d *Driver) Kill() { d.kill() }

// Stop ends the driver in good order.
func (d *Driver) Stop() {
	d.host.T.Helper()
	require.NoError(d.host.T, d.cmd.Process.Signal(syscall.SIGTERM))
	<-d.done
}

// Faults replaces the rules of the driver's faults; none ends them all.
func (d *Driver) Faults(rules ...csidriver.Rule) {
	d.host.T.Helper()
	require.NoError(d.host.T, csidriver.WriteFaults(d.faults(), rules...))
}

// DriverFaults is Faults of the node's driver.
func (h *Host) DriverFaults(rules ...csidriver.Rule) {
	h.T.Helper()
	h.drivers[0].Faults(rules...)
}

// DriverState is what the node's driver remembers.
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
