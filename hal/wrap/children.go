package wrap

import (
	"github.com/volnode/volnode/hal"
)

type children struct {
	inner  hal.Children
	around Around
}

func (w children) Living(c hal.Call) ([]hal.Child, error) {
	return get(w.around, Site{"children", "", hal.ClassFile, false}, c,
		func() ([]hal.Child, error) { return w.inner.Living(c) })
}

func (w children) Gone(child hal.Child, f func()) { w.inner.Gone(child, f) }
