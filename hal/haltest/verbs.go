package haltest

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

type verb func(r *run, a args) (data []string, err error)

var verbs = collect(treeVerbs, fileVerbs, mountVerbs, hostVerbs, flexVerbs, quotaVerbs, sanVerbs, fcVerbs,
	multipathVerbs)

func collect(tables ...map[string]verb) map[string]verb {
	all := map[string]verb{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

var treeVerbs = map[string]verb{
	"mkdir": func(r *run, a args) ([]string, error) {
		return nil, r.host.Tree.Mkdir(r.call(), r.path(a[0]), uint32(a.number(1, 0o750)))
	},
	"rm": func(r *run, a args) ([]string, error) { return nil, r.host.Tree.Remove(r.call(), r.path(a[0])) },
	"rmtree": func(r *run, a args) ([]string, error) {
		more, err := r.host.Tree.RemoveTree(r.call(), r.path(a[0]), int(a.number(1, 1000)))
		if more {
			return []string{"more"}, err
		}
		return nil, err
	},
	"chain": func(r *run, a args) ([]string, error) { return nil, r.chain(a[0], int(a.number(1, 0))) },
	"mv": func(r *run, a args) ([]string, error) {
		return nil, r.host.Tree.Rename(r.call(), r.path(a[0]), r.path(a[1]))
	},
	"chown": func(r *run, a args) ([]string, error) {
		return nil, r.host.Tree.Chown(r.call(), r.path(a[0]), int(a.number(1, -1)), int(a.number(2, -1)))
	},
	"chmod": func(r *run, a args) ([]string, error) {
		return nil, r.host.Tree.Chmod(r.call(), r.path(a[0]), uint32(a.number(1, 0o755)))
	},
	"symlink": func(r *run, a args) ([]string, error) {
		return nil, r.host.Tree.Symlink(r.call(), a.at(0), r.path(a[1]))
	},
	"readlink": func(r *run, a args) ([]string, error) {
		text, err := r.host.Tree.Readlink(r.call(), r.path(a[0]))
		if err != nil {
			return nil, err
		}
		return []string{text}, nil
	},
	"ls": func(r *run, a args) ([]string, error) {
		entries, err := r.host.Tree.List(r.call(), r.path(a[0]))
		var data []string
		for _, e := range entries {
			data = append(data, e.Name+" "+e.Type.String())
		}
		return data, err
	},
	"stat": func(r *run, a args) ([]string, error) {
		info, err := r.host.Tree.Stat(r.call(), r.path(a[0]))
		if err != nil {
			return nil, err
		}
		return []string{r.names.info(info)}, nil
	},
}

var fileVerbs = map[string]verb{
	"read": func(r *run, a args) ([]string, error) {
		content, err := r.host.Files.Read(r.call(), r.path(a[0]), a.number(1, 1<<20))
		if err != nil {
			return nil, err
		}
		return []string{show(content)}, nil
	},
	"write": func(r *run, a args) ([]string, error) {
		return nil, r.host.Files.Write(r.call(), r.path(a[0]), []byte(a.at(1)), uint32(a.number(2, 0o640)))
	},
	"writeat": func(r *run, a args) ([]string, error) {
		return nil, r.host.Files.WriteAt(r.call(), r.path(a[0]), a.number(1, 0), []byte(a.at(2)))
	},
	"readat": func(r *run, a args) ([]string, error) {
		b := make([]byte, a.number(2, 8))
		n, err := r.host.Files.ReadAt(r.call(), r.path(a[0]), a.number(1, 0), b)
		if err != nil {
			return nil, err
		}
		return []string{show(b[:n])}, nil
	},
	"alloc": func(r *run, a args) ([]string, error) {
		return nil, r.host.Files.Allocate(r.call(), r.path(a[0]), a.number(1, 0), uint32(a.number(2, 0o640)))
	},
	"sync": func(r *run, a args) ([]string, error) { return nil, r.host.Files.Sync(r.call(), r.path(a[0])) },
}

var mountVerbs = map[string]verb{
	"mount": func(r *run, a args) ([]string, error) {
		m := hal.NewMount{FSType: a[0], Target: r.path(a[1]), Source: a.at(2)}
		if name, is := strings.CutPrefix(m.Source, "disk:"); is {
			m.Source = r.disks[name].path
		}
		if a.at(3) != "" {
			m.Flags = strings.Split(a.at(3), ",")
		}
		for o := range strings.SplitSeq(a.at(4), ",") {
			if key, value, _ := strings.Cut(o, "="); key != "" {
				m.Options = append(m.Options, hal.Option{Key: key, Value: value})
			}
		}
		return nil, r.host.Mounts.Mount(r.call(), m)
	},
	"bind": func(r *run, a args) ([]string, error) {
		b := hal.BindSpec{Source: r.path(a[0]), Target: r.path(a[1])}
		if a.at(2) != "" {
			b.Flags = strings.Split(a.at(2), ",")
		}
		return nil, r.host.Mounts.Bind(r.call(), b)
	},
	"shows": func(r *run, a args) ([]string, error) { // whether the mount at the second path shows what the first leads to
		found, err := r.host.HostPaths.Find(r.call(), r.path(a[0]))
		if err != nil {
			return nil, err
		}
		stack, err := r.host.Mounts.At(r.call(), r.path(a[1]))
		if err != nil || len(stack) == 0 {
			return []string{"nothing is mounted"}, err
		}
		top := stack[len(stack)-1]
		return []string{fmt.Sprint(found.Device == top.Device && found.Root == top.Root)}, nil
	},
	"umount": func(r *run, a args) ([]string, error) {
		stack, err := r.host.Mounts.At(hal.Call{}, r.path(a[0]))
		if err != nil {
			return nil, err
		}
		id := noMount
		switch {
		case len(stack) == 0 || a.at(1) == "wrong":
		case a.at(1) == "bottom":
			id = stack[0].ID
		default:
			id = stack[len(stack)-1].ID
		}
		return nil, r.host.Mounts.Unmount(r.call(), r.path(a[0]), id)
	},
	"at": func(r *run, a args) ([]string, error) {
		stack, err := r.host.Mounts.At(r.call(), r.path(a[0]))
		return r.names.mounts(stack), err
	},
	"within": func(r *run, a args) ([]string, error) {
		found, err := r.host.Mounts.Within(r.call(), r.path(a[0]))
		return r.names.mounts(r.below(found)), err
	},
	"table": func(r *run, _ args) ([]string, error) {
		table, err := r.host.Mounts.Table(r.call())
		return r.names.mounts(r.below(table)), err
	},
}

var hostVerbs = map[string]verb{
	"type": func(r *run, a args) ([]string, error) {
		found, err := r.host.HostPaths.Find(r.call(), r.path(a[0]))
		switch {
		case err != nil:
			return nil, err
		case !found.Exists:
			return []string{"nothing"}, nil
		}
		return []string{found.Type.String()}, nil
	},
	"is": func(r *run, a args) ([]string, error) { // where it lies, and which file the tree has there
		found, err := r.host.HostPaths.Find(r.call(), r.path(a[0]))
		if err != nil || !found.Exists {
			return nil, err
		}
		info, err := r.host.Tree.Stat(r.call(), found.Path)
		is := info.Inode == found.Inode && info.Born == found.Born && info.Type == found.Type
		at, _ := filepath.Rel(r.world.Dir(), found.Path) // both are absolute
		return []string{at, fmt.Sprint(is)}, err
	},
	"count": func(r *run, a args) ([]string, error) { // names alone: a disk may take more blocks than it needs
		is, err := r.host.HostPaths.Count(r.call(), r.path(a[0]))
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("%d names, %t", is.Inodes.Used, is.Bytes.Used > 0)}, nil
	},
	"usage": func(r *run, a args) ([]string, error) { // whether a filesystem says how full it is, and agrees with itself
		is, err := r.host.HostPaths.Usage(r.call(), r.path(a[0]))
		if err != nil {
			return nil, err
		}
		b, n := is.Bytes, is.Inodes
		return []string{fmt.Sprint(b.Total > 0 && b.Used+b.Available <= b.Total && n.Total == n.Used+n.Available)}, nil
	},
	"where": func(r *run, a args) ([]string, error) {
		found, err := r.host.HostPaths.Find(r.call(), r.path(a[0]))
		return found.Below, err
	},
	"cached": func(r *run, a args) ([]string, error) { // of what was just asked for: then it is in the cache
		found, err := r.host.HostPaths.Cached(r.call(), r.path(a[0]))
		// A mount or a rename at that instant, or a link whose time of access is to be written: it is as old as the
		// link.
		for tries := 0; hal.Is(err, syscall.EAGAIN) && tries < 10000; tries++ {
			if _, err = r.host.HostPaths.Find(r.call(), r.path(a[0])); err == nil {
				found, err = r.host.HostPaths.Cached(r.call(), r.path(a[0]))
			}
		}
		return append([]string{found.Type.String()}, found.Below...), err
	},
	"make": func(r *run, a args) ([]string, error) {
		t := map[string]hal.FileType{"dir": hal.TypeDirectory, "file": hal.TypeFile}[a[1]]
		return nil, r.host.HostPaths.Make(r.call(), r.path(a[0]), t)
	},
	"hold": func(r *run, a args) ([]string, error) {
		if r.holds[a[0]] != nil {
			return nil, syscall.EALREADY
		}
		release, err := r.world.Hold(r.path(a[0]))
		if err == nil {
			r.holds[a[0]] = release
		}
		return nil, err
	},
	"release": func(r *run, a args) ([]string, error) {
		if release := r.holds[a[0]]; release != nil {
			release()
			delete(r.holds, a[0])
		}
		return nil, nil
	},
	"image": func(r *run, a args) ([]string, error) {
		files := map[string]string{}
		for i := 1; i+1 < len(a); i += 2 {
			files[a[i]] = a[i+1]
		}
		r.world.PutImage(a[0], files)
		return nil, nil
	},
	"damage": func(r *run, a args) ([]string, error) {
		r.world.DamageImage(a[0])
		return nil, nil
	},
	"unpack": func(r *run, a args) ([]string, error) {
		return nil, r.host.Images.Unpack(r.call(), a[0], r.path(a[1]))
	},
	"repository": func(r *run, a args) ([]string, error) {
		files := map[string]string{}
		for i := 2; i+1 < len(a); i += 2 {
			files[a[i]] = a[i+1]
		}
		r.urls[a[0]] = r.world.PutRepository(a[0], a.at(1), files)
		return nil, nil
	},
	"clone": func(r *run, a args) ([]string, error) {
		group := a.number(4, -1)
		url := cmp.Or(r.urls[a[0]], a[0])
		if name, is := strings.CutSuffix(a[0], "~"); is {
			url = r.urls[name] + "-gone"
		}
		return nil, r.host.Repositories.Clone(r.call(), hal.Repository{
			URL: url, Revision: a.at(1), Dir: r.path(a[2]), Below: cmp.Or(a.at(3), "."),
			IsGroups: group >= 0, Group: uint32(max(group, 0)),
		})
	},
	"disk": func(r *run, a args) ([]string, error) {
		uuid := ""
		if len(a) > 2 {
			uuid = a[2]
		}
		r.disks[a[0]] = &disk{path: r.world.PutDisk(a[0], a[1], uuid)}
		r.names.disks[r.disks[a[0]].path] = a[0]
		return nil, nil
	},
	"probe": func(r *run, a args) ([]string, error) {
		d := r.disks[a[0]]
		if d == nil {
			d = &disk{path: r.path(a[0])}
		}
		is, err := r.host.Blocks.Probe(r.call(), d.path)
		if err != nil {
			return nil, err
		}
		d.found = is
		return []string{fmt.Sprintf("type=%q uuid=%q filesystem=%t blank=%t read-only=%t holders=%v", is.Type, is.UUID,
			is.IsFilesystem, is.IsBlank, is.ReadOnly, is.Holders)}, nil
	},
	"identify": func(r *run, a args) ([]string, error) { // of what was just asked for: then it is in the cache
		d := r.disks[a[0]]
		if d == nil {
			d = &disk{path: r.path(a[0])}
		}
		is, err := r.host.Blocks.Identify(r.call(), d.path)
		for tries := 0; hal.Is(err, syscall.EAGAIN) && tries < 10000; tries++ { // as of cached
			if _, no := r.host.Blocks.Probe(r.call(), d.path); no != nil {
				return nil, no // not every filesystem caches that a name is missing
			}
			is, err = r.host.Blocks.Identify(r.call(), d.path)
		}
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("as-probed=%t", is.Is() == d.found.Is())}, nil
	},
	"format": func(r *run, a args) ([]string, error) {
		d := r.disks[a[0]]
		f := hal.NewFilesystem{
			Path: d.path, Device: d.found.Is(), FSType: a[1], UUID: a[2],
			MayHaveBegun: slices.Contains(a[3:], "begun"),
		}
		if slices.Contains(a[3:], "other") {
			f.Device += "1"
		}
		return nil, r.host.Blocks.Format(r.call(), f)
	},
	"spoil": func(r *run, a args) ([]string, error) {
		if !r.isIdleExt(r.disks[a[0]].path) {
			return []string{"it has no filesystem that can be spoiled now"}, nil
		}
		r.world.DamageDisk(r.disks[a[0]].path, a[1])
		return nil, nil
	},
	"mend": func(r *run, a args) ([]string, error) {
		if !r.isIdleExt(r.disks[a[0]].path) {
			return []string{"it has no filesystem that can be mended now"}, nil
		}
		r.world.MendDisk(r.disks[a[0]].path)
		return nil, nil
	},
	"check": func(r *run, a args) ([]string, error) {
		d := r.disks[a[0]]
		f := hal.FilesystemCheck{Path: d.path, Device: d.found.Is(), FSType: a[1], UUID: a[2]}
		if slices.Contains(a[3:], "other") {
			f.Device += "1"
		}
		is, err := r.host.Blocks.Check(r.call(), f)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("mended=%t checked=%t", is.IsMended, is.Unchecked == "")}, nil
	},
	"link": func(r *run, a args) ([]string, error) { return nil, r.world.Symlink(a[0], r.path(a[1])) },
}

// isIdleExt: the disk has an ext2, ext3 or ext4 that is not mounted.
func (r *run) isIdleExt(path string) bool {
	is, err := r.host.Blocks.Probe(hal.Call{}, path)
	table, failed := r.host.Mounts.Table(hal.Call{})
	isOf := func(m hal.Mount) bool { return m.Device == is.Device }
	return err == nil && failed == nil && strings.HasPrefix(is.Type, "ext") && !slices.ContainsFunc(table, isOf)
}

// chain makes so many directories at path, each in the one before. No path of the calls is as long as they are deep.
func (r *run) chain(path string, deep int) error {
	tree, top := r.host.Tree, r.path(path)
	const step = 50
	for left := deep; left > 0; left -= step {
		at := r.path("chain.part")
		if left < deep { // what there is goes to the bottom of the next part
			if err := tree.Rename(r.call(), top, at); err != nil {
				return err
			}
		}
		bottom := top
		if err := tree.Mkdir(r.call(), top, 0o755); err != nil {
			return err
		}
		for range min(left, step) - 1 {
			bottom += "/d"
			if err := tree.Mkdir(r.call(), bottom, 0o755); err != nil {
				return err
			}
		}
		if left < deep {
			if err := tree.Rename(r.call(), at, bottom+"/d"); err != nil {
				return err
			}
		}
	}
	return nil
}

// digests are the backends' own.
var digests = regexp.MustCompile("^sha256:[0-9a-f]{64}$")

// show prints content short: zeros at the end are counted.
func show(content []byte) string {
	if digests.Match(content) {
		return "a digest"
	}
	text := bytes.TrimRight(content, "\x00")
	if zeros := len(content) - len(text); zeros > 0 {
		return fmt.Sprintf("%q and %d zeros", text, zeros)
	}
	return fmt.Sprintf("%q", text)
}
