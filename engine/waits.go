package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// waits is who waits for what.
type waits struct {
	*port
	isUnwritten func(hal.Key) bool                                     // the record of a rung that is up is on its way
	lacking     func(uid core.PodUID, on core.Condition) NotReadyError // what a wait waits for

	all  map[core.Waiter]waiting // Invariant: those that core has
	last core.Waiter             // the number of the last one
}

// waiting is somebody who waits.
type waiting struct {
	on   core.Condition // the condition
	done func()         // is called once, when it holds
}

// isForReady reports whether somebody waits for a pod to be ready.
func (w *waits) isForReady(id core.Waiter) bool { return w.all[id].on == core.PodReady }

// wake ends a wait, if it goes on.
func (w *waits) wake(id core.Waiter) {
	if is, ok := w.all[id]; ok {
		delete(w.all, id)
		is.done()
	}
}

// errNoUID is the answer to a wait for no pod.
var errNoUID = errors.New("the pod's UID is empty; give the UID of the pod to wait for")

// waitFor is wait for a pod. Its error says what is missing.
func (w *waits) waitFor(ctx context.Context, uid core.PodUID, on core.Condition) error {
	if uid == "" {
		return errNoUID
	}
	err := w.wait(ctx, uid, on)
	if err == nil || errors.Is(err, hal.ErrEnded) {
		return err
	}
	return w.missing(err, uid, on)
}

// wait blocks until the condition holds, or ctx is over.
func (w *waits) wait(ctx context.Context, uid core.PodUID, on core.Condition) error {
	var id core.Waiter
	err := w.h.Runtime.Await(ctx, func(done func()) {
		w.last++
		id = w.last
		w.all[id] = waiting{on, done}
		step(w.port, core.Await{Waiter: id, Pod: uid, For: on})
	})
	if err != nil {
		w.h.Runtime.Post(func() {
			delete(w.all, id)
			step(w.port, core.Forget{Waiter: id})
		})
		if w.holds(uid, on) {
			return nil
		}
	}
	return err
}

// holds looks once whether a condition is met, for a wait whose time was over before it could look. As in the status,
// what is up counts once its record is written.
func (w *waits) holds(uid core.PodUID, on core.Condition) bool {
	//nolint:staticcheck // a nil context is never over; the caller's is
	is, err := ask(nil, w.h.Runtime, func() bool {
		return w.core != nil && w.core.Holds(uid, on) &&
			!(on == core.PodReady && slices.ContainsFunc(w.core.Pod(uid).Tops, w.isUnwritten))
	})
	return err == nil && is
}

// missing composes the error of a wait that is over. It is taken whether or not the caller's context has ended.
func (w *waits) missing(cause error, uid core.PodUID, on core.Condition) error {
	//nolint:staticcheck // a nil context is never over; the caller's is
	lacks, err := ask(nil, w.h.Runtime, func() NotReadyError { return w.lacking(uid, on) })
	if err != nil {
		return errors.Join(cause, err)
	}
	lacks.Pod, lacks.Cause = uid, cause
	return &lacks
}
