package linux

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

// scsi is hal.SCSI.
type scsi struct{ host *Host }

func (s *scsi) Disks(hal.Call, uint32) ([]hal.SCSIDisk, error) { return nil, nil }

func (s *scsi) Scan(_ hal.Call, a hal.SCSIAddress) error {
	return failure(hal.ClassHelper, "scsi scan", a.String(), because(syscall.ENODEV, "not built yet"))
}

func (s *scsi) Remove(hal.Call, hal.SCSIDisk, bool) error { return nil }
