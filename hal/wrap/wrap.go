// Package wrap puts one function around every call of a Host: the common ground of hal/trace and hal/fault.
package wrap

//go:generate go run ./generate

import (
	"github.com/volnode/volnode/hal"
)

// Site is one call, as it is made.
type Site struct {
	Name   string // the method's system call or RPC: "umount", "NodeStageVolume"
	Object string // what it acts on: a path, "driver volume path"; never a secret
	Class  hal.Class
	Effect bool // it may change the node
}

// Around is called in place of each call. It calls do, or does not, and returns the call's error. It may be called from
// many tasks at once.
type Around func(s Site, c hal.Call, do func() error) error

// Host returns h with around put around each call of Mounts, Tree, Files, HostPaths, Images, Flex, Repositories,
// Quotas, Blocks, ISCSI, SCSI, FC, Multipath, Children, Registration, Drivers, the CSI services, the reads of Cluster,
// and Tokens. Runtime and Watches, which act on nothing, stay.
func Host(h hal.Host, around Around) hal.Host {
	h.Mounts = mounts{h.Mounts, around}
	h.Tree = tree{h.Tree, around}
	h.Files = files{h.Files, around}
	h.HostPaths = hostPaths{h.HostPaths, around}
	h.Images = images{h.Images, around}
	h.Flex = flexDrivers{h.Flex, around}
	h.Repositories = repositories{h.Repositories, around}
	h.Quotas = quotas{h.Quotas, around}
	h.Blocks = blocks{h.Blocks, around}
	h.ISCSI = iscsi{h.ISCSI, around}
	h.SCSI = scsi{h.SCSI, around}
	h.Multipath = multipath{h.Multipath, around}
	h.FC = fc{h.FC, around}
	h.Children = children{h.Children, around}
	h.Registration = registration{h.Registration, around}
	h.Drivers = drivers{h.Drivers, around}
	h.CSIIdentity = identity{h.CSIIdentity, around}
	h.CSINode = node{h.CSINode, around}
	h.CSIController = controller{h.CSIController, around}
	if h.Cluster != nil {
		h.Cluster = cluster{h.Cluster, around}
	}
	if h.Tokens != nil {
		h.Tokens = tokens{h.Tokens, around}
	}
	return h
}

// get is around for a call that returns a value. The value of a call that was not made, or whose error around made up,
// is the zero value.
func get[T any](a Around, s Site, c hal.Call, do func() (T, error)) (T, error) {
	var value, zero T
	err := a(s, c, func() error {
		var err error
		value, err = do()
		return err
	})
	if err != nil {
		return zero, err
	}
	return value, nil
}
