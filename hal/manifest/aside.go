package manifest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/volnode/volnode/hal"
)

// This file is the ledger of another node, which somebody has copied or restored into the place of this node's. All
// that lies beside it is of that node, too: nothing else tells whose a copy is. So all of it goes aside, in one step,
// and serves nobody here. Nothing of it is lost.

// aside is behind the name of the cache directory, and before a number, where it goes.
const aside = ".of-another-node-"

func (r reader) setAside() error {
	for n := 1; ; n++ {
		to := r.o.CacheDir + aside + strconv.Itoa(n)
		if _, err := r.h.Tree.Stat(r.call, to); err == nil {
			continue
		} else if !hal.Is(err, syscall.ENOENT) {
			return err
		}
		if err := r.h.Tree.Rename(r.call, r.o.CacheDir, to); err != nil {
			return fmt.Errorf("the ledger is of another node, and what is in %s cannot be moved aside: %w", r.o.CacheDir, err)
		}
		return r.h.Files.Sync(r.call, path.Dir(to))
	}
}

// tellAside remembers to tell of all that went aside, in this start or an earlier one.
func (r reader) tellAside(s *state) {
	entries, _ := r.h.Tree.List(r.call, path.Dir(r.o.CacheDir)) // it is only told
	for _, e := range entries {
		if at := path.Join(path.Dir(r.o.CacheDir), e.Name); strings.HasPrefix(at, r.o.CacheDir+aside) {
			data, _ := r.h.Files.Read(r.call, path.Join(at, ledger), maxLedger)
			s.odd = append(s.odd, hal.Trouble{Where: at, Problem: "these copies of manifests are of another node (" +
				bookOf(data).owner.Node + "), and were found in " + r.o.CacheDir + "; volnode has moved them here and uses none " +
				"of them; move them back to that node, or remove them"})
		}
	}
}

// mayBeOurs reports whether a copy that no ledger lists may count without its manifest: something is left here of a pod
// of it, or it has none. Any other may be another node's, so it serves who is there.
func (r reader) mayBeOurs(f file) bool {
	isPod := func(o object) bool { return o.id.Kind == "Pod" }
	isLeft := func(o object) bool { return isPod(o) && slices.Contains(r.left, o.id.UID) }
	return r.o.LeftPods == nil || !slices.ContainsFunc(f.objects, isPod) || slices.ContainsFunc(f.objects, isLeft)
}
