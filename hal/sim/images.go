package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"math"
	gopath "path"
	"slices"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file models the OCI images that lie on the node.

// image is what a reference names at present.
type image struct {
	files     map[string]string // content by path below the image's root
	isDamaged bool
}

// ImageDigest is the digest of an image of these files.
func ImageDigest(files map[string]string) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum.Write([]byte(name + "\x00" + files[name] + "\x00")) // a hash never fails
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}

// PutImage has somebody put an image on the node, in place of what the reference named before. files has the content of
// each file by its path, without a slash before it.
func (w *World) PutImage(reference string, files map[string]string) {
	w.images[reference] = &image{files: maps.Clone(files)}
}

// DamageImage has a part of an image rot; it can't be unpacked from then on.
func (w *World) DamageImage(reference string) {
	if im := w.images[reference]; im != nil {
		im.isDamaged = true
	}
}

// RemoveImage has somebody remove an image from the node.
func (w *World) RemoveImage(reference string) { delete(w.images, reference) }

type hostImages struct{ *host }

var callUnpack = newCallSite("images.unpack", hal.ClassHelper, true)

func (h hostImages) Unpack(c hal.Call, reference, dir string) error {
	w := h.w
	k := h.enter(callUnpack, dir, c, &w.menus.helper)
	errno, ok := k.acts()
	if !ok {
		return k.done(errno)
	}
	part := k.fault == FailPart
	k.dies = func(by actor) { _ = w.unpack(by, reference, dir, true) } // nobody hears how that ends
	errno = k.inKernel("unpack "+dir, func(by actor) syscall.Errno { return w.unpack(by, reference, dir, part) })
	if part || k.fault == FailFull {
		return k.leave(syscall.EIO, hal.Unknown)
	}
	return k.done(errno)
}

// unpack makes dir of what a reference names. With part, it is cut short.
func (w *World) unpack(by actor, reference, dir string, part bool) syscall.Errno {
	if !clean(dir) {
		return syscall.EINVAL
	}
	im := w.images[reference]
	switch {
	case im == nil:
		return syscall.ENOENT
	case im.isDamaged:
		return syscall.EBADMSG
	}
	parent, name, errno := w.beneath(dir, hal.Inside{})
	switch {
	case errno != 0:
		return errno
	case name == "" || parent.n.child(name) != nil:
		return syscall.EEXIST
	case parent.m.isReadOnly():
		return syscall.EROFS
	}
	partial := gopath.Base(hal.Unpacking(dir))
	if r := (&removal{w: w, by: by, left: math.MaxInt}); !r.remove(parent, partial) {
		return r.why
	}
	top := w.makeIn(by, parent, partial, 0o700)
	root := w.makeIn(by, top, hal.ImageFiles, 0o755)
	for i, path := range slices.Sorted(maps.Keys(im.files)) {
		if part && i >= len(im.files)/2 {
			return 0
		}
		at := root
		for next, rest := nextName(path); next != ""; next, rest = nextName(rest) {
			if rest == "" {
				w.fileIn(by, at, next, im.files[path], 0o644)
			} else if k := at.n.child(next); k != nil {
				at.n = k
			} else {
				at = w.makeIn(by, at, next, 0o755)
			}
		}
	}
	w.fileIn(by, top, hal.ImageDigest, ImageDigest(im.files), 0o600)
	w.syncTree(top.n)
	if errno := w.rename(by, parent, partial, parent, name); errno != 0 {
		return errno
	}
	w.syncOne(parent.n)
	return 0
}

// makeIn makes a directory.
func (w *World) makeIn(by actor, dir location, name string, mode uint32) location {
	k := dir.n.newChild(hal.TypeDirectory, mode)
	w.link(by, dir, name, k)
	return location{dir.m, k}
}

// fileIn makes a file.
func (w *World) fileIn(by actor, dir location, name, content string, mode uint32) {
	k := dir.n.newChild(hal.TypeFile, mode)
	w.link(by, dir, name, k)
	w.put(k, 0, []byte(content))
}

func (w *World) syncOne(n *node) {
	if n.sb.pages != nil {
		n.sb.pages.sync(n)
	}
}

func (w *World) syncTree(n *node) {
	for _, k := range n.kids {
		w.syncTree(k)
	}
	w.syncOne(n)
}
