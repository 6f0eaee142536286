package linux

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

// iscsi is hal.ISCSI.
type iscsi struct{ host *Host }

func (i *iscsi) Sessions(hal.Call) ([]hal.ISCSISession, error) { return nil, nil }

func (i *iscsi) Login(_ hal.Call, l hal.ISCSILogin) error {
	return failure(hal.ClassHelper, "iscsi login", l.Target, because(syscall.ENXIO, "not built yet"))
}

func (i *iscsi) Logout(hal.Call, hal.ISCSIRecord, uint32) error { return nil }
