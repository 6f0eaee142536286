package wrap

import (
	"github.com/volnode/volnode/hal"
)

type drivers struct {
	inner  hal.Drivers
	around Around
}

func (w drivers) Connect(c hal.Call, driver, endpoint string, gone func()) (hal.Peer, error) {
	return get(w.around, Site{"connect", driver, hal.ClassRPC, false}, c, func() (hal.Peer, error) { return w.inner.Connect(c, driver, endpoint, gone) })
}

func (w drivers) Disconnect(driver string) { w.inner.Disconnect(driver) }
