package sim

import (
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file models filesystems of a remote server (NFS). While the server is silent, a process that enters a mount of
// it, or unmounts one, waits in the kernel until the server answers (nfs(5), hard). When the server exports the same
// files again, the existing mounts answer ESTALE for good. A process can unmount them, and later mounts work. A look at
// the mount table, or at a mount's root with AT_STATX_DONT_SYNC, asks no server.

// share is what a server exports.
type share struct {
	name     string
	root     *node       // what is there; nil of a volume
	conn     *connection // of the mounts that are made now; nil for none yet
	isSilent bool
	silences uint64   // counted, as each ends by itself
	waiting  []func() // what sits in the kernel until the server answers, oldest first
}

// hangs is the answer of a system call that does not come back: the caller waits for World.hungAt.
const hangs = syscall.Errno(1 << 16)

var (
	siteServer = newSite("server.silent")
	siteExport = newSite("server.export")
)

// silentMost is how long a server is silent: as long as a helper may hang.
const silentMost = HangMost

// refuses is the answer to what steps into a mount: 0, hangs, or what is left of a filesystem whose process or export
// is gone.
func (m *mount) refuses(w *World) syscall.Errno {
	switch {
	case m.conn == nil:
		return 0
	case m.isSilent() && !w.isLooking:
		w.hungAt = m.conn.share
		return hangs
	}
	return m.conn.broken
}

// isSilent says whether the mount's server says nothing.
func (m *mount) isSilent() bool { return m.conn != nil && m.conn.share != nil && m.conn.share.isSilent }

// wait calls f when the server answers.
func (s *share) wait(f func()) { s.waiting = append(s.waiting, f) }

// export returns the connection of new mounts of a share.
func (w *World) export(s *share, v *volume) *connection {
	if s.conn == nil {
		s.conn = &connection{dev: w.fs.anonymous(), fsType: "nfs4", volume: v, share: s}
	}
	return s.conn
}

// silence keeps the server of a share from answering, for some time; 0 is until it is told to.
func (w *World) silence(s *share, d time.Duration) {
	s.isSilent = true
	s.silences++
	nth := s.silences
	w.event("server.silent", s.name)
	if d > 0 {
		w.sched.at(w.sched.now.Add(d), siteServer.hash^hashString(s.name), nil, func() {
			if s.silences == nth {
				w.answer(s)
			}
		})
	}
}

// answer ends the silence of a server: all that waited for it goes on.
func (w *World) answer(s *share) {
	if !s.isSilent {
		return
	}
	s.isSilent = false
	w.event("server.answers", s.name)
	waiting := s.waiting
	s.waiting = nil
	for _, f := range waiting {
		f()
	}
}

// reexport makes all mounts of a share stale.
func (w *World) reexport(s *share) {
	w.event("server.export", s.name)
	if s.conn != nil {
		s.conn.broken = syscall.ESTALE
	}
	s.conn = nil
}

// shareOf is the share that a volume is, nil if it is none.
func (w *World) shareOf(driver, handle string) *share {
	d := w.driver(driver)
	if d == nil {
		return nil
	}
	if v := d.volume(handle); v != nil {
		return v.share
	}
	return nil
}

// SilenceServer keeps the server of a volume from answering for some time. It reports whether it has one: its driver's
// personality is Network.
func (w *World) SilenceServer(driver, handle string, d time.Duration) bool {
	s := w.shareOf(driver, handle)
	if s != nil {
		w.silence(s, d)
	}
	return s != nil
}

// ExportAgain lets the server of a volume export it again: its mounts are stale then. It reports whether the volume has
// a server.
func (w *World) ExportAgain(driver, handle string) bool {
	s := w.shareOf(driver, handle)
	if s != nil {
		w.reexport(s)
	}
	return s != nil
}

// IsSilent says whether the server of a volume does not answer; false if it has none.
func (w *World) IsSilent(driver, handle string) bool {
	s := w.shareOf(driver, handle)
	return s != nil && s.isSilent
}

// MountShare mounts a share that is no volume's at path, which is made, as the node's fstab has it. The next boot does
// not mount it: that somebody does it again shows the same files.
func (w *World) MountShare(path string) {
	at := w.makeDirs(path)
	i := slices.IndexFunc(w.shares, func(s *share) bool { return s.name == path })
	if i < 0 {
		i = len(w.shares)
		w.shares = append(w.shares, &share{
			name: path, root: newSuperblock(w.fs.anonymous(), "nfs4", "server:"+path).root,
		})
	}
	m := w.mounts.newMount(w.shares[i].root)
	m.conn = w.export(w.shares[i], nil)
	w.mounts.place(actor{}, at, m)
}

// Export has a server export something that mounts name as SERVER:PATH; it is empty at first.
func (w *World) Export(source string) {
	if w.shareNamed(source) == nil {
		w.shares = append(w.shares, &share{name: source, root: newSuperblock(w.fs.anonymous(), "nfs4", source).root})
	}
}

// shareNamed is the share of a name, nil if there is none.
func (w *World) shareNamed(name string) *share {
	i := slices.IndexFunc(w.shares, func(s *share) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return w.shares[i]
}

// ExportShareAgain has a server export again what Export or MountShare has made. It reports whether there is such a
// share.
func (w *World) ExportShareAgain(name string) bool {
	s := w.shareNamed(name)
	if s != nil {
		w.reexport(s)
	}
	return s != nil
}

// mountExport is mount(2) of what a server exports, which waits while the server is silent.
func (t *mountTable) mountExport(by actor, n hal.NewMount) syscall.Errno {
	m := &mount{options: defaultOptions}
	to, _, errno := t.w.walk(n.Target, walkNoLinks)
	s := t.w.shareNamed(n.Source)
	switch {
	case !m.flag(n.Flags):
		return syscall.EINVAL
	case errno != 0:
		return errno
	case !to.n.isDir():
		return syscall.ENOTDIR
	case to.n.gone:
		return syscall.ENOENT
	case s == nil:
		return syscall.EACCES
	case s.isSilent:
		t.w.hungAt = s
		return hangs
	}
	m = t.newMount(s.root)
	m.flag(n.Flags)
	m.conn = t.w.export(s, nil)
	t.place(by, to, m)
	return 0
}

// IsShareSilent says whether the server of what MountShare has mounted at path does not answer.
func (w *World) IsShareSilent(path string) bool {
	return slices.ContainsFunc(w.shares, func(s *share) bool { return s.name == path && s.isSilent })
}

// SilenceShare keeps the server of what MountShare has mounted at path from answering for some time. It reports whether
// there is such a share.
func (w *World) SilenceShare(path string, d time.Duration) bool {
	i := slices.IndexFunc(w.shares, func(s *share) bool { return s.name == path })
	if i >= 0 {
		w.silence(w.shares[i], d)
	}
	return i >= 0
}

// silenceAll has the servers of a driver's volumes say nothing until they are told to answer.
func (d *driver) silenceAll(on bool) {
	for _, v := range d.volumes {
		switch {
		case v.share == nil:
		case on:
			d.w.silence(v.share, 0)
		default:
			d.w.answer(v.share)
		}
	}
}

// hung: the call is about a share whose server is silent. f is called when that answers, if the call may still act
// then. If it may not, it ends without effect: what waits for a server can be killed (TASK_KILLABLE), and its driver
// does.
func (r *rpc) hung(f func()) bool {
	if !r.effects {
		return false
	}
	v := r.d.volume(r.volume)
	if v == nil || v.share == nil || !v.share.isSilent {
		return false
	}
	wasOrphan := r.orphan
	v.share.wait(func() {
		if r.state != rpcEnded && r.orphan == wasOrphan {
			f()
		}
	})
	r.later(r.left(), r.end)
	return true
}

// troubles draws what becomes of the server of a volume that was just mounted: it says nothing for a while, or exports
// the volume again.
//
// A call that is under way, and acts after that, could replace a mount that is stale, and no agent could tell: then the
// server does not.
func (w *World) troubles(d *driver, v *volume, path string) {
	if v.share == nil {
		return
	}
	if w.happens(ServerSilent, siteServer, path) {
		w.meddleIn(siteServer, path, func() {
			if !v.share.isSilent {
				w.silence(v.share, w.time(siteServer, path, time.Second, silentMost))
			}
		})
	}
	if w.happens(ServerStale, siteExport, path) {
		w.meddleIn(siteExport, path, func() {
			if !slices.ContainsFunc(w.rpcs, func(r *rpc) bool {
				return r.effects && r.d.backend == d.backend && r.volume == v.handle
			}) {
				w.reexport(v.share)
			}
		})
	}
}

// isHung says whether an unmount of what is on top at a path would wait for a server.
func (t *mountTable) isHung(path string) bool {
	stack := t.stack(path)
	return len(stack) > 0 && stack[len(stack)-1].refuses(t.w) == hangs
}

// newShare makes the server's side of a volume.
func (v *volume) newShare(driver string, dev hal.Device) {
	v.share = &share{name: driver + "^" + v.handle}
	v.sb = newSuperblock(dev, "nfs4", "server:/"+v.handle)
}
