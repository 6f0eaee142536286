package hal

import "strings"

// FlexDrivers is the FlexVolume drivers of the node: programs that somebody has put into one directory, and that are
// run for each call (kubernetes/community, contributors/devel/sig-storage/flexvolume.md). A driver is named
// VENDOR/NAME, and its program is VENDOR~NAME/NAME below that directory. Of class helper.
//
// ENOENT: the directory is there, and there is no such driver. ENXIO: the agent knows of no directory, there is none,
// or a link leads to nothing. ENOEXEC: the program can't be run, as its interpreter is not there. EPERM: others than
// root can say what would run. EINVAL: the name is none of a driver. All are NotDone.
//
// Of a call that has run its driver, Reply is [ReplyStatus] if the driver has answered with an error, and Detail has
// its words: EOPNOTSUPP, NotDone, if it does not know the call; EIO if it has failed, and EBADMSG if volnode can't read
// what it says, both Unknown. ETIMEDOUT, Unknown: the program had not ended by the deadline, and was killed with what
// it has started. Without a deadline a call ends when its program does, which may be never; if the agent dies, the
// program goes on, in a helper that [Children] lists.
type FlexDrivers interface {
	// Init asks a driver what it can do. No volume changes.
	Init(c Call, driver string) (FlexCapabilities, error)
	// Mount has a driver mount a volume at dir, an absolute path. ENOTDIR, NotDone, if dir is no directory; ELOOP if a
	// link is on the way. No error says only that the driver says so.
	Mount(c Call, driver, dir string, options []Option) error
	// Unmount has a driver unmount what it has mounted at dir.
	Unmount(c Call, driver, dir string) error
}

// FlexCapabilities is what a driver says of itself. What it leaves out has the default of the protocol.
type FlexCapabilities struct {
	Attach         bool // a volume is attached to the node first; the default is true
	FSGroup        bool // the agent gives the files of a volume to the group of their pod; the default is true
	SELinuxRelabel bool // the agent labels them; the default is true
	Metrics        bool // its filesystems can say how full they are; the default is false
}

// DefaultFlexCapabilities are those of a driver that says nothing.
func DefaultFlexCapabilities() FlexCapabilities {
	return FlexCapabilities{Attach: true, FSGroup: true, SELinuxRelabel: true}
}

// FlexDirectory is the directory of a driver, and that of its volumes below a pod; "" if the name is none of a driver.
func FlexDirectory(driver string) string {
	vendor, name, _ := strings.Cut(driver, "/")
	if !isFlexName(vendor) || !isFlexName(name) {
		return ""
	}
	return vendor + "~" + name
}

// FlexDriver is the driver that a directory is of; "" if it is of none.
func FlexDriver(directory string) string {
	driver := strings.Replace(directory, "~", "/", 1)
	if driver == directory || FlexDirectory(driver) == "" {
		return ""
	}
	return driver
}

// mostFlexName is how long each part of a driver's name may be: both are one name of a directory.
const mostFlexName = 126

// isFlexName: letters and digits of ASCII, and between them also ".", "-" and "_".
func isFlexName(name string) bool {
	isPlain := func(b byte) bool { return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' }
	if name == "" || len(name) > mostFlexName || !isPlain(name[0]) || !isPlain(name[len(name)-1]) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return r > 0x7f || !isPlain(byte(r)) && !strings.ContainsRune(".-_", r)
	})
}
