package memory

import (
	"syscall"

	"github.com/volnode/volnode/hal"
)

type flexDrivers struct{}

// Init finds no driver.
func (flexDrivers) Init(_ hal.Call, driver string) (hal.FlexCapabilities, error) {
	return hal.FlexCapabilities{}, &hal.Error{
		Op: "flex init", Object: driver, Class: hal.ClassHelper, Outcome: hal.NotDone, Errno: syscall.ENOENT,
	}
}

// Mount finds none either.
func (f flexDrivers) Mount(c hal.Call, driver, _ string, _ []hal.Option) error {
	_, err := f.Init(c, driver)
	return err
}

// Unmount finds none either.
func (f flexDrivers) Unmount(c hal.Call, driver, _ string) error {
	_, err := f.Init(c, driver)
	return err
}
