package backends

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/lio"
)

// sanWorld is a world on a machine that has iSCSI targets.
type sanWorld struct {
	*linuxWorld
	*lio.Node
}

// node is the machine, which all worlds have one after the other.
var node = sync.OnceValue(func() *lio.Node { return lio.Start(must(os.MkdirTemp("", "volnode-lio-"))) })

// LinuxWithSAN is a new world on a machine of e2e/vm, which has no other one.
func LinuxWithSAN() haltest.World {
	n := node()
	return sanWorld{LinuxOn("").(*linuxWorld), n}
}

// Portal is the address of a portal.
func (sanWorld) Portal(n int) string { return lio.Portal(n) }

// Claim opens a device exclusively.
func (sanWorld) Claim(path string) (func(), error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_EXCL|unix.O_CLOEXEC, 0)
	return func() { unix.Close(fd) }, err
}

// Close ends the world, and then its sessions, which no mount uses any more.
func (w sanWorld) Close() {
	w.linuxWorld.Close()
	w.Reset()
}
