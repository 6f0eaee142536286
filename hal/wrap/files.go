package wrap

import (
	"github.com/volnode/volnode/hal"
)

type files struct {
	inner  hal.Files
	around Around
}

func (w files) Read(c hal.Call, path string, limit int64) ([]byte, error) {
	return get(w.around, Site{"read", path, hal.ClassFile, false}, c,
		func() ([]byte, error) { return w.inner.Read(c, path, limit) })
}

func (w files) ReadAt(c hal.Call, path string, offset int64, b []byte) (int, error) {
	return get(w.around, Site{"pread", path, hal.ClassFile, false}, c,
		func() (int, error) { return w.inner.ReadAt(c, path, offset, b) })
}

func (w files) Write(c hal.Call, path string, data []byte, mode uint32) error {
	return w.around(Site{"write", path, hal.ClassFile, true}, c,
		func() error { return w.inner.Write(c, path, data, mode) })
}

func (w files) WriteAt(c hal.Call, path string, offset int64, data []byte) error {
	return w.around(Site{"pwrite", path, hal.ClassFile, true}, c,
		func() error { return w.inner.WriteAt(c, path, offset, data) })
}

func (w files) Allocate(c hal.Call, path string, size int64, mode uint32) error {
	return w.around(Site{"fallocate", path, hal.ClassFile, true}, c,
		func() error { return w.inner.Allocate(c, path, size, mode) })
}

func (w files) Sync(c hal.Call, path string) error {
	return w.around(Site{"fsync", path, hal.ClassFile, true}, c, func() error { return w.inner.Sync(c, path) })
}
