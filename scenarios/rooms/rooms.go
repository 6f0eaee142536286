// Package rooms is the table of volume sources as scenarios know them: package kinds has the same for the engine. Who
// imports it has scenarios and hunts that use them.
package rooms

import (
	"github.com/volnode/volnode/scenarios/rooms/csi"
	"github.com/volnode/volnode/scenarios/rooms/emptydir"
	"github.com/volnode/volnode/scenarios/rooms/fc"
	"github.com/volnode/volnode/scenarios/rooms/flex"
	"github.com/volnode/volnode/scenarios/rooms/gitrepo"
	"github.com/volnode/volnode/scenarios/rooms/hostpath"
	"github.com/volnode/volnode/scenarios/rooms/image"
	"github.com/volnode/volnode/scenarios/rooms/iscsi"
	"github.com/volnode/volnode/scenarios/rooms/local"
	"github.com/volnode/volnode/scenarios/rooms/nfs"
	"github.com/volnode/volnode/scenarios/rooms/projected"
	"github.com/volnode/volnode/scenarios/world"
)

func init() {
	world.Rooms = append(
		[]*world.Room{
			csi.Room(), emptydir.Room(), fc.Room(), gitrepo.Room(), hostpath.Room(), image.Room(), iscsi.Room(), local.Room(),
			nfs.Room(),
		},
		projected.Rooms()...)
	world.Rooms = append(world.Rooms, flex.Room())
}
