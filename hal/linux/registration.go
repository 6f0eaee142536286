package linux

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"

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
	err := r.call(c, "GetInfo", socket, func(ctx context.Context, client client) error {
		p, err := client.GetInfo(ctx, &registerv1.InfoRequest{})
		if err == nil {
			info = hal.PluginInfo{
				Type: p.GetType(), Name: p.GetName(), Endpoint: p.GetEndpoint(), Versions: p.GetSupportedVersions(),
			}
		}
		return err
	})
	return info, err
}

func (r *registration) Notify(c hal.Call, socket string, registered bool, reason string) error {
	return r.call(c, "NotifyRegistrationStatus", socket, func(ctx context.Context, client client) error {
		status := &registerv1.RegistrationStatus{PluginRegistered: registered, Error: reason}
		_, err := client.NotifyRegistrationStatus(ctx, status)
		return err
	})
}

func (r *registration) call(c hal.Call, op, socket string, do func(context.Context, client) error) error {
	if err := r.host.expired(c, hal.ClassRPC, op, socket); err != nil {
		return neverSent(op, socket, err)
	}
	ctx, cancel := r.host.until(c.Deadline)
	defer cancel()
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		const text = "%d plugins are being asked at this time, and none of them answers"
		return neverSent(op, socket, because(syscall.EAGAIN, fmt.Sprintf(text, maxRegistrations)))
	}
	conn, err := dial(ctx, socket)
	if err != nil {
		return neverSent(op, socket, err)
	}
	defer conn.retire()
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
