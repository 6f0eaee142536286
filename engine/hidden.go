package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// A start may fail to list a directory or to read a data file, and volumes of an earlier life may be there. The manager
// tries again until it succeeds. Until then the status names each such path.

// The wait before the next try doubles from hiddenRetry to hiddenRetryMax.
const (
	hiddenRetry    = time.Second
	hiddenRetryMax = time.Minute
)

// hidden is the looking again.
type hidden struct {
	wait time.Duration
	// the rungs with an operation that has ended since the reading began; nil while nothing is read
	ended map[hal.Key]bool
	due   hal.Instant // before that no driver's word has everything listed again
}

// note: what is read at this moment may be older than the end of an operation on key.
func (d *hidden) note(key hal.Key) {
	if d.ended != nil {
		d.ended[key] = true
	}
}

// lookAtHidden looks once more, after a wait, if there is anything that could not be looked at.
func (m *VolumeManager) lookAtHidden() {
	names := plugin.Hidden(m.left)
	if len(names) == 0 {
		m.hidden.wait = 0
		return
	}
	m.hidden.wait = min(max(2*m.hidden.wait, hiddenRetry), hiddenRetryMax)
	m.h.Runtime.At(m.h.Runtime.Now().Add(m.hidden.wait), func() {
		if !m.stopping {
			m.listAgain(names)
		}
	})
}

// lookForUsers lists everything again, at most once a minute: a driver says that a volume is in use, and nothing is
// known of that. A call that only a lost journal knew of may have come since the start.
func (m *VolumeManager) lookForUsers() {
	now := m.h.Runtime.Now()
	if m.hidden.ended != nil || now < m.hidden.due || len(plugin.Hidden(m.left)) > 0 {
		return
	}
	m.hidden.due = now.Add(hiddenRetryMax)
	m.listAgain(nil)
}

// listAgain lists what earlier lives have left. Empty directories at some names go.
func (m *VolumeManager) listAgain(names []string) {
	m.hidden.ended = map[hal.Key]bool{}
	m.h.Runtime.Go(func() {
		listing, err := m.cfg.VolumeSources.Scan(&m.h, hal.Call{}, m.cfg.RootDir, true)
		if err == nil {
			empty := slices.DeleteFunc(listing.Empty, func(at string) bool { return !isAtOrBelowAny(at, names) })
			m.prune(&m.h, hal.Call{}, empty) // before anything may come up there
		}
		m.h.Runtime.Post(func() { m.lookedAtHidden(listing, err) })
	})
}

// lookedAtHidden takes in a listing that is newer than the start's.
func (m *VolumeManager) lookedAtHidden(listing plugin.Listing, err error) {
	ended := m.hidden.ended
	m.hidden.ended = nil
	if err != nil {
		m.lookAtHidden()
		return
	}
	before := plugin.Hidden(m.left)
	orphans, left := m.orphans(listing, func(key hal.Key) bool { return ended[key] || m.core.IsKnown(key) },
		m.core.HasVolume)
	for _, s := range left {
		if !slices.ContainsFunc(m.left, func(old plugin.Unrecognised) bool { return old.Path == s.Path }) {
			m.log(LevelWarn, "not recognised; volnode leaves it alone", "path", s.Path, "why", s.Why)
		}
	}
	m.left = left
	if now := plugin.Hidden(left); !slices.Equal(before, now) || len(orphans) > 0 {
		m.log(LevelInfo, "read again what the start could not read", "without-record", itoa(len(orphans)), "hidden",
			itoa(len(now)))
		step(&m.port, core.Discovered{Orphans: orphans, Hidden: now, Unseen: listing.Unseen})
		m.objects.endUnnamedPods()
		m.drift.tableChanged(nil)
	}
	m.lookAtHidden()
}

// orphans is what a listing tells of that is not known otherwise, and what is left alone.
func (m *VolumeManager) orphans(
	listing plugin.Listing, isKnown func(hal.Key) bool, hasVolume func(string) bool,
) ([]core.Rung, []plugin.Unrecognised) {
	orphans, left := m.cfg.VolumeSources.Discover(m.cfg.RootDir, listing, m.cfg.driver)
	left = slices.DeleteFunc(left, func(u plugin.Unrecognised) bool { return u.Volume != "" && hasVolume(u.Volume) })
	return slices.DeleteFunc(orphans, func(r core.Rung) bool { return isKnown(r.Key) }), left
}

// untold returns the names of unseen below which something is mounted where no record has a place.
func untold(unseen []string, table []hal.Mount, records []core.Record) []string {
	if len(unseen) == 0 {
		return nil
	}
	places := map[string]bool{}
	for _, rec := range records {
		for _, at := range rec.Rung.Places {
			places[at] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(unseen), func(name string) bool {
		return !slices.ContainsFunc(table, func(m hal.Mount) bool {
			return strings.HasPrefix(m.Path, name+"/") && !places[m.Path]
		})
	})
}

// prune removes empty directories. One that can't be removed is in nobody's way; the next start tries again.
func (m *VolumeManager) prune(h *hal.Host, c hal.Call, empty []string) {
	for _, name := range empty {
		_, _ = op.Prune(h, c, name, plugin.Stop(m.cfg.RootDir, name)) // only empty ones go
	}
}

func isAtOrBelowAny(at string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return at == name || strings.HasPrefix(at, name+"/") })
}
