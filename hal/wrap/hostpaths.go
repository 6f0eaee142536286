package wrap

import (
	"github.com/volnode/volnode/hal"
)

type hostPaths struct {
	inner  hal.HostPaths
	around Around
}

func (w hostPaths) Find(c hal.Call, path string) (hal.HostFile, error) {
	return get(w.around, Site{"host find", path, hal.ClassHelper, false}, c,
		func() (hal.HostFile, error) { return w.inner.Find(c, path) })
}

func (w hostPaths) Cached(c hal.Call, path string) (hal.HostFile, error) {
	return get(w.around, Site{"host cached", path, hal.ClassSyscall, false}, c,
		func() (hal.HostFile, error) { return w.inner.Cached(c, path) })
}

func (w hostPaths) Make(c hal.Call, path string, t hal.FileType) error {
	return w.around(Site{"host make", path, hal.ClassHelper, true}, c, func() error { return w.inner.Make(c, path, t) })
}
