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
