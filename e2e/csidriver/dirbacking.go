package csidriver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// dirBacking makes volumes of plain directories. Staging and publishing are bind mounts.
type dirBacking struct{ stateDir string }

func (b dirBacking) data(v Volume) string { return filepath.Join(volumeDir(b.stateDir, v.ID), "data") }

func (b dirBacking) ensure(v Volume) error { return os.MkdirAll(b.data(v), 0o755) }

func (b dirBacking) remove(v Volume) error { return os.RemoveAll(volumeDir(b.stateDir, v.ID)) }

func (b dirBacking) stage(v Volume, path string, a Access) error {
	return bind(b.data(v), path, bindFlags(a.MountFlags))
}

func (b dirBacking) source(_ Volume, path string, _ Publication) (string, error) { return path, nil }

func (b dirBacking) shows(v Volume, path string) (bool, error) {
	here, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data, err := os.Stat(b.data(v))
	if err != nil {
		return false, err
	}
	return os.SameFile(here, data), nil
}

func (b dirBacking) release(Volume) error { return nil }
