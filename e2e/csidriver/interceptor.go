package csidriver

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// crashStatus is the driver's exit status when a rule kills it; a shell reports the same after SIGKILL.
const crashStatus = 137

// serialised are the calls that change a volume. Reading calls run beside them.
var serialised = map[string]bool{
	"ControllerExpandVolume":    true,
	"ControllerPublishVolume":   true,
	"ControllerUnpublishVolume": true,
	"CreateVolume":              true,
	"DeleteVolume":              true,
	"NodeExpandVolume":          true,
	"NodePublishVolume":         true,
	"NodeStageVolume":           true,
	"NodeUnpublishVolume":       true,
	"NodeUnstageVolume":         true,
}

// intercept surrounds every call: log, lock, fault, effect, fault, log. The lock is inside the log, so that a refused
// call is seen, and outside the fault, so that a slow call keeps its volume busy.
func (d *Driver) intercept(
	ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler,
) (any, error) {
	method := path.Base(info.FullMethod)
	call, err := d.calls.start(method, request)
	if err != nil {
		return nil, status.Errorf(codes.Internal, "call log: %v", err)
	}
	reply, fault, err := d.guarded(ctx, method, request, handler)
	if err := d.calls.end(call, status.Code(err).String(), err, fault); err != nil {
		return nil, status.Errorf(codes.Internal, "call log: %v", err)
	}
	if err != nil {
		d.config.Log.Warn("call failed", "method", method, "volume", call.VolumeID, "err", err)
		return nil, err
	}
	return reply, nil
}

func (d *Driver) guarded(
	ctx context.Context, method string, request any, handler grpc.UnaryHandler,
) (any, *Rule, error) {
	id := lockKey(request)
	if serialised[method] && id != "" {
		release, err := d.locks.acquire(ctx, id)
		if err != nil {
			return nil, nil, err
		}
		defer release()
	}
	fault, err := d.faults.next(method, id, requestName(request))
	if err != nil {
		return nil, nil, status.Error(codes.Internal, err.Error())
	}
	// What was begun is finished even when the caller has gone: in CSI only the opposite call takes an effect back.
	effect := func() (any, error) { return handler(context.WithoutCancel(ctx), request) }
	if fault == nil {
		reply, err := effect()
		return reply, nil, err
	}
	reply, err := d.faulty(ctx, *fault, effect)
	return reply, fault, err
}

// faulty runs effect under a rule, in the order that Rule documents.
func (d *Driver) faulty(ctx context.Context, r Rule, effect func() (any, error)) (any, error) {
	// The caller's deadline does not shorten this delay, so that an effect can come later than its caller waits.
	if err := d.pause(context.WithoutCancel(ctx), r.DelayBefore); err != nil {
		return nil, err
	}
	if r.Crash == MomentBefore {
		d.exit(crashStatus)
	}
	if r.FailBefore != 0 {
		return nil, r.failure(r.FailBefore)
	}
	reply, err := effect()
	if err != nil {
		return nil, err
	}
	if err := d.pause(ctx, r.DelayAfter); err != nil {
		return nil, err
	}
	if r.Crash == MomentAfter {
		d.exit(crashStatus)
	}
	if r.FailAfter != 0 {
		return nil, r.failure(r.FailAfter)
	}
	if message, ok := reply.(proto.Message); ok && r.Reply != "" {
		return replyWith(r.Reply, message), nil
	}
	return reply, nil
}

// pause waits; it ends early when the caller is gone, if ctx says so, or the driver stops.
func (d *Driver) pause(ctx context.Context, delay Duration) error {
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(delay))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	case <-d.stopping:
		return status.Error(codes.Unavailable, "the driver stops")
	}
}

func (r Rule) failure(c Code) error {
	message := r.Message
	if message == "" {
		message = fmt.Sprintf("injected into %s", r.Method)
	}
	return status.Error(codes.Code(c), message)
}

// lockKey is the ID of the volume that a request is about, or "" when it is about none.
func lockKey(request any) string {
	if r, ok := request.(*csi.CreateVolumeRequest); ok && r.GetName() != "" {
		return volumeID(r.GetName())
	}
	if r, ok := request.(interface{ GetVolumeId() string }); ok {
		return r.GetVolumeId()
	}
	return ""
}

// requestName is the name in a CreateVolumeRequest, the only thing its caller can write a rule for.
func requestName(request any) string {
	if r, ok := request.(*csi.CreateVolumeRequest); ok {
		return r.GetName()
	}
	return ""
}
