package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/hal"
)

// PodAdded tells that a pod should be served, or that it has changed. The pod is not changed by its giver any more. A
// pod without a uid is not served: the log says so.
func (m *VolumeManager) PodAdded(pod *corev1.Pod) {
	m.h.Runtime.Post(func() { m.objects.takeIn(hal.Changed{Applied: []any{pod}}) })
}

// PodRemoved tells that a pod is no longer wanted. Its containers may still run until ContainersGone.
func (m *VolumeManager) PodRemoved(uid core.PodUID) {
	m.h.Runtime.Post(func() { m.objects.removePod(uid) })
}

// ContainersGone tells that no container of the pod runs, nor will again. Only then may its paths go.
func (m *VolumeManager) ContainersGone(uid core.PodUID) {
	if uid != "" {
		m.h.Runtime.Post(func() { step(&m.port, core.Gone{Pod: uid}) })
	}
}

// ask runs a question on the owner and waits for its answer. Once ctx is over, the owner may still write the answer, so
// nobody looks at it.
func ask[T any](ctx context.Context, runtime hal.Runtime, question func() T) (T, error) {
	answer, none := new(T), *new(T)
	err := runtime.Await(ctx, func(done func()) {
		*answer = question()
		done()
	})
	if err != nil {
		return none, err
	}
	return *answer, nil
}

// WaitForAttachAndMount blocks until all volumes of the pod are mounted, or ctx is over: then the error names each
// volume that is not, and why (K:F3).
func (m *VolumeManager) WaitForAttachAndMount(ctx context.Context, uid core.PodUID) error {
	return m.waits.waitFor(ctx, uid, core.PodReady)
}

// WaitForUnmount blocks until no volume of the pod is there, and no call may bring one back, or ctx is over: then the
// error names what is left. A pod that wants no volume has none.
func (m *VolumeManager) WaitForUnmount(ctx context.Context, uid core.PodUID) error {
	return m.waits.waitFor(ctx, uid, core.PodGone)
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
	return m.waits.wait(ctx, "", core.AllGone)
}

// NotReadyError says what a wait was waiting for when its time was over.
type NotReadyError struct {
	Pod     core.PodUID
	Volumes []VolumeStatus // those that are not as they should be
	Cause   error          // the end of the context
	// Why says why no volume is named.
	Why string
}

func (e *NotReadyError) Error() string {
	parts := make([]string, 0, len(e.Volumes)+1)
	for _, v := range e.Volumes {
		text := fmt.Sprintf("volume %s is %s", v.Name, v.State)
		if v.Why != "" {
			text += ": " + v.Why
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = append(parts, e.Why)
	}
	return fmt.Sprintf("pod %s: %s (%v)", e.Pod, strings.Join(parts, "; "), e.Cause)
}

// Unwrap yields the end of the context.
func (e *NotReadyError) Unwrap() error { return e.Cause }

// Status returns a snapshot of everything.
func (m *VolumeManager) Status(ctx context.Context) (Status, error) {
	return ask(ctx, m.h.Runtime, m.snapshot)
}

// Plan returns the operations that are to come, in order, if all goes well. Nothing is done.
func (m *VolumeManager) Plan(ctx context.Context) ([]core.Op, error) {
	return ask(ctx, m.h.Runtime, func() []core.Op {
		if m.core == nil {
			return nil
		}
		return m.core.Plan()
	})
}

// MountedVolume is one volume of a pod that is up.
type MountedVolume struct {
	Path     string // where the pod finds it
	ReadOnly bool   // the pod may not write it
	Block    bool   // Path is a raw block device
	pv       string // its PersistentVolume, "" for none
}

// GetMountedVolumesForPod returns the volumes of a pod that are up, and recorded as such, by spec.volumes[].name
// (K:F7). What is left of a volume that had the name of one that the pod wants now is not that one.
func (m *VolumeManager) GetMountedVolumesForPod(ctx context.Context, uid core.PodUID,
) (map[string]MountedVolume, error) {
	return ask(ctx, m.h.Runtime, func() map[string]MountedVolume { return m.questions.mountedOf(uid) })
}

// GetPossiblyMountedVolumesForPod returns those that are up or may be: all that are not gone (K:F8).
func (m *VolumeManager) GetPossiblyMountedVolumesForPod(ctx context.Context, uid core.PodUID,
) (map[string]MountedVolume, error) {
	return ask(ctx, m.h.Runtime, func() map[string]MountedVolume {
		return m.questions.volumesOf(uid, func(_ string, v core.View) bool { return !v.IsGone })
	})
}

// GetExtraSupplementalGroupsForPod returns the groups, sorted, that the PersistentVolumes of a pod name which are up,
// without those that the pod names itself (K:F9). Its containers need them.
func (m *VolumeManager) GetExtraSupplementalGroupsForPod(ctx context.Context, uid core.PodUID) ([]int64, error) {
	return ask(ctx, m.h.Runtime, func() []int64 { return m.questions.groupsOf(uid) })
}

// GetVolumesInUse returns the unique names of the attachable volumes that are wanted, or may be in use, on this node,
// sorted. Before the agent has read the node it is an error, and while it could not read some of it: what is not known
// is in use.
func (m *VolumeManager) GetVolumesInUse(ctx context.Context) ([]corev1.UniqueVolumeName, error) {
	type answer struct {
		names   []corev1.UniqueVolumeName
		unknown string // why others may be in use, too; "" if none may
	}
	a, err := ask(ctx, m.h.Runtime, func() (a answer) {
		if a.unknown = m.questions.unread(); a.unknown != "" {
			return a
		}
		for _, v := range m.core.View() {
			if name := m.cfg.VolumeSources.UniqueName(&v, m.objects.drivers[v.Actor]); name != "" {
				a.names = append(a.names, name)
			}
		}
		slices.Sort(a.names)
		a.names = slices.Compact(a.names) // a volume has a rung for each of its pods
		return a
	})
	if err == nil && a.unknown != "" {
		err = errors.New("volumes in use: not known yet: " + a.unknown + "; ask again")
	}
	return a.names, err
}

// MarkVolumesAsReportedInUse takes in what the server acknowledged of GetVolumesInUse.
func (m *VolumeManager) MarkVolumesAsReportedInUse([]corev1.UniqueVolumeName) {}

// VolumeIsAttached reports whether the volume named driver^handle is not gone from this node. While it is not, no other
// node is to get the volume. The name may be a kubelet's unique name.
func (m *VolumeManager) VolumeIsAttached(ctx context.Context, volume string) (bool, error) {
	volume = m.cfg.VolumeSources.VolumeOf(volume)
	if !strings.Contains(volume, "^") {
		return true, fmt.Errorf("%q names no volume; want driver^handle", volume) // unknown is attached
	}
	found, err := ask(ctx, m.h.Runtime, func() bool {
		return m.questions.unread() != "" || m.core.IsVolumeLeft(volume)
	})
	return found || err != nil, err // unknown is attached
}

// ReconcilerStatesHasBeenSynced reports whether every source has said all it knows, so that what is not wanted may be
// taken down.
func (m *VolumeManager) ReconcilerStatesHasBeenSynced(ctx context.Context) (bool, error) {
	return ask(ctx, m.h.Runtime, func() bool { return m.core != nil && m.core.Synced() })
}

// Deletions returns the latest deletions of data, oldest first: those of pods that are gone included.
func (m *VolumeManager) Deletions(ctx context.Context) ([]deletions.Entry, error) {
	return ask(ctx, m.h.Runtime, func() []deletions.Entry { return latest(m.deleting.recent) })
}

// snapshot composes the status. Owner only.
func (m *VolumeManager) snapshot() Status {
	s := Status{
		Node: m.cfg.NodeName, Synced: m.objects.all, Journal: m.commits.status(), Drivers: m.drivers.status(),
		Sources: append(m.objects.status(), m.hidden.status()...), Defects: m.defects,
		Pods: []PodStatus{}, Rungs: []RungStatus{}, // as JSON none is [], not null
	}
	s.Journal.Damage = m.own.damage
	if s.Starting = m.core == nil; s.Starting {
		s.Journal.Why = m.starting.why
		return s
	}
	for i, d := range s.Drivers {
		if d.Registered {
			s.Drivers[i].Storage = m.measuring.storageHealth(d.Name)
		}
	}
	rungs, views := map[hal.Key]RungStatus{}, m.core.View()
	s.Drivers = append(s.Drivers, m.drivers.away(views)...)
	for _, v := range views {
		r := m.questions.rungStatus(v)
		rungs[v.Key] = r
		s.Rungs = append(s.Rungs, r)
	}
	look := func(key hal.Key) (RungStatus, bool) {
		r, ok := rungs[key]
		return r, ok
	}
	for _, p := range m.core.Pods() {
		s.Pods = append(s.Pods, m.questions.podStatus(p, look))
	}
	return s
}
