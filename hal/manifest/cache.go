package manifest

import (
	"path"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// next is where a copy is written before it is renamed. No manifest has this name.
const next = ".next"

// copy reads the last good copy of a manifest.
func (r reader) copy(name string) ([]byte, error) {
	return r.h.Files.Read(r.call, path.Join(r.o.CacheDir, name), maxFile)
}

// accept makes good content count, and keeps data as its last good copy. That it can't is a problem, but not the manifest's.
func (r reader) accept(f *finding, name string, good file, data []byte) {
	if !good.cached {
		if err := r.keep(name, data); err != nil {
			good.problem = "it is good, but no copy of it can be kept, so a bad change to it after a restart would find none: " + err.Error()
			f.retry = true
		}
		good.cached = good.problem == ""
	}
	f.state.files[name] = good
}

// keep writes a copy such that after any interruption the old or the new one is there.
func (r reader) keep(name string, data []byte) error {
	if err := r.h.Tree.Mkdir(r.call, r.o.CacheDir, cacheMode); err != nil && !hal.Is(err, syscall.EEXIST) {
		return err
	}
	// Also if it was there: the agent may have died before it synced the name.
	if err := r.h.Files.Sync(r.call, path.Dir(r.o.CacheDir)); err != nil {
		return err
	}
	at := path.Join(r.o.CacheDir, next)
	if err := r.h.Files.Write(r.call, at, data, copyMode); err != nil {
		return err
	}
	if err := r.h.Files.Sync(r.call, at); err != nil {
		return err
	}
	if err := r.h.Tree.Rename(r.call, at, path.Join(r.o.CacheDir, name)); err != nil {
		return err
	}
	return r.h.Files.Sync(r.call, r.o.CacheDir)
}

// sweep removes copies of manifests that are gone. A copy that can't be removed is of no harm: it serves only a manifest of its name.
func (r reader) sweep(files map[string]file) {
	entries, err := r.h.Tree.List(r.call, r.o.CacheDir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if _, ok := files[e.Name]; ok || !manifest(e) {
			continue
		}
		if r.h.Tree.Remove(r.call, path.Join(r.o.CacheDir, e.Name)) != nil {
			return
		}
	}
}
