// Package identity is who a root directory belongs to: the name of its node and the machine that made it. It is a file
// below the root, written at the first start and never derived again, because uids that are made of the node's name
// must not change with the host's name.
package identity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/hal"
)

// Version is the version of the file that this package writes, and the latest that it reads.
const Version = 1

const (
	maxFile  = 4 << 10 // bytes
	fileMode = 0o600
	dirMode  = 0o700
)

// Identity is the content of the file.
type Identity struct {
	Version   int    `json:"version"`
	Node      string `json:"node"`      // the node's name
	MachineID string `json:"machineID"` // machine-id(5) of the machine; "" if it had none
	Created   string `json:"created"`   // RFC 3339, for people
	Sum       string `json:"sum"`       // SHA-256 of the other fields
}

// DamagedError says that the file is there and can't be believed. What it said is not known.
type DamagedError struct {
	File, Why string
	isNoFile  bool // something else is in its place
}

func (e *DamagedError) Error() string {
	remedy := "Restore the file from a backup; or remove it, then"
	if e.isNoFile {
		remedy = "Remove what is there, and restore the file from a backup; without one,"
	}
	return fmt.Sprintf("identity file %s: %s. volnode does nothing, because a wrong node name would delete "+
		"data of pods. %s the next start takes the node's name from the journal", e.File, e.Why, remedy)
}

// Dir is where volnode keeps its own files below root.
func Dir(root string) string { return root + "/volnode" }

// File is the identity file of root.
func File(root string) string { return Dir(root) + "/identity" }

// Read reads the file; ok is false if there is none. A [*DamagedError] says that it is there and can't be believed;
// another error that it could not be read, and may be tried again.
func Read(h *hal.Host, c hal.Call, root string) (id Identity, ok bool, err error) {
	file := File(root)
	data, err := h.Files.Read(c, file, maxFile)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return Identity{}, false, nil
	case isNoFile(err):
		bad := &DamagedError{File: file, Why: err.Error()}
		if is, err := h.Tree.Stat(c, file); err == nil && is.Type != hal.TypeFile {
			bad.Why, bad.isNoFile = "a "+is.Type.String()+" is in its place", true
		}
		return Identity{}, false, bad
	case err != nil:
		return Identity{}, false, err
	}
	if id, err = Parse(data); err != nil {
		return Identity{}, false, &DamagedError{File: file, Why: err.Error()}
	}
	return id, true, nil
}

// isNoFile: what is there is no file of ours, and that will not change by itself.
func isNoFile(err error) bool {
	for _, errno := range []syscall.Errno{
		syscall.EFBIG, syscall.EISDIR, syscall.ELOOP, syscall.EXDEV, syscall.ENOTDIR, syscall.ENXIO, syscall.EINVAL,
	} {
		if hal.Is(err, errno) {
			return true
		}
	}
	return false
}

// Parse is strict: an unknown key, a sum that does not fit, or anything behind the object is an error.
func Parse(data []byte) (Identity, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Identity{}, fmt.Errorf("damaged: it is not JSON: %w", err)
	}
	if version.Version > Version {
		return Identity{}, fmt.Errorf("it has version %d, and this volnode reads up to version %d",
			version.Version, Version)
	}
	var id Identity
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&id); err != nil {
		return Identity{}, fmt.Errorf("damaged: %w", err)
	}
	if id.Version != Version || id.Node == "" || id.Sum != id.sum() {
		return Identity{}, errors.New("damaged: its checksum does not fit what it says")
	}
	return id, nil
}

func (id Identity) sum() string {
	id.Sum = ""
	text, err := json.Marshal(id)
	if err != nil {
		panic("strings did not marshal: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Marshal writes what [Parse] reads.
func (id Identity) Marshal() []byte {
	id.Version = Version
	id.Sum = id.sum()
	text, err := json.MarshalIndent(id, "", "  ")
	if err != nil {
		panic("strings did not marshal: " + err.Error())
	}
	return append(text, '\n')
}

// Write replaces the file durably. It makes the directory if it is missing, and syncs its name.
func Write(h *hal.Host, c hal.Call, root string, id Identity) error {
	dir := Dir(root)
	if err := h.Tree.Mkdir(c, dir, dirMode); err != nil && !hal.Is(err, syscall.EEXIST) {
		return err
	}
	if err := h.Files.Sync(c, root); err != nil {
		return err
	}
	return op.WriteFile(h, c, File(root), id.Marshal(), fileMode)
}
