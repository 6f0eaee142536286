package backends

import (
	"sync"

	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/lio"
)

// multipathWorld is a world on a machine that has iSCSI targets, and multipathd.
type multipathWorld struct {
	sanWorld
	maps *lio.Maps
}

// mapsOfNode is the machine, with multipathd.
var mapsOfNode = sync.OnceValue(func() *lio.Maps { return lio.StartMultipath(node()) })

// LinuxWithMultipath is a new world on a machine of e2e/vm, which has no other one.
func LinuxWithMultipath() haltest.World {
	maps := mapsOfNode()
	return multipathWorld{LinuxWithSAN().(sanWorld), maps}
}

func (w multipathWorld) SetMultipathd(how string) { w.maps.SetMultipathd(how) }
func (w multipathWorld) Reconfigure()             { w.maps.Reconfigure() }
func (w multipathWorld) WWIDs() []string          { return w.maps.WWIDs() }
func (w multipathWorld) Grow(disk string)         { w.maps.Grow(disk) }
func (w multipathWorld) Unplug(path string)       { w.maps.Unplug(path) }
func (w multipathWorld) MakeDevice(name string)   { w.maps.MakeDevice(name) }
func (w multipathWorld) Settle()                  { w.maps.Settle() }
func (w multipathWorld) Pause() bool              { return w.maps.Pause() }

// Close ends the world, then its maps, which no mount uses any more, and then their sessions.
func (w multipathWorld) Close() {
	w.linuxWorld.Close()
	w.maps.Reset()
}
