package manifest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

const (
	maxFiles  = 10_000
	copyMode  = 0o600
	cacheMode = 0o700
	writable  = 0o022 // by group or others
)

// background is what an Await of a task waits under: the owner answers at once, or the run is over for all.
func background() context.Context { return context.Background() }

// reader reads the directory once, in a task.
type reader struct {
	h      hal.Host
	o      Options
	call   hal.Call
	before state
}

// finding is what one reading came to.
type finding struct {
	problem   string // the directory can't be read: nothing else is set
	state     state
	unsettled bool // something has changed and must be read again before it counts
	retry     bool // something could not be read, and nobody will tell when it can
}

func (r reader) read() finding {
	names, problem := r.list()
	if problem != "" {
		return finding{problem: problem}
	}
	f := finding{state: state{files: map[string]file{}, seen: map[string]sum{}}}
	for _, name := range names {
		r.file(&f, name)
	}
	for _, name := range slices.Sorted(maps.Keys(r.before.files)) {
		if slices.Contains(names, name) {
			continue
		}
		if last, ok := r.before.seen[name]; !ok || last != (sum{}) {
			f.state.files[name] = r.before.files[name]
			f.state.seen[name] = sum{}
			f.unsettled = true
		}
	}
	if !f.unsettled {
		r.sweep(f.state.files)
	}
	return f
}

// list names the manifests. A problem is one of the directory itself: then nothing is known of what it holds.
func (r reader) list() ([]string, string) {
	info, err := r.h.Tree.Stat(r.call, r.o.Dir)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return nil, "the directory is missing; create it, empty if no pod is wanted"
	case err != nil:
		return nil, err.Error()
	case info.Type != hal.TypeDirectory:
		return nil, "is a " + info.Type.String() + ", not a directory"
	case insecure(info) != "":
		return nil, insecure(info)
	}
	entries, err := r.h.Tree.List(r.call, r.o.Dir)
	if err != nil {
		return nil, err.Error()
	}
	var names []string
	for _, e := range entries {
		if manifest(e) {
			names = append(names, e.Name)
		}
	}
	if len(names) > maxFiles {
		return nil, fmt.Sprintf("holds %d manifests, and %d are allowed", len(names), maxFiles)
	}
	return names, ""
}

// manifest says whether an entry's name is a manifest's. What is not a regular file is one too, and is then refused aloud.
func manifest(e hal.Entry) bool {
	if strings.HasPrefix(e.Name, ".") || strings.HasSuffix(e.Name, "~") || e.Type == hal.TypeDirectory {
		return false
	}
	switch path.Ext(e.Name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// insecure says who else could write what is to be trusted.
func insecure(i hal.Info) string {
	switch {
	case i.UID != 0:
		return fmt.Sprintf("belongs to user %d, not to root; run chown root", i.UID)
	case i.Mode&writable != 0:
		return fmt.Sprintf("may be written by others than root (mode %04o); run chmod go-w", i.Mode&0o7777)
	}
	return ""
}

// manifest reads the content of a manifest.
func (r reader) manifest(name string) ([]byte, error) {
	file := path.Join(r.o.Dir, name)
	info, err := r.h.Tree.Stat(r.call, file)
	if err != nil {
		return nil, err
	}
	refused := &hal.Error{Op: "read", Object: file, Class: hal.ClassFile, Outcome: hal.NotDone, Errno: syscall.EPERM}
	switch {
	case info.Type != hal.TypeFile:
		refused.Detail = "is a " + info.Type.String() + ", not a regular file"
		return nil, refused
	case insecure(info) != "":
		refused.Detail = insecure(info)
		return nil, refused
	}
	return r.h.Files.Read(r.call, file, maxFile)
}

// file reads one manifest and decides what counts of it.
func (r reader) file(f *finding, name string) {
	before, known := r.before.files[name]
	data, err := r.manifest(name)
	switch {
	case hal.Is(err, syscall.ENOENT):
		// It went after it was listed. The next reading will not list it, or will find it.
		f.unsettled = true
		if known {
			f.state.files[name] = before
		}
		return
	case err != nil:
		f.retry = true
		f.state.files[name] = r.lastGood(name, before, err.Error())
		return
	}
	now := sum(sha256.Sum256(data))
	if known && before.known && now == before.sum {
		before.problem = ""
		r.accept(f, name, before, data)
		return
	}
	if last, ok := r.before.seen[name]; !ok || last != now {
		f.unsettled = true
		f.state.seen[name] = now
		f.state.files[name] = before // not known, if it is new
		return
	}
	// It stays in seen: a bad file is not unsettled as long as it is bad in the same way.
	f.state.seen[name] = now
	content, err := decode(r.o.NodeName, data)
	if err != nil {
		f.state.files[name] = r.lastGood(name, before, err.Error())
		return
	}
	r.accept(f, name, fileOf(content, now), data)
}

func fileOf(c content, s sum) file {
	return file{known: true, sum: s, objects: c.objects, secrets: slices.Sorted(maps.Keys(c.secrets))}
}

// lastGood is what counts while the manifest does not: what was accepted of it before, in this run or, by its copy, in an earlier one.
func (r reader) lastGood(name string, before file, problem string) file {
	if !before.known {
		if data, err := r.copy(name); err == nil {
			if content, err := decode(r.o.NodeName, data); err == nil {
				before = fileOf(content, sum(sha256.Sum256(data)))
				before.cached = true
			}
		}
	}
	before.problem = problem + "; its last good content is used meanwhile"
	if !before.known {
		before.problem = problem + "; there is no earlier content of it, so nothing is deleted until it is corrected or removed"
	}
	return before
}
