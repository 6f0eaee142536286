package sim

import (
	"bytes"
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/volnode/volnode/hal"
)

// This file is people who write manifests, and who cover their directory.

var siteManifest = newSite("cluster.manifest")

// WriteManifest makes a file of objects, as WriteFile does; who writes it may be half done for a while.
func (w *World) WriteManifest(path string, data []byte) {
	if !w.happens(ManifestTorn, siteManifest, path) {
		w.WriteFile(path, data)
		return
	}
	w.tears++ // no two torn texts are equal: who is half done with one does not finish another
	torn := fmt.Appendf(slices.Clone(data[:len(data)/2]), "%s%d", tornEnd, w.tears)
	w.WriteFile(path, torn)
	w.torn++
	w.finishesManifest(path, torn, data, w.time(siteManifest, path, time.Second, outageMost))
}

// finishesManifest has the rest of a manifest written in a while; not before the directory is there again, if something
// is in its place.
func (w *World) finishesManifest(path string, torn, data []byte, in time.Duration) {
	w.sched.at(w.sched.now.Add(in), siteManifest.hash, nil, func() {
		dir := path[:lastSlash(path)]
		kind, _ := w.Exists(dir)
		if stack := w.MountsAt(dir); kind != hal.TypeDirectory || len(stack) > 0 &&
			w.IsForeign(stack[len(stack)-1].ID) {
			w.finishesManifest(path, torn, data, time.Minute)
			return
		}
		w.torn--
		if bytes.Equal(w.ReadFile(path), torn) { // nobody has written it or removed it since
			w.WriteFile(path, data)
		}
	})
}

// CoverDirectory mounts an empty filesystem over a directory that the agent watches, as somebody on the node would;
// UncoverDirectory unmounts it.
func (w *World) CoverDirectory(path string) syscall.Errno {
	errno := w.MountForeign(path)
	w.contentChanged(path + "/")
	return errno
}

// UncoverDirectory ends CoverDirectory.
func (w *World) UncoverDirectory(path string) {
	if stack := w.MountsAt(path); len(stack) > 0 && w.IsForeign(stack[len(stack)-1].ID) {
		_ = w.UnmountTop(path) // nobody keeps it busy
		w.contentChanged(path + "/")
	}
}

// IsTorn says whether somebody is half done with writing a manifest.
func (w *World) IsTorn() bool { return w.torn > 0 }

// tornEnd makes half a manifest one that can't be read: otherwise the half might be another pod.
const tornEnd = "\n\t{"
