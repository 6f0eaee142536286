package hal

import "fmt"

// FileType is the type of a directory entry. The zero value is a type that nothing is made of.
type FileType uint8

// The types of entries that Linux has.
const (
	TypeOther FileType = iota
	TypeFile
	TypeDirectory
	TypeSymlink
	TypeSocket
	TypeBlockDevice
	TypeCharDevice
	TypeFIFO
)

func (t FileType) String() string {
	names := [...]string{
		"special file", "file", "directory", "symlink", "socket", "block device",
		"character device", "FIFO",
	}
	if int(t) < len(names) {
		return names[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Entry is one name in a directory.
type Entry struct {
	Name string
	Type FileType
}

// Info is what lstat says of a path.
type Info struct {
	Type  FileType
	Inode uint64
	Size  int64 // bytes
	Mode  uint32
	UID   uint32
	GID   uint32
	// Device, Born and Mount say, with Inode, which file this is among all: an inode is used again, at another time of
	// birth.
	Device Device  // of its filesystem
	Born   int64   // when it was made, in nanoseconds since 1970; 0 if its filesystem does not know
	Mount  MountID // on which it lies
	// Changed is when its content or its metadata changed last, in nanoseconds since 1970, as its filesystem says:
	// two changes within a tick of its clock, up to 2 s, may show one instant. 0 if it does not know.
	Changed int64
	// MountPoint: a mount is on this name. Then the other fields are zero, because only a look at the mounted
	// filesystem could fill them. They are set all the same for the agent's own directories, which may be mounts.
	MountPoint bool
}

// Tree is the directories and names below the agent's root directory. Class file. No method follows a symbolic link in
// any component (openat2(2), RESOLVE_NO_SYMLINKS) nor reads below a mount point: a path that leads through one, or out
// of the agent's directories, fails with EXDEV. A call may go into one mount: see [Inside].
type Tree interface {
	// Mkdir makes one directory with exactly mode (umask does not count). EEXIST if the name is taken. All that is made
	// in a directory with the set-group-ID bit is of its group (inode(7)). The death of the agent may leave a new
	// directory without the set-ID bits of mode, or with the set-group-ID bit of the directory that it is in.
	Mkdir(c Call, path string, mode uint32) error
	// Remove removes one name: a file, link, socket or an empty directory. EBUSY on a mount point, ENOTEMPTY, ENOENT.
	Remove(c Call, path string) error
	// RemoveTree removes at most limit names of path and all below it, and reports whether any are left; the caller
	// repeats it. ENOENT is success. Neither depth nor width of the tree costs memory. What lies deep may be moved to
	// the top of the tree first. What can't go is passed over, as a mount point (EBUSY) and all behind it; a step that
	// finds nothing else fails, NotDone, and names it. The death of the agent cuts a step short at any point. EINVAL if
	// limit is not above 0.
	RemoveTree(c Call, path string, limit int) (more bool, err error)
	// Rename moves a name, replacing a file at the new one. EBUSY if a mount is on either.
	Rename(c Call, oldPath, newPath string) error
	// Chown gives what is at path to a user and a group, a link itself as lchown(2) does; -1 leaves the one or the
	// other. The set-user-ID and set-group-ID bits of a directory stay.
	Chown(c Call, path string, uid, gid int) error
	// Chmod sets the mode of a directory. ENOTDIR if it is none.
	Chmod(c Call, path string, mode uint32) error
	// Symlink makes a symbolic link with the text target, of which nothing is looked up. EEXIST if the name is taken.
	Symlink(c Call, target, path string) error
	// Readlink returns the text of a symbolic link. EINVAL if path is no link.
	Readlink(c Call, path string) (string, error)
	// List returns a directory's entries sorted by name, without "." and "..".
	List(c Call, path string) ([]Entry, error)
	// Stat describes path itself, not what it links to.
	Stat(c Call, path string) (Info, error)
}

// Files is the content of files below the agent's root directory. Class file. No method follows a symbolic link. A call
// may go into one mount: see [Inside].
// Nothing is durable before Sync of the file, and its name not before Sync of the directory.
type Files interface {
	// Read returns the content. EFBIG if it is longer than limit bytes.
	Read(c Call, path string, limit int64) ([]byte, error)
	// ReadAt reads into b from offset on, and returns how many bytes it has read: fewer than b has at the end of the
	// file, 0 beyond it.
	ReadAt(c Call, path string, offset int64, b []byte) (int, error)
	// Write makes the file with mode, or truncates it, and writes data.
	Write(c Call, path string, data []byte, mode uint32) error
	// WriteAt writes data at offset of an existing file. ERANGE if the file ends before offset, as somebody has cut it
	// short: a hole would read as zeros.
	WriteAt(c Call, path string, offset int64, data []byte) error
	// Allocate makes the file with mode if missing and at least size bytes long, what is added zero filled, its blocks
	// reserved (fallocate(2)): a later WriteAt within size does not meet ENOSPC. What is there stays, and a longer file
	// stays as long as it is. After an error a file that was there is as long as it was. EINVAL if size is not above 0.
	Allocate(c Call, path string, size int64, mode uint32) error
	// Sync makes the content of a file, or the names in a directory, durable (fsync(2)). After an error what was
	// written since the last good Sync may be gone, and a later Sync may succeed all the same.
	Sync(c Call, path string) error
}

// HostFile is what a path of the host leads to, all links followed.
type HostFile struct {
	Exists bool
	Type   FileType
	// Path is where it lies, without links; "" if nothing is there, as the fields up to Born.
	Path string
	// Device and Root are what a bind mount of it shows in the mount table: its filesystem, and its path there.
	Device Device
	Root   string
	// Inode and Born say which file of its filesystem it is: see [Info].
	Inode uint64
	Born  int64
	// Below is where it lies below the agent's root directory, relative to that ("." is the directory itself): as its
	// path names it, and as the directory's own filesystem has it, however many mounts lead there. Empty if it lies
	// elsewhere. If nothing is there it is of the place where Make would make it.
	Below []string
}

// HostPaths is paths of the host, of hostPath volumes. Links are followed, as hostPath has always done. They may lie on
// any filesystem and hang, so Find, Usage, Count and Make are of class helper.
type HostPaths interface {
	// Find tells what path leads to.
	Find(c Call, path string) (HostFile, error)
	// Cached is Find for what the kernel has in its cache, and waits for no filesystem. EAGAIN: it has not all of it,
	// or would have to ask. ENOENT: there is nothing. It is of class syscall.
	Cached(c Call, path string) (HostFile, error)
	// Usage tells how full the filesystem at path is (statfs(2)). Bytes that root alone may use are not available.
	Usage(c Call, path string) (Usage, error)
	// Count tells what the directory path, below the agent's root directory, holds: the bytes that its files take on the
	// disk, and how many names there are below it. Only Used is set. It goes into no mount and follows no link. EAGAIN if
	// somebody moves directories meanwhile. It may take minutes, and is of class helper.
	Count(c Call, path string) (Usage, error)
	// Make makes path as a directory (0755, with parents) or an empty file (0644, parents must exist) if nothing is
	// there; EEXIST if something is.
	Make(c Call, path string, t FileType) error
}

// Usage is how full something is.
type Usage struct{ Bytes, Inodes Amount }

// Amount is how much there is of something. All are 0 if nobody says.
type Amount struct{ Total, Available, Used int64 }

// Child is a helper process of an earlier run of the agent that still lives.
type Child struct {
	PID   int
	Start uint64 // start time in clock ticks since boot (proc_pid_stat(5), field 22): with PID it names the process
	Key   Key    // the rung it was started for
	What  string // the call: "mkdir /mnt/a"
	State string // one letter of proc_pid_stat(5): "D"
}

// Children lists helper processes that earlier runs of the agent left behind.
type Children interface {
	// Living returns those that still live.
	Living(Call) ([]Child, error)
	// Gone calls f on the owner once child is seen dead. Owner or a task; does not block.
	Gone(child Child, f func())
}
