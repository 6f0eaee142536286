package csidriver

import (
	"slices"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// defaultFsType formats blank images when neither the request nor the volume names a type.
const defaultFsType = "ext4"

var fsTypes = map[string]bool{"ext4": true, "xfs": true}

// Access is a VolumeCapability in a form that compares and prints.
type Access struct {
	Mode       string   `json:"mode"`            // name of the access mode, for example SINGLE_NODE_WRITER
	Block      bool     `json:"block,omitempty"` // a raw device instead of a filesystem
	FsType     string   `json:"fsType,omitempty"`
	MountFlags []string `json:"mountFlags,omitempty"`
}

// accessOf reads a VolumeCapability. What the driver cannot offer is INVALID_ARGUMENT.
func accessOf(c *csi.VolumeCapability) (Access, error) {
	mode := c.GetAccessMode().GetMode()
	if c == nil || mode == csi.VolumeCapability_AccessMode_UNKNOWN {
		return Access{}, status.Error(codes.InvalidArgument, "volume capability or its access mode is missing")
	}
	a := Access{Mode: mode.String()}
	switch t := c.GetAccessType().(type) {
	case *csi.VolumeCapability_Block:
		a.Block = true
	case *csi.VolumeCapability_Mount:
		a.FsType = t.Mount.GetFsType()
		a.MountFlags = slices.Clone(t.Mount.GetMountFlags())
	default:
		return Access{}, status.Error(codes.InvalidArgument, "volume capability has no access type")
	}
	if a.FsType != "" && !fsTypes[a.FsType] {
		return Access{}, status.Errorf(codes.InvalidArgument, "filesystem %q: want ext4 or xfs", a.FsType)
	}
	return a, nil
}

func (a Access) equal(b Access) bool {
	return a.Mode == b.Mode && a.Block == b.Block && a.FsType == b.FsType && slices.Equal(a.MountFlags, b.MountFlags)
}

// readerOnly says that the mode itself forbids writing, whatever the readonly field of a request says.
func (a Access) readerOnly() bool {
	return a.Mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY.String() ||
		a.Mode == csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY.String()
}

// oneTarget says that the mode allows one target path only.
//
// NB: SINGLE_NODE_WRITER is not among them. A caller that does not know the two newer single-node modes publishes
// such a volume for every pod of the node that uses it, and drivers in the field let it.
func (a Access) oneTarget() bool {
	return a.Mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_SINGLE_WRITER.String()
}

// supports says why volumes of backend b cannot be used with access a; nil means that they can.
func (b Backend) supports(a Access) error {
	if b == BackendLoop {
		return nil
	}
	if a.Block {
		return status.Error(codes.InvalidArgument, "a volume of backend dir cannot be a raw block device")
	}
	for _, f := range a.MountFlags {
		if _, known := perMountFlags[f]; !known {
			return status.Errorf(codes.InvalidArgument, "mount option %q cannot be honoured by backend dir", f)
		}
	}
	return nil
}

// perMountFlags are the mount options that belong to one mount point and so can be given to a bind mount.
var perMountFlags = map[string]uintptr{
	"noatime":    unix.MS_NOATIME,
	"nodev":      unix.MS_NODEV,
	"nodiratime": unix.MS_NODIRATIME,
	"noexec":     unix.MS_NOEXEC,
	"nosuid":     unix.MS_NOSUID,
	"relatime":   unix.MS_RELATIME,
	"ro":         unix.MS_RDONLY,
	"rw":         0,
}

// bindFlags is the union of the given mount options' bits; options of a filesystem have none.
func bindFlags(options []string) uintptr {
	var flags uintptr
	for _, o := range options {
		flags |= perMountFlags[o]
	}
	return flags
}
