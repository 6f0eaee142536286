package engine

import (
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// deleting is the log of deletions: no teardown that deletes data starts before its entry is durable.
type deleting struct {
	*port
	// pods is what sources say of them.
	pods interface {
		isNamed(core.PodUID) bool
		isWanted(core.PodUID) bool
		podName(uid core.PodUID, made []core.Param) (namespace, name string)
	}

	log    *deletions.Log              // a task's while a commit is under way
	told   map[hal.Key]deletions.Entry // what the log has of rungs that are not gone
	recent []deletions.Entry           // the latest are the last deletions.MaxRecent of it
}

// announcement is the entries of operations that are about to start, and which rungs they are of.
type announcement struct {
	entries []deletions.Entry // to be added to the log
	keys    []hal.Key         // of the entries
	told    []deletions.Entry // that the log should have by now
	again   []hal.Key         // of those
	waiting []hal.Key         // all rungs that wait for the log
}

// announcementOf is what the log must say before operations start. A rung needs one entry until it is gone.
func (d *deleting) announcementOf(ops []core.Op) (a announcement) {
	for i := range ops {
		op := &ops[i]
		if op.Verb == core.SetUp {
			delete(d.told, op.Key) // what it makes may hold other data
		}
		if op.Verb != core.TearDown {
			continue
		}
		if e, isTold := d.told[op.Key]; isTold {
			a.told, a.again, a.waiting = append(a.told, e), append(a.again, op.Key), append(a.waiting, op.Key)
			continue
		}
		doomed, does := d.cfg.VolumeSources.Deletes(op.Kind, op.Params, d.pods.isNamed(op.Pod))
		if !does {
			continue
		}
		e := deletions.Entry{
			Time: d.h.Machine.Date(), UID: string(op.Pod), Volume: doomed.Volume, Path: doomed.Path,
			Cause: d.causeOf(op.Pod, doomed),
		}
		e.Namespace, e.Name = d.pods.podName(op.Pod, op.Params)
		a.entries, a.keys, a.waiting = append(a.entries, e), append(a.keys, op.Key), append(a.waiting, op.Key)
	}
	return a
}

func (d *deleting) causeOf(pod core.PodUID, doomed plugin.Doomed) string {
	switch {
	case d.pods.isWanted(pod):
		return "the pod dropped the volume, or changed it, or its setup failed"
	case d.pods.isNamed(pod):
		return "the pod was removed from its source"
	case doomed.IfEmpty:
		return "no source names the pod and no record names the directory: volnode deletes it only if it is empty"
	}
	return "volnode has read all sources, and none names the pod"
}

// announced takes in what the log says by now.
func (d *deleting) announced(a announcement) {
	for i, key := range a.keys {
		d.told[key] = a.entries[i]
	}
	for i, key := range a.again { // they have other numbers if they were written again
		d.told[key] = a.told[i]
	}
	d.recent = append(d.recent, a.entries...)
	if len(d.recent) > 2*deletions.MaxRecent { // those who asked have slices of it
		d.recent = slices.Clone(latest(d.recent))
	}
}

func latest(all []deletions.Entry) []deletions.Entry {
	return all[max(0, len(all)-deletions.MaxRecent):]
}
