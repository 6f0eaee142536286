package scenarios_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/volnode/volnode/scenarios"
)

// A property of your own: draw a world from a seed, run it, and look at it after each step of the engine.
func Example() {
	h := scenarios.NewHunter()
	h.Check = func(v scenarios.View) {
		if n := len(v.World().Staged()); n > 6 {
			v.Fail("few", "stages", "node-1", fmt.Sprintf("%d volumes are staged, and there are six", n))
		}
	}
	for seed := range uint64(20) {
		if v := h.Run(scenarios.Schedule{Seed: seed}).Violation; v != nil {
			fmt.Println(seed, v)
			return
		}
	}
	fmt.Println("it holds")
	// Output: it holds
}

// The same with rapid, which draws the seeds.
func ExampleHunter_rapid() {
	var t *testing.T // of your test
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64Range(0, 1<<40).Draw(t, "seed")
		h := scenarios.NewHunter()
		h.Check = func(v scenarios.View) {
			if n := len(v.World().Staged()); n > 6 {
				v.Fail("few", "stages", "node-1", fmt.Sprintf("%d volumes are staged, and there are six", n))
			}
		}
		if v := h.Run(scenarios.Schedule{Seed: seed}).Violation; v != nil {
			t.Fatal(v)
		}
	})
}
