package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/stretchr/testify/require"
)

// Registrar is the process that registers a driver, as kubernetes-csi/node-driver-registrar does.
type Registrar struct {
	host *Host
	cmd  *exec.Cmd
	done chan struct{}
}

// Apart has the driver leave its registration to a [Registrar]. Before its start.
func (d *Driver) Apart() *Driver {
	d.registry = ""
	return d
}

// RegisterIn has the driver make its registration socket in another directory. Before its start.
func (d *Driver) RegisterIn(dir string) *Driver {
	d.registry = dir
	return d
}

// Register starts a registrar of the driver, with further flags.
func (d *Driver) Register(flags ...string) *Registrar {
	h := d.host
	h.T.Helper()
	r := &Registrar{host: h, done: make(chan struct{})}
	args := append([]string{
		"--csi-address", filepath.Join(d.dir, "csi.sock"), "--plugin-registration-path",
		h.RegistryDir(),
	}, flags...)
	r.cmd = exec.Command(program("registrar"), args...)
	log, err := os.OpenFile(filepath.Join(h.Output, "csidriver.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	require.NoError(h.T, err)
	defer log.Close()
	r.cmd.Stdout, r.cmd.Stderr = log, log
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(h.T, r.cmd.Start())
	h.registrars = append(h.registrars, r)
	go func() {
		defer close(r.done)
		_ = r.cmd.Wait()
	}()
	return r
}

// Done is closed once the registrar has ended.
func (r *Registrar) Done() <-chan struct{} { return r.done }

// Exit waits for the end of the registrar and returns its exit status, -1 after a signal.
func (r *Registrar) Exit() int {
	r.host.T.Helper()
	ctx, cancel := patience()
	defer cancel()
	select {
	case <-r.done:
	case <-ctx.Done():
		require.FailNow(r.host.T, "the registrar does not end")
	}
	return r.cmd.ProcessState.ExitCode()
}

// Terminate ends the registrar in good order: it removes its socket.
func (r *Registrar) Terminate() {
	r.host.T.Helper()
	require.NoError(r.host.T, r.cmd.Process.Signal(syscall.SIGTERM))
	<-r.done
}

func (r *Registrar) kill() {
	_ = r.cmd.Process.Kill()
	<-r.done
}
