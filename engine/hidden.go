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
	*port
	found func() // is called when core knows what is there after all

	left []plugin.Unrecognised // names on the node that volnode leaves alone
	wait time.Duration         // until the next look; it doubles while nothing comes of it
	// the rungs with an operation that has ended since the reading began; nil while nothing is read
	ended   map[hal.Key]bool
	due     hal.Instant // lookForUsers lists nothing before that
	planned bool        // lookForUsers runs then
	until   hal.Instant // until then what comes may be of a setup of an earlier run, also of one without a record
}

// note: what is read at this moment may be older than the end of an operation on key.
func (d *hidden) note(key hal.Key) {
	if d.ended != nil {
		d.ended[key] = true
	}
}

// lookAtHidden looks once more, after a wait, if there is anything that could not be looked at.
func (d *hidden) lookAtHidden() {
	names := plugin.Hidden(d.left)
	if len(names) == 0 {
		d.wait = 0
		return
	}
	d.wait = min(max(2*d.wait, hiddenRetry), hiddenRetryMax)
	d.h.Runtime.At(d.h.Runtime.Now().Add(d.wait), func() {
		if !d.stopping {
			d.listAgain(names)
		}
	})
}

// lookForUsers lists everything again, at most once a minute: a driver says that a volume is in use, and nothing is
// known of that. A call that only a lost journal knew of may have come since the start.
func (d *hidden) lookForUsers() {
	now := d.h.Runtime.Now()
	switch {
	case d.planned || d.stopping || len(plugin.Hidden(d.left)) > 0: // everything is listed soon, or again and again
	case d.ended != nil || now < d.due:
		d.planned = true
		d.h.Runtime.At(max(d.due, now.Add(hiddenRetry)), func() {
			d.planned = false
			d.lookForUsers()
		})
	default:
		d.due = now.Add(hiddenRetryMax)
		d.listAgain(nil)
	}
}

// strangerCame has everything listed again while what has come at no volume's place may be such a call's.
func (d *hidden) strangerCame() {
	if d.h.Runtime.Now() < d.until {
		d.lookForUsers()
	}
}

// listAgain lists what earlier lives have left. Empty directories at some names go.
func (d *hidden) listAgain(names []string) {
	d.ended = map[hal.Key]bool{}
	d.h.Runtime.Go(func() {
		listing, err := d.cfg.VolumeSources.Scan(&d.h, hal.Call{}, d.cfg.RootDir, true)
		if err == nil {
			empty := slices.DeleteFunc(listing.Empty, func(at string) bool { return !isAtOrBelowAny(at, names) })
			prune(&d.h, hal.Call{}, d.cfg.RootDir, empty) // before anything may come up there
		}
		d.h.Runtime.Post(func() { d.lookedAtHidden(listing, err) })
	})
}

// lookedAtHidden takes in a listing that is newer than the start's.
func (d *hidden) lookedAtHidden(listing plugin.Listing, err error) {
	ended := d.ended
	d.ended = nil
	if err != nil {
		d.lookAtHidden()
		return
	}
	before := plugin.Hidden(d.left)
	orphans, left := orphans(&d.cfg, listing, func(key hal.Key) bool { return ended[key] || d.core.IsKnown(key) },
		d.core.HasVolume)
	for _, s := range left {
		if !slices.ContainsFunc(d.left, func(old plugin.Unrecognised) bool { return old.Path == s.Path }) {
			d.emit(NotRecognised{s.Path, s.Why})
		}
	}
	d.left = left
	if now := plugin.Hidden(left); !slices.Equal(before, now) || len(orphans) > 0 {
		d.emit(ListedAgain{len(orphans), len(now)})
		step(d.port, core.Discovered{Orphans: orphans, Hidden: now, Unseen: listing.Unseen})
		d.found()
	}
	d.lookAtHidden()
}

// status is the names that are left alone.
func (d *hidden) status() (out []SourceTrouble) {
	for _, s := range d.left {
		t := SourceTrouble{Source: "node", Where: s.Path, Why: s.Why, Hidden: s.IsHidden}
		if t.Hidden {
			t.Why += "; volnode sets up and tears down nothing there until it can read it, and tries each minute; make it " +
				"readable"
		}
		out = append(out, t)
	}
	return out
}

// orphans is what a listing tells of that is not known otherwise, and what is left alone.
func orphans(
	cfg *Config, listing plugin.Listing, isKnown func(hal.Key) bool, hasVolume func(string) bool,
) ([]core.Rung, []plugin.Unrecognised) {
	orphans, left := cfg.VolumeSources.Discover(cfg.RootDir, listing, cfg.driver)
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
func prune(h *hal.Host, c hal.Call, root string, empty []string) {
	for _, name := range empty {
		_, _ = op.Prune(h, c, name, plugin.Stop(root, name)) // only empty ones go
	}
}

func isAtOrBelowAny(at string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return at == name || strings.HasPrefix(at, name+"/") })
}
