package world

import (
	"fmt"
	"maps"

	"github.com/volnode/volnode/hal"
)

// ImageVersion is what a reference named for a while.
type ImageVersion struct {
	Files map[string]string
	From  hal.Instant
	Until hal.Instant // 0 for still
}

// PutsImage has somebody put an image on the node: the next version of what its reference names.
func (r *Run) PutsImage(reference string) {
	r.endsImage(reference)
	n := len(r.Images[reference])
	v := ImageVersion{From: r.W.Now(), Files: map[string]string{
		"version": fmt.Sprintf("%s %d", reference, n), "etc/app/config": "port = 80\n",
		fmt.Sprintf("lib/of-%d/name", n%3): reference,
	}}
	r.Images[reference] = append(r.Images[reference], v)
	r.W.PutImage(reference, v.Files)
}

// RemovesImage has somebody remove an image from the node.
func (r *Run) RemovesImage(reference string) {
	r.endsImage(reference)
	r.W.RemoveImage(reference)
}

func (r *Run) endsImage(reference string) {
	if all := r.Images[reference]; len(all) > 0 && all[len(all)-1].Until == 0 {
		all[len(all)-1].Until = r.W.Now()
	}
}

// HasImage reports whether a reference names an image now.
func (r *Run) HasImage(reference string) bool {
	all := r.Images[reference]
	return len(all) > 0 && all[len(all)-1].Until == 0
}

// ImageOf finds the version of an image that has these files and was there at some time since an instant; nil if none
// has. Any time will do for the zero instant.
func (r *Run) ImageOf(reference string, files map[string]string, since hal.Instant) *ImageVersion {
	for i := range r.Images[reference] {
		v := &r.Images[reference][i]
		if maps.Equal(v.Files, files) && (v.Until == 0 || v.Until >= since) {
			return v
		}
	}
	return nil
}
