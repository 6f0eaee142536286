package wrap

import (
	"github.com/volnode/volnode/hal"
)

type drivers struct {
	inner  hal.Drivers
	around Around
}

func (w drivers) Connect(c hal.Call, name, endpoint string, events hal.PeerEvents) (hal.Peer, error) {
	return get(w.around, Site{"connect", hal.DriverOf(name), hal.ClassRPC, false}, c, func() (hal.Peer, error) {
		return w.inner.Connect(c, name, endpoint, events)
	})
}

func (w drivers) Rename(from, to string) { w.inner.Rename(from, to) }

func (w drivers) Disconnect(name string) { w.inner.Disconnect(name) }
