package memory

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

// san is a node without an initiator, and without SCSI disks.
type san struct{}

func (san) Sessions(hal.Call) ([]hal.ISCSISession, error) { return nil, nil }

func (san) Records(hal.Call) ([]hal.ISCSIRecord, error) { return nil, nil }

func (san) Login(_ hal.Call, l hal.ISCSILogin) error {
	return &hal.Error{
		Op: "iscsi login", Object: l.Target, Class: hal.ClassHelper, Outcome: hal.NotDone, Errno: syscall.ENXIO,
	}
}

func (san) Logout(hal.Call, hal.ISCSIRecord, uint32) error { return nil }

func (san) Disks(hal.Call, uint32) ([]hal.SCSIDisk, error) { return nil, nil }

func (san) Named(hal.Call, string) ([]hal.SCSIDisk, error) { return nil, nil }

func (san) Scan(_ hal.Call, a hal.SCSIAddress) error {
	return &hal.Error{
		Op: "scsi scan", Object: a.String(), Class: hal.ClassHelper, Outcome: hal.NotDone, Errno: syscall.ENODEV,
	}
}

func (san) Remove(hal.Call, hal.SCSIDisk, bool) error { return nil }

// fc is a node without Fibre Channel.
type fc struct{}

func (fc) Hosts(hal.Call) ([]hal.FCHost, error) { return nil, nil }

func (fc) RemotePorts(hal.Call) ([]hal.FCRemotePort, error) { return nil, nil }
