package csidriver

import "path/filepath"

// Backend names what volumes are made of.
type Backend string

// The backends.
const (
	BackendDir  Backend = "dir"  // a directory of the host; size is a number only
	BackendLoop Backend = "loop" // a sparse image file behind a loop device
)

func (b Backend) known() bool { return b == BackendDir || b == BackendLoop }

// backing does the work on the host for the volumes of one backend. Every method is idempotent. The caller holds the
// volume's lock and keeps the records; a backing has no state of its own.
type backing interface {
	// ensure creates the volume's store, or grows it to v.Bytes. It never shrinks.
	ensure(v Volume) error
	// remove deletes the store and everything in it.
	remove(v Volume) error
	// stage makes the volume usable at path, an existing directory; for a raw block volume it makes the device.
	stage(v Volume, path string, a Access) error
	// source is what a publication binds, for a volume that is staged at path.
	source(v Volume, path string, p Publication) (string, error)
	// shows says whether what is seen at path is this volume, staged or published.
	shows(v Volume, path string) (bool, error)
	// release gives back what stage and source took, when nothing is mounted any more.
	release(v Volume) error
}

// staged says whether the staging that the record tells of exists on the host; after a reboot it does not.
func (d *Driver) stagingExists(v Volume, s Staging) (bool, error) {
	if s.Access.Block {
		device, err := findLoop(d.loop.image(v), false)
		return device != "", err
	}
	return d.showsMount(v, s.Path)
}

// showsMount says whether path is a mount point of the volume.
func (d *Driver) showsMount(v Volume, path string) (bool, error) {
	if is, err := mounted(path); err != nil || !is {
		return false, err
	}
	return d.backing(v).shows(v, path)
}

func (d *Driver) backing(v Volume) backing {
	if v.Backend == BackendLoop {
		return d.loop
	}
	return d.dir
}

// volumeDir is where the store of one volume lives.
func volumeDir(stateDir, id string) string { return filepath.Join(stateDir, "volumes", id) }
