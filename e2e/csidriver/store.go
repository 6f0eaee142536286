package csidriver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// State is everything the driver remembers. Its JSON form is the state file and what `csidriver state` prints.
type State struct {
	Volumes   map[string]Volume                 `json:"volumes"`   // by volume ID
	Attached  map[string]map[string]Attachment  `json:"attached"`  // by volume ID, then node ID
	Staged    map[string]Staging                `json:"staged"`    // by volume ID
	Published map[string]map[string]Publication `json:"published"` // by volume ID, then target path
}

// Volume is one volume and what it is made of.
type Volume struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Backend Backend `json:"backend"`
	Bytes   int64   `json:"bytes"`
	FsType  string  `json:"fsType,omitempty"` // for a blank image when the stage request names no type
	Static  bool    `json:"static,omitempty"`
	Inline  bool    `json:"inline,omitempty"` // of one pod: made by its publish, gone with its unpublish
}

// Attachment is a ControllerPublishVolume that succeeded.
type Attachment struct {
	Access   Access `json:"access"`
	Readonly bool   `json:"readonly,omitempty"`
}

// Staging is a NodeStageVolume that succeeded or was under way when the driver died.
type Staging struct {
	Path   string `json:"path"`
	Access Access `json:"access"`
}

// Publication is a NodePublishVolume that succeeded or was under way when the driver died.
type Publication struct {
	Access   Access `json:"access"`
	Readonly bool   `json:"readonly,omitempty"`
}

// store keeps a State on disk and in memory; both are the same whenever its lock is free.
type store struct {
	path string

	mu    sync.Mutex
	state State
}

func emptyState() State {
	return State{
		Volumes:   map[string]Volume{},
		Attached:  map[string]map[string]Attachment{},
		Staged:    map[string]Staging{},
		Published: map[string]map[string]Publication{},
	}
}

func statePath(stateDir string) string { return filepath.Join(stateDir, "state.json") }

// ReadState reads the state file of a driver, running or not. A directory without one has an empty state.
func ReadState(stateDir string) (State, error) {
	s := emptyState()
	data, err := os.ReadFile(statePath(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", statePath(stateDir), err)
	}
	return s, nil
}

func openStore(stateDir string) (*store, error) {
	s, err := ReadState(stateDir)
	if err != nil {
		return nil, err
	}
	return &store{path: statePath(stateDir), state: s}, nil
}

// view calls f with the state. f must neither keep nor change it.
func (s *store) view(f func(State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s.state)
}

// update changes the state with f. When it returns an error, neither the file nor the memory has changed.
func (s *store) update(f func(*State)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.state.clone()
	if err != nil {
		return err
	}
	f(&next)
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return err
	}
	if err := writeDurably(s.path, append(data, '\n')); err != nil {
		return err
	}
	s.state = next
	return nil
}

func (s State) clone() (State, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return State{}, err
	}
	c := emptyState()
	return c, json.Unmarshal(data, &c)
}

// forget removes target from what is published of volume id.
func (s *State) forget(id, target string) {
	delete(s.Published[id], target)
	if len(s.Published[id]) == 0 {
		delete(s.Published, id)
	}
}

// detach removes node from where volume id is attached; an empty node means all of them.
func (s *State) detach(id, node string) {
	delete(s.Attached[id], node)
	if node == "" || len(s.Attached[id]) == 0 {
		delete(s.Attached, id)
	}
}

// writeDurably replaces the file at path: after a power cut it holds either the old or the new content.
func writeDurably(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes the entries of dir durable, which a rename alone does not.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
