package hal

import "fmt"

// SCSI is the SCSI disks of the node.
type SCSI interface {
	// Disks lists the disks that the kernel has at a host, by their addresses. It asks the kernel's memory alone, and
	// waits for no disk: of class syscall. A host that is not there has none.
	Disks(c Call, host uint32) ([]SCSIDisk, error)
	// Named lists the disks that the kernel has at all hosts and knows by a WWID, by their addresses: the former name, if
	// a disk was exchanged. Two of one WWID are two ways to it, if each says so itself ([BlockDevice.Says]). Of class
	// syscall.
	Named(c Call, wwid string) ([]SCSIDisk, error)
	// Scan has the kernel ask for one disk, which it may know already. No error does not say that there is one; what the
	// kernel finds may come a moment later. ENODEV, NotDone: there is no such host. Of class helper: a target may answer
	// late, or never.
	Scan(c Call, a SCSIAddress) error
	// Remove has the kernel forget a disk, after all that was written to it is on it; without flush, at once, and what is
	// not on it is lost. It succeeds if the disk is gone already. EBUSY, NotDone: somebody has mounted the disk, or holds
	// it for himself alone (open(2), O_EXCL), as the device mapper does, and Detail says who. ENODEV, NotDone: another
	// disk is at the address by now. EIO: what was written can't be flushed, and the disk stays. Of class helper.
	Remove(c Call, d SCSIDisk, flush bool) error
}

// SCSIAddress is where a disk is: the kernel's "host:channel:target:LUN". Another disk may come to be there.
type SCSIAddress struct {
	Host, Channel, Target uint32
	LUN                   uint64
}

func (a SCSIAddress) String() string {
	return fmt.Sprintf("%d:%d:%d:%d", a.Host, a.Channel, a.Target, a.LUN)
}

// SCSIDisk is a disk that the kernel has.
type SCSIDisk struct {
	Address  SCSIAddress
	Name     string // below /dev: "sda"; another disk may get it
	Device   Device
	Sequence uint64 // see [BlockDevice]
	// State is the kernel's: "running"; "blocked" while its session fails; "transport-offline", "offline" if what is
	// written to it fails.
	State string
	// WWID is what the disk said of itself when the kernel found it; "" if nothing. See [BlockDevice.Says].
	WWID string
}

// Is names the disk as [BlockDevice.Is] does.
func (d SCSIDisk) Is() string { return BlockDevice{Device: d.Device, Sequence: d.Sequence}.Is() }
