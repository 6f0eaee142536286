package haltest

import "github.com/volnode/volnode/hal"

// World is a node to run scripts on, with what a test needs beyond the Host.
type World interface {
	Host() hal.Host
	// Dir is the agent's root directory. It is empty, and what is mounted below it is private: no peer group.
	Dir() string
	// Do runs f where the methods of the Host may be called, and returns when f has.
	Do(f func())
	// Hold opens what is at path, as a foreign process would: links and mounts are followed.
	Hold(path string) (release func(), err error)
	// Symlink makes a symbolic link.
	Symlink(target, path string) error
	// PutImage puts an image on the node: see [hal.Images]. files has the content of each file by its path in it.
	PutImage(reference string, files map[string]string)
	// DamageImage changes a part of it.
	DamageImage(reference string)
	// PutRepository puts the next revision of a repository on a server, which is not this node, and returns its URL. A tag
	// names the revision, too, unless revision is "". files has the content of each file by its path in it.
	PutRepository(name, revision string, files map[string]string) (url string)
	// InstallFlex installs a FlexVolume driver that mounts filesystems in memory. manner is "polite", or says how it
	// behaves: "attaches", "gives", "no-unmount", "no-mount", "unsafe", "fails", "fails-late", "lies" or "garbles".
	InstallFlex(name, manner string)
	// RemoveFlexDriver removes a driver, and reports whether there was one.
	RemoveFlexDriver(name string) bool
	// PutDisk gives the node a disk, and returns its path. It holds "blank", "junk" that nobody knows, or a filesystem of
	// that type with that UUID.
	PutDisk(name, holds, uuid string) (path string)
	// DamageDisk has the filesystem on a disk that is not mounted, an ext2, ext3 or ext4, come to a state: "dirty" is one
	// that nobody has unmounted, "mendable" has errors that e2fsck(8) mends unasked, "grave" has others.
	DamageDisk(path, how string)
	// MendDisk is a person who mends it.
	MendDisk(path string)
	// UseProject has somebody else use a project: a new directory is of it ("directory"), or it has a limit ("limit").
	UseProject(project uint32, how, path string)
	Close()
}

// SAN is a world with iSCSI targets, which the cases of testdata/san.txt need. Its node has an initiator without a
// session, whose name is [NodeInitiator].
type SAN interface {
	SANDisks
	// Portal is the address of a portal. 1 and 2 have a cable each; 3, an IPv6 address, is on that of 1. No target is
	// ever at 4, of the cable of 1.
	Portal(n int) string
	// MakeTarget makes a target at portals. It has no disks, and lets nobody in.
	MakeTarget(target string, portals ...int)
	// Admit lets an initiator in, which sees all disks of the target. It has to show credentials, by the names of their
	// settings (iscsid.conf(5)), if any are there; "node.session.auth.password_in" and its user are what the target shows.
	// Once one initiator has credentials, those without are refused.
	Admit(target, initiator string, chap map[string]string)
	// PutLUN gives a target a disk under a number, in place of the one there; "" takes that away. A disk is made, blank,
	// when it is first named. Nobody tells the node.
	PutLUN(target string, lun uint64, disk string)
	// SetPortal cuts the cable of a portal, and waits until its sessions fail ("down"), or until they are given up for
	// now ("dead"); or it joins the cable ("up"), and waits until they are there again.
	SetPortal(n int, how string)
	// Records lists what the initiator has on its disk, sorted: "TARGET PORTAL INTERFACE", followed by
	// " with credentials" if it has some, and "interface NAME".
	Records() []string
}

// NodeInitiator is the iSCSI name of the node of a [SAN].
const NodeInitiator = "iqn.2026-01.example:node"
