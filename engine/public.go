package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	csiplugin "github.com/volnode/volnode/engine/plugin/csi"
	"github.com/volnode/volnode/hal"
)

// PodAdded tells that a pod should be served, or that it has changed. The pod is not changed by its giver any more.
func (m *VolumeManager) PodAdded(pod *corev1.Pod) {
	m.h.Runtime.Post(func() { m.changed(hal.Changed{Applied: []any{pod}}) })
}

// PodRemoved tells that a pod is no longer wanted. Its containers may still run until ContainersGone.
func (m *VolumeManager) PodRemoved(uid core.PodUID) {
	m.h.Runtime.Post(func() { m.objects.removePod(m, uid) })
}

// ContainersGone tells that no container of the pod runs, nor will again. Only then may its paths go.
func (m *VolumeManager) ContainersGone(uid core.PodUID) {
	m.h.Runtime.Post(func() { m.step(core.Gone{Pod: uid}) })
}

// ask runs a question on the owner and waits for its answer. Once ctx is over, the owner may still write the answer, so nobody looks at it.
func ask[T any](ctx context.Context, m *VolumeManager, question func() T) (T, error) {
	answer, none := new(T), *new(T)
	err := m.h.Runtime.Await(ctx, func(done func()) {
		*answer = question()
		done()
	})
	if err != nil {
		return none, err
	}
	return *answer, nil
}

// wait blocks until the condition holds, or ctx is over; then its error says what is missing.
func (m *VolumeManager) wait(ctx context.Context, uid core.PodUID, on core.Condition) error {
	var id core.Waiter
	err := m.h.Runtime.Await(ctx, func(done func()) {
		m.lastWaiter++
		id = m.lastWaiter
		m.waits[id] = done
		m.step(core.Await{Waiter: id, Pod: uid, For: on})
	})
	if err != nil {
		m.h.Runtime.Post(func() {
			delete(m.waits, id)
			m.step(core.Forget{Waiter: id})
		})
	}
	return err
}

// WaitForAttachAndMount blocks until all volumes of the pod are mounted, or ctx is over: then the error names each volume that is not, and
// why (K:F10).
func (m *VolumeManager) WaitForAttachAndMount(ctx context.Context, uid core.PodUID) error {
	if err := m.wait(ctx, uid, core.PodReady); err != nil {
		return m.missing(err, uid)
	}
	return nil
}

// WaitForUnmount blocks until the pod is gone, or ctx is over: then the error names what is left. Gone has one meaning in all questions: nothing is
// there, and no call may bring it back.
func (m *VolumeManager) WaitForUnmount(ctx context.Context, uid core.PodUID) error {
	if err := m.wait(ctx, uid, core.PodGone); err != nil {
		return m.missing(err, uid)
	}
	return nil
}

// WaitForAllPodsUnmount is WaitForUnmount for several pods. It waits for all, and joins what went wrong.
func (m *VolumeManager) WaitForAllPodsUnmount(ctx context.Context, uids []core.PodUID) error {
	var errs []error
	for _, uid := range uids {
		errs = append(errs, m.WaitForUnmount(ctx, uid))
	}
	return errors.Join(errs...)
}

// WaitForNothing blocks until every volume is gone, those that pods share included.
func (m *VolumeManager) WaitForNothing(ctx context.Context) error {
	return m.wait(ctx, "", core.AllGone)
}

// NotReadyError says what a wait was waiting for when its time was over.
type NotReadyError struct {
	Pod     core.PodUID
	Volumes []VolumeStatus // those that are not as they should be
	Cause   error          // the end of the context
}

func (e *NotReadyError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s: ", e.Pod)
	if len(e.Volumes) == 0 {
		fmt.Fprintf(&b, "is not known: no manifest or record names it (%v)", e.Cause)
	}
	for i, v := range e.Volumes {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "volume %s is %s: %s", v.Name, v.State, v.Why)
	}
	return b.String()
}

// Unwrap yields the end of the context.
func (e *NotReadyError) Unwrap() error { return e.Cause }

// missing composes the error of a wait that is over. It is taken whether or not the caller's context has ended.
func (m *VolumeManager) missing(cause error, uid core.PodUID) error {
	pod, _ := ask(nil, m, func() PodStatus { //nolint:staticcheck // a nil context is never over; the caller's is
		if m.core == nil {
			return PodStatus{}
		}
		return m.podStatus(m.core.Pod(uid), m.lookUp)
	})
	isFine := func(v VolumeStatus) bool { return v.State == Ready || v.State == Gone }
	return &NotReadyError{Pod: uid, Cause: cause, Volumes: slices.DeleteFunc(pod.Volumes, isFine)}
}

// Status returns a snapshot of everything.
func (m *VolumeManager) Status(ctx context.Context) (Status, error) {
	return ask(ctx, m, m.snapshot)
}

// Plan returns the operations that are to come, in order, if all goes well. Nothing is done.
func (m *VolumeManager) Plan(ctx context.Context) ([]core.Op, error) {
	return ask(ctx, m, func() []core.Op {
		if m.core == nil {
			return nil
		}
		return m.core.Plan()
	})
}

// MountedVolume is one volume of a pod that is up.
type MountedVolume struct {
	Path     string // where the pod finds it
	ReadOnly bool
	Block    bool
}

// GetMountedVolumesForPod returns the volumes of a pod that are up, and recorded as such, by spec.volumes[].name (K:F14).
func (m *VolumeManager) GetMountedVolumesForPod(ctx context.Context, uid core.PodUID) (map[string]MountedVolume, error) {
	return m.volumesOf(ctx, uid, func(v core.View) bool { return v.State == core.Present && !m.commits.unwritten[v.Key] })
}

// GetPossiblyMountedVolumesForPod returns those that are up or may be: all that are not gone (K:F15).
func (m *VolumeManager) GetPossiblyMountedVolumesForPod(ctx context.Context, uid core.PodUID) (map[string]MountedVolume, error) {
	return m.volumesOf(ctx, uid, func(v core.View) bool { return !v.IsGone })
}

func (m *VolumeManager) volumesOf(ctx context.Context, uid core.PodUID, count func(core.View) bool) (map[string]MountedVolume, error) {
	return ask(ctx, m, func() map[string]MountedVolume {
		volumes := map[string]MountedVolume{}
		if m.core == nil {
			return volumes
		}
		for _, name := range m.volumeNames(uid) {
			v, ok := m.core.Rung(name.top)
			if ok && count(v) {
				volumes[name.volume] = MountedVolume{
					Path: core.FactOf(v.Facts, "path"), ReadOnly: core.Value(v.Made, "readOnly") == "true", Block: core.Value(v.Made, "mode") == "block",
				}
			}
		}
		return volumes
	})
}

// GetExtraSupplementalGroupsForPod returns the groups that the pod's containers need for its volumes. No source that is supported yields any yet.
func (m *VolumeManager) GetExtraSupplementalGroupsForPod(context.Context, core.PodUID) ([]int64, error) {
	return nil, nil
}

// GetVolumesInUse returns the unique names of the attachable volumes that are wanted, or may be in use, on this node, sorted. Before the agent has
// read the node it is an error: what is not known is in use.
func (m *VolumeManager) GetVolumesInUse(ctx context.Context) ([]corev1.UniqueVolumeName, error) {
	type answer struct {
		names  []corev1.UniqueVolumeName
		isRead bool
	}
	a, err := ask(ctx, m, func() (a answer) {
		if a.isRead = m.core != nil; !a.isRead {
			return a
		}
		for _, v := range m.core.View() {
			isAttachable := csiplugin.IsAttached(v.Made) || plugin.AttachRequired(m.objects.drivers[v.Actor])
			if name := corev1.UniqueVolumeName("kubernetes.io/csi/" + v.Volume); isAttachable && v.Volume != "" && !slices.Contains(a.names, name) {
				a.names = append(a.names, name)
			}
		}
		slices.Sort(a.names)
		return a
	})
	if err == nil && !a.isRead {
		err = errors.New("volumes in use: not known yet: the agent has not read the node; ask again")
	}
	return a.names, err
}

// MarkVolumesAsReportedInUse takes in what the server acknowledged of GetVolumesInUse.
func (m *VolumeManager) MarkVolumesAsReportedInUse([]corev1.UniqueVolumeName) {}

// VolumeIsAttached reports whether the volume named driver^handle is not gone from this node. While it is not, no other node is to get the volume.
func (m *VolumeManager) VolumeIsAttached(ctx context.Context, volume string) (bool, error) {
	found, err := ask(ctx, m, func() bool {
		if m.core == nil {
			return true
		}
		return slices.ContainsFunc(m.core.View(), func(v core.View) bool { return v.Volume == volume && !v.IsGone })
	})
	return found || err != nil, err // unknown is attached
}

// ReconcilerStatesHasBeenSynced reports whether every source has said all it knows, so that what is not wanted may be taken down.
func (m *VolumeManager) ReconcilerStatesHasBeenSynced(ctx context.Context) (bool, error) {
	return ask(ctx, m, func() bool { return m.core != nil && m.core.Synced() })
}
