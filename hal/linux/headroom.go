package linux

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// spareShare: of the blocks of the root directory's disk, and of its inodes, one of so many stays free.
const spareShare = 20

const fullDisk = "it leaves less than a twentieth of the disk of the root directory free"

// headroom is what stays free on the disk of a directory while somebody else's files are written there.
type headroom struct {
	dir int           // a descriptor, which the caller keeps open
	was unix.Statfs_t // before
}

func newHeadroom(dir int) (h headroom, err error) {
	h.dir = dir
	err = unix.Fstatfs(dir, &h.was)
	return h, err
}

// isUsedUp: the disk is nearly full, and was not so by much before.
func (h *headroom) isUsedUp() bool {
	var st unix.Statfs_t
	if unix.Fstatfs(h.dir, &st) != nil {
		return false
	}
	return st.Bavail < st.Blocks/spareShare && st.Bavail < h.was.Bavail ||
		st.Files > 0 && st.Ffree < st.Files/spareShare && st.Ffree < h.was.Ffree
}

// lacks: so many bytes never fit.
func (h *headroom) lacks(bytes int64) bool {
	spare := h.was.Blocks / spareShare
	return uint64(bytes) > (max(h.was.Bavail, spare)-spare)*uint64(h.was.Bsize)
}

// guards reads what is unpacked to the disk, and fails once the headroom is used up.
func (h *headroom) guards(r io.Reader) io.Reader { return &guarded{headroom: h, from: r} }

type guarded struct {
	*headroom
	from   io.Reader
	unseen int // bytes since the disk was looked at
}

// lookAfter is after how many bytes the disk is looked at. An entry of an archive has at least 512.
const lookAfter = 1 << 20

func (w *guarded) Read(into []byte) (int, error) {
	if w.unseen >= lookAfter {
		w.unseen = 0
		if w.isUsedUp() {
			return 0, because(syscall.ENOSPC, fullDisk)
		}
	}
	n, err := w.from.Read(into)
	w.unseen += n
	return n, err
}
