package disk

import (
	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// Shown is what a start sees at the paths of mounts and of binds, which tells whose bind is of which mount where no
// record does. The zero value has seen nothing.
type Shown struct{ at map[string]look }

// look is what is at one path.
type look struct {
	device  hal.Device
	mounted bool
	failed  bool
}

// Look looks at a path.
func (l *Shown) Look(s *plugin.Scanner, path string) {
	if l.at == nil {
		l.at = map[string]look{}
	}
	seen, err := op.Inspect(s.Host, s.Call, path)
	top, mounted := seen.Top()
	l.at[path] = look{top.Device, mounted, err != nil}
}

// Below are the mounts that a bind at path is of. It may be of each if one of the two could not be looked at.
func (l *Shown) Below(path string, mounts []core.Rung) (all []hal.Key) {
	bind := l.at[path]
	for i := range mounts {
		m := l.at[plugin.PathOf(mounts[i].Want)]
		if bind.failed || bind.mounted && (m.failed || m.mounted && m.device == bind.device) {
			all = append(all, mounts[i].Key)
		}
	}
	return all
}
