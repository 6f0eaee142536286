package wrap

import (
	"github.com/volnode/volnode/hal"
)

type mounts struct {
	inner  hal.Mounts
	around Around
}

func (w mounts) Table(c hal.Call) ([]hal.Mount, error) {
	return get(w.around, Site{"mount table", "", hal.ClassSyscall, false}, c,
		func() ([]hal.Mount, error) { return w.inner.Table(c) })
}

func (w mounts) At(c hal.Call, path string) ([]hal.Mount, error) {
	return get(w.around, Site{"mounts at", path, hal.ClassSyscall, false}, c,
		func() ([]hal.Mount, error) { return w.inner.At(c, path) })
}

func (w mounts) Within(c hal.Call, path string) ([]hal.Mount, error) {
	within := func() ([]hal.Mount, error) { return w.inner.Within(c, path) }
	return get(w.around, Site{"mounts within", path, hal.ClassSyscall, false}, c, within)
}

func (w mounts) Mount(c hal.Call, m hal.NewMount) error {
	return w.around(Site{"mount", m.FSType + " " + m.Target, hal.ClassSyscall, true}, c,
		func() error { return w.inner.Mount(c, m) })
}

func (w mounts) Bind(c hal.Call, b hal.BindSpec) error {
	return w.around(Site{"bind", b.Source + " " + b.Target, hal.ClassSyscall, true}, c,
		func() error { return w.inner.Bind(c, b) })
}

func (w mounts) Unmount(c hal.Call, path string, id hal.MountID) error {
	return w.around(Site{"umount", path, hal.ClassSyscall, true}, c,
		func() error { return w.inner.Unmount(c, path, id) })
}
