package disk

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// The parameters of the rungs.
const (
	// ParamSource is a directory or a device of the node; there is none where a rung below finds it, nor of what a start
	// has found.
	ParamSource  = "source"
	ParamFlags   = "flags"   // of the bind mount, with commas between them
	ParamFSType  = "fsType"  // of the filesystem
	ParamOptions = "options" // of the filesystem, with commas between them; with its flags
	ParamUUID    = "uuid"    // of the filesystem that is made if there is none
	ParamHold    = "hold"    // the key of the rung that holds the disk of a raw block volume
)

// The facts of the rung of a device.
const (
	FactDevice = "device"        // the number of the device, and its sequence
	FactDisk   = "disk"          // the name of the disk
	FactHolds  = "holds"         // the uuid of the filesystem on it, or [Blank]
	FactNode   = "node"          // the path of the device, if no parameter has it
	FactName   = "name"          // the device and its disk, for people; none if the path says it
	FactSays   = core.FactUnique // the WWID that it answers with; none if that is not what tells it from others
	Blank      = "blank"
)

// fsTypes are the filesystems that a device can have. Not btrfs: its mounts have a number that is no device's, so a
// mount does not say which disk it is of.
var fsTypes = []string{"ext2", "ext3", "ext4", "xfs"}

// Options that a filesystem may have. None opens another device, names a file, or stops the node.
var (
	MountFlags = []string{"nodev", "noexec", "nosuid", "ro"}
	plain      = []string{
		"acl", "delalloc", "discard", "inode32", "inode64", "lazytime", "noacl", "nodelalloc", "nodiscard", "nouuid",
		"user_xattr",
	}
	valued = []string{"allocsize", "commit", "data", "inode_readahead_blks", "logbsize", "logbufs", "stripe"}
)

// Ladder is what a source says of the rungs of a volume.
type Ladder struct {
	Bind, Mount, Device core.Rung // with what is the source's own of each
	FSType              string
	FSTypeField         string       // the path of the field that says so
	Name                string       // of the volume, and of no other one: the uuid of its filesystem follows from it
	IsReadOnly          bool         // the source has the filesystem mounted read-only
	Same                []core.Param // parameters that device and mount have in common
}

// Rungs appends the rungs of a volume, top first, or says why it can't be served.
func (l Ladder) Rungs(to []core.Rung, v plugin.Volume) ([]core.Rung, *plugin.Problem) {
	if !slices.Contains(fsTypes, l.FSType) {
		return nil, plugin.Problemf(l.FSTypeField, "%.50q is not served; use one of %s", l.FSType,
			strings.Join(fsTypes, ", "))
	}
	options, p := optionsOf(v)
	if p != nil {
		return nil, p
	}
	if l.IsReadOnly && !slices.Contains(options, "ro") {
		options = append(options, "ro")
		slices.Sort(options)
	}
	isReadOnly := v.ReadOnly || slices.Contains(options, "ro")
	if isReadOnly {
		p = v.WantsContext()
	} else {
		p = v.WantsOwnership()
	}
	if p != nil {
		return nil, p
	}
	const change = core.OnChangeRebuild
	same := append(l.Same, core.Param{Name: ParamUUID, Value: uuidOf(l.Name), OnChange: change},
		core.Param{Name: ParamFSType, Value: l.FSType, OnChange: change})
	l.Device.Want = plugin.Sorted(append(l.Device.Want, same...))
	l.Mount.Below = []hal.Key{l.Device.Key}
	l.Mount.Want = plugin.Sorted(append(append(l.Mount.Want, same...),
		core.Param{Name: ParamOptions, Value: strings.Join(options, ","), OnChange: change}))
	var flags []string
	if isReadOnly {
		flags = []string{"ro"}
	}
	l.Bind.Below = []hal.Key{l.Mount.Key}
	l.Bind.Want = plugin.Sorted(append(l.Bind.Want, BindParams(flags, plugin.PathOf(l.Mount.Want))...))
	l.Bind.Exclusive = v.Exclusive(l.Bind.Volume)
	return append(to, l.Bind, l.Mount, l.Device), nil
}

// BindParams are the parameters of a bind mount of a directory, with flags.
func BindParams(flags []string, source string) []core.Param {
	readOnly := ""
	if slices.Contains(flags, "ro") {
		readOnly = plugin.Yes
	}
	return []core.Param{
		{Name: ParamFlags, Value: strings.Join(flags, ","), OnChange: core.OnChangeRebuild},
		{Name: plugin.ParamReadOnly, Value: readOnly, OnChange: core.OnChangeRebuild},
		{Name: ParamSource, Value: source, OnChange: core.OnChangeRebuild},
	}
}

// optionsOf are the options of the filesystem, sorted.
func optionsOf(v plugin.Volume) (options []string, p *plugin.Problem) {
	odd := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	if v.PV == nil {
		return nil, nil
	}
	for _, option := range v.PV.Spec.MountOptions {
		name, value, hasValue := strings.Cut(option, "=")
		isGood := !hasValue && (slices.Contains(plain, name) || slices.Contains(MountFlags, name)) ||
			slices.Contains(valued, name) && value != "" && !strings.ContainsFunc(value, odd)
		switch {
		case option == "rw":
		case !isGood:
			return nil, plugin.Problemf(v.PVField("spec.mountOptions"), "%.100q is not an option that volnode gives to a "+
				"filesystem; it gives %s, and, with a value, %s", option,
				strings.Join(slices.Concat(MountFlags, plain), ", "), strings.Join(valued, ", "))
		default:
			options = append(options, option)
		}
	}
	slices.Sort(options)
	return slices.Compact(options), nil
}

// uuidOf is the uuid of the filesystem that volnode makes for a volume: always the same, so that it is known again (RFC
// 9562, version 8).
func uuidOf(name string) string {
	sum := sha256.Sum256([]byte("volnode " + name))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// Holds is what the device holds, as the rung's fact says it; why not, if nothing of it may be mounted, and nothing be
// made on it. disk is its name, "" if nothing tells it from others. The filesystem that was on it stays the only one
// for as long as pods have the volume.
func Holds(o core.Op, is hal.BlockDevice, disk string) (holds, why string) {
	if why = heldByOther(o, is); why != "" {
		return "", why
	}
	if plugin.IsBlock(o.Params) {
		return rawHolds(o, is, disk)
	}
	was, had := core.FactOf(o.Facts, FactHolds), core.FactOf(o.Facts, FactDisk)
	fsType, uuid := core.Value(o.Params, ParamFSType), core.Value(o.Params, ParamUUID)
	switch {
	case len(is.Holders) > 0:
		return "", "it is a part of " + strings.Join(is.Holders, " ") + "; use that, or free this device"
	case is.IsFilesystem && is.Type != fsType:
		return "", fmt.Sprintf("it holds %s, and fsType is %s; volnode changes nothing on it: correct fsType, "+
			"or use another device", is.Type, fsType)
	case is.IsFilesystem && was != "" && was != is.UUID && (was != Blank || is.UUID != uuid):
		return "", fmt.Sprintf("it holds the filesystem %s, and the disk of the volume %s; volnode mounts nothing of it: "+
			"attach that disk", is.UUID, map[bool]string{true: "was blank", false: "had " + was}[was == Blank])
	case is.IsFilesystem:
		return is.UUID, ""
	case is.Type != "":
		return "", fmt.Sprintf("it holds %s; volnode changes nothing on it: use another device; if nobody needs what it "+
			"holds, clear it with wipefs(8) and blkdiscard(8)", is.Type)
	case was != "" && was != Blank:
		return "", fmt.Sprintf("it holds no filesystem, and the volume had %s; volnode makes no other one: attach the "+
			"disk of the volume", was)
	case is.IsBlank:
		return Blank, ""
	case was == Blank && had != "" && had == disk: // a program has begun that makes filesystems
		return Blank, ""
	case was == Blank:
		return "", "nobody knows what it holds; the disk of the volume was blank, and nothing proves that it is this one; " +
			"volnode changes nothing on it: attach the disk of the volume; if this is the one, and nobody needs what it " +
			"holds, clear it with blkdiscard(8) or dd(1)"
	}
	return "", "nobody knows what it holds, and it is not blank, as its first and last MiB are not zeros; volnode " +
		"changes nothing on it: make a filesystem on it, or use another device; if nobody needs what it holds, clear " +
		"it with blkdiscard(8) or dd(1)"
}
