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

// This file handles the ledger of another node, which somebody copied or restored into the place of this node's. All
// copies beside it are of that node, too: only the ledger says whose they are. So volnode moves all of it aside, in one
// step, and uses none of it. Nothing of it is lost.

// aside follows the name of the cache directory, and a number follows aside, in the name of the place it moves to.
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
			return fmt.Errorf("the ledger is of another node, and volnode cannot move %s aside: %w", r.o.CacheDir, err)
		}
		return r.h.Files.Sync(r.call, path.Dir(to))
	}
}

// reportAside adds a trouble for each directory that this start, or an earlier one, moved aside.
func (r reader) reportAside(s *state) {
	entries, _ := r.h.Tree.List(r.call, path.Dir(r.o.CacheDir)) // for a report only
	for _, e := range entries {
		if at := path.Join(path.Dir(r.o.CacheDir), e.Name); strings.HasPrefix(at, r.o.CacheDir+aside) {
			data, _ := r.h.Files.Read(r.call, path.Join(at, ledger), maxLedger)
			whose := ""
			if node := bookOf(data).owner.Node; node != "" { // it may be damaged
				whose = " (" + node + ")"
			}
			s.ownTroubles = append(s.ownTroubles, hal.Trouble{
				Where: at,
				Problem: "these copies of manifests are of another node" + whose + ", and were found in " + r.o.CacheDir +
					"; volnode has moved them here and uses none of them; move them back to that node, or remove them",
			})
		}
	}
}

// mayBeOurs reports whether a copy that no ledger lists may count without its manifest: something is left here of a pod
// of it, or it has no pod. Any other copy may be of another node, so it serves only a manifest that is there.
func (r reader) mayBeOurs(f file) bool {
	isPod := func(o object) bool { return o.id.Kind == "Pod" }
	isLeft := func(o object) bool { return isPod(o) && slices.Contains(r.left, o.id.UID) }
	return r.o.LeftPods == nil || !slices.ContainsFunc(f.objects, isPod) || slices.ContainsFunc(f.objects, isLeft)
}
