package sim

import (
	"maps"
	"math"
	gopath "path"
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file models git repositories that servers have.

// repository is what a URL names.
type repository struct {
	revisions map[string]map[string]string // content by path, by the name of the revision; "" and "main" are the newest
	isDamaged bool
	server    *share // silent or not; it has no mounts
}

// GitDir is the directory in a clone that is git's own. The model has one file there.
const GitDir = ".git"

// PutRepository has somebody put the next revision of a repository on its server: it is the newest, and revision names
// it, too, unless that is "". files has the content of each file by its path, without a slash before it. The URL is
// name, if that is one.
func (w *World) PutRepository(name, revision string, files map[string]string) (url string) {
	if url = name; hal.SchemeOf(url) == "" {
		url = "https://git.example/" + name
	}
	r := w.repositories[url]
	if r == nil {
		r = &repository{revisions: map[string]map[string]string{}, server: &share{name: url}}
		w.repositories[url] = r
	}
	r.isDamaged = false
	for _, name := range []string{"", "main", revision} {
		r.revisions[name] = maps.Clone(files)
	}
	return url
}

// DamageRepository has a part of a repository rot; it can't be cloned from then on.
func (w *World) DamageRepository(url string) {
	if r := w.repositories[url]; r != nil {
		r.isDamaged = true
	}
}

// RemoveRepository has somebody remove a repository from its server.
func (w *World) RemoveRepository(url string) {
	if r := w.repositories[url]; r != nil {
		w.answer(r.server)
		delete(w.repositories, url)
	}
}

// SilenceRepository keeps the server of a repository from answering until [World.AnswerRepository]. It reports whether
// there is such a repository.
func (w *World) SilenceRepository(url string) bool {
	r := w.repositories[url]
	if r != nil {
		w.silence(r.server, 0)
	}
	return r != nil
}

// AnswerRepository ends the silence of the server of a repository.
func (w *World) AnswerRepository(url string) {
	if r := w.repositories[url]; r != nil {
		w.answer(r.server)
	}
}

type hostRepositories struct{ *host }

var callClone = newCallSite("repositories.clone", hal.ClassHelper, true)

// Clone waits for a silent server as long as [hal.CloneMost].
func (h hostRepositories) Clone(c hal.Call, r hal.Repository) error {
	w := h.w
	k := h.enter(callClone, r.Dir, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part, until := k.fault == FailPart, w.sched.now.Add(hal.CloneMost)
	isWaiting := false
	k.dies = func(by actor) { _ = w.clone(by, r, true) } // nobody hears how that ends
	errno = k.inKernel("clone "+r.Dir, func(by actor) syscall.Errno {
		from := w.repositories[r.URL]
		switch {
		case r.Bad() != "" || from == nil || !from.server.isSilent:
			return w.clone(by, r, part)
		case w.sched.now >= until:
			return syscall.ETIMEDOUT
		}
		w.hungAt = from.server
		if !isWaiting {
			isWaiting = true
			w.sched.at(until, callClone.hash^hashString(r.Dir), nil, func() { w.retry(from.server) })
		}
		return hangs
	})
	if errno == 0 && (part || k.fault == FailFull) {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// retry has all that waits for a server look at it again.
func (w *World) retry(s *share) {
	waiting := s.waiting
	s.waiting = nil
	for _, f := range waiting {
		f()
	}
}

// clone makes r.Dir. With part, it is cut short.
func (w *World) clone(by actor, r hal.Repository, part bool) syscall.Errno {
	if !clean(r.Dir) || r.Bad() != "" {
		return syscall.EINVAL
	}
	parent, name, errno := w.beneath(r.Dir, hal.Inside{})
	switch {
	case errno != 0:
		return errno
	case name == "" || parent.n.child(name) != nil:
		return syscall.EEXIST
	case parent.m.readOnly:
		return syscall.EROFS
	}
	partial := gopath.Base(hal.Cloning(r.Dir))
	if r := (&removal{w: w, by: by, left: math.MaxInt}); !r.remove(parent, partial) {
		return r.why
	}
	from := w.repositories[r.URL]
	if from == nil || from.revisions[r.Revision] == nil {
		return syscall.ENOENT
	}
	if from.isDamaged {
		return syscall.EBADMSG
	}
	w.checkOut(by, parent, partial, r, from.revisions[r.Revision], part)
	if part {
		return 0
	}
	top := parent.n.child(partial)
	w.syncTree(top)
	if errno := w.rename(by, parent, partial, parent, name); errno != 0 {
		return errno
	}
	w.syncOne(parent.n)
	return 0
}

// checkout is the files of one clone in the making.
type checkout struct {
	w  *World
	by actor
	of hal.Repository
}

// checkOut makes the directory of a volume with the files of a revision.
func (w *World) checkOut(
	by actor, parent location, name string, r hal.Repository, files map[string]string, part bool,
) {
	c := checkout{w, by, r}
	at := c.directories(c.directory(parent, name, 0o777), r.Below)
	c.file(c.directories(at, GitDir), "HEAD", r.Revision)
	for i, path := range slices.Sorted(maps.Keys(files)) {
		if part && i >= len(files)/2 {
			return
		}
		dir, file := gopath.Split(path)
		c.file(c.directories(at, dir), file, files[path])
	}
}

// directories makes the directories of a relative path that are missing.
func (c *checkout) directories(at location, path string) location {
	for next, rest := nextName(path); next != "" && path != "."; next, rest = nextName(rest) {
		if k := at.n.child(next); k != nil {
			at.n = k
		} else {
			at = c.directory(at, next, 0o755)
		}
	}
	return at
}

func (c *checkout) directory(in location, name string, mode uint32) location {
	if c.of.IsGroups {
		mode |= modeSetGID | 0o020
	}
	return location{in.m, c.enter(in, name, hal.TypeDirectory, mode)}
}

func (c *checkout) file(in location, name, content string) {
	mode := uint32(0o644)
	if c.of.IsGroups {
		mode |= 0o020
	}
	c.w.put(c.enter(in, name, hal.TypeFile, mode), 0, []byte(content))
}

// enter makes a name: root's, and the group's if the clone has one.
func (c *checkout) enter(in location, name string, t hal.FileType, mode uint32) *node {
	n := in.n.newChild(t, mode)
	n.uid, n.gid = 0, 0
	if c.of.IsGroups {
		n.gid = c.of.Group
	}
	c.w.link(c.by, in, name, n)
	return n
}
