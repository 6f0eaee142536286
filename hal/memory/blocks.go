package memory

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

type blocks struct{}

// Probe finds no device.
func (blocks) Probe(_ hal.Call, path string) (hal.BlockDevice, error) {
	return hal.BlockDevice{}, &hal.Error{
		Op: "probe", Object: path, Class: hal.ClassHelper, Outcome: hal.NotDone, Errno: syscall.ENOENT,
	}
}

// Identify finds none.
func (b blocks) Identify(c hal.Call, path string) (hal.BlockDevice, error) { return b.Probe(c, path) }

// Format finds none either.
func (b blocks) Format(c hal.Call, f hal.NewFilesystem) error {
	_, err := b.Probe(c, f.Path)
	return err
}

// Check finds none either.
func (b blocks) Check(c hal.Call, f hal.FilesystemCheck) (hal.Checked, error) {
	_, err := b.Probe(c, f.Path)
	return hal.Checked{}, err
}

// Hold finds none either.
func (b blocks) Hold(c hal.Call, d hal.DeviceHold) error {
	_, err := b.Probe(c, d.Path)
	return err
}

// Holds finds none.
func (blocks) Holds(hal.Call) ([]hal.HeldDevice, error) { return nil, nil }

// Release has nothing to let go of.
func (blocks) Release(hal.Call, hal.HeldDevice) error { return nil }
