package main

// site is what a call is known by, for Site of package wrap.
type site struct {
	name   string
	object string // an expression over the method's parameters
	class  string // of hal: Syscall, File, Helper or RPC
	effect bool
}

// sites has each call of each interface that is wrapped.
var sites = map[string]map[string]site{
	"Mounts": {
		"Table":   {"mount table", `""`, "Syscall", false},
		"At":      {"mounts at", "path", "Syscall", false},
		"Within":  {"mounts within", "path", "Syscall", false},
		"Mount":   {"mount", `m.FSType + " " + m.Target`, "Syscall", true},
		"Bind":    {"bind", `b.Source + " " + b.Target`, "Syscall", true},
		"Unmount": {"umount", "path", "Syscall", true},
	},
	"Tree": {
		"Mkdir":      {"mkdir", "path", "File", true},
		"Remove":     {"remove", "path", "File", true},
		"RemoveTree": {"remove tree", "path", "File", true},
		"Rename":     {"rename", `oldPath + " " + newPath`, "File", true},
		"Chown":      {"chown", "path", "File", true},
		"Chmod":      {"chmod", "path", "File", true},
		"Symlink":    {"symlink", "path", "File", true},
		"Readlink":   {"readlink", "path", "File", false},
		"List":       {"list", "path", "File", false},
		"Stat":       {"stat", "path", "File", false},
	},
	"Files": {
		"Read":     {"read", "path", "File", false},
		"ReadAt":   {"pread", "path", "File", false},
		"Write":    {"write", "path", "File", true},
		"WriteAt":  {"pwrite", "path", "File", true},
		"Allocate": {"fallocate", "path", "File", true},
		"Sync":     {"fsync", "path", "File", true},
	},
	"HostPaths": {
		"Find":   {"host find", "path", "Helper", false},
		"Count":  {"host count", "path", "Helper", false},
		"Cached": {"host cached", "path", "Syscall", false},
		"Make":   {"host make", "path", "Helper", true},
		"Usage":  {"host usage", "path", "Helper", false},
	},
	"Images": {
		"Unpack": {"unpack", `reference + " " + dir`, "Helper", true},
	},
	"FlexDrivers": {
		"Init":    {"flex init", "driver", "Helper", false},
		"Mount":   {"flex mount", `driver + " " + dir`, "Helper", true},
		"Unmount": {"flex unmount", `driver + " " + dir`, "Helper", true},
	},
	"Repositories": {
		"Clone": {"clone", `r.URL + " " + r.Dir`, "Helper", true},
	},
	"Quotas": {
		"Limit": {"quota limit", "path", "File", true},
		"Usage": {"quota usage", "path", "File", false},
		"Lift":  {"quota lift", "path", "File", true},
	},
	"Blocks": {
		"Probe":    {"probe", "path", "Helper", false},
		"Identify": {"identify", "path", "Syscall", false},
		"Format":   {"format", "f.Path", "Helper", true},
		"Check":    {"check", "f.Path", "Helper", true},
		"Hold":     {"hold", "d.Path", "Helper", true},
		"Holds":    {"holds", `""`, "Syscall", false},
		"Release":  {"release", "d.Device", "Helper", true},
	},
	"ISCSI": {
		"Sessions": {"iscsi sessions", `""`, "Syscall", false},
		"Records":  {"iscsi records", `""`, "File", false},
		"Login":    {"iscsi login", `l.Target + " " + l.Portal`, "Helper", true},
		"Logout":   {"iscsi logout", `r.Target + " " + r.Portal`, "Helper", true},
	},
	"SCSI": {
		"Disks":  {"scsi disks", "hal.SCSIAddress{Host: host}.String()", "Syscall", false},
		"Named":  {"scsi named", "wwid", "Syscall", false},
		"Scan":   {"scsi scan", "a.String()", "Helper", true},
		"Remove": {"scsi remove", "d.Address.String()", "Helper", true},
	},
	"Multipath": {
		"Maps":       {"multipath maps", `""`, "Syscall", false},
		"Assemble":   {"multipath assemble", "hal.WWIDOf(disks)", "Helper", true},
		"Remove":     {"multipath remove", "m.UUID", "Helper", true},
		"Resize":     {"multipath resize", "m.UUID", "Helper", true},
		"FailQueued": {"multipath fail", "m.UUID", "Helper", true},
	},
	"FC": {
		"Hosts":       {"fc hosts", `""`, "Syscall", false},
		"RemotePorts": {"fc ports", `""`, "Syscall", false},
	},
	"Children": {
		"Living": {"children", `""`, "File", false},
	},
	"Registration": {
		"Info":   {"GetInfo", "socket", "RPC", false},
		"Notify": {"NotifyRegistrationStatus", "socket", "RPC", false},
	},
	"Drivers": {
		"Connect": {"connect", "hal.DriverOf(name)", "RPC", false},
	},
	"CSIIdentity": {
		"PluginInfo":         {"GetPluginInfo", "driver", "RPC", false},
		"PluginCapabilities": {"GetPluginCapabilities", "driver", "RPC", false},
		"Probe":              {"Probe", "driver", "RPC", false},
	},
	"CSINode": {
		"Info":          {"NodeGetInfo", "driver", "RPC", false},
		"Capabilities":  {"NodeGetCapabilities", "driver", "RPC", false},
		"Stage":         {"NodeStageVolume", ofVolume("r.GetStagingTargetPath()"), "RPC", true},
		"Unstage":       {"NodeUnstageVolume", ofVolume("r.GetStagingTargetPath()"), "RPC", true},
		"Publish":       {"NodePublishVolume", ofVolume("r.GetTargetPath()"), "RPC", true},
		"Unpublish":     {"NodeUnpublishVolume", ofVolume("r.GetTargetPath()"), "RPC", true},
		"Stats":         {"NodeGetVolumeStats", ofVolume("r.GetVolumePath()"), "RPC", false},
		"Health":        {"NodeGetVolumeHealth", ofVolume("r.GetVolumePublishPath()"), "RPC", false},
		"StorageHealth": {"NodeGetStorageHealth", "driver", "RPC", false},
	},
	"CSIController": {
		"Capabilities": {"ControllerGetCapabilities", "driver", "RPC", false},
		"Create":       {"CreateVolume", `driver + " " + r.GetName()`, "RPC", true},
		"Delete":       {"DeleteVolume", `driver + " " + r.GetVolumeId()`, "RPC", true},
		"Publish":      {"ControllerPublishVolume", `driver + " " + r.GetVolumeId()`, "RPC", true},
		"Unpublish":    {"ControllerUnpublishVolume", `driver + " " + r.GetVolumeId()`, "RPC", true},
	},
	"Cluster": {
		"ConfigMap":   {"configMap", `namespace + "/" + name`, "RPC", false},
		"Pod":         {"pod", `namespace + "/" + name`, "RPC", false},
		"Secret":      {"secret", `namespace + "/" + name`, "RPC", false},
		"TrustBundle": {"trustBundle", "name", "RPC", false},
	},
	"Tokens": {
		"Token": {"token", "r.String()", "RPC", false},
	},
}

// ofVolume is the object of a call of the node service: the driver, the volume and a path.
func ofVolume(path string) string { return `driver + " " + r.GetVolumeId() + " " + ` + path }
