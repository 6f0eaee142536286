package linux

import (
	"context"
	"errors"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/volnode/volnode/hal"
)

// progress says how far one RPC got: a call is "never sent" only if no frame of it was given to a connection.
type progress struct{ sent atomic.Bool }

type progressKey struct{}

// progressHandler keeps the progress of calls whose context carries one (grpc-go, package stats).
type progressHandler struct{}

func (progressHandler) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (progressHandler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (progressHandler) HandleConn(context.Context, stats.ConnStats)                       {}

func (progressHandler) HandleRPC(ctx context.Context, s stats.RPCStats) {
	p, ok := ctx.Value(progressKey{}).(*progress)
	if !ok {
		return
	}
	switch s.(type) {
	case *stats.OutHeader, *stats.OutPayload:
		p.sent.Store(true)
	}
}

// until returns a context that is over at t; never for the zero Instant.
func (h *Host) until(t hal.Instant) (context.Context, context.CancelFunc) {
	if t == 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), t.Sub(h.runtime.Now()))
}

// stage of a call, between the caller, who waits until the deadline, and the goroutine that makes the call.
const (
	callWaits   int32 = iota // for a connection: it may still be given up without a trace
	callGoes                 // to the driver
	callOverdue              // the caller has left
	callEnded
)

// invoke makes one RPC of a connected driver, with the generated client that service makes. At the deadline the answer
// is ReplyNone, or ReplyNever if there was no connection yet. With Call.Late the RPC then goes on for the late window,
// and what proves its end is given to Late.
func invoke[Client, Req, Resp any](
	d *drivers, c hal.Call, driver, op string, in Req, service func(grpc.ClientConnInterface) Client,
	rpc func(Client, context.Context, Req, ...grpc.CallOption) (Resp, error),
) (Resp, error) {
	var none Resp
	object := rpcObject(driver, in)
	if err := d.host.expired(c, hal.ClassRPC, op, object); err != nil {
		return none, neverSent(op, object, err)
	}
	var out Resp
	var state atomic.Int32
	ended := make(chan *hal.Error, 1)
	go func() {
		err := d.send(c, driver, op, object, &state, func(ctx context.Context, conn *connection) (err error) {
			out, err = rpc(service(conn), ctx, in)
			return err
		})
		if state.Swap(callEnded) == callOverdue {
			d.late(c, err)
			return
		}
		ended <- err
	}()
	ctx, cancel := d.host.until(c.Deadline)
	defer cancel()
	select {
	case err := <-ended:
		return out, orNil(err)
	case <-ctx.Done():
	}
	switch state.Swap(callOverdue) {
	case callWaits:
		return none, neverSent(op, object, errors.New("no connection before the deadline"))
	case callEnded: // the answer was first after all
		return out, orNil(<-ended)
	}
	return none, noReply(op, object)
}

// send waits for a connection, until the deadline, and makes the call, until the deadline or the end of the late
// window.
func (d *drivers) send(
	c hal.Call, driver, op, object string, state *atomic.Int32, call func(context.Context, *connection) error,
) *hal.Error {
	conn, err := d.acquire(c.Deadline, driver)
	if err != nil {
		return neverSent(op, object, err)
	}
	defer conn.release()
	if !state.CompareAndSwap(callWaits, callGoes) {
		return neverSent(op, object, errors.New("no connection before the deadline"))
	}
	end := c.Deadline
	if end != 0 && c.Late != nil {
		end = end.Add(d.host.options.LateWindow)
	}
	ctx, cancel := d.host.until(end)
	defer cancel()
	var p progress
	if err := call(context.WithValue(ctx, progressKey{}, &p), conn); err != nil {
		return rpcError(op, object, err, p.sent.Load(), conn.said)
	}
	return nil
}

func orNil(e *hal.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// late tells the caller of a call that passed its deadline how it ended, if it is known to have ended. A call that was
// never sent was answered so at its deadline.
func (d *drivers) late(c hal.Call, e *hal.Error) {
	if c.Late == nil || e != nil && e.Reply != hal.ReplyStatus {
		return
	}
	d.host.runtime.Post(func() { c.Late(c.Op, orNil(e)) })
}

// rpcError says how far a failed RPC got. A status is the server's only if the server has sent it: gRPC makes up
// others.
func rpcError(op, object string, err error, sent bool, by *trailers) *hal.Error {
	st := status.Convert(err)
	e := &hal.Error{
		Op: op, Object: object, Class: hal.ClassRPC, Outcome: hal.Unknown, Reply: hal.ReplyNone,
		Code: hal.Code(st.Code()), Detail: bounded(st.Message()),
	}
	switch {
	case !sent:
		e.Reply, e.Outcome = hal.ReplyNever, hal.NotDone
	case by.take(uint32(st.Code()), st.Message()):
		e.Reply = hal.ReplyStatus
	}
	return e
}

func neverSent(op, object string, err error) *hal.Error {
	return &hal.Error{
		Op: op, Object: object, Class: hal.ClassRPC, Outcome: hal.NotDone, Reply: hal.ReplyNever,
		Code: hal.CodeUnavailable, Errno: errnoOf(err), Detail: oneLine(err.Error()),
	}
}

func noReply(op, object string) *hal.Error {
	return &hal.Error{
		Op: op, Object: object, Class: hal.ClassRPC, Outcome: hal.Unknown, Reply: hal.ReplyNone,
		Code: hal.CodeDeadlineExceeded, Detail: "no answer before the deadline",
	}
}

// rpcObject names the driver and what the request is about.
func rpcObject(name string, in any) string {
	driver := hal.DriverOf(name)
	switch r := in.(type) {
	case interface{ GetVolumeId() string }:
		return driver + " " + r.GetVolumeId()
	case interface{ GetName() string }:
		return driver + " " + r.GetName()
	}
	return driver
}
