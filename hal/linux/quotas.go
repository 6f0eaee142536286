package linux

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// quotas is hal.Quotas. quotactl_fd(2), which needs no path of a device, is in Linux since 5.14. The commands that have
// an X in their names work on ext4, too (fs/quota/quota.c of Linux).
type quotas struct {
	host *Host
	mu   sync.Mutex // one call gives out a project at a time
	// files are where people name the projects that they use (projects(5), projid(5)).
	files []string
}

// What golang.org/x/sys/unix lacks: linux/fs.h, linux/quota.h, linux/dqblk_xfs.h.
const (
	getProject = 0x801c581f // FS_IOC_FSGETXATTR
	setProject = 0x401c5820 // FS_IOC_FSSETXATTR
	inherits   = 0x200      // FS_XFLAG_PROJINHERIT

	projectQuota = 2 // PRJQUOTA
	getQuota     = 'X'<<8 + 3
	setLimit     = 'X'<<8 + 4
	getState     = 'X'<<8 + 8
	getNextQuota = 'X'<<8 + 9

	isEnforced = 1 << 5 // FS_QUOTA_PDQ_ENFD
	allLimits  = 0xf    // FS_DQ_LIMIT_MASK
	quotaBlock = 512    // bytes
)

// attributes is struct fsxattr.
type attributes struct {
	flags, extent, extents, project, cowExtent uint32
	_                                          [8]byte
}

// quota is struct fs_disk_quota.
type quota struct {
	version, kind        int8
	fields               uint16
	project              uint32
	blocksMost, blocksAt uint64 // the hard and the soft limit
	filesMost, filesAt   uint64
	blocks, files        uint64 // that there are
	_                    [56]byte
}

// isFree: nothing is of the project, and it has no limit.
func (q *quota) isFree() bool { return !q.isUsed() && !q.isLimited() }

func (q *quota) isUsed() bool { return q.blocks != 0 || q.files != 0 }

func (q *quota) isLimited() bool {
	return q.blocksMost != 0 || q.blocksAt != 0 || q.filesMost != 0 || q.filesAt != 0
}

// isOurs: an agent has set its limit.
func (q *quota) isOurs() bool { return q.filesMost == hal.ProjectMark && hal.IsProject(q.project) }

// quotaState is struct fs_quota_statv.
type quotaState struct {
	version int8
	_       uint8
	flags   uint16
	_       [156]byte
}

// Limit gives the directory a project, syncs that, and sees whether nobody else has taken the same one, before it sets
// the limit. So one that is left without a directory means that the disk has lost something.
func (q *quotas) Limit(c hal.Call, path string, bytes int64, project uint32) (uint32, error) {
	err := q.host.within(c, hal.ClassFile, "limit", path, func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		fd, err := q.open(path)
		if err != nil {
			return failure(hal.ClassFile, "limit", path, err)
		}
		defer unix.Close(fd)
		if bytes <= 0 {
			err = syscall.EINVAL
		} else {
			err = supports(fd)
		}
		var is attributes
		var named []uint32
		if err == nil {
			err = attributesOf(fd, &is)
		}
		if err == nil {
			named, err = namedIn(q.files)
		}
		if err == nil {
			err = canLimit(fd, &is, project)
		}
		if err != nil {
			return failure(hal.ClassFile, "limit", path, err)
		}
		if project, err = limit(fd, &is, uint64(bytes), named); err != nil {
			return partial("limit", path, err)
		}
		return nil
	})
	if err != nil {
		project = 0
	}
	return project, err
}

func (q *quotas) open(path string) (int, error) {
	return q.host.open(path, writing, hal.Inside{}, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// canLimit says why a directory can't have a limit. One that was left without its limit gets another project: two
// agents may have taken that one at once.
func canLimit(fd int, is *attributes, project uint32) error {
	switch {
	case is.project == 0:
		return mustBeEmpty(fd)
	case !hal.IsProject(is.project) || project != 0 && project != is.project:
		return ofAnother(is.project)
	case project == is.project:
		return nil
	}
	var has quota
	if err := quotaOf(fd, getQuota, is.project, &has); err != nil || has.isOurs() {
		return err
	}
	is.project = 0
	return mustBeEmpty(fd)
}

func ofAnother(project uint32) error {
	return because(syscall.EEXIST, "it is of project "+strconv.FormatUint(uint64(project), 10)+
		", which volnode has not given to it; see who has (lsattr -pd)")
}

func mustBeEmpty(fd int) error {
	at, err := openat2(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0, resolveBelow)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	names, err := readDir(at)
	if err == nil && len(names) > 0 {
		return because(syscall.ENOTEMPTY, "there are files in it, which its limit would not count")
	}
	return err
}

// limit gives a directory a project, if it has none, and that the limit.
func limit(fd int, is *attributes, bytes uint64, named []uint32) (uint32, error) {
	var err error
	switch {
	case is.project == 0:
		err = giveFree(fd, is, named)
	case is.flags&inherits == 0:
		_, err = give(fd, is)
	}
	if err == nil {
		err = unix.Fsync(fd)
	}
	if err == nil {
		err = setQuota(fd, is.project, (bytes+quotaBlock-1)/quotaBlock, hal.ProjectMark)
	}
	return is.project, err
}

// projectTries bounds the races of agents with directories on one filesystem.
const projectTries = 16

// giveFree gives a directory a project that nobody has.
func giveFree(fd int, is *attributes, named []uint32) (err error) {
	next := hal.FirstProject
	for range projectTries {
		if is.project, err = freeProject(fd, next, named); err != nil {
			return err
		}
		isAlone, err := give(fd, is)
		if err != nil || isAlone {
			return err
		}
		next = is.project + 1
	}
	return because(syscall.EAGAIN, "others take projects at the same time")
}

// give gives a directory a project, and says whether nothing else is of it.
func give(fd int, is *attributes) (isAlone bool, err error) {
	is.flags |= inherits
	if err := ioctl(fd, setProject, unsafe.Pointer(is)); err != nil {
		return false, err
	}
	var has quota
	err = quotaOf(fd, getQuota, is.project, &has)
	return has.files == 1, err
}

// freeProject is the first project from next on that nobody has.
func freeProject(fd int, next uint32, named []uint32) (uint32, error) {
	for next <= hal.LastProject {
		var has quota
		switch err := quotaOf(fd, getNextQuota, next, &has); {
		case err != nil:
			return 0, err
		case has.project == 0 || has.project > next: // nobody has heard of next
			has = quota{project: next}
		}
		isFree := has.isFree() || has.isOurs() && !has.isUsed() // one that was left
		if _, isNamed := slices.BinarySearch(named, next); isFree && !isNamed {
			return next, nil
		}
		next++
	}
	return 0, because(syscall.ENOSPC, "all projects of agents are in use")
}

func (q *quotas) Usage(c hal.Call, path string) (hal.Usage, error) {
	var is hal.Usage
	err := q.host.within(c, hal.ClassFile, "usage", path, func() error {
		fd, err := q.open(path)
		if err != nil {
			return failure(hal.ClassFile, "usage", path, err)
		}
		defer unix.Close(fd)
		if is, err = usageIn(fd); err != nil {
			return failure(hal.ClassFile, "usage", path, err)
		}
		return nil
	})
	return is, err
}

func usageIn(fd int) (hal.Usage, error) {
	var of attributes
	var has quota
	err := supports(fd)
	if err == nil {
		err = attributesOf(fd, &of)
	}
	if err == nil && hal.IsProject(of.project) {
		err = quotaOf(fd, getQuota, of.project, &has)
	}
	if errors.Is(err, syscall.EOPNOTSUPP) || err == nil && !has.isOurs() {
		err = syscall.ENODATA
	}
	if err != nil {
		return hal.Usage{}, err
	}
	most, used := int64(has.blocksMost)*quotaBlock, int64(has.blocks)*quotaBlock
	return hal.Usage{
		Bytes:  hal.Amount{Total: most, Used: used, Available: max(0, most-used)},
		Inodes: hal.Amount{Used: max(0, int64(has.files)-1)}, // without the directory itself
	}, nil
}

func (q *quotas) Lift(c hal.Call, path string, project uint32) error {
	return q.host.within(c, hal.ClassFile, "lift", path, func() error {
		q.mu.Lock()
		defer q.mu.Unlock()
		home, err := openHome(q.host.options.RootDir)
		if err != nil {
			return failure(hal.ClassFile, "lift", path, err)
		}
		defer unix.Close(home)
		fd, err := q.open(path)
		if err == nil {
			defer unix.Close(fd)
		}
		isMissing := errors.Is(err, syscall.ENOENT)
		if err == nil || isMissing {
			err = supports(home)
		}
		switch {
		case errors.Is(err, syscall.EOPNOTSUPP):
			return nil
		case err != nil:
			return failure(hal.ClassFile, "lift", path, err)
		}
		if !isMissing {
			err = lift(fd, project)
		}
		if errors.Is(err, syscall.EEXIST) {
			return failure(hal.ClassFile, "lift", path, err)
		}
		if err == nil {
			err = liftUnused(home)
		}
		if err != nil {
			return partial("lift", path, err)
		}
		return nil
	})
}

// lift takes away the limit of a directory.
func lift(fd int, project uint32) error {
	var is attributes
	var has quota
	if err := attributesOf(fd, &is); err != nil || !hal.IsProject(is.project) {
		return err
	}
	if project != 0 && project != is.project {
		return ofAnother(is.project)
	}
	if err := quotaOf(fd, getQuota, is.project, &has); err != nil || !has.isOurs() {
		return err
	}
	return setQuota(fd, is.project, 0, 0)
}

// liftUnused takes away the limits of agents for which nothing is of their project.
func liftUnused(fd int) error {
	for next := hal.FirstProject; next <= hal.LastProject; next++ {
		var has quota
		err := quotaOf(fd, getNextQuota, next, &has)
		if err != nil || has.project == 0 || has.project > hal.LastProject {
			return err
		}
		if next = has.project; has.isOurs() && !has.isUsed() {
			if err := setQuota(fd, next, 0, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// supports says why a filesystem holds nobody to the limits of projects.
func supports(fd int) error {
	state := quotaState{version: 1}
	err := quotactl(fd, getState, 0, unsafe.Pointer(&state))
	switch {
	case err == nil && state.flags&isEnforced != 0:
		return nil
	case err == unix.ENOSYS && quotactl(-1, getState, 0, unsafe.Pointer(&state)) == unix.ENOSYS:
		return because(syscall.EOPNOTSUPP, "project quotas need Linux 5.14; boot a newer kernel")
	case err == nil || err == unix.ENOSYS || err == unix.EINVAL || err == unix.ESRCH || err == unix.EOPNOTSUPP:
		return because(syscall.EOPNOTSUPP, "its filesystem keeps nobody to limits of projects; mount it with the option "+
			"prjquota, an ext4 once tune2fs -O project,quota has made it ready, unmounted")
	}
	return err
}

func attributesOf(fd int, is *attributes) error { return ioctl(fd, getProject, unsafe.Pointer(is)) }

// quotaOf asks for the quota of a project, or the first one from there on; one with project 0 is none.
func quotaOf(fd, command int, project uint32, is *quota) error {
	err := quotactl(fd, command, project, unsafe.Pointer(is))
	if err == unix.ENOENT || err == unix.ESRCH && command == getNextQuota {
		*is, err = quota{}, nil
	}
	if command == getQuota {
		is.project = project
	}
	return err
}

func setQuota(fd int, project uint32, blocks, files uint64) error {
	is := quota{
		version: 1, kind: 2, // FS_DQUOT_VERSION, FS_PROJ_QUOTA
		fields: allLimits, project: project, blocksMost: blocks, filesMost: files,
	}
	return quotactl(fd, setLimit, project, unsafe.Pointer(&is))
}

func quotactl(fd, command int, id uint32, arg unsafe.Pointer) error {
	_, _, errno := unix.Syscall6(unix.SYS_QUOTACTL_FD, uintptr(fd), uintptr(command<<8|projectQuota), uintptr(id),
		uintptr(arg), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

func ioctl(fd int, command uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), command, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// namedIn are the projects that people have named in files, sorted.
func namedIn(files []string) ([]uint32, error) {
	var all []uint32
	for _, file := range files {
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			for word := range strings.SplitSeq(lines.Text(), ":") { // the number is before the path, and behind the name
				if n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 32); err == nil {
					all = append(all, uint32(n))
				}
			}
		}
		_ = f.Close() // it was only read
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	slices.Sort(all)
	return all, nil
}
