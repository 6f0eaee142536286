package engine

import (
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// places follows the directories of volumes that stand: the mount table tells nothing of a directory that is removed or
// replaced.
type places struct {
	*port
	watched map[hal.Key]func() // ends the watch of a rung's directory
}

// hasDirectory reports whether a rung that is up as fingerprint is a directory, or a mount in a directory, that
// somebody may take away.
func (p *places) hasDirectory(kind core.Kind, fingerprint string) bool {
	return p.cfg.VolumeSources.IsDirectory(kind) || op.IsBare(fingerprint) && strings.Contains(fingerprint, "directory")
}

// watchPlace begins to watch the directory of a rung. From a task. The caller hands the end of it to keepWatch, on the
// owner.
func (p *places) watchPlace(key hal.Key, at string) (end func()) {
	return p.h.Watches.Path(at, func() { p.lookAgain(key) })
}

// watchMade begins to watch the directory that an operation has found or made, if nobody watches it yet. From a task.
func (p *places) watchMade(op *core.Op, res *core.Result, isWatched bool) (end func()) {
	at := plugin.PathOf(op.Params)
	if op.Verb == core.TearDown || isWatched || res.Outcome != hal.Done || !p.hasDirectory(op.Kind, res.Fingerprint) ||
		!p.cfg.isBelowRoot(at) {
		return nil
	}
	return p.watchPlace(op.Key, at)
}

// isWatched reports whether somebody watches the directory of a rung.
func (p *places) isWatched(key hal.Key) bool { return p.watched[key] != nil }

func (p *places) keepWatch(key hal.Key, end func()) {
	if end != nil {
		p.unwatch(key)
		p.watched[key] = end
	}
}

func (p *places) unwatch(key hal.Key) {
	if end := p.watched[key]; end != nil {
		delete(p.watched, key)
		end()
	}
}

// watched is the directory of a rung.
type watched struct {
	key hal.Key // the rung
	at  string  // the path
}

// watchAll begins to watch what a start has found standing, and looks at it once more: somebody may have been there
// since it was found.
func (p *places) watchAll() {
	var all []watched
	since := p.core.Seq()
	p.core.EachPresent(nil, since, func(key hal.Key, made []core.Param, fingerprint string) {
		v, _ := p.core.Rung(key)
		if at := plugin.PathOf(made); p.hasDirectory(v.Kind, fingerprint) && p.cfg.isBelowRoot(at) {
			all = append(all, watched{key, at})
		}
	})
	if len(all) > 0 {
		p.watchAndLook(all, since)
	}
}

// watchAndLook watches directories, and inspects each once it is watched: the watch reports what comes after that.
func (p *places) watchAndLook(all []watched, since uint64) {
	p.h.Runtime.Go(func() {
		for _, w := range all {
			end := p.watchPlace(w.key, w.at)
			seen, err := op.Inspect(&p.h, hal.Call{}, w.at)
			p.h.Runtime.Post(func() {
				p.keepWatch(w.key, end)
				p.lookedAgain(w.key, seen, err, since)
			})
		}
	})
}

// watchAgain goes on watching the directory of a rung that is up after a teardown that has done nothing.
func (p *places) watchAgain(op *core.Op) {
	made, fingerprint, _, isUp := p.core.PresentRung(op.Key, p.core.Seq())
	if isUp && p.hasDirectory(op.Kind, fingerprint) && p.cfg.isBelowRoot(plugin.PathOf(made)) {
		p.lookAgain(op.Key)
	}
}

// lookAgain inspects the place of a rung after a notice about it.
func (p *places) lookAgain(key hal.Key) {
	p.unwatch(key)
	since := p.core.Seq()
	made, _, isBusy, isUp := p.core.PresentRung(key, since)
	switch {
	case !isUp || p.stopping:
		return
	case isBusy:
		p.lookLater(key)
		return
	}
	p.watchAndLook([]watched{{key, plugin.PathOf(made)}}, since)
}

func (p *places) lookedAgain(key hal.Key, seen op.Seen, err error, since uint64) {
	_, fingerprint, isBusy, isUp := p.core.PresentRung(key, since)
	switch {
	case !isUp:
		p.unwatch(key)
	case err != nil || isBusy:
		p.lookLater(key)
	case seen.Fingerprint() != fingerprint:
		p.unwatch(key) // its next setup watches what it makes
		p.emit(VolumeChanged{key, seen.Fingerprint()})
		step(p.port, core.Observed{Key: key, Fingerprint: seen.Fingerprint(), Since: since})
	}
}

// lookLater: what hides a place may stay for long.
func (p *places) lookLater(key hal.Key) {
	wait := driftRetry
	if _, isCovered := p.core.CoverOf(key); isCovered {
		wait = coveredRetry
	}
	p.h.Runtime.At(p.h.Runtime.Now().Add(wait), func() { p.lookAgain(key) })
}
