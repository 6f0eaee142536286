package csidriver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// stopGrace is how long calls under way may take to end after the order to stop.
const stopGrace = 10 * time.Second

// ErrInUse says that another process has the state directory.
var ErrInUse = errors.New("state directory is in use by another driver")

// Driver is one driver process. Use New and Run.
type Driver struct {
	config Config
	store  *store
	dir    dirBacking
	loop   loopBacking
	locks  volumeLocks
	faults faults
	calls  *callLog
	lock   *os.File

	stopping chan struct{} // closed when Run begins to stop
	exit     func(status int)
}

// New opens the state directory and makes it agree with the host: static volumes are created, and stagings and
// publications whose mount is gone, as after a reboot, are forgotten. The process must be root. ErrConfig and
// ErrInUse are the errors that a caller can do something about.
func New(c Config) (*Driver, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	lock, err := lockStateDir(c.StateDir)
	if err != nil {
		return nil, err
	}
	d := &Driver{
		config:   c,
		dir:      dirBacking{stateDir: c.StateDir},
		loop:     newLoopBacking(c.StateDir),
		locks:    volumeLocks{wait: c.Parallel, held: map[string]chan struct{}{}},
		faults:   faults{path: c.Faults},
		lock:     lock,
		stopping: make(chan struct{}),
		exit:     os.Exit,
	}
	if err := d.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return d, nil
}

func (d *Driver) open() error {
	var err error
	if d.store, err = openStore(d.config.StateDir); err != nil {
		return err
	}
	if err := d.createStatic(); err != nil {
		return err
	}
	if err := d.forgetGone(); err != nil {
		return err
	}
	d.calls, err = openCallLog(d.config.CallLog)
	return err
}

// lockStateDir creates the directory and keeps other drivers out of it until the file is closed.
func lockStateDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func (d *Driver) createStatic() error {
	for _, s := range d.config.Volumes {
		v, exists := d.volume(s.Name)
		if exists && v.Backend != s.Backend {
			return fmt.Errorf("%w: volume %s exists with backend %s", ErrConfig, s.Name, v.Backend)
		}
		if !exists {
			v = Volume{ID: s.Name, Name: s.Name, Backend: s.Backend, FsType: s.FsType, Static: true}
			v.Bytes = roundUp(s.Bytes)
		}
		if err := d.backing(v).ensure(v); err != nil {
			return fmt.Errorf("create volume %s: %w", s.Name, err)
		}
		if exists {
			continue
		}
		if err := d.store.update(func(st *State) { st.Volumes[v.ID] = v }); err != nil {
			return err
		}
	}
	return nil
}

// forgetGone drops the records of stagings and publications that do not exist on the host.
func (d *Driver) forgetGone() error {
	state, err := d.store.state.clone()
	if err != nil {
		return err
	}
	for id, s := range state.Staged {
		if there, err := d.stagingExists(state.Volumes[id], s); err != nil || there {
			d.reportLook(err, id, s.Path)
			continue
		}
		d.config.Log.Info("staged volume is gone from the host, forgotten", "volume", id, "path", s.Path)
		if err := d.store.update(func(st *State) { delete(st.Staged, id) }); err != nil {
			return err
		}
	}
	for id, targets := range state.Published {
		for target := range targets {
			if there, err := d.showsMount(state.Volumes[id], target); err != nil || there {
				d.reportLook(err, id, target)
				continue
			}
			d.config.Log.Info("published volume is gone from the host, forgotten", "volume", id, "path", target)
			if err := d.store.update(func(st *State) { st.forget(id, target) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// reportLook tells of a path that could not be looked at; its record stays, because nobody knows better.
func (d *Driver) reportLook(err error, id, path string) {
	if err != nil {
		d.config.Log.Warn("cannot tell whether the volume is still there", "volume", id, "path", path, "err", err)
	}
}

// Run serves until ctx ends, then lets the calls under way end and removes the sockets. Mounts stay. A Driver runs
// once.
func (d *Driver) Run(ctx context.Context) error {
	defer d.lock.Close()
	defer d.calls.close()
	server := grpc.NewServer(grpc.UnaryInterceptor(d.intercept))
	csi.RegisterIdentityServer(server, identityServer{driver: d})
	csi.RegisterControllerServer(server, controllerServer{driver: d})
	csi.RegisterNodeServer(server, nodeServer{driver: d})
	listener, err := listenUnix(d.config.Endpoint)
	if err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(listener) }()
	servers := []*grpc.Server{server}
	if d.config.RegistrationDir != "" {
		// Registration comes second: whoever sees its socket calls the CSI socket at once.
		registration, listener, err := d.registration()
		if err != nil {
			server.Stop()
			return err
		}
		servers = append(servers, registration)
		go func() { failed <- registration.Serve(listener) }()
	}
	d.config.Log.Info("serving", "driver", d.config.Name, "endpoint", d.config.Endpoint, "node", d.config.NodeID)
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	close(d.stopping)
	// The registration socket goes first, so that nobody finds it and then no driver behind it.
	for i := len(servers) - 1; i >= 0; i-- {
		stopServer(servers[i])
	}
	d.config.Log.Info("stopped", "driver", d.config.Name)
	return err
}

func (d *Driver) registration() (*grpc.Server, net.Listener, error) {
	listener, err := listenUnix(filepath.Join(d.config.RegistrationDir, d.config.Name+"-reg.sock"))
	if err != nil {
		return nil, nil, err
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(d.intercept))
	registerapi.RegisterRegistrationServer(server, registrationServer{driver: d})
	return server, listener, nil
}

// stopServer also removes the server's socket: see [ownSocket].
func stopServer(s *grpc.Server) {
	timer := time.AfterFunc(stopGrace, s.Stop)
	defer timer.Stop()
	s.GracefulStop()
}
