package wrap

import (
	"github.com/volnode/volnode/hal"
)

type tree struct {
	inner  hal.Tree
	around Around
}

func (w tree) Mkdir(c hal.Call, path string, mode uint32) error {
	return w.around(Site{"mkdir", path, hal.ClassFile, true}, c, func() error { return w.inner.Mkdir(c, path, mode) })
}

func (w tree) Remove(c hal.Call, path string) error {
	return w.around(Site{"remove", path, hal.ClassFile, true}, c, func() error { return w.inner.Remove(c, path) })
}

func (w tree) RemoveTree(c hal.Call, path string, limit int) (more bool, err error) {
	return get(w.around, Site{"remove tree", path, hal.ClassFile, true}, c,
		func() (bool, error) { return w.inner.RemoveTree(c, path, limit) })
}

func (w tree) Rename(c hal.Call, oldPath, newPath string) error {
	return w.around(Site{"rename", oldPath + " " + newPath, hal.ClassFile, true}, c,
		func() error { return w.inner.Rename(c, oldPath, newPath) })
}

func (w tree) List(c hal.Call, path string) ([]hal.Entry, error) {
	return get(w.around, Site{"list", path, hal.ClassFile, false}, c,
		func() ([]hal.Entry, error) { return w.inner.List(c, path) })
}

func (w tree) Stat(c hal.Call, path string) (hal.Info, error) {
	return get(w.around, Site{"stat", path, hal.ClassFile, false}, c,
		func() (hal.Info, error) { return w.inner.Stat(c, path) })
}
