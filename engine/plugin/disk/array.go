package disk

import (
	"slices"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// This file is what the sources have in common whose disks an array has, and gives to the node under numbers (LUNs).

// At is what the kernel has at an address; false if that is nothing.
func At(h *hal.Host, o core.Op, at hal.SCSIAddress) (d hal.SCSIDisk, is bool, err error) {
	all, err := h.SCSI.Disks(op.Call(o), at.Host)
	if i := slices.IndexFunc(all, func(d hal.SCSIDisk) bool { return d.Address == at }); i >= 0 {
		return all[i], true, err
	}
	return d, false, err
}

// ScannedAt is [At], after the kernel was made to ask for that one disk if it does not have it.
func ScannedAt(h *hal.Host, o core.Op, at hal.SCSIAddress) (d hal.SCSIDisk, is bool, err error) {
	d, is, err = At(h, o, at)
	if err == nil && !is {
		if err = h.SCSI.Scan(op.Call(o), at); err == nil {
			d, is, err = At(h, o, at)
		}
	}
	return d, is, err
}
