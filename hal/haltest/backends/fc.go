package backends

import (
	"os"
	"sync"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/lio"
)

// fcWorld is a world on a machine that has Fibre Channel.
type fcWorld struct {
	*linuxWorld
	*lio.Fabric
}

// fabric is the machine, which all worlds have one after the other.
var fabric = sync.OnceValue(func() *lio.Fabric { return lio.StartFC(must(os.MkdirTemp("", "volnode-fc-"))) })

// LinuxWithFC is a new world on a machine of e2e/vm, which has no other one.
func LinuxWithFC() haltest.World {
	f := fabric()
	return fcWorld{LinuxOn("").(*linuxWorld), f}
}

// FCName is the name of a port.
func (fcWorld) FCName(n int) hal.WWPN { return lio.FCName(n) }

// Claim opens a device exclusively.
func (fcWorld) Claim(path string) (func(), error) { return sanWorld{}.Claim(path) }

// Close ends the world, and then its ports, whose disks no mount uses any more.
func (w fcWorld) Close() {
	w.linuxWorld.Close()
	w.Reset()
}
