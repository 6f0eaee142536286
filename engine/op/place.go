package op

import (
	"path"
	"strconv"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Call is the hal.Call of an operation.
func Call(o core.Op) hal.Call { return hal.Call{Op: o.ID, Key: o.Key, Deadline: o.Deadline} }

// Seen is what a look found at a path.
type Seen struct {
	Stack []hal.Mount // bottom first
	// Exists, Type and Inode are of the name itself. With a mount on it they are not asked for: Exists is true and the
	// rest unset.
	Exists bool
	Type   hal.FileType
	Inode  uint64
	Born   int64 // see [hal.Info]
}

// Inspect tells what is at path. A path whose parents are missing has nothing. An error means that nothing is known:
// never that nothing is there.
func Inspect(h *hal.Host, c hal.Call, path string) (Seen, error) {
	stack, err := h.Mounts.At(c, path)
	if err != nil && !hal.Is(err, syscall.ENOENT) {
		return Seen{}, err
	}
	if len(stack) > 0 {
		return Seen{Stack: stack, Exists: true}, nil
	}
	info, err := h.Tree.Stat(c, path)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return Seen{}, nil
	case err != nil:
		return Seen{}, err
	case info.MountPoint:
		// Mounted between the two readings.
		stack, err = h.Mounts.At(c, path)
		return Seen{Stack: stack, Exists: true}, err
	}
	return Seen{Exists: true, Type: info.Type, Inode: info.Inode, Born: info.Born}, nil
}

// Top is the mount that hides the others.
func (s Seen) Top() (hal.Mount, bool) {
	if len(s.Stack) == 0 {
		return hal.Mount{}, false
	}
	return s.Stack[len(s.Stack)-1], true
}

// Fingerprint is what is there, in one comparable line, "" for nothing: the top mount, else the file itself.
func (s Seen) Fingerprint() string {
	if m, ok := s.Top(); ok {
		return m.Fingerprint()
	}
	if !s.Exists {
		return ""
	}
	var b [96]byte
	text := append(append(append(b[:0], bare...), s.Type.String()...), " inode "...)
	text = strconv.AppendUint(text, s.Inode, 10)
	if s.Born != 0 {
		text = strconv.AppendInt(append(text, " born "...), s.Born, 10)
	}
	return string(text)
}

// bare begins the fingerprint of a file on which nothing is mounted (core.IsBare).
const bare = "no mount, "

// IsBare reports whether a fingerprint is of a place where nothing was mounted.
func IsBare(fingerprint string) bool { return core.IsBare(fingerprint) }

// Show is Fingerprint for people.
func Show(fingerprint string) string {
	if fingerprint == "" {
		return "nothing"
	}
	return fingerprint
}

// MountsBelow returns the mounts whose mount point lies strictly below dir.
func MountsBelow(table []hal.Mount, dir string) []hal.Mount {
	var below []hal.Mount
	dir = path.Clean(dir)
	for _, m := range table {
		if isBelow(m.Path, dir) {
			below = append(below, m)
		}
	}
	return below
}
