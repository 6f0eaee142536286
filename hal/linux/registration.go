package linux

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
	registerv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/volnode/volnode/hal"
)

// registration is hal.Registration. Each call has a connection of its own: they are two in the life of a plugin.
type registration struct {
	host *Host
	// slots bounds the connections at one time: anybody who is root can make sockets that accept and never answer.
	slots chan struct{}
}

// maxRegistrations is how many plugins are asked at one time.
const maxRegistrations = 128

type client = registerv1.RegistrationClient

func (r *registration) Info(c hal.Call, socket string) (hal.PluginInfo, error) {
	var info hal.PluginInfo
	made := madeOf(socket) // before it is asked: what has taken its place by then is another
	err := r.call(c, "GetInfo", socket, "", func(ctx context.Context, client client) error {
		p, err := client.GetInfo(ctx, &registerv1.InfoRequest{})
		if err == nil {
			info = hal.PluginInfo{
				Type: p.GetType(), Name: p.GetName(), Endpoint: p.GetEndpoint(), Versions: p.GetSupportedVersions(),
				Socket: made,
			}
		}
		return err
	})
	return info, err
}

// madeOf names what is at a path. The instant of its bind(2), which a change of its owner or mode does not move, tells
// what reuses an inode. It is a name of nothing if nothing is there.
func madeOf(socket string) string {
	var st unix.Stat_t
	if err := unix.Lstat(socket, &st); err != nil {
		return "gone"
	}
	return fmt.Sprintf("%d:%d:%d", st.Dev, st.Ino, st.Mtim.Nano())
}

func (r *registration) Notify(c hal.Call, socket, made string, registered bool, reason string) error {
	return r.call(c, "NotifyRegistrationStatus", socket, made, func(ctx context.Context, client client) error {
		status := &registerv1.RegistrationStatus{PluginRegistered: registered, Error: reason}
		_, err := client.NotifyRegistrationStatus(ctx, status)
		return err
	})
}

// call asks who listens at a socket: with made, only the one of that name.
func (r *registration) call(c hal.Call, op, socket, made string, do func(context.Context, client) error) error {
	if err := r.host.expired(c, hal.ClassRPC, op, socket); err != nil {
		return neverSent(op, socket, err)
	}
	ctx, cancel := r.host.until(c.Deadline)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		const text = "volnode already waits for %d plugins, and none of them answers"
		return neverSent(op, socket, because(syscall.EAGAIN, fmt.Sprintf(text, maxRegistrations)))
	}
	conn, err := dial(ctx, socket)
	if err != nil {
		return neverSent(op, socket, err)
	}
	defer conn.retire()
	if made != "" && madeOf(socket) != made {
		return neverSent(op, socket, because(syscall.ESTALE, "another socket has replaced it"))
	}
	var p progress
	if err := do(context.WithValue(ctx, progressKey{}, &p), registerv1.NewRegistrationClient(conn)); err != nil {
		return rpcError(op, socket, err, p.sent.Load(), conn.said)
	}
	return nil
}

// socketPath takes a path or a unix: URL, as plugins give both (grpc naming: unix:path, unix:///path).
func socketPath(endpoint string) (string, error) {
	path := strings.TrimPrefix(endpoint, "unix:")
	if strings.HasPrefix(path, "//") && path != endpoint {
		path = path[len("//"):]
	}
	if !filepath.IsAbs(path) || filepath.Clean(path) != path {
		return "", because(syscall.EINVAL, "the endpoint is not an absolute path")
	}
	return path, nil
}
