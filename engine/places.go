package engine

import (
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file follows the directories of volumes that stand: the mount table tells nothing of a directory that is removed
// or replaced.

// hasDirectory reports whether a rung that is up as fingerprint is a directory, or a mount in a directory, that
// somebody may take away.
func (m *VolumeManager) hasDirectory(kind core.Kind, fingerprint string) bool {
	return m.cfg.VolumeSources.IsDirectory(kind) || op.IsBare(fingerprint) && strings.Contains(fingerprint, "directory")
}

// watchPlace begins to watch the directory of a rung. From a task. The caller hands the end of it to keepWatch, on the
// owner.
func (m *VolumeManager) watchPlace(key hal.Key, at string) (end func()) {
	return m.h.Watches.Path(at, func() { m.lookAgain(key) })
}

// watchMade begins to watch the directory that an operation has found or made, if nobody watches it yet. From a task.
func (m *VolumeManager) watchMade(op *core.Op, res *core.Result, isWatched bool) (end func()) {
	at := plugin.PathOf(op.Params)
	if op.Verb == core.TearDown || isWatched || res.Outcome != hal.Done || !m.hasDirectory(op.Kind, res.Fingerprint) ||
		!m.cfg.isBelowRoot(at) {
		return nil
	}
	return m.watchPlace(op.Key, at)
}

func (m *VolumeManager) keepWatch(key hal.Key, end func()) {
	if end != nil {
		m.unwatch(key)
		m.drift.watched[key] = end
	}
}

func (m *VolumeManager) unwatch(key hal.Key) {
	if end := m.drift.watched[key]; end != nil {
		delete(m.drift.watched, key)
		end()
	}
}

// watched is the directory of a rung.
type watched struct {
	key hal.Key
	at  string
}

// watchAll begins to watch what a start has found standing, and looks at it once more: somebody may have been there
// since it was found.
func (m *VolumeManager) watchAll() {
	var all []watched
	since := m.core.Seq()
	m.core.EachPresent(nil, since, func(key hal.Key, made []core.Param, fingerprint string) {
		v, _ := m.core.Rung(key)
		if at := plugin.PathOf(made); m.hasDirectory(v.Kind, fingerprint) && m.cfg.isBelowRoot(at) {
			all = append(all, watched{key, at})
		}
	})
	if len(all) > 0 {
		m.watchAndLook(all, since)
	}
}

// watchAndLook watches directories, and inspects each once it is watched: the watch reports what comes after that.
func (m *VolumeManager) watchAndLook(all []watched, since uint64) {
	m.h.Runtime.Go(func() {
		for _, w := range all {
			end := m.watchPlace(w.key, w.at)
			seen, err := op.Inspect(&m.h, hal.Call{}, w.at)
			m.h.Runtime.Post(func() {
				m.keepWatch(w.key, end)
				m.lookedAgain(w.key, seen, err, since)
			})
		}
	})
}

// watchAgain goes on watching the directory of a rung that is up after a teardown that has done nothing.
func (m *VolumeManager) watchAgain(op *core.Op) {
	made, fingerprint, _, isUp := m.core.PresentRung(op.Key, m.core.Seq())
	if isUp && m.hasDirectory(op.Kind, fingerprint) && m.cfg.isBelowRoot(plugin.PathOf(made)) {
		m.lookAgain(op.Key)
	}
}

// lookAgain inspects the place of a rung after a notice about it.
func (m *VolumeManager) lookAgain(key hal.Key) {
	m.unwatch(key)
	since := m.core.Seq()
	made, _, isBusy, isUp := m.core.PresentRung(key, since)
	switch {
	case !isUp || m.stopping:
		return
	case isBusy:
		m.lookLater(key)
		return
	}
	m.watchAndLook([]watched{{key, plugin.PathOf(made)}}, since)
}

func (m *VolumeManager) lookedAgain(key hal.Key, seen op.Seen, err error, since uint64) {
	_, fingerprint, isBusy, isUp := m.core.PresentRung(key, since)
	switch {
	case !isUp:
		m.unwatch(key)
	case err != nil || isBusy:
		m.lookLater(key)
	case seen.Fingerprint() != fingerprint:
		m.unwatch(key) // its next setup watches what it makes
		m.log(LevelWarn, "volume changed by someone else", "rung", string(key), "found", seen.Fingerprint())
		step(&m.port, core.Observed{Key: key, Fingerprint: seen.Fingerprint(), Since: since})
	}
}

// lookLater: what hides a place may stay for long.
func (m *VolumeManager) lookLater(key hal.Key) {
	wait := driftRetry
	if _, isCovered := m.core.CoverOf(key); isCovered {
		wait = coveredRetry
	}
	m.h.Runtime.At(m.h.Runtime.Now().Add(wait), func() { m.lookAgain(key) })
}
