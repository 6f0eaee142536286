package op

import (
	"fmt"
	"path"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Mounted is a mount of its own that a pod has at a directory of its own.
type Mounted struct {
	Path string
	Stop string // directories above Path that are left empty are removed up to this one, itself excluded
	// Owns reports whether m, one of so many mounts at the path, is the volume's. One that was confirmed always is.
	Owns func(m hal.Mount, mounts int) (bool, error)
}

// Foreign is the end of an operation that finds a mount at the path that is not the volume, the last of stack.
func (d Mounted) Foreign(o core.Op, stack []hal.Mount) core.Result {
	if len(stack) == 0 {
		return Unknown("mounted, but nothing is mounted at " + d.Path + ": someone unmounted it; volnode tries again")
	}
	return foreign(o, d.Path, Seen{Stack: stack, Exists: true})
}

// Remove unmounts what is the volume's, and removes the empty directory that it was mounted on. What somebody put there
// while nothing was mounted stays, and the operation fails.
func (d Mounted) Remove(h *hal.Host, o core.Op) core.Result {
	c := Call(o)
	seen, err := Inspect(h, c, d.Path)
	if err != nil {
		return NotDone(err.Error())
	}
	for i := len(seen.Stack) - 1; i >= 0; i-- {
		m := seen.Stack[i]
		isOwn := m.Was(o.Fingerprint)
		if !isOwn {
			if isOwn, err = d.Owns(m, len(seen.Stack)); err != nil {
				return NotDone(err.Error())
			}
		}
		if !isOwn {
			return d.Foreign(o, seen.Stack[:i+1])
		}
		if err := h.Mounts.Unmount(c, d.Path, m.ID); err != nil {
			if i < len(seen.Stack)-1 {
				return Unknown(err.Error())
			}
			return Failed(err)
		}
	}
	if seen, err = Inspect(h, c, d.Path); err != nil {
		return Unknown(fmt.Sprintf("unmounted, but volnode cannot inspect %s: %v", d.Path, err))
	}
	if seen.Exists {
		if err := RemoveDirectory(h, c, d.Path, seen); err != nil {
			return Unknown(err.Error())
		}
	}
	if _, err := Prune(h, c, path.Dir(d.Path), d.Stop); err != nil {
		return Unknown(err.Error())
	}
	return core.Result{Outcome: hal.Done}
}
