package linux

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// counter counts what a directory holds. It keeps open the directory where it is, and comes back by "..", so neither
// depth nor the length of a path costs descriptors.
type counter struct {
	is    hal.Usage
	mount uint64
	links map[uint64]bool // the inodes of files with several names that were counted
	above []level         // of the directory where it is, the outermost first
}

// level is a directory, and those in it that are yet to be counted.
type level struct {
	inode uint64
	below []string
}

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
	below, err := n.names(at)
	if err != nil {
		return err
	}
	n.above = append(n.above, level{inode, below})
	for {
		here := &n.above[len(n.above)-1]
		name, next := "..", uint64(0)
		if last := len(here.below) - 1; last >= 0 {
			name, here.below = here.below[last], here.below[:last]
		} else if n.above = n.above[:len(n.above)-1]; len(n.above) == 0 {
			return nil
		} else {
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
		if at = fd; name == ".." {
			continue
		}
		if below, err = n.names(at); err != nil {
			return err
		}
		n.above = append(n.above, level{st.Ino, below})
	}
}

// names counts the names in a directory, and returns those of directories.
func (n *counter) names(dir int) (below []string, err error) {
	entries, err := readDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		st, err := look(dir, e.Name)
		if err == unix.ENOENT || err == nil && st.Mnt_id != n.mount { // it has gone, or is a mount
			continue
		}
		if err != nil {
			return nil, err
		}
		n.is.Inodes.Used++
		isDir := typeOf(uint32(st.Mode)) == hal.TypeDirectory
		if isDir {
			below = append(below, e.Name)
		}
		if !isDir && st.Nlink > 1 {
			if n.links[st.Ino] {
				continue
			}
			n.links[st.Ino] = true
		}
		n.is.Bytes.Used += int64(st.Blocks) * 512 // statx(2)
	}
	return below, nil
}
