package linux

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// This file clones repositories with git(1), in a helper child. Whoever may make pods chooses the repository, so git
// runs as nobody's user and sees nothing of the node that it does not need: see [sandbox].

// repositories is hal.Repositories.
type repositories struct{ host *Host }

// cloneRequest: Dir is relative to Root, the agent's root directory.
type cloneRequest struct {
	Repository hal.Repository
	Root, Dir  string
	Most       time.Duration // see [hal.CloneMost]
}

// Clone clones in a helper child. What is refused is refused before: its arguments are for all to read.
func (r *repositories) Clone(c hal.Call, of hal.Repository) error {
	if bad := of.Bad(); bad != "" {
		return failure(hal.ClassHelper, "clone", of.Dir, because(syscall.EINVAL, bad))
	}
	object := of.URL + " " + of.Dir
	return r.host.within(c, hal.ClassHelper, "clone", object, func() error {
		root, below, err := r.host.home(of.Dir, writing)
		if err != nil {
			return failure(hal.ClassHelper, "clone", object, err)
		}
		_, err = r.host.help(c, hal.ClassHelper, "clone", object, request{
			Clone: &cloneRequest{Repository: of, Root: root, Dir: below, Most: hal.CloneMost},
		})
		return err
	})
}

// clone is Clone in a helper child.
func clone(r cloneRequest) (hal.Outcome, error) {
	program, err := programIn(toolDirs, "git", "git")
	if err != nil {
		return hal.NotDone, err
	}
	return makeWhole(r.Root, r.Dir, hal.Cloning(r.Dir), func(partial string) error {
		c := cloning{program: program, of: r.Repository, most: r.Most}
		return c.to(partial)
	})
}

// cloning is one clone.
type cloning struct {
	program string
	of      hal.Repository
	most    time.Duration
}

// to makes dir with the files of the repository.
func (c *cloning) to(dir string) error {
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Lchown(dir, gitUser, gitUser)); err != nil {
		return err
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	volume := os.NewFile(uintptr(fd), dir)
	defer volume.Close()
	if err := c.fetch(volume); err != nil {
		return err
	}
	return (&giving{root: fd, isGroups: c.of.IsGroups, group: int(c.of.Group)}).all()
}

// fetch has git write the files, until it ends, its time is over, or the disk is nearly full.
func (c *cloning) fetch(volume *os.File) error {
	box, err := newSandbox(volume)
	if err != nil {
		return err
	}
	defer box.close()
	args := []string{"clone", "--quiet", "--template=", "--no-recurse-submodules", "--no-local", "--origin=origin"}
	if c.of.Revision != "" {
		args = append(args, "--no-checkout")
	}
	if err := c.git(box, append(args, "--", c.of.URL, "./"+c.of.Below)...); err != nil {
		return err
	}
	if c.of.Revision == "" {
		return nil
	}
	err = c.git(box, "-C", "./"+c.of.Below, "checkout", "--quiet", "--force", c.of.Revision, "--")
	if e, is := errors.AsType[*explained](err); is && e.errno == syscall.EIO {
		return because(syscall.ENOENT, fmt.Sprintf("the repository has no revision %q: %s", c.of.Revision, e.why))
	}
	return err
}

// gitSettings are above all that a repository or the node says. What a repository holds is data: no hook, filter or
// program that it names runs; no other repository is asked for; nothing of the node is read.
var gitSettings = []string{
	"protocol.allow=never", "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null",
	"core.excludesFile=/dev/null", "core.sshCommand=/bin/false", "core.askPass=/bin/false", "core.pager=cat",
	"core.alternateRefsCommand=/bin/false", "core.protectHFS=true", "core.protectNTFS=true", "credential.helper=",
	"submodule.recurse=false", "fetch.recurseSubmodules=false", "transfer.bundleURI=false", "gc.auto=0",
	"maintenance.auto=false", "http.followRedirects=false", "http.cookieFile=", "http.lowSpeedLimit=1000",
	"http.lowSpeedTime=60", "fetch.unpackLimit=1", "pack.threads=1", "checkout.workers=1", "advice.detachedHead=false",
	"init.defaultBranch=main", "core.autocrlf=false",
}

// git runs git with these arguments.
func (c *cloning) git(box *sandbox, args ...string) error {
	var all []string
	settings := append(slices.Clone(gitSettings), "protocol."+hal.SchemeOf(c.of.URL)+".allow=always")
	for _, setting := range settings {
		all = append(all, "-c", setting)
	}
	said, code, err := box.run(c.program, append(all, args...), []string{
		"GIT_ALLOW_PROTOCOL=" + hal.SchemeOf(c.of.URL), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=/bin/false",
		"SSH_ASKPASS=/bin/false", "GIT_SSH_COMMAND=/bin/false", "GIT_TEMPLATE_DIR=", "GIT_LFS_SKIP_SMUDGE=1",
		"HOME=/nonexistent", "PATH=/usr/bin:/bin", "LC_ALL=C",
	}, c.most)
	switch {
	case err == nil && code == 0:
		return nil
	case err == nil && box.room.isUsedUp():
		return because(syscall.ENOSPC, fullDisk)
	case err == nil:
		return because(errnoOfGit(said), c.ended(said, code))
	}
	return err
}

// ended says how git has ended that failed.
func (c *cloning) ended(said string, code int) string {
	lines := slices.DeleteFunc(strings.Split(said, "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "warning: ") || strings.HasPrefix(line, "hint: ")
	})
	return ended(c.program, strings.Join(lines, " "), code)
}

// errnoOfGit is the error that git means, EIO if it says none of these.
func errnoOfGit(said string) syscall.Errno {
	for _, known := range []struct {
		text  string
		errno syscall.Errno
	}{
		{"No space left on device", syscall.ENOSPC},
		{"Disk quota exceeded", syscall.EDQUOT},
		{"File too large", syscall.EFBIG},
		{"Read-only file system", syscall.EROFS},
		{"could not read Username", syscall.EACCES},
		{"Authentication failed", syscall.EACCES},
		{"The requested URL returned error: 401", syscall.EACCES},
		{"The requested URL returned error: 403", syscall.EACCES},
		{"The requested URL returned error: 407", syscall.EACCES},
		{"' not found", syscall.ENOENT},
		{"The requested URL returned error: 404", syscall.ENOENT},
		{"Could not resolve host", syscall.EHOSTUNREACH},
		{"Operation too slow", syscall.ETIMEDOUT},
		{"timed out", syscall.ETIMEDOUT},
		{"Connection refused", syscall.ECONNREFUSED},
		{"Couldn't connect to server", syscall.ECONNREFUSED},
		{"Could not connect to server", syscall.ECONNREFUSED},
		{"index-pack", syscall.EBADMSG},
		{"unable to checkout working tree", syscall.EBADMSG},
		{"invalid path '", syscall.EBADMSG},
		{"File name too long", syscall.EBADMSG},
	} {
		if strings.Contains(said, known.text) {
			return known.errno
		}
	}
	return syscall.EIO
}

// giving gives what git has made to root, and to the group of the pod, without following a link. git and all that it
// has started has ended: nobody changes the tree meanwhile.
type giving struct {
	root     int // the volume
	isGroups bool
	group    int
}

// deepest is how many directories in each other a volume may have.
const deepest = 1000

func (g *giving) all() error {
	if err := g.directory(g.root, "", 0); err != nil {
		return err
	}
	mode := uint32(0o777) // any user of the pod may write there, as in an emptyDir
	if g.isGroups {
		mode |= unix.S_ISGID
	}
	return unix.Fchmod(g.root, mode)
}

// directory gives a directory with all that it holds.
func (g *giving) directory(fd int, at string, deep int) error {
	if deep > deepest {
		return because(syscall.EBADMSG, fmt.Sprintf("the repository has more than %d directories in each other", deepest))
	}
	// A copy of the descriptor: os.File closes its own.
	again, err := openat2(fd, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0, resolveBelow)
	if err != nil {
		return err
	}
	listed := os.NewFile(uintptr(again), at)
	names, err := listed.Readdirnames(-1)
	_ = listed.Close() // it was only read
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := g.name(fd, name, filepath.Join(at, name), deep); err != nil {
			return err
		}
	}
	if err := unix.Fchown(fd, 0, g.groupOr0()); err != nil {
		return err
	}
	if g.isGroups {
		return unix.Fchmod(fd, unix.S_ISGID|0o775)
	}
	return unix.Fchmod(fd, 0o755)
}

func (g *giving) groupOr0() int {
	if g.isGroups {
		return g.group
	}
	return 0
}

func (g *giving) name(dir int, name, at string, deep int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		if err := g.staysInside(at); err != nil {
			return err
		}
		return unix.Fchownat(dir, name, 0, g.groupOr0(), unix.AT_SYMLINK_NOFOLLOW)
	case unix.S_IFDIR, unix.S_IFREG:
	default:
		return because(syscall.EBADMSG, fmt.Sprintf("%q is neither a file, a directory nor a link", at))
	}
	fd, err := openat2(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0, resolveBelow)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return g.directory(fd, at, deep+1)
	}
	if err := unix.Fchown(fd, 0, g.groupOr0()); err != nil {
		return err
	}
	return unix.Fchmod(fd, g.fileMode(st.Mode))
}

// fileMode is the mode of a file: what its owner may do, others may do but for writing. What git has made read-only
// stays so.
func (g *giving) fileMode(is uint32) uint32 {
	owner := is&0o700 | 0o400
	mode := owner | owner>>3&0o050 | owner>>6&0o005
	if g.isGroups {
		mode |= owner >> 3 & 0o020
	}
	return mode
}

// staysInside: a link that leads out of the volume is none that a volume may have.
func (g *giving) staysInside(at string) error {
	fd, err := openat2(g.root, at, unix.O_PATH, 0, unix.RESOLVE_BENEATH|unix.RESOLVE_NO_MAGICLINKS)
	switch {
	case err == nil:
		return unix.Close(fd)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENOTDIR):
		return nil // it leads nowhere, within the volume
	case errors.Is(err, syscall.EXDEV):
		to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d/%s", g.root, at))
		return because(syscall.EBADMSG, fmt.Sprintf("the link %q leads out of the volume, to %q", at, to))
	}
	return because(syscall.EBADMSG, fmt.Sprintf("the link %q can't be followed: %v", at, err))
}
