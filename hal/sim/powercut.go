package sim

import (
	"slices"
	"time"

	"github.com/volnode/volnode/hal"
)

// Disk says which unsynced changes a power cut may separate.
type Disk uint8

// The disks. On all of them the sectors of an overwrite survive one by one.
const (
	// DiskDrawn: one of the others.
	DiskDrawn Disk = iota
	// DiskOrdered is ext4 with data=ordered and auto_da_alloc: names and sizes survive up to some point in time, a size
	// not without its data, a rename over a file not without the new file's data. fsync of anything commits all names
	// so far.
	DiskOrdered
	// DiskEager is XFS: names survive up to some point in time, but the size and data of a new file may be missing
	// under its name.
	DiskEager
	// DiskMinimal is what POSIX promises: each name, size and sector by itself. Only a change of a name keeps those
	// before it of that name.
	DiskMinimal
	// DiskVolatile is a disk whose write cache is lost with the power: nothing that was not synced outlasts it.
	DiskVolatile
)

func (d Disk) String() string {
	return [...]string{"drawn", "ordered", "eager", "minimal", "volatile"}[d]
}

// changeKind is a kind of metadata change.
type changeKind uint8

const (
	changeLink changeKind = iota
	changeUnlink
	changeRename
	changeSize
	changeContent // the file was emptied: it has another content now
	changeAttributes
)

// change is one metadata change that is not durable.
type change struct {
	kind     changeKind
	number   uint64
	at       hal.Instant
	node     *node
	dir      *node // link, unlink: the directory; rename: the old one
	name     string
	newDir   *node // rename
	newName  string
	replaced *node // rename: what was at the new name
	oldSize  int64
	newSize  int64
	old, new *content
	was, is  attributes
}

// attributes are whose a node is, its mode and its project.
type attributes struct{ uid, gid, mode, project uint32 }

// pageCache is the changes of a superblock that are not durable, in order.
type pageCache struct {
	disk    Disk
	count   uint64
	changes []change
	dirty   []*node // files with writes that are not durable, perhaps with some that are
}

// writeback is after how long a kernel writes things out without being asked.
const writeback = 30 * time.Second

func (p *pageCache) log(now hal.Instant, c change) uint64 {
	if p.count%64 == 63 { // not each time: it moves all that is left
		if n := p.written(now); n > len(p.changes)/2 {
			p.changes = slices.Delete(p.changes, 0, n)
		}
	}
	p.count++
	c.number, c.at = p.count, now
	p.changes = append(p.changes, c)
	return p.count
}

// written is how many of the changes the kernel has written out by itself.
func (p *pageCache) written(now hal.Instant) int {
	n := 0
	for n < len(p.changes) && now.Sub(p.changes[n].at) > writeback {
		n++
	}
	return n
}

func (p *pageCache) soil(n *node) {
	if !slices.Contains(p.dirty, n) {
		p.dirty = append(p.dirty, n)
	}
}

// meets says whether c is about one of the names or the file that d is about.
func (c *change) meets(d *change) bool {
	if c.kind >= changeSize || d.kind >= changeSize {
		return c.kind >= changeSize && d.kind >= changeSize && c.node == d.node
	}
	same := func(dir *node, name string) bool {
		return dir != nil && (dir == d.dir && name == d.name || dir == d.newDir && name == d.newName)
	}
	return same(c.dir, c.name) || same(c.newDir, c.newName)
}

// sync makes n durable: the content and size of a file, the names in a directory.
func (p *pageCache) sync(n *node) {
	if n.kind == hal.TypeFile {
		n.file.durable()
		if len(n.file.undo) == 0 {
			p.dirty = slices.DeleteFunc(p.dirty, func(d *node) bool { return d == n })
		}
	}
	if p.disk == DiskOrdered {
		p.commitAll()
		return
	}
	kept := make([]bool, len(p.changes))
	for i := len(p.changes) - 1; i >= 0; i-- {
		c := &p.changes[i]
		own := c.dir == n || c.newDir == n || c.kind == changeAttributes && c.node == n
		if n.kind == hal.TypeFile {
			own = c.kind >= changeSize && c.node == n
		}
		kept[i] = own
		for j := i + 1; j < len(p.changes) && !kept[i]; j++ {
			kept[i] = kept[j] && (c.meets(&p.changes[j]) || p.disk == DiskEager && c.kind < changeSize &&
				p.changes[j].kind < changeSize)
		}
	}
	i := 0
	p.changes = slices.DeleteFunc(p.changes, func(change) bool { i++; return kept[i-1] })
}

// commitAll makes all names and sizes durable; on an ordered disk a size brings its data with it.
func (p *pageCache) commitAll() {
	for _, n := range p.dirty {
		n.file.reached(func(u *sectorUndo) bool { return u.grows != 0 })
	}
	p.changes = p.changes[:0]
}

// sync everything: a clean shutdown.
func (p *pageCache) syncAll() {
	p.changes = p.changes[:0]
	for _, n := range p.dirty {
		n.file.durable()
		p.revertLost(n)
	}
	p.dirty = nil
}

// revertLost takes back what failed fsyncs lost: memory no longer covers it.
func (p *pageCache) revertLost(n *node) {
	n.file.revert()
}

var (
	sitePrefix = newSite("powercut.names")
	siteChange = newSite("powercut.change")
	siteSector = newSite("powercut.sector")
)

// cut takes back a legal part of what is not durable.
func (w *World) cut(p *pageCache) {
	p.changes = slices.Delete(p.changes, 0, p.written(w.sched.now))
	survives := make([]bool, len(p.changes))
	newest := len(p.changes)
	if p.disk < DiskMinimal && newest > 0 && w.menus.single[LostWrite].live {
		s := w.subject(sitePrefix, "")
		newest -= int(w.chooser.Between(s.id(sitePrefix), 0, int64(newest)))
	}
	gone := map[uint64]bool{}
	for i := range p.changes {
		survives[i] = w.changeSurvives(p, i, newest, survives)
		if !survives[i] {
			gone[p.changes[i].number] = true
		}
	}
	forced := p.forcedData(survives)
	for i := len(p.changes) - 1; i >= 0; i-- {
		p.changes[i].undo()
	}
	for i := range p.changes {
		if survives[i] {
			p.changes[i].redo()
		}
	}
	for _, n := range p.dirty {
		w.cutSectors(p, n, gone, forced)
	}
	p.changes, p.dirty = nil, nil
}

// changeSurvives draws whether one change is on the disk.
func (w *World) changeSurvives(p *pageCache, i, newest int, survives []bool) bool {
	c := &p.changes[i]
	for j := range i {
		if !survives[j] && c.meets(&p.changes[j]) {
			return false
		}
	}
	switch p.disk {
	case DiskOrdered:
		return i < newest
	case DiskEager:
		if c.kind < changeSize {
			return i < newest
		}
	case DiskVolatile:
		return false
	case DiskDrawn, DiskMinimal:
	}
	return !w.happens(LostWrite, siteChange, c.node.name)
}

// forcedData is the files whose data survives because a rename over another file did (auto_da_alloc).
func (p *pageCache) forcedData(survives []bool) []*node {
	var forced []*node
	for i := range p.changes {
		if p.disk == DiskOrdered && survives[i] && p.changes[i].kind == changeRename && p.changes[i].replaced != nil {
			forced = append(forced, p.changes[i].node)
		}
	}
	return forced
}

// cutSectors takes back the sectors of a file that did not reach the disk: newest first, each to some version it had.
func (w *World) cutSectors(p *pageCache, n *node, gone map[uint64]bool, forced []*node) {
	c := n.file
	settled := map[int64]bool{}
	for i := len(c.undo) - 1; i >= 0; i-- {
		u := &c.undo[i]
		if settled[u.sector] {
			continue
		}
		lost := u.lost || p.disk == DiskVolatile || gone[u.grows] && u.grows != 0
		if !lost {
			safe := slices.Contains(forced, n) || p.disk != DiskMinimal && u.grows != 0
			lost = !safe && w.happens(LostWrite, siteSector, n.name)
		}
		if lost {
			c.sectors[u.sector] = u.old
		} else {
			settled[u.sector] = true
		}
	}
	c.undo = nil
}

// move puts n at dir/name, or leaves it nowhere if that place is taken or lies below n: a later change, synced by
// itself, may have made it so.
func move(n, dir *node, name string) {
	if n.parent != nil {
		n.detach()
	}
	if dir != nil && dir.child(name) == nil && !dir.inside(n) {
		dir.attach(name, n)
	}
}

func (c *change) undo() {
	switch c.kind {
	case changeLink:
		move(c.node, nil, "")
	case changeUnlink:
		move(c.node, c.dir, c.name)
	case changeRename:
		move(c.node, c.dir, c.name)
		if c.replaced != nil {
			move(c.replaced, c.newDir, c.newName)
		}
	case changeSize:
		c.node.file.size = c.oldSize
	case changeContent:
		c.node.file = c.old
	case changeAttributes:
		c.node.become(c.was)
	}
}

func (c *change) redo() {
	switch c.kind {
	case changeLink:
		if c.node.parent == nil && c.dir.child(c.name) == nil {
			c.dir.attach(c.name, c.node)
		}
	case changeUnlink:
		if c.node.parent == c.dir {
			c.node.detach()
		}
	case changeRename:
		if c.node.parent != c.dir || c.newDir.inside(c.node) {
			return
		}
		if there := c.newDir.child(c.newName); there != nil {
			there.detach()
		}
		c.node.detach()
		c.newDir.attach(c.newName, c.node)
	case changeSize:
		c.node.file.size = c.newSize
	case changeContent:
		c.node.file = c.new
	case changeAttributes:
		c.node.become(c.is)
	}
}
