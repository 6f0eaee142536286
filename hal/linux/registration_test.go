package linux

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	registerv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/volnode/volnode/hal"
)

type fakePlugin struct {
	registerv1.UnsafeRegistrationServer
	told chan *registerv1.RegistrationStatus
}

func (p *fakePlugin) GetInfo(context.Context, *registerv1.InfoRequest) (*registerv1.PluginInfo, error) {
	return &registerv1.PluginInfo{
		Type: "CSIPlugin", Name: "d", Endpoint: "/csi/csi.sock", SupportedVersions: []string{"1.0.0"},
	}, nil
}

func (p *fakePlugin) NotifyRegistrationStatus(
	_ context.Context, s *registerv1.RegistrationStatus,
) (*registerv1.RegistrationStatusResponse, error) {
	p.told <- s
	return &registerv1.RegistrationStatusResponse{}, nil
}

func TestRegistration(t *testing.T) {
	h, root := startHost(t)
	plugin := &fakePlugin{told: make(chan *registerv1.RegistrationStatus, 1)}
	s := grpc.NewServer()
	registerv1.RegisterRegistrationServer(s, plugin)
	socket := filepath.Join(root, "d-reg.sock")
	l := listen(t, socket)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	defer func() {
		s.Stop()
		<-done
	}()
	r := h.HAL().Registration
	soon := hal.Call{Deadline: h.runtime.Now().Add(10 * time.Second)}
	info, err := r.Info(soon, socket)
	require.NoError(t, err)
	require.NotEmpty(t, info.Socket)
	require.Equal(t, hal.PluginInfo{
		Type: "CSIPlugin", Name: "d", Endpoint: "/csi/csi.sock", Versions: []string{"1.0.0"}, Socket: info.Socket,
	}, info)
	err = r.Notify(soon, socket, "of a socket that was there before", false, "because")
	require.ErrorIs(t, err, unix.ESTALE)
	require.Equal(t, hal.ReplyNever, requireHALError(t, err).Reply)
	require.Empty(t, plugin.told)
	require.NoError(t, os.Chmod(socket, 0o600)) // a registrar may do so once it listens: the socket is the same
	require.NoError(t, r.Notify(soon, socket, info.Socket, false, "because"))
	told := receive(t, plugin.told, "status")
	require.False(t, told.GetPluginRegistered())
	require.Equal(t, "because", told.GetError())

	_, err = r.Info(hal.Call{Deadline: 1}, socket)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))

	for what, spoil := range map[string]func() (undo func()){
		"socket's owner":    chown(t, socket),
		"socket's mode":     chmod(t, socket, 0o775),
		"directory's owner": chown(t, root),
		"directory's mode":  chmod(t, root, 0o1777),
	} {
		undo := spoil()
		_, err := r.Info(soon, socket)
		require.ErrorIs(t, err, unix.EACCES, what)
		require.NotEmpty(t, requireHALError(t, err).Detail)
		undo()
	}
	require.NoError(t, os.Symlink(socket, filepath.Join(root, "link")))
	_, err = r.Info(soon, filepath.Join(root, "link"))
	require.ErrorIs(t, err, unix.ELOOP)
	_, err = r.Info(soon, root)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
}

// Sockets that accept connections and never answer hold up no other plugin.
func TestSilentPluginsHoldUpNobody(t *testing.T) {
	h, root := startHost(t)
	r := h.HAL().Registration
	silent := make(chan error, 40)
	for i := range cap(silent) {
		socket := filepath.Join(root, fmt.Sprintf("silent-%d.sock", i))
		defer listen(t, socket).Close()
		h.runtime.Go(func() {
			_, err := r.Info(hal.Call{Deadline: h.runtime.Now().Add(10 * time.Second)}, socket)
			silent <- err
		})
	}
	s := grpc.NewServer()
	registerv1.RegisterRegistrationServer(s, &fakePlugin{})
	socket := filepath.Join(root, "good-reg.sock")
	l := listen(t, socket)
	go func() { _ = s.Serve(l) }()
	defer s.Stop()
	_, err := r.Info(hal.Call{Deadline: h.runtime.Now().Add(10 * time.Second)}, socket)
	require.NoError(t, err)
	require.Empty(t, silent, "the others are still being waited for")
	for range cap(silent) {
		e := requireHALError(t, receive(t, silent, "the end of a call"))
		require.Equal(t, hal.ReplyNever, e.Reply, e)
	}
}

// One plugin too many waits for its turn until its deadline.
func TestPluginsAskedAtOneTimeAreBounded(t *testing.T) {
	h, root := startHost(t)
	r := &registration{host: h, slots: make(chan struct{}, 1)}
	r.slots <- struct{}{}
	_, err := r.Info(hal.Call{Deadline: h.runtime.Now().Add(50 * time.Millisecond)}, filepath.Join(root, "d-reg.sock"))
	require.ErrorIs(t, err, unix.EAGAIN)
	<-r.slots
	_, err = r.Info(hal.Call{Deadline: h.runtime.Now().Add(10 * time.Second)}, filepath.Join(root, "d-reg.sock"))
	require.ErrorIs(t, err, unix.ENOENT)
}

func chown(t *testing.T, path string) func() func() {
	return func() func() {
		require.NoError(t, os.Chown(path, 1000, 1000))
		return func() { require.NoError(t, os.Chown(path, 0, 0)) }
	}
}

func chmod(t *testing.T, path string, mode uint32) func() func() {
	return func() func() {
		require.NoError(t, unix.Chmod(path, mode))
		return func() { require.NoError(t, unix.Chmod(path, 0o755)) }
	}
}
