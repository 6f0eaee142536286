package linux

import (
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// counter counts what a directory holds. It keeps open the directory where it is, and comes back by "..", so neither
// depth nor the length of a path costs descriptors.
type counter struct {
	is    hal.Usage
	mount uint64
	links map[uint64]bool // the inodes of files with several names that were counted, mostLinks of them
	above []level         // of the directory where it is, the outermost first
	buf   [ofBatch]byte
}

// level is a directory. counter reads it part by part, so that no number of names costs memory.
type level struct {
	inode uint64
	below []string // the directories of that part that are yet to be counted
	next  int64    // where the next part begins; see telldir(3)
	isAll bool     // it was the last part
}

const (
	mostLinks = 1 << 20
	ofBatch   = 16 << 10 // bytes of a directory that are read at once
)

// count is hal.HostPaths.Count of a path relative to the agent's root directory. It is in nobody's way.
func count(of findRequest) (hal.Usage, error) {
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 19)
	root, err := openHome(of.Root)
	if err != nil {
		return hal.Usage{}, err
	}
	defer unix.Close(root)
	dir, err := openat2(root, of.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0, resolveBelow)
	if err != nil {
		return hal.Usage{}, err
	}
	st, err := look(dir, "")
	if err != nil {
		unix.Close(dir)
		return hal.Usage{}, err
	}
	n := &counter{mount: st.Mnt_id, links: map[uint64]bool{}}
	err = n.walk(dir, st.Ino)
	return n.is, err
}

// look is a name in a directory, or the directory itself.
func look(dir int, name string) (st unix.Statx_t, err error) {
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	err = unix.Statx(dir, name, flags, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st)
	return st, err
}

// walk counts what is below dir, whose descriptor it closes.
func (n *counter) walk(dir int, inode uint64) error {
	at := dir
	defer func() { unix.Close(at) }()
	n.above = append(n.above, level{inode: inode})
	for {
		here := &n.above[len(n.above)-1]
		name, next := "..", uint64(0)
		switch last := len(here.below) - 1; {
		case last >= 0:
			name, here.below = here.below[last], here.below[:last]
		case !here.isAll:
			if err := n.read(at, here); err != nil {
				return err
			}
			continue
		default:
			if n.above = n.above[:len(n.above)-1]; len(n.above) == 0 {
				return nil
			}
			next = n.above[len(n.above)-1].inode
		}
		fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if name != ".." && (err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP) {
			continue // it has gone, or another one has its name
		}
		if err != nil {
			return err
		}
		st, err := look(fd, "")
		if err != nil || st.Mnt_id != n.mount || name == ".." && st.Ino != next {
			unix.Close(fd)
			if err == nil && name != ".." {
				continue // a mount
			}
			if err == nil {
				err = because(syscall.EAGAIN, "directories are moved while they are counted")
			}
			return err
		}
		unix.Close(at)
		if at = fd; name != ".." {
			n.above = append(n.above, level{inode: st.Ino})
		}
	}
}

// read counts the names of the next part of the directory dir, and notes the directories among them.
func (n *counter) read(dir int, of *level) error {
	if of.next != 0 {
		if _, err := unix.Seek(dir, of.next, unix.SEEK_SET); err != nil {
			return err
		}
	}
	read, err := unix.Getdents(dir, n.buf[:])
	if err != nil {
		return err
	}
	of.isAll, of.below = read == 0, of.below[:0]
	for rest := n.buf[:read]; len(rest) > 0; {
		var name string
		of.next = int64(binary.NativeEndian.Uint64(rest[8:])) // getdents(2): d_off
		if name, _, rest = dirent(rest); name == "." || name == ".." {
			continue
		}
		isDir, err := n.add(dir, name)
		if err != nil {
			return err
		}
		if isDir {
			of.below = append(of.below, name)
		}
	}
	return nil
}

// add counts a name in a directory.
func (n *counter) add(dir int, name string) (isDir bool, err error) {
	st, err := look(dir, name)
	if err == unix.ENOENT || err == nil && st.Mnt_id != n.mount { // it has gone, or is a mount
		return false, nil
	}
	if err != nil {
		return false, err
	}
	n.is.Inodes.Used++
	bytes := int64(st.Blocks) * 512 // statx(2)
	isDir = typeOf(uint32(st.Mode)) == hal.TypeDirectory
	if !isDir && st.Nlink > 1 {
		switch {
		case n.links[st.Ino]:
			bytes = 0
		case len(n.links) < mostLinks:
			n.links[st.Ino] = true
		default:
			bytes /= int64(st.Nlink) // of each of its names, a share
		}
	}
	n.is.Bytes.Used += bytes
	return isDir, nil
}
