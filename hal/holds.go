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
	Device string // that is held: see [BlockDevice.Is]
	Path   string // "/dev/loop7"
	By     string // the device at Path: see [BlockDevice.Is]
	IsGone bool   // the node has lost Device
}

// Fingerprint tells a hold from all others of a boot, in one comparable line, and whether its device is there: see
// [HasFailed].
func (d HeldDevice) Fingerprint() string {
	text := "device " + d.Device + " held by " + d.By
	if d.IsGone {
		text += noDevice
	}
	return text
}

// IsSame reports whether two are one hold.
func (d HeldDevice) IsSame(other HeldDevice) bool {
	d.IsGone = other.IsGone
	return d == other
}
