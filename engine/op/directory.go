package op

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Directory is a directory of a pod's own: on disk, or a filesystem in memory that is mounted there.
type Directory struct {
	Path string
	Stop string // directories above Path that are left empty are removed up to this one, itself excluded
	Mode uint32 // of the directory, and of the root of what is mounted there
	// Group is that of the pod's files, "" for none. The directory is of it, and has the set-group-ID bit: so is all
	// that is made below (inode(7), K:G102).
	Group string
	// Source marks filesystems in memory as ours, in the mount table, across restarts.
	Source   string
	InMemory bool
	Size     string // bytes, in memory; "" is the kernel's default: half of the RAM (tmpfs(5)), or all huge pages
	// PageSize is that of the huge pages which the filesystem in memory is made of, in bytes; "" for none.
	PageSize string
	// IsLimited: a project quota may hold it to a limit, which goes before its files are deleted: once it is gone,
	// nothing tells of the limit.
	IsLimited bool
	// Project is that of the quota; 0 if it is not known.
	Project uint32
}

// owns: m is the mount that was confirmed, or carries our mark.
func (d Directory) owns(o core.Op, m hal.Mount) bool {
	return m.Fingerprint() == o.Fingerprint || (m.FSType == "tmpfs" || m.FSType == hugePages) && m.Source == d.Source
}

// Make makes the directory, and returns what is there then. It is not ok if it can't, and r says why. What fails here
// may have made directories, so it is Unknown: what it has made goes again if nobody wants it any more.
func (d Directory) Make(h *hal.Host, o core.Op) (seen Seen, r core.Result, ok bool) {
	c := Call(o)
	if err := Mkdirs(h, c, d.Path, d.Mode); err != nil {
		return seen, Unknown(err.Error()), false
	}
	if err := d.furnish(h, c); err != nil {
		return seen, Unknown(err.Error()), false
	}
	seen, err := Inspect(h, c, d.Path)
	if err != nil {
		return seen, Unknown("set up, but volnode cannot inspect it: " + err.Error()), false
	}
	top, mounted := seen.Top()
	if mounted != d.InMemory || mounted && !d.owns(o, top) {
		return seen, foreign(o, d.Path, seen), false
	}
	if mounted && top.FSType != d.fsType() {
		r := Unknown(d.Path + " has a filesystem of another medium; volnode makes it again")
		r.UndoFirst = true
		return seen, r, false
	}
	if !mounted && seen.Type != hal.TypeDirectory {
		return seen, Unknown(d.Path + " is no directory: someone removed or replaced the directory of the volume"), false
	}
	if err := d.giveHuge(h, o, top); err != nil {
		return seen, Unknown(err.Error()), false
	}
	return seen, core.Result{Outcome: hal.Done, Fingerprint: seen.Fingerprint()}, true
}

func (d Directory) furnish(h *hal.Host, c hal.Call) error {
	if d.InMemory {
		return d.mount(h, c)
	}
	return d.give(h, c)
}

// FullMode is the mode of the directory, and of those below that are made as it is.
func (d Directory) FullMode() uint32 {
	if d.Group != "" {
		return d.Mode | setGroupID
	}
	return d.Mode
}

// setGroupID is S_ISGID.
const setGroupID = 0o2000

// give gives a directory that is as it was made to the group, in steps: each may be the last of a life, or lost with
// the power. What a pod has made of it since, it keeps.
func (d Directory) give(h *hal.Host, c hal.Call) error {
	if d.Group == "" {
		return nil
	}
	group := Number(d.Group)
	is, err := h.Tree.Stat(c, d.Path)
	isAsMade := is.Type == hal.TypeDirectory && is.UID == 0 && is.GID == 0 && is.Mode|setGroupID == d.FullMode()
	if err != nil || !isAsMade {
		return err
	}
	if is.Mode != d.FullMode() {
		if err := h.Tree.Chmod(c, d.Path, d.FullMode()); err != nil {
			return err
		}
	}
	if group <= 0 {
		return nil
	}
	return h.Tree.Chown(c, d.Path, -1, group)
}

// hugePages is the filesystem of huge pages (Documentation/admin-guide/mm/hugetlbpage.rst of Linux).
const hugePages = "hugetlbfs"

// fsType is that of the volume in memory.
func (d Directory) fsType() string {
	if d.PageSize != "" {
		return hugePages
	}
	return "tmpfs"
}

// giveHuge sets the set-group-ID bit of the root of such a filesystem, until it was up once: its mount option "mode"
// drops it.
func (d Directory) giveHuge(h *hal.Host, o core.Op, top hal.Mount) error {
	if d.PageSize == "" || d.Group == "" || o.Fingerprint != "" {
		return nil
	}
	c := Call(o)
	c.Inside = hal.Inside{Path: d.Path, ID: top.ID}
	is, err := h.Tree.Stat(c, d.Path)
	if err != nil || is.Mode != d.Mode {
		return err
	}
	return h.Tree.Chmod(c, d.Path, d.FullMode())
}

// Number is the number of a user or a group, -1 if it is none.
func Number(id string) int {
	if n, err := strconv.ParseInt(id, 10, 32); err == nil && n >= 0 {
		return int(n)
	}
	return -1
}

// mount mounts the filesystem in memory, unless something is mounted: ours or not, the inspection that follows tells.
func (d Directory) mount(h *hal.Host, c hal.Call) error {
	seen, err := Inspect(h, c, d.Path)
	if err != nil {
		return err
	}
	if _, mounted := seen.Top(); mounted {
		return nil
	}
	options := []hal.Option{{Key: "mode", Value: fmt.Sprintf("%04o", d.FullMode())}}
	if d.Group != "" {
		options = append(options, hal.Option{Key: "gid", Value: d.Group})
	}
	if d.Size != "" {
		options = append(options, hal.Option{Key: "size", Value: d.Size})
	}
	mount := hal.NewMount{FSType: d.fsType(), Source: d.Source, Target: d.Path, Flags: []string{"nosuid", "nodev"}}
	if d.PageSize != "" {
		mount.Options = append(options, hal.Option{Key: "pagesize", Value: d.PageSize})
		err := h.Mounts.Mount(c, mount)
		if hal.Is(err, syscall.EINVAL) || hal.Is(err, syscall.ENODEV) {
			return fmt.Errorf("%w: the node has no huge pages of %s bytes (ls /sys/kernel/mm/hugepages)", err, d.PageSize)
		}
		return err
	}
	// what a pod keeps in memory is not to reach a disk, as with the kubelet
	mount.Options = append(slices.Clone(options), hal.Option{Key: "noswap"})
	err = h.Mounts.Mount(c, mount)
	if hal.Is(err, syscall.EINVAL) && hal.OutcomeOf(err) == hal.NotDone {
		// a kernel before 6.4 does not know noswap, and has mounted nothing
		mount.Options = options
		err = h.Mounts.Mount(c, mount)
	}
	return err
}

func foreign(o core.Op, dir string, seen Seen) core.Result {
	r := Unknown(fmt.Sprintf("%s: unexpected mount %s (recorded: %s); volnode leaves it alone; unmount it",
		dir, seen.Fingerprint(), Show(o.Fingerprint)))
	r.Blocked = true
	return r
}

// Remove moves the directory aside before it deletes it, so that what is at the path is always whole or gone, and one
// that was cut short goes on where it was. A mount below the directory, which a container may have left there, stops it
// before anything is touched.
func (d Directory) Remove(h *hal.Host, o core.Op) core.Result {
	c, trash := Call(o), TrashOf(d.Path)
	if r, ok := d.clearMounts(h, o, trash); !ok {
		return r
	}
	until := h.Runtime.Now().Add(deletionTurn)
	if more, err := d.discard(h, c, trash, until); more || err != nil {
		return leftover(more, err)
	}
	err := h.Tree.Rename(c, d.Path, trash)
	switch {
	case hal.Is(err, syscall.ENOENT):
	case err != nil:
		return refused(Unknown("cannot move its directory aside to delete it: "+err.Error()), err)
	default:
		if more, err := d.discard(h, c, trash, until); more || err != nil {
			return leftover(more, err)
		}
	}
	if _, err := Prune(h, c, path.Dir(d.Path), d.Stop); err != nil {
		return Unknown(err.Error())
	}
	return core.Result{Outcome: hal.Done}
}

// clearMounts unmounts the volume's own filesystem and makes sure that no other mount is at or below the directory.
func (d Directory) clearMounts(h *hal.Host, o core.Op, trash string) (core.Result, bool) {
	c := Call(o)
	around, err := h.Mounts.Within(c, path.Dir(d.Path)) // the directory and its trash lie there
	if err != nil {
		return NotDone(err.Error()), false
	}
	below := append(MountsBelow(around, d.Path), MountsBelow(around, trash)...)
	if len(below) > 0 {
		r := NotDone(fmt.Sprintf("cannot delete it: %s is mounted on %s, below the volume; volnode leaves it alone; "+
			"unmount it",
			below[0].Fingerprint(), below[0].Path))
		r.Blocked = true
		return r, false
	}
	seen, err := Inspect(h, c, d.Path)
	if err != nil {
		return NotDone(err.Error()), false
	}
	for i := len(seen.Stack) - 1; i >= 0; i-- {
		if m := seen.Stack[i]; !d.owns(o, m) {
			return foreign(o, d.Path, Seen{Stack: seen.Stack[:i+1], Exists: true}), false
		}
		if err := h.Mounts.Unmount(c, d.Path, seen.Stack[i].ID); err != nil {
			if i < len(seen.Stack)-1 {
				return Unknown(err.Error()), false
			}
			return Failed(err), false
		}
	}
	return core.Result{}, true
}

// ClearTrash goes on with a deletion that the pod's coming back has overtaken, and says what is left of it.
func (d Directory) ClearTrash(h *hal.Host, o core.Op) (short string, more bool) {
	if o.First {
		return "", false
	}
	more, err := d.discard(h, Call(o), TrashOf(d.Path), h.Runtime.Now().Add(deletionTurn))
	switch {
	case err != nil:
		return "cannot delete all files of its last life: " + err.Error(), false
	case more:
		return "volnode still deletes files of its last life", true
	}
	return "", false
}

// discard deletes what was moved aside, as far as its turn goes. If that is of another project than is known, as it is
// of an earlier life of the pod, or somebody has changed it, its limit goes once nothing is of it.
func (d Directory) discard(
	h *hal.Host, c hal.Call, trash string, until hal.Instant,
) (more bool, err error) {
	isOther := false
	if d.IsLimited {
		err := h.Quotas.Lift(c, trash, d.Project)
		if isOther = hal.Is(err, syscall.EEXIST); err != nil && !isOther {
			return false, err
		}
	}
	if more, err = deleteTree(h, c, trash, until); isOther && !more && err == nil {
		err = h.Quotas.Lift(c, trash, d.Project)
	}
	return more, err
}

// HasTrash reports whether a deletion of ours, which has not ended, is why the volume's directory is another one. A
// version that did not write down a deletion before it began may have begun it, or the line is lost.
func (d Directory) HasTrash(h *hal.Host, o core.Op) bool {
	info, err := h.Tree.Stat(Call(o), TrashOf(d.Path))
	return err == nil && info.Type == hal.TypeDirectory
}

// TrashOf is where a directory is moved before it is deleted: beside it, so on the same filesystem, under a name that
// no volume has.
func TrashOf(dir string) string {
	parent, name := path.Split(dir)
	return parent + "." + name + trashSuffix
}

const trashSuffix = ".deleting"

// Trashed is the name of the volume that a directory is, or was before it was moved to its trash.
func Trashed(name string) string {
	if inner, ok := strings.CutPrefix(name, "."); ok {
		if volume, ok := strings.CutSuffix(inner, trashSuffix); ok {
			return volume
		}
	}
	return name
}

const (
	// deletionTurn is how long one operation deletes. The next one goes on: so a stop of the agent never waits for
	// millions of files.
	deletionTurn = time.Second
	// A step of a deletion is as large as the disk allows, for a stop waits for its end.
	firstStep, largestStep = 256, 1 << 16 // names
	longStep               = 50 * time.Millisecond
)

// deleteTree deletes what is at a path until it is gone, nothing more can go, or it is time to stop; then it reports
// that more is left.
func deleteTree(h *hal.Host, c hal.Call, path string, until hal.Instant) (more bool, err error) {
	for limit := firstStep; ; {
		begun := h.Runtime.Now()
		more, err := h.Tree.RemoveTree(c, path, limit)
		now := h.Runtime.Now()
		if !more || err != nil || now >= until {
			return more, err
		}
		if now.Sub(begun) < longStep {
			limit = min(2*limit, largestStep)
		}
	}
}

// leftover: the volume is gone from its path, what it held is not yet deleted.
func leftover(more bool, err error) core.Result {
	if err == nil && more {
		r := Unknown("volnode deletes its files")
		r.Unfinished = true
		return r
	}
	return refused(Unknown("cannot delete all of its files: "+err.Error()), err)
}

// lasting are the errors that trying again does not mend.
var lasting = []syscall.Errno{
	syscall.EBUSY, syscall.EPERM, syscall.EACCES, syscall.EROFS, syscall.EXDEV, syscall.ELOOP,
	syscall.ENOTDIR,
}

// refused is r, which waits for a person if err lasts.
func refused(r core.Result, err error) core.Result {
	r.Blocked = slices.ContainsFunc(lasting, func(errno syscall.Errno) bool { return hal.Is(err, errno) })
	return r
}
