package csidriver

import (
	"errors"
	"path/filepath"
)

// Cleanup undoes on the host what the driver with this state directory has mounted and attached, and empties the
// records of it. Volumes and their data stay. It is for a driver that does not run: ErrInUse otherwise. What cannot
// be undone stays recorded and is in the error; calling again continues.
func Cleanup(stateDir string) error {
	// The endpoint and the node are for a driver that serves; this one does not.
	d, err := New(Config{StateDir: stateDir, Endpoint: "/", NodeID: "none"})
	if err != nil {
		return err
	}
	defer d.lock.Close()
	state, err := d.store.state.clone()
	if err != nil {
		return err
	}
	var failures []error
	for id, targets := range state.Published {
		for target := range targets {
			failures = append(failures, d.unpublish(state.Volumes[id], target))
		}
	}
	for id, s := range state.Staged {
		failures = append(failures, d.unstage(state.Volumes[id], s.Path))
	}
	failures = append(failures, d.store.update(func(s *State) { s.Attached = emptyState().Attached }))
	return errors.Join(append(failures, DetachLoops(d.config.StateDir))...)
}

// DetachLoops detaches every loop device whose file is below the state directory, whatever the records say. A device
// that is still mounted somewhere goes when it is unmounted.
func DetachLoops(stateDir string) error {
	devices, err := AttachedLoops(stateDir)
	if err != nil {
		return err
	}
	var failures []error
	for _, device := range devices {
		failures = append(failures, detachLoop(device))
	}
	return errors.Join(failures...)
}

// AttachedLoops lists the loop devices whose file is below the state directory; those stacked on others come first.
func AttachedLoops(stateDir string) ([]string, error) {
	dir, err := filepath.EvalSymlinks(stateDir)
	if err != nil {
		return nil, err
	}
	return loopsUnder(dir)
}
