package plugintest

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/volnode/volnode/hal"
)

type mounts struct{ n *Node }

func (m mounts) Table(hal.Call) ([]hal.Mount, error) {
	var all []hal.Mount
	for _, at := range slices.Sorted(maps.Keys(m.n.Stacks)) {
		all = append(all, m.n.Stacks[at]...)
	}
	return all, m.n.Fail["table"]
}

func (m mounts) At(_ hal.Call, at string) ([]hal.Mount, error) {
	if err := m.n.Fail["at "+at]; err != nil {
		return nil, err
	}
	return append([]hal.Mount(nil), m.n.Stacks[at]...), nil
}

func (m mounts) Within(_ hal.Call, at string) ([]hal.Mount, error) {
	var all []hal.Mount
	for _, path := range slices.Sorted(maps.Keys(m.n.Stacks)) {
		if path == at || strings.HasPrefix(path, at+"/") {
			all = append(all, m.n.Stacks[path]...)
		}
	}
	return all, m.n.Fail["within"]
}

func (m mounts) Mount(_ hal.Call, x hal.NewMount) error {
	if err := m.n.call("mount", x.Target); err != nil {
		return err
	}
	m.n.Mount(x.Target, hal.Mount{FSType: x.FSType, Source: x.Source, Device: hal.Device{Minor: 40}})
	return nil
}

func (m mounts) Bind(hal.Call, hal.BindSpec) error { panic("no plugin binds") }

func (m mounts) Unmount(_ hal.Call, at string, id hal.MountID) error {
	if err := m.n.call("umount", at); err != nil {
		return err
	}
	if s := m.n.Stacks[at]; len(s) == 0 || s[len(s)-1].ID != id {
		return Errno("umount", at, syscall.EINVAL)
	}
	m.n.Unmount(at)
	return nil
}

type tree struct {
	hal.Tree // of which no plugin calls the rest
	n        *Node
}

func (t tree) Mkdir(_ hal.Call, at string, mode uint32) error {
	if _, ok := t.n.Names[at]; ok {
		return Errno("mkdir", at, syscall.EEXIST)
	}
	if _, ok := t.n.Names[path.Dir(at)]; !ok {
		return Errno("mkdir", at, syscall.ENOENT)
	}
	if err := t.n.call("mkdir", at); err != nil {
		return err
	}
	t.n.name(at, hal.TypeDirectory)
	t.n.Modes[at] = mode
	return nil
}

func (t tree) Remove(_ hal.Call, at string) error {
	switch {
	case t.n.Names[at] == hal.TypeOther:
		return Errno("rm", at, syscall.ENOENT)
	case len(t.n.Stacks[at]) > 0:
		return Errno("rm", at, syscall.EBUSY)
	case len(t.n.children(at)) > 0:
		return Errno("rm", at, syscall.ENOTEMPTY)
	}
	if err := t.n.call("rm", at); err != nil {
		return err
	}
	delete(t.n.Names, at)
	return nil
}

// RemoveTree removes one name for each of limit, the deepest first, and stops at the first that can't go.
func (t tree) RemoveTree(c hal.Call, at string, limit int) (more bool, err error) {
	if err := t.n.Fail["rmtree "+at]; err != nil {
		return false, err
	}
	removed := 0
	for t.n.Names[at] != hal.TypeOther {
		if removed == limit {
			return true, nil
		}
		leaf := at
		for kids := t.n.children(leaf); len(kids) > 0; kids = t.n.children(leaf) {
			leaf = kids[0]
		}
		err := t.n.Fail["rmtree "+leaf]
		if err == nil {
			err = t.Remove(c, leaf)
		}
		switch {
		case err != nil && removed == 0:
			return false, err
		case err != nil:
			return true, nil //nolint:nilerr // something was removed: it is tried again
		}
		removed++
	}
	return false, nil
}

func (t tree) Rename(_ hal.Call, from, to string) error {
	if t.n.Names[from] == hal.TypeOther {
		return Errno("rename", from, syscall.ENOENT)
	}
	if err := t.n.call("rename", from+" "+to); err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(t.n.Names)) {
		kind := t.n.Names[at]
		if at == from || strings.HasPrefix(at, from+"/") {
			moved := to + strings.TrimPrefix(at, from)
			t.n.Names[moved], t.n.Inodes[moved], t.n.Data[moved] = kind, t.n.Inodes[at], t.n.Data[at]
			delete(t.n.Names, at)
		}
	}
	return nil
}

func (t tree) List(_ hal.Call, at string) ([]hal.Entry, error) {
	if err := t.n.Fail["list "+at]; err != nil {
		return nil, err
	}
	if t.n.Names[at] == hal.TypeOther {
		return nil, Errno("list", at, syscall.ENOENT)
	}
	var all []hal.Entry
	for _, child := range t.n.children(at) {
		all = append(all, hal.Entry{Name: path.Base(child), Type: t.n.Names[child]})
	}
	return all, nil
}

func (t tree) Stat(_ hal.Call, at string) (hal.Info, error) {
	if err := t.n.Fail["stat "+at]; err != nil {
		return hal.Info{}, err
	}
	if t.n.Names[at] == hal.TypeOther {
		return hal.Info{}, Errno("stat", at, syscall.ENOENT)
	}
	if len(t.n.Stacks[at]) > 0 {
		return hal.Info{MountPoint: true}, nil
	}
	return hal.Info{Type: t.n.Names[at], Inode: t.n.Inodes[at], Mode: t.n.Modes[at]}, nil
}

type files struct{ n *Node }

func (f files) Read(_ hal.Call, at string, _ int64) ([]byte, error) {
	if f.n.Names[at] != hal.TypeFile {
		return nil, Errno("read", at, syscall.ENOENT)
	}
	return []byte(f.n.Data[at]), nil
}

func (f files) Write(_ hal.Call, at string, data []byte, mode uint32) error {
	if err := f.n.call("write", at); err != nil {
		return err
	}
	f.n.Put(at, hal.TypeFile)
	f.n.Data[at], f.n.Modes[at] = string(data), mode
	return nil
}

func (f files) ReadAt(hal.Call, string, int64, []byte) (int, error) {
	panic("no plugin reads a part of a file")
}

func (f files) WriteAt(hal.Call, string, int64, []byte) error  { panic("no plugin writes in place") }
func (f files) Allocate(hal.Call, string, int64, uint32) error { panic("no plugin allocates") }
func (f files) Sync(_ hal.Call, at string) error               { return f.n.call("sync", at) }

type hostPaths struct{ n *Node }

func (h hostPaths) Find(_ hal.Call, at string) (hal.HostFile, error) {
	t, ok := h.n.Host[at]
	return hal.HostFile{Exists: ok, Type: t, Below: h.n.Below[at]}, h.n.Fail["find "+at]
}

func (h hostPaths) Cached(c hal.Call, at string) (hal.HostFile, error) {
	if err := h.n.Fail["cached "+at]; err != nil {
		return hal.HostFile{}, err
	}
	return h.Find(c, at)
}

func (h hostPaths) Make(_ hal.Call, at string, t hal.FileType) error {
	if err := h.n.call("make", at); err != nil {
		return err
	}
	h.n.Host[at] = t
	return nil
}

type cluster struct{ n *Node }

func (c cluster) Watch(func(hal.ClusterEvent)) { panic("no plugin watches") }

func (c cluster) Secret(_ hal.Call, namespace, name string) (hal.Secret, error) {
	s, ok := c.n.Secrets[namespace+"/"+name]
	if !ok {
		return hal.Secret{}, Errno("secret", namespace+"/"+name, syscall.ENOENT)
	}
	return hal.NewSecret(s), nil
}

type node struct{ n *Node }

func (d node) Info(hal.Call, string, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	panic("no plugin asks")
}

func (d node) Capabilities(hal.Call, string, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error,
) {
	panic("no plugin asks")
}

// rpc records a request, all of it, and the error it is to end with.
func (d node) rpc(name, driver string, request fmt.Stringer) error {
	text := strings.Join(strings.Fields(request.String()), " ")
	d.n.Calls = append(d.n.Calls, name+" "+driver+" "+text)
	return d.n.Fail[name]
}

func (d node) Stage(_ hal.Call, driver string, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	err := d.rpc("NodeStageVolume", driver, r)
	if err == nil && d.n.OnStage != nil {
		d.n.OnStage(r)
	}
	return &csi.NodeStageVolumeResponse{}, err
}

func (d node) Unstage(_ hal.Call, driver string, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse,
	error,
) {
	err := d.rpc("NodeUnstageVolume", driver, r)
	if err == nil && d.n.OnUnstage != nil {
		d.n.OnUnstage(r)
	}
	return &csi.NodeUnstageVolumeResponse{}, err
}

func (d node) Publish(_ hal.Call, driver string, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse,
	error,
) {
	err := d.rpc("NodePublishVolume", driver, r)
	if err == nil && d.n.OnPublish != nil {
		d.n.OnPublish(r)
	}
	return &csi.NodePublishVolumeResponse{}, err
}

func (d node) Unpublish(_ hal.Call, driver string, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse,
	error,
) {
	err := d.rpc("NodeUnpublishVolume", driver, r)
	if err == nil && d.n.OnUnpublish != nil {
		d.n.OnUnpublish(r)
	}
	return &csi.NodeUnpublishVolumeResponse{}, err
}
