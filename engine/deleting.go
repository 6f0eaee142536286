package engine

import (
	"context"
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
)

// deleting is the log of deletions: no descent that deletes data starts before its entry is durable.
type deleting struct {
	log    *deletions.Log // a task's while a commit is under way
	told   map[hal.Key]bool
	recent []deletions.Entry
}

// entriesOf are the entries that the log needs before operations start. A rung needs one until it is gone.
func (m *VolumeManager) entriesOf(ops []core.Op) (entries []deletions.Entry, keys []hal.Key) {
	for _, op := range ops {
		if op.Verb == core.Climb {
			delete(m.deleting.told, op.Key) // what it makes may hold other data
		}
		if op.Verb != core.Descend || m.deleting.told[op.Key] {
			continue
		}
		made := m.vouched(op)
		doomed, does := kinds.Deletes(op.Kind, made)
		if !does {
			continue
		}
		e := deletions.Entry{Time: m.h.Machine.Date(), UID: string(op.Pod), Volume: doomed.Volume, Path: doomed.Path, Cause: m.causeOf(op.Pod, doomed)}
		e.Namespace, e.Name = kinds.PodOf(made)
		if entry := m.objects.pods[op.Pod]; entry != nil {
			e.Namespace, e.Name = entry.pod.Namespace, entry.pod.Name
		}
		entries, keys = append(entries, e), append(keys, op.Key)
	}
	return entries, keys
}

// vouched is what a descent is started with.
func (m *VolumeManager) vouched(op core.Op) []core.Param {
	if op.Verb == core.Descend && m.objects.named[op.Pod] {
		return kinds.Vouch(op.Kind, op.Params)
	}
	return op.Params
}

func (m *VolumeManager) causeOf(pod core.PodUID, doomed kinds.Doomed) string {
	switch {
	case m.objects.pods[pod] != nil:
		return "the pod does not have the volume any more, or wants it made differently, or it did not come up"
	case m.objects.named[pod]:
		return "a source named the pod, and it was removed"
	case doomed.IfEmpty:
		return "no source names the pod, and no record knows the directory: it is deleted only if it is empty"
	}
	return "all sources have been read, and none names the pod"
}

// announced takes in what came of the entries of a commit.
func (m *VolumeManager) announced(entries []deletions.Entry, keys []hal.Key) {
	for _, key := range keys {
		m.deleting.told[key] = true
	}
	all := append(m.deleting.recent, entries...)
	m.deleting.recent = slices.Clone(all[max(0, len(all)-deletions.MaxRecent):])
}

// Deletions returns the latest deletions of data, oldest first: those of pods that are gone included.
func (m *VolumeManager) Deletions(ctx context.Context) ([]deletions.Entry, error) {
	return ask(ctx, m, func() []deletions.Entry { return m.deleting.recent })
}
