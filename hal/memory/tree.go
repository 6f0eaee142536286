package memory

import (
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

type tree struct{ *Host }

func (t tree) Mkdir(_ hal.Call, at string, mode uint32) error {
	defer t.begin().mu.Unlock()
	switch {
	case t.nodes[at] != nil:
		return failures[syscall.EEXIST]
	case t.nodes[above(at)] == nil:
		return failures[syscall.ENOENT]
	}
	t.make(at, hal.TypeDirectory).info.Mode = mode
	return nil
}

func (t tree) Remove(_ hal.Call, at string) error {
	defer t.begin().mu.Unlock()
	n := t.nodes[at]
	switch {
	case n == nil:
		return failures[syscall.ENOENT]
	case n.first != nil:
		return failures[syscall.ENOTEMPTY]
	case len(t.mounts[at]) > 0:
		return failures[syscall.EBUSY]
	}
	t.take(at)
	return nil
}

func (t tree) RemoveTree(_ hal.Call, at string, _ int) (bool, error) {
	defer t.begin().mu.Unlock()
	if t.nodes[at] != nil {
		t.takeAll(at)
	}
	return false, nil
}

func (t tree) Rename(_ hal.Call, from, to string) error {
	defer t.begin().mu.Unlock()
	n := t.nodes[from]
	if n == nil {
		return failures[syscall.ENOENT]
	}
	if t.nodes[to] != nil {
		t.takeAll(to)
	}
	t.take(from)
	t.enter(to, n)
	t.move(from, to, n)
	return nil
}

func (t tree) move(from, to string, n *node) {
	for below := n.first; below != nil; below = below.next {
		delete(t.nodes, from+"/"+below.name)
		t.nodes[to+"/"+below.name] = below
		t.move(from+"/"+below.name, to+"/"+below.name, below)
	}
}

func (t tree) Chown(_ hal.Call, at string, uid, gid int) error {
	defer t.begin().mu.Unlock()
	n := t.nodes[at]
	if n == nil {
		return failures[syscall.ENOENT]
	}
	if uid >= 0 {
		n.info.UID = uint32(uid)
	}
	if gid >= 0 {
		n.info.GID = uint32(gid)
	}
	return nil
}

func (t tree) Chmod(_ hal.Call, at string, mode uint32) error {
	defer t.begin().mu.Unlock()
	n := t.nodes[at]
	if n == nil {
		return failures[syscall.ENOENT]
	}
	n.info.Mode = mode
	return nil
}

func (t tree) Symlink(_ hal.Call, target, at string) error {
	defer t.begin().mu.Unlock()
	if t.nodes[at] != nil {
		return failures[syscall.EEXIST]
	}
	t.make(at, hal.TypeSymlink).link = target
	return nil
}

func (t tree) Readlink(_ hal.Call, at string) (string, error) {
	defer t.begin().mu.Unlock()
	n := t.nodes[at]
	switch {
	case n == nil:
		return "", failures[syscall.ENOENT]
	case n.info.Type != hal.TypeSymlink:
		return "", failures[syscall.EINVAL]
	}
	return n.link, nil
}

func (t tree) List(_ hal.Call, at string) ([]hal.Entry, error) {
	defer t.begin().mu.Unlock()
	n := t.nodes[at]
	if n == nil {
		return nil, failures[syscall.ENOENT]
	}
	var entries []hal.Entry
	for below := n.first; below != nil; below = below.next {
		entries = append(entries, hal.Entry{Name: below.name, Type: below.info.Type})
	}
	slices.SortFunc(entries, func(a, b hal.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

func (t tree) Stat(_ hal.Call, at string) (hal.Info, error) {
	defer t.begin().mu.Unlock()
	n := t.nodes[at]
	if n == nil {
		return hal.Info{}, failures[syscall.ENOENT]
	}
	info := n.info
	info.Size, info.MountPoint = n.size, len(t.mounts[at]) > 0
	return info, nil
}
