package sim

import (
	"cmp"
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file models project quotas: what files take is counted by their project, and held to its limit. A file is of the
// project of the directory in which it is made. Limits outlast a power cut at once, as nothing says that they do not;
// that a directory is of a project, only once the directory is synced. Directories take no bytes.

// quotas are the project quotas of a filesystem.
type quotas struct {
	isOff  bool     // it was mounted without them: limits are kept, and hold nobody
	limits []limit  // by project
	taken  []uint32 // people have named them, or set a limit for them
	mixed  []uint32 // containers have given their directories to them
}

// limit is that of one project.
type limit struct {
	project uint32
	bytes   int64
	isOurs  bool // an agent has set it
}

func (q *quotas) at(project uint32) (int, bool) {
	return slices.BinarySearchFunc(q.limits, project, func(l limit, p uint32) int { return cmp.Compare(l.project, p) })
}

// of is the limit of a project, nil if it has none.
func (q *quotas) of(project uint32) *limit {
	if i, is := q.at(project); is {
		return &q.limits[i]
	}
	return nil
}

func (q *quotas) set(l limit) {
	i, is := q.at(l.project)
	if !is {
		q.limits = slices.Insert(q.limits, i, l)
	}
	q.limits[i] = l
}

func (q *quotas) lift(project uint32) {
	if i, is := q.at(project); is {
		q.limits = slices.Delete(q.limits, i, i+1)
	}
}

// SetQuotas mounts the root filesystem with project quotas, or without from now on.
func (w *World) SetQuotas(on bool) {
	sb := w.fs.root
	if sb.quotas == nil {
		sb.quotas = &quotas{}
	}
	sb.quotas.isOff = !on
}

// ProjectUse is what somebody on the node does with a project.
type ProjectUse uint8

// The uses.
const (
	// ProjectDirectory: a directory is of it.
	ProjectDirectory ProjectUse = iota
	// ProjectName: /etc/projid names it.
	ProjectName
	// ProjectLimit: it has a limit, and nothing is of it yet.
	ProjectLimit
)

// TakeProject has somebody on the node use a project. A directory of it is made at path.
func (w *World) TakeProject(project uint32, how ProjectUse, path string) {
	sb := w.fs.root
	if sb.quotas == nil {
		w.SetQuotas(false)
	}
	switch how {
	case ProjectDirectory:
		w.makeDirs(path).n.project = project
	case ProjectName:
		sb.quotas.taken = append(sb.quotas.taken, project)
	case ProjectLimit:
		sb.quotas.taken = append(sb.quotas.taken, project)
		sb.quotas.set(limit{project: project, bytes: 1 << 20})
	}
}

// UseProject is TakeProject, for the conformance suite: "directory" or "limit".
func (w *World) UseProject(project uint32, how, path string) {
	use := ProjectDirectory
	if how == "limit" {
		use = ProjectLimit
	}
	w.TakeProject(project, use, path)
}

// GiveProject has a container, which is root, give the directory at a path to another project (FS_IOC_FSSETXATTR).
func (w *World) GiveProject(path string, project uint32) syscall.Errno {
	at, _, errno := w.look(path, walkAll)
	if errno == 0 && at.n.sb.quotas != nil {
		at.n.project = project
		at.n.sb.quotas.mixed = append(at.n.sb.quotas.mixed, project)
	}
	return errno
}

// Project is a project of the root filesystem, as it is.
type Project struct {
	Number  uint32
	Limit   int64 // in bytes, 0 for none
	IsOurs  bool  // an agent has set the limit
	IsTaken bool  // people have named it, or set a limit for it
	IsMixed bool  // containers have given directories to it
	Used    int64 // bytes
	// Tops are the directories that are of it and lie in one that is not, as their filesystem has their paths.
	Tops []string
}

// Projects returns the projects that files are of, that have a limit, or that people have named, sorted by number.
func (w *World) Projects() (all []Project) {
	sb := w.fs.root
	at := func(number uint32) *Project {
		i, is := slices.BinarySearchFunc(all, number, func(p Project, n uint32) int { return cmp.Compare(p.Number, n) })
		if !is {
			all = slices.Insert(all, i, Project{Number: number})
		}
		return &all[i]
	}
	sb.root.eachOfProject(func(n *node) {
		p := at(n.project)
		p.Used += n.takes()
		if n.parent == nil || n.parent.project != n.project {
			p.Tops = append(p.Tops, n.path())
		}
	})
	if sb.quotas == nil {
		return all
	}
	for _, l := range sb.quotas.limits {
		p := at(l.project)
		p.Limit, p.IsOurs = l.bytes, l.isOurs
	}
	for _, number := range sb.quotas.taken {
		at(number).IsTaken = true
	}
	for _, number := range sb.quotas.mixed {
		at(number).IsMixed = true
	}
	return all
}

// ProjectAt is the project of what is at a path, 0 for none.
func (w *World) ProjectAt(path string) uint32 {
	at, _, errno := w.look(path, walkNoLinks)
	if errno != 0 {
		return 0
	}
	return at.n.project
}

// takes is how many bytes of its filesystem a node takes itself.
func (n *node) takes() int64 {
	bytes := int64(n.bulk) * sectorSize
	if n.file != nil {
		bytes += inSectors(n.file.size)
	}
	return bytes
}

// inSectors rounds up to sectors.
func inSectors(size int64) int64 { return (size + sectorSize - 1) / sectorSize * sectorSize }

// eachOfProject calls f with n and what is below it, as far as that is of a project.
func (n *node) eachOfProject(f func(*node)) {
	if n.project != 0 {
		f(n)
	}
	for _, k := range n.kids {
		k.eachOfProject(f)
	}
}

// used is what the nodes of a project take, and how many there are.
func (sb *superblock) used(project uint32) (bytes int64, nodes int64) {
	sb.root.eachOfProject(func(n *node) {
		if n.project == project {
			bytes += n.takes()
			nodes += 1 + int64(n.bulk)
		}
	})
	return bytes, nodes
}

// mayTake says why what is of the project of n can't take so many bytes more.
func (n *node) mayTake(more int64) syscall.Errno {
	q := n.sb.quotas
	if q == nil || q.isOff || n.project == 0 || more <= 0 {
		return 0
	}
	l := q.of(n.project)
	if l == nil {
		return 0
	}
	if bytes, _ := n.sb.used(n.project); bytes+more <= inSectors(l.bytes) {
		return 0
	}
	if n.sb.fsType == "xfs" {
		return syscall.ENOSPC // xfs_trans_dqresv of Linux
	}
	return syscall.EDQUOT
}

// WriteInside is WriteFile by a container: quotas hold it.
func (w *World) WriteInside(path string, data []byte) syscall.Errno {
	at, _, errno := w.look(path[:lastSlash(path)], walkAll)
	if errno == 0 {
		old := int64(0)
		if k := at.n.child(path[lastSlash(path)+1:]); k != nil && k.file != nil {
			old = k.file.size
		}
		errno = at.n.mayTake(inSectors(int64(len(data))) - inSectors(old))
	}
	if errno == 0 || errno == syscall.ENOENT { // a directory that is missing is made
		w.WriteFile(path, data)
		return 0
	}
	return errno
}

type hostQuotas struct{ *host }

var (
	callLimit = newCallSite("quotas.limit", hal.ClassFile, true)
	callQuota = newCallSite("quotas.usage", hal.ClassFile, false)
	callLift  = newCallSite("quotas.lift", hal.ClassFile, true)
)

// directory is that at a path, with the quotas of its filesystem, nil for none.
func (w *World) directory(path string) (*node, *quotas, syscall.Errno) {
	at, errno := w.open(path, hal.Inside{})
	switch {
	case errno == syscall.ELOOP && w.isLink(path, hal.Inside{}): // O_DIRECTORY looks at the type first
		errno = syscall.ENOTDIR
	case errno == 0 && !at.n.isDir():
		errno = syscall.ENOTDIR
	}
	if errno != 0 {
		return nil, nil, errno
	}
	q := at.n.sb.quotas
	if q != nil && q.isOff {
		q = nil
	}
	return at.n, q, 0
}

func (h hostQuotas) Limit(c hal.Call, path string, bytes int64, project uint32) (uint32, error) {
	w := h.w
	k := h.enter(callLimit, path, c, &w.menus.file)
	if errno, ok := k.acts(); !ok && k.fault != NoSpace {
		return 0, k.done(errno)
	}
	n, q, errno := w.directory(path)
	switch {
	case errno != 0:
	case bytes <= 0:
		errno = syscall.EINVAL
	case q == nil:
		errno = syscall.EOPNOTSUPP
	default:
		project, errno = q.canLimit(n, project)
	}
	if errno != 0 {
		return 0, k.done(errno)
	}
	if project == 0 {
		if project = q.free(n.sb); project == 0 {
			return 0, k.leave(syscall.ENOSPC, hal.Unknown)
		}
	}
	steps := 3 // a crash may leave the project alone (0), or have that synced (1); from 2 on the limit is set
	if k.crash == CrashAfter || k.fault == NoSpace {
		steps = w.chooser.Pick(k.subject.id(k.site.amount), []uint32{1, 1, 1})
	}
	if is := n.attributes(); is.project != project {
		is.project = project
		w.logChange(n, change{kind: changeAttributes, node: n, was: n.attributes(), is: is})
		n.become(is)
	}
	if steps > 0 && n.sb.pages != nil {
		n.sb.pages.sync(n)
	}
	if steps > 1 && k.fault != NoSpace {
		q.set(limit{project: project, bytes: bytes, isOurs: true})
	}
	w.tell(actor{call: &k}, Effect{Kind: EffectLimited, Path: path, Outcome: hal.Done})
	if k.fault == NoSpace {
		return 0, k.leave(syscall.ENOSPC, hal.Unknown)
	}
	return project, k.done(0)
}

// canLimit is the project that a directory keeps, 0 for another one; or why it can't have a limit.
func (q *quotas) canLimit(n *node, project uint32) (uint32, syscall.Errno) {
	has := q.of(n.project)
	switch {
	case n.project != 0 && (!hal.IsProject(n.project) || project != 0 && project != n.project):
		return 0, syscall.EEXIST
	case n.project != 0 && (project == n.project || has != nil && has.isOurs):
		return n.project, 0
	case len(n.kids) > 0 || n.bulk > 0:
		return 0, syscall.ENOTEMPTY
	}
	return 0, 0
}

// free is the first project of agents that nobody has, 0 if there is none.
func (q *quotas) free(sb *superblock) uint32 {
	used := map[uint32]bool{}
	sb.root.eachOfProject(func(n *node) { used[n.project] = true })
	for p := hal.FirstProject; p <= hal.LastProject; p++ {
		if l := q.of(p); !used[p] && !slices.Contains(q.taken, p) && (l == nil || l.isOurs) {
			return p
		}
	}
	return 0
}

func (h hostQuotas) Usage(c hal.Call, path string) (hal.Usage, error) {
	w := h.w
	k := h.enter(callQuota, path, c, &w.menus.read)
	errno, ok := k.acts()
	if !ok {
		w.tell(actor{call: &k}, Effect{Kind: EffectMeasured, Path: path})
		return hal.Usage{}, k.done(errno)
	}
	n, q, errno := w.directory(path)
	var l *limit
	if q != nil {
		l = q.of(n.project)
	}
	switch {
	case errno != 0:
		return hal.Usage{}, k.done(errno)
	case l == nil || !l.isOurs:
		return hal.Usage{}, k.done(syscall.ENODATA)
	}
	w.tell(actor{call: &k}, Effect{Kind: EffectMeasured, Path: path})
	bytes, nodes := n.sb.used(n.project)
	return hal.Usage{
		Bytes:  hal.Amount{Total: l.bytes, Used: bytes, Available: max(0, l.bytes-bytes)},
		Inodes: hal.Amount{Used: nodes - 1},
	}, k.done(0)
}

func (h hostQuotas) Lift(c hal.Call, path string, project uint32) error {
	w := h.w
	k := h.enter(callLift, path, c, &w.menus.file)
	if errno, ok := k.acts(); !ok {
		return k.done(errno)
	}
	n, _, errno := w.directory(path)
	home := w.mounts.baseLocation()
	switch {
	case errno != 0 && errno != syscall.ENOENT:
		return k.done(errno)
	case home.n == nil:
		return k.done(syscall.ENOENT)
	}
	q := home.n.sb.quotas
	if q == nil || q.isOff {
		return k.done(0)
	}
	isCut := k.crash == CrashAfter && w.chooser.Pick(k.subject.id(k.site.amount), []uint32{1, 1}) == 1
	if n != nil && project != 0 && project != n.project && hal.IsProject(n.project) {
		return k.done(syscall.EEXIST)
	}
	if l := q.limitOf(n); l != nil && l.isOurs {
		q.lift(n.project)
	}
	if isCut {
		return k.done(0)
	}
	for i := len(q.limits) - 1; i >= 0; i-- {
		if l := q.limits[i]; l.isOurs {
			if _, nodes := home.n.sb.used(l.project); nodes == 0 {
				q.lift(l.project)
			}
		}
	}
	return k.done(0)
}

// limitOf is the limit of a directory, nil if it has none.
func (q *quotas) limitOf(n *node) *limit {
	if n == nil {
		return nil
	}
	return q.of(n.project)
}
