package haltest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/volnode/volnode/hal"
)

// numbering makes what two backends show comparable: mount ids, devices and inodes get numbers in the order in which
// they appear.
type numbering struct {
	dir     string // the world's directory
	base    hal.Mount
	root    string // where dir lies within the filesystem of base
	ids     map[hal.MountID]int
	devices map[hal.Device]int
	inodes  map[inode]int
	disks   map[string]string // by path, their names in the script

	lastDevice, lastInode, lastID int
}

// inode is a file among all.
type inode struct {
	device hal.Device
	number uint64
}

// learn finds the mount on which the world's directory lies.
func (n *numbering) learn(r *run) {
	*n = numbering{
		dir: r.world.Dir(), ids: map[hal.MountID]int{}, devices: map[hal.Device]int{},
		inodes: map[inode]int{}, disks: map[string]string{},
	}
	table, err := r.host.Mounts.Table(hal.Call{})
	if err != nil {
		panic("haltest: " + err.Error())
	}
	for _, m := range table {
		covers := m.Path == "/" || m.Path == n.dir || strings.HasPrefix(n.dir, m.Path+"/")
		if covers && len(m.Path) >= len(n.base.Path) {
			n.base = m
		}
	}
	n.root = strings.TrimSuffix(n.base.Root, "/") + "/" + strings.Trim(strings.TrimPrefix(n.dir, n.base.Path), "/")
	n.root = strings.TrimSuffix(n.root, "/")
}

func (n *numbering) id(id hal.MountID) string {
	if id == n.base.ID {
		return "base"
	}
	if n.ids[id] == 0 {
		n.lastID++
		n.ids[id] = n.lastID
	}
	return fmt.Sprintf("m%d", n.ids[id])
}

func (n *numbering) device(d hal.Device) int {
	if n.devices[d] == 0 {
		n.lastDevice++
		n.devices[d] = n.lastDevice
	}
	return n.devices[d]
}

func (n *numbering) inode(i hal.Info) int {
	is := inode{i.Device, i.Inode}
	if n.inodes[is] == 0 {
		n.lastInode++
		n.inodes[is] = n.lastInode
	}
	return n.inodes[is]
}

// forget drops the numbers of what is gone and may be another's next: Linux gives the device number of one superblock
// to the next.
func (n *numbering) forget(table []hal.Mount) {
	isGone := func(d hal.Device) bool {
		return d != n.base.Device && !slices.ContainsFunc(table, func(m hal.Mount) bool { return m.Device == d })
	}
	maps.DeleteFunc(n.devices, func(d hal.Device, _ int) bool { return isGone(d) })
	maps.DeleteFunc(n.inodes, func(i inode, _ int) bool { return isGone(i.device) })
	if usesMountIDsAgain() {
		maps.DeleteFunc(n.ids, func(id hal.MountID, _ int) bool {
			return !slices.ContainsFunc(table, func(m hal.Mount) bool { return m.ID == id })
		})
	}
}

func (n *numbering) mounts(table []hal.Mount) []string {
	var lines []string
	for _, m := range table {
		lines = append(lines, n.mount(m))
	}
	return lines
}

func (n *numbering) mount(m hal.Mount) string {
	device, kind, root := "base", "base", m.Root
	if m.Device == n.base.Device {
		if rest, ok := strings.CutPrefix(root, n.root); ok {
			root = "~" + rest
		}
	} else {
		device = fmt.Sprintf("d%d", n.device(m.Device))
		source := m.Source
		if disk, is := n.disks[source]; is {
			source = "disk " + disk
		}
		kind = fmt.Sprintf("%s(%s)", m.FSType, source)
	}
	id := n.id(m.ID) // before the parent's: a line's own number is first
	line := fmt.Sprintf("%s on %s parent %s root %s of %s %s", id, n.path(m.Path), n.id(m.Parent), root, device, kind)
	if m.ReadOnly {
		line += " ro"
	}
	if m.Shared {
		line += " shared"
	}
	return line + " " + strings.Join(m.Options, ",")
}

func (n *numbering) path(path string) string {
	if path == n.dir {
		return "."
	}
	return strings.TrimPrefix(path, n.dir+"/")
}

func (n *numbering) info(i hal.Info) string {
	if i == (hal.Info{MountPoint: true}) {
		return "mount point"
	}
	line := fmt.Sprintf("%s %04o uid %d gid %d inode i%d", i.Type, i.Mode, i.UID, i.GID, n.inode(i))
	if i.Type == hal.TypeSymlink {
		line = fmt.Sprintf("%s inode i%d", i.Type, n.inode(i)) // a link's mode and size mean nothing
	}
	if i.Type == hal.TypeFile {
		line += fmt.Sprintf(" size %d", i.Size)
	}
	if i.MountPoint {
		line += " mount point"
	}
	return line
}

// below keeps the mounts on and below the world's directory, save the one it lies on.
func (r *run) below(table []hal.Mount) []hal.Mount {
	var kept []hal.Mount
	for _, m := range table {
		if m.ID != r.names.base.ID && (m.Path == r.names.dir || strings.HasPrefix(m.Path, r.names.dir+"/")) {
			kept = append(kept, m)
		}
	}
	return kept
}

// state shows the mounts and the names, with the content of files.
func (r *run) state() []string {
	table, err := r.host.Mounts.Table(hal.Call{})
	lines := r.names.mounts(r.below(table))
	if err != nil {
		lines = append(lines, resultOf(err))
	}
	return r.tree(lines, r.world.Dir(), hal.Call{})
}

// tree shows the names below dir, and those inside the mounts there.
func (r *run) tree(lines []string, dir string, c hal.Call) []string {
	entries, err := r.host.Tree.List(c, dir)
	if err != nil {
		return append(lines, r.names.path(dir)+": "+resultOf(err))
	}
	for _, e := range entries {
		path := dir + "/" + e.Name
		info, err := r.host.Tree.Stat(c, path)
		if err != nil {
			lines = append(lines, r.names.path(path)+": "+resultOf(err))
			continue
		}
		line := r.names.path(path) + ": " + r.names.info(info)
		if info.Type == hal.TypeFile {
			content, err := r.host.Files.Read(c, path, 1<<20)
			line += " " + show(content)
			if err != nil {
				line += " " + resultOf(err)
			}
		}
		if info.Type == hal.TypeSymlink {
			text, err := r.host.Tree.Readlink(c, path)
			if line += " to " + text; err != nil {
				line += " " + resultOf(err)
			}
		}
		lines = append(lines, line)
		stack, _ := r.host.Mounts.At(hal.Call{}, path)
		switch {
		case info.MountPoint && len(stack) > 0:
			in := hal.Call{Inside: hal.Inside{Path: path, ID: stack[len(stack)-1].ID}}
			if is, err := r.host.Tree.Stat(in, path); err == nil && is.Type == hal.TypeDirectory {
				lines = r.tree(lines, path, in)
			}
		case e.Name == ".git": // what is in it is git's
		case info.Type == hal.TypeDirectory && !info.MountPoint:
			lines = r.tree(lines, path, c)
		}
	}
	return lines
}
