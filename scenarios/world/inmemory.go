package world

import (
	"slices"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// WrongInMemory says how a filesystem in memory that the agent has mounted for a pod is not as it must be, "" if it is:
// no program gets the rights of another user from it, no device is served from it, and nothing of it reaches a disk.
func WrongInMemory(w *sim.World, path string) string {
	stack := w.MountsAt(path)
	if len(stack) == 0 || stack[0].FSType != "tmpfs" && stack[0].FSType != "hugetlbfs" {
		return "is not in memory"
	}
	for _, flag := range []string{"nosuid", "nodev"} {
		if !slices.Contains(stack[0].Options, flag) {
			return "is not mounted " + flag
		}
	}
	if stack[0].FSType == "tmpfs" && !slices.Contains(w.OptionsAt(path), hal.Option{Key: "noswap"}) {
		return "may be swapped to a disk"
	}
	return ""
}
