package disk

import (
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Shown is which filesystem each place shows, as a start finds it: nothing else tells of a bind mount, without a
// record, which disk it is of.
type Shown struct{ table []hal.Mount }

// Look reads the mount table.
func (w *Shown) Look(s *plugin.Scanner) (err error) {
	w.table, err = s.Host.Mounts.Table(s.Call)
	return err
}

// Stand has each bind mount stand on the mount of the same filesystem: that stays until the bind mount has gone, which
// it proves to be volnode's.
func (w *Shown) Stand(binds, mounts []core.Rung) {
	for i := range binds {
		at, is := w.at(plugin.PathOf(binds[i].Want))
		if !is {
			continue
		}
		for _, m := range mounts {
			if on, is := w.at(plugin.PathOf(m.Want)); is && on.Device == at.Device {
				binds[i].Below = []hal.Key{m.Key}
			}
		}
	}
}

// at is the top mount at a path.
func (w *Shown) at(path string) (m hal.Mount, is bool) {
	for _, m := range slices.Backward(w.table) {
		if m.Path == path {
			return m, true
		}
	}
	return m, false
}
