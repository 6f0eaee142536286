package sim

import (
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file is filesystems that a driver's process serves itself (FUSE). With the process goes the connection, and
// every mount over it stays in the table and answers ENOTCONN to all that steps into it; it can be unmounted like any
// other. A look at the mount table, or at a mount's root with AT_STATX_DONT_SYNC, asks the filesystem for nothing and
// sees no difference.

// connection is what the mounts of one filesystem have in common: a device number of its own, and what serves it: a
// process, or a server elsewhere.
type connection struct {
	dev    hal.Device
	fsType string
	volume *volume
	broken syscall.Errno // what its mounts answer once what serves them is gone; 0 while it is there
	share  *share        // of a filesystem that a server elsewhere serves; else nil
	isDisk bool          // of a filesystem on a device of the node: see disk.go
	failed DiskFailure   // how it has failed
}

// isDead says whether what serves the mount, or its device, has ended.
func (m *mount) isDead() bool { return m.conn != nil && m.conn.broken != 0 }

// connect returns the connection for a volume, making it if there is none: nil for a driver whose volumes nobody
// serves, ENOTCONN from what is left of one whose process has ended.
func (d *driver) connect(v *volume) (*connection, syscall.Errno) {
	if v.share != nil {
		return d.w.export(v.share, v), 0
	}
	if !d.is.Daemon || v.sb == nil {
		if v.sb == nil && !d.is.Attach {
			return nil, 0
		}
		return d.diskOf(v)
	}
	if !d.up {
		return nil, syscall.ENOTCONN
	}
	i := slices.IndexFunc(d.conns, func(c *connection) bool { return c.volume == v })
	if i < 0 {
		i = len(d.conns)
		d.conns = append(d.conns, &connection{dev: d.w.fs.anonymous(), fsType: "fuse", volume: v})
	}
	return d.conns[i], 0
}

// disconnect ends what the driver's process serves, and what is mounted in its namespace alone.
func (d *driver) disconnect() {
	for _, c := range d.conns {
		c.broken = syscall.ENOTCONN
	}
	d.conns, d.hidden = nil, nil
}

// isBroken says whether a mount whose filesystem is gone, as drivers see it, is at path. That a device is dead they
// don't see.
func (w *World) isBroken(path string) bool {
	stack := w.mounts.stack(path)
	return len(stack) > 0 && stack[len(stack)-1].isDead() && !stack[len(stack)-1].conn.isDisk
}

// mend takes the mount of a filesystem that is gone off a path, as drivers do before they mount there again.
func (d *driver) mend(r *rpc, path string) syscall.Errno {
	if !d.w.isBroken(path) {
		return 0
	}
	return d.unmount(r, path)
}
