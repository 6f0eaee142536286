package wrap

import (
	"github.com/volnode/volnode/hal"
)

type registration struct {
	inner  hal.Registration
	around Around
}

func (w registration) Info(c hal.Call, socket string) (hal.PluginInfo, error) {
	return get(w.around, Site{"GetInfo", socket, hal.ClassRPC, false}, c,
		func() (hal.PluginInfo, error) { return w.inner.Info(c, socket) })
}

func (w registration) Notify(c hal.Call, socket, made string, registered bool, reason string) error {
	return w.around(asks("NotifyRegistrationStatus", socket), c, func() error {
		return w.inner.Notify(c, socket, made, registered, reason)
	})
}
