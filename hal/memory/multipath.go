package memory

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

// multipath is a node without multipathd, and without maps.
type multipath struct{}

func (multipath) Maps(hal.Call) ([]hal.MultipathMap, error) { return nil, nil }

func (multipath) Assemble(_ hal.Call, disks []hal.SCSIDisk) error {
	return refused("multipath assemble", hal.WWIDOf(disks), syscall.ENXIO)
}

func (multipath) Remove(hal.Call, hal.MultipathMap, bool) error { return nil }

func (multipath) Resize(_ hal.Call, m hal.MultipathMap) error {
	return refused("multipath resize", m.UUID, syscall.ENODEV)
}

func (multipath) FailQueued(hal.Call, hal.MultipathMap) error { return nil }

func refused(op, object string, errno syscall.Errno) error {
	return &hal.Error{Op: op, Object: object, Class: hal.ClassHelper, Outcome: hal.NotDone, Errno: errno}
}
