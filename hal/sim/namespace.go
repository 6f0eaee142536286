package sim

import (
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is drivers in mount namespaces of their own, as all are that run in containers. Where the agent's
// directories are mounted there with the propagation rshared (Bidirectional), each mount and unmount reaches the host,
// and the namespace need not be told from it. With rslave (HostToContainer) the driver sees what the host mounts, and
// what it mounts and unmounts itself stays in its namespace (mount_namespaces(7)): it answers OK, as far as it can see
// with reason, and the host sees nothing. With the last process of the namespace go its mounts.

var siteNamespace = newSite("driver.namespace")

// hiddenMost is how long a life of a driver lasts whose mounts do not reach the host: somebody sees to it.
const hiddenMost = 8 * time.Minute

// hiddenMount is a mount that is seen in a driver's namespace alone.
type hiddenMount struct {
	volume *volume
	path   string
}

// drawNamespace draws for a life of the driver that begins whether its mounts reach the host.
//
// A driver that does not look before it binds would pass on the directory below what the host does not see, and no
// agent could tell: it is spared.
func (d *driver) drawNamespace() {
	d.isHidden = d.broken == Hides
	if d.isHidden || !d.is.Checks || !d.w.happens(DriverHides, siteNamespace, d.name) {
		return
	}
	d.isHidden = true
	life := d.process
	d.w.sched.at(d.w.sched.now.Add(d.w.time(siteNamespace, d.name, time.Second, hiddenMost)),
		siteNamespace.hash^hashString(d.name), nil, func() {
			if d.up && d.process == life && d.isHidden {
				d.w.event("driver.mended", d.name)
				d.crash()
				d.startIn(time.Second)
			}
		})
}

// sees says whether the volume is mounted at a path as far as the driver can see.
func (d *driver) sees(v *volume, path string) bool {
	return d.w.shows(v, path) != nil || d.hides(v, path)
}

// hides says whether the volume is mounted at a path in the driver's namespace alone.
func (d *driver) hides(v *volume, path string) bool {
	return slices.Contains(d.hidden, hiddenMount{v, path})
}

// hide mounts a volume at a path of the driver's namespace. What is left of a life that has ended has that to itself.
func (d *driver) hide(r *rpc, v *volume, path string) syscall.Errno {
	if _, _, errno := d.w.walk(path, walkAll); errno != 0 {
		return errno
	}
	if !r.orphan && !d.hides(v, path) {
		d.hidden = append(d.hidden, hiddenMount{v, path})
	}
	return 0
}

// unmount takes down what the driver sees at a path. What the host has mounted there stays if the namespace is not its
// peer: only the driver's copy goes.
func (d *driver) unmount(r *rpc, path string) syscall.Errno {
	if r.isHidden {
		if !r.orphan {
			d.hidden = slices.DeleteFunc(d.hidden, func(m hiddenMount) bool { return m.path == path })
		}
		return 0
	}
	return d.w.mounts.unmount(actor{rpc: r}, path, 0)
}

// remove removes a name as the driver sees it. What is mounted on it in another namespace does not keep it: it is
// detached from there (since Linux
// 3.18).
func (d *driver) remove(r *rpc, path string) syscall.Errno {
	if stack := d.w.mounts.stack(path); r.isHidden && len(stack) > 0 {
		d.w.mounts.detachAll(actor{rpc: r}, stack[0])
	}
	return d.w.removeOne(actor{rpc: r}, path)
}

// detachAll takes a mount and all that stands on and below it out of the table, in use or not.
func (t *mountTable) detachAll(by actor, m *mount) {
	for len(m.children) > 0 {
		t.detachAll(by, m.children[len(m.children)-1])
	}
	t.detach(m)
	t.w.tableChanged(m.path)
	if len(t.w.observe) > 0 {
		t.w.tell(by, Effect{Kind: EffectUnmount, Path: m.path, Mount: m.show(), Outcome: hal.Done})
	}
}
