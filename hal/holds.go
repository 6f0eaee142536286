package hal

// DeviceHold is a block device that is to be held.
type DeviceHold struct {
	Name   string // of the hold, among those of the agent: at most [HoldNameMost] characters of ASCII, none a colon
	Path   string
	Device string // that Path leads to: see [BlockDevice.Is]
	Says   string // the WWID that the device answers with: see [BlockDevice]; "" for any
}

// HoldNameMost is how long the name of a hold may be, in bytes. The kernel keeps it.
const HoldNameMost = 24

// HeldDevice is a block device that is held. Path leads to the device that holds it: whoever has that reads the held
// one, and can't write to it.
type HeldDevice struct {
	Name   string
	Device string // that is held: see [BlockDevice.Is]; the node may have lost it since
	Path   string // "/dev/loop7"
	By     string // the device at Path: see [BlockDevice.Is]
}
