package emptydir

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/volnode/volnode/scenarios/world"
)

// isInMemory judges the filesystem of an emptyDir in memory, or of huge pages, whose pod is reported ready (K:G97).
func (h *run) isInMemory(r *world.Run, p *world.Pod, u world.Use) bool {
	is := h.of(r.W, u.Path)
	if u.Room == nil || u.Room.Source.Name != "emptyDir" || !u.Memory || is == nil || p.Told != p.Object {
		return true
	}
	r.Judges("S29")
	wrong := world.WrongInMemory(r.W, u.Path)
	size, pages := memoryOf(p, u)
	for _, o := range r.W.OptionsAt(u.Path) {
		switch o.Key {
		case "size":
			if o.Value != size {
				wrong = "has the size " + o.Value + ", and the pod asks for " + cmp.Or(size, "none")
			}
			size = ""
		case "pagesize":
			if o.Value != pages {
				wrong = "has pages of " + o.Value + " bytes, and the pod asks for " + cmp.Or(pages, "none")
			}
			pages = ""
		}
	}
	if wrong == "" && (size != "" || pages != "") {
		wrong = "was mounted without the size " + size + ", pages of " + pages
	}
	if wrong != "" {
		r.Fail("S29", "in memory", p.Name, fmt.Sprintf("pod %s is reported ready, and %s %s", p.Name, u.Path, wrong))
	}
	return wrong == ""
}

// memoryOf is the size of an emptyDir in memory, and of its pages, as mount(8) has them; "" for what the pod leaves to
// the node. A size is never more than what the containers may use together, if all of them say.
func memoryOf(p *world.Pod, u world.Use) (size, pages string) {
	spec := &p.Object.Spec
	at := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == u.Name })
	if at < 0 || spec.Volumes[at].EmptyDir == nil {
		return "", ""
	}
	is, limit, most := spec.Volumes[at].EmptyDir, int64(0), int64(0)
	if is.SizeLimit != nil {
		limit = is.SizeLimit.Value()
	}
	for _, c := range spec.Containers {
		memory := c.Resources.Limits.Memory().Value()
		if most += memory; memory == 0 {
			most = 0
			break
		}
	}
	if is.Medium == corev1.StorageMediumMemory && most != 0 && (limit == 0 || most < limit) {
		limit = most
	}
	if of, isHuge := strings.CutPrefix(string(is.Medium), string(corev1.StorageMediumHugePages)); isHuge {
		of = strings.TrimPrefix(of, "-")
		for _, c := range spec.Containers { // of one size, if the medium names none
			for name := range c.Resources.Limits {
				if has, is := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix); is {
					of = cmp.Or(of, has)
				}
			}
		}
		page := resource.MustParse(of) // the agent has served it
		pages = strconv.FormatInt(page.Value(), 10)
		limit = (limit + page.Value() - 1) / page.Value() * page.Value()
	}
	if limit != 0 {
		size = strconv.FormatInt(limit, 10)
	}
	return size, pages
}
