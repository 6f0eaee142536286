package hal

import "fmt"

// FC is the Fibre Channel ports of the node, and what its kernel knows of the ports of others. Nothing of it has the
// kernel ask the fabric: a disk is asked for by [SCSI.Scan], at the address of one remote port.
type FC interface {
	// Hosts lists the ports of the node, by the numbers of their SCSI hosts. It asks the kernel's memory alone: of class
	// syscall. A node without Fibre Channel has none.
	Hosts(c Call) ([]FCHost, error)
	// RemotePorts lists the ports of others that the kernel knows, by their hosts, channels and targets, those that are no
	// targets last. It asks the kernel's memory alone: of class syscall. A node without Fibre Channel has none.
	RemotePorts(c Call) ([]FCRemotePort, error)
}

// WWPN is the name of a port: 8 bytes that no other one has.
type WWPN uint64

// String is the name as volumes have it: 16 hexadecimal digits, lower case.
func (n WWPN) String() string { return fmt.Sprintf("%016x", uint64(n)) }

// FCHost is a port of the node.
type FCHost struct {
	Host uint32 // of the SCSI devices that are reached through it
	Name WWPN
	// State is the kernel's: "Online"; "Linkdown" if its cable leads nowhere; "Offline" and others.
	State string
}

// FCRemotePort is a port of somebody else, as one port of the node sees it.
type FCRemotePort struct {
	Host uint32 // of the port of the node
	Name WWPN
	// State is the kernel's: "Online"; "Blocked" while it is away and what is asked of its disks waits, or fails by now
	// (fast_io_fail_tmo); "Not Present" once it is given up (dev_loss_tmo) and its disks are gone.
	State string
	// IsTarget says that it has disks, or may have, which are at Channel and Target of Host. It has the same numbers when
	// it comes back.
	IsTarget        bool
	Channel, Target uint32
}

// IsUp reports whether the port answers.
func (p FCRemotePort) IsUp() bool { return p.State == "Online" }

// At is the address of the disk that the port has under a number. It has none if it is no target.
func (p FCRemotePort) At(lun uint64) SCSIAddress {
	return SCSIAddress{Host: p.Host, Channel: p.Channel, Target: p.Target, LUN: lun}
}
