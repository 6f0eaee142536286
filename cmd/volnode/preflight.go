package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// preflight looks at what the agent needs of its host before it touches anything, and makes a missing root directory.
// Each error says what is wrong and how to cure it.
func preflight(c configuration) error {
	if err := checkMountNamespace(c.MountNamespace); err != nil {
		return &exitError{exitConfig, err}
	}
	if err := prepareRootDir(c.RootDir); err != nil {
		return &exitError{exitConfig, err}
	}
	if err := checkManifestDir(c.ManifestDir); err != nil {
		return &exitError{exitConfig, err}
	}
	return nil
}

// requireRoot comes before all else: without root, not even the configuration may be readable.
func requireRoot() error {
	if uid := os.Geteuid(); uid != 0 {
		return fail(exitPermission, "volnode run needs root to mount filesystems (it runs as uid %d); start it as "+
			"root, or with sudo", uid)
	}
	return nil
}

// checkMountNamespace: what is mounted in a namespace of our own, nobody else sees.
func checkMountNamespace(want mountNamespace) error {
	if want == ownNamespace {
		return nil
	}
	ours, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		return err
	}
	first, err := os.Readlink("/proc/1/ns/mnt")
	if err != nil {
		return fmt.Errorf("cannot read the mount namespace of process 1: %w; give volnode CAP_SYS_PTRACE, or use "+
			"--mount-namespace=own", err)
	}
	if ours != first {
		return fmt.Errorf("volnode runs in the mount namespace %s, but process 1 runs in %s: no other process would "+
			"see its mounts. Start it without options that make a mount namespace (in a systemd unit: ProtectSystem, "+
			"PrivateTmp and similar), or with nsenter --mount=/proc/1/ns/mnt. If you want a namespace of its own, use "+
			"--mount-namespace=own", ours, first)
	}
	return nil
}

// prepareRootDir makes the root directory if it is missing, and checks that what is mounted below it will be seen
// outside.
func prepareRootDir(dir string) error {
	if err := refuseLinks("root directory", dir); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o750)
	switch {
	case err == nil:
		if err := os.Chmod(dir, 0o750); err != nil { // whatever the umask is
			return err
		}
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("root directory %s: %s does not exist; run mkdir -p %[2]s", dir, filepath.Dir(dir))
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("root directory: %w", err)
	}
	if err := checkOwned("root directory", dir); err != nil {
		return err
	}
	mount, err := mountHolding(dir)
	if err != nil {
		return err
	}
	return checkShared(dir, mount)
}

// refuseLinks: the mount table shows real paths, and drivers are handed the path as it is configured; with a link in it
// the two differ.
func refuseLinks(what, dir string) error {
	for at := dir; at != "/"; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		cure := "use a path without links"
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			cure = "use " + resolved
		}
		return fmt.Errorf("%s %s: %s is a symbolic link; %s", what, dir, at, cure)
	}
	return nil
}

// isShared: a directory is one of the host's, like /run and /tmp, and serves others: whoever changes its mode breaks
// them.
func isShared(dir string, info os.FileInfo) bool {
	return info.Mode()&os.ModeSticky != 0 || filepath.Dir(filepath.Clean(dir)) == "/"
}

// checkOwned: who can write to the directory can have anything mounted.
func checkOwned(what, dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s %s is not a directory", what, dir)
	case !ok || st.Uid != 0:
		return fmt.Errorf("%s %s belongs to uid %d, not to root: check its content, then chown root %[2]s", what,
			dir, st.Uid)
	case info.Mode().Perm()&0o022 != 0 && isShared(dir, info):
		return fmt.Errorf("%s %s: shared with users other than root, who can write to it (mode %04o): use a "+
			"directory that only volnode uses",
			what, dir, info.Mode().Perm())
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s %s: writable by users other than root (mode %04o): check its content, then "+
			"chmod go-w %[2]s",
			what, dir, info.Mode().Perm())
	}
	return nil
}

// checkManifestDir: a directory that is not there is not a node without pods.
func checkManifestDir(dir string) error {
	if err := refuseLinks("manifest directory", dir); err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("manifest directory %s does not exist; volnode keeps all volumes; run "+
			"mkdir -p -m 0755 %[1]s, or name another directory with --manifest-dir", dir)
	}
	return checkOwned("manifest directory", dir)
}

// mountHolding returns the mount that a path lies on.
func mountHolding(path string) (*mountinfo.Info, error) {
	var stx unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &stx); err != nil {
		return nil, &fs.PathError{Op: "statx", Path: path, Err: err}
	}
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool,
	) {
		return uint64(m.ID) != stx.Mnt_id, false
	})
	if err != nil {
		return nil, err
	}
	if stx.Mask&unix.STATX_MNT_ID == 0 || len(mounts) != 1 {
		return nil, fmt.Errorf("/proc/self/mountinfo does not list the mount of %s", path)
	}
	return mounts[0], nil
}

// checkShared: what is mounted below a mount that is not shared stays in this mount namespace.
func checkShared(dir string, mount *mountinfo.Info) error {
	for field := range strings.FieldsSeq(mount.Optional) {
		if strings.HasPrefix(field, "shared:") {
			return nil
		}
	}
	cure := "mount --make-shared " + mount.Mountpoint
	if mount.Mountpoint != dir {
		cure += fmt.Sprintf(" or, for this directory alone, mount --bind %s %[1]s && mount --make-shared %[1]s", dir)
	}
	return fmt.Errorf("root directory %s: its mount %s is not shared, so containers and drivers would not see the "+
		"mounts of volnode; run %s",
		dir, mount.Mountpoint, cure)
}
