package projected

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// The names of the writer in a volume. None is a user's: see badPath.
const (
	own      = ".."          // begins all of them
	data     = own + "data"  // the link to the directory of the present files
	nextData = data + "_tmp" // what becomes it, by a rename
	nextLink = own + "link_tmp"
)

// writer writes the files of a volume such that who reads them sees all of one content or all of another, whenever the
// agent dies. Nothing is synced: after a boot each volume is set up again before its pod may start, and what the power
// cut has taken is written again.
//
// The files lie in a directory "..N". "..data" is a link to it, and each name that users see is a link "NAME ->
// ..data/NAME". One rename of "..data" shows another directory: names that come are there before it, and names that go,
// go after it, so a path leads to a file of one content, or nowhere.
//
// The layout is the kubelet's (K:G101), so programs that watch "..data" work.
type writer struct {
	h   *hal.Host
	c   hal.Call
	dir string
	// mode is of directories. With the set-group-ID bit what is made in one is of its group.
	mode  uint32
	group int // of all of it
}

// write makes the volume show files. After an error it shows what it showed before, or files. short is what is left of
// earlier contents and could not be removed, for people.
func (w writer) write(files map[string]file) (short string, err error) {
	entries, err := w.h.Tree.List(w.c, w.dir)
	if err == nil {
		err = w.give(w.dir)
	}
	if err != nil {
		return "", err
	}
	present := ""
	if slices.Contains(entries, hal.Entry{Name: data, Type: hal.TypeSymlink}) {
		if present, err = w.h.Tree.Readlink(w.c, w.dir+"/"+data); err != nil {
			return "", err
		}
	}
	if !isDirectoryName(present) || !w.shows(w.dir+"/"+present, files) {
		// What attempts have left that failed goes first: each may take as much of the disk as this one. What can't go
		// is met again below.
		_ = w.removeDirectories(entries, present)
		if present, err = w.writeNew(entries, files); err != nil {
			return "", err
		}
	}
	for _, name := range names(files) {
		if err := w.replace(nextLink, data+"/"+name, name); err != nil {
			return "", err
		}
	}
	if err := w.replace(nextData, present, data); err != nil {
		return "", err
	}
	if left := w.tidy(present, names(files)); left != nil {
		short = "cannot remove all of its former content: " + left.Error()
	}
	return short, nil
}

// give gives a directory to the group.
func (w writer) give(dir string) error {
	is, err := w.h.Tree.Stat(w.c, dir)
	if err != nil || is.GID == uint32(w.group) {
		return err
	}
	return w.h.Tree.Chown(w.c, dir, -1, w.group)
}

// isDirectoryName: a name is of a directory of files, the kubelet's or ours.
func isDirectoryName(name string) bool {
	rest, is := strings.CutPrefix(name, own)
	return is && rest != "" && rest[0] >= '0' && rest[0] <= '9' && !strings.Contains(rest, "/")
}

// names are what users see in the volume's directory, sorted.
func names(files map[string]file) (all []string) {
	for _, at := range slices.Sorted(maps.Keys(files)) {
		first, _, _ := strings.Cut(at, "/")
		all = append(all, first)
	}
	slices.Sort(all) // "a-b" is before "a/b", and "a" is not behind it
	return slices.Compact(all)
}

// writeNew writes files to a directory of their own, and returns its name.
func (w writer) writeNew(entries []hal.Entry, files map[string]file) (name string, err error) {
	last := 0
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name, own)); err == nil && isDirectoryName(e.Name) {
			last = max(last, n)
		}
	}
	name = own + strconv.Itoa(last+1)
	dir := w.dir + "/" + name
	if err := w.h.Tree.Mkdir(w.c, dir, w.mode); err != nil {
		return "", err
	}
	if w.group != 0 { // w.dir is of it, and need not have the set-group-ID bit
		if err := w.give(dir); err != nil {
			return "", err
		}
	}
	made := []string{dir}
	for _, at := range slices.Sorted(maps.Keys(files)) {
		for i, c := range at {
			if sub := dir + "/" + at[:i]; c == '/' && !slices.Contains(made, sub) {
				if err := w.h.Tree.Mkdir(w.c, sub, w.mode); err != nil {
					return "", err
				}
				made = append(made, sub)
			}
		}
		f := files[at]
		if err := w.h.Files.Write(w.c, dir+"/"+at, []byte(f.data), f.mode); err != nil {
			return "", err
		}
		if f.user != 0 {
			if err := w.h.Tree.Chown(w.c, dir+"/"+at, f.user, -1); err != nil {
				return "", err
			}
		}
	}
	return name, nil
}

// shows reports whether a directory holds files, with their modes, owners and group, and nothing else. What can't be
// read is written again.
func (w writer) shows(dir string, files map[string]file) bool {
	left := len(files)
	var same func(prefix string) bool
	same = func(prefix string) bool {
		entries, err := w.h.Tree.List(w.c, path.Join(dir, prefix))
		if err != nil || len(entries) == 0 && prefix != "" {
			return false
		}
		for _, e := range entries {
			at := path.Join(prefix, e.Name)
			if e.Type == hal.TypeDirectory {
				if !same(at) {
					return false
				}
				continue
			}
			f, is := files[at]
			if !is || e.Type != hal.TypeFile {
				return false
			}
			info, err := w.h.Tree.Stat(w.c, dir+"/"+at)
			isSame := info.Mode == f.mode && info.UID == uint32(f.user) && info.GID == uint32(w.group) &&
				info.Size == int64(len(f.data))
			if err != nil || !isSame {
				return false
			}
			text, err := w.h.Files.Read(w.c, dir+"/"+at, info.Size)
			if err != nil || string(text) != f.data {
				return false
			}
			left--
		}
		return true
	}
	return same("") && left == 0
}

// replace makes name a link to target, at once, by way of a name of ours. What somebody has put in its place gives way,
// but for a directory.
func (w writer) replace(next, target, name string) error {
	if is, err := w.h.Tree.Readlink(w.c, w.dir+"/"+name); err == nil && is == target {
		return nil
	}
	if err := op.Remove(w.h, w.c, w.dir+"/"+next); err != nil {
		return err
	}
	if err := w.h.Tree.Symlink(w.c, target, w.dir+"/"+next); err != nil {
		return err
	}
	err := w.h.Tree.Rename(w.c, w.dir+"/"+next, w.dir+"/"+name)
	if hal.Is(err, syscall.EISDIR) {
		return fmt.Errorf("%w: a directory is in the place of a name of the volume; remove it", err)
	}
	return err
}

// removeDirectories removes the directories of files but one. It returns the first error.
func (w writer) removeDirectories(entries []hal.Entry, but string) (err error) {
	for _, e := range entries {
		if !isDirectoryName(e.Name) || e.Name == but {
			continue
		}
		for more := true; more; {
			var failed error
			if more, failed = w.h.Tree.RemoveTree(w.c, w.dir+"/"+e.Name, 1<<10); failed != nil {
				err = cmp.Or(err, failed)
				break
			}
		}
	}
	return err
}

// tidy removes what is left of earlier contents. It returns the first error.
func (w writer) tidy(present string, names []string) error {
	entries, err := w.h.Tree.List(w.c, w.dir)
	if err != nil {
		return err
	}
	err = w.removeDirectories(entries, present)
	for _, e := range entries {
		at := w.dir + "/" + e.Name
		isLeft := e.Name == nextData || e.Name == nextLink
		if e.Type == hal.TypeSymlink && !strings.HasPrefix(e.Name, own) && !slices.Contains(names, e.Name) {
			is, failed := w.h.Tree.Readlink(w.c, at)
			isLeft, err = failed == nil && is == data+"/"+e.Name, cmp.Or(err, failed)
		}
		if isLeft {
			err = cmp.Or(err, op.Remove(w.h, w.c, at))
		}
	}
	return err
}

// isAllWritten reports whether all that is in the volume's directory is the writer's.
func (w writer) isAllWritten() (bool, error) {
	entries, err := w.h.Tree.List(w.c, w.dir)
	if hal.Is(err, syscall.ENOENT) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		isOwn := e.Name == data || e.Name == nextData || e.Name == nextLink || isDirectoryName(e.Name)
		if !isOwn && e.Type == hal.TypeSymlink {
			is, err := w.h.Tree.Readlink(w.c, w.dir+"/"+e.Name)
			isOwn = err == nil && is == data+"/"+e.Name
		}
		if !isOwn {
			return false, nil
		}
	}
	return true, nil
}
