package sim_test

import (
	"fmt"
	"time"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

// A run: a world from a seed, a driver with a volume, an agent, a judge, twenty minutes of faults, and a calm.
func Example() {
	seed := uint64(4711)
	w := sim.New(sim.Config{Chooser: sim.Seeded(seed), Profile: sim.Swarm(seed), Tie: seed, Keep: true})
	defer w.Close()

	w.AddDriver(sim.DriverSpec{Name: "disk.example", Personality: w.DrawPersonality("disk.example", sim.Polite())})
	w.AddVolume("disk.example", "vol-1")
	w.SetAgent(func(h hal.Host) { // engine.New(h, config) in earnest
		h.Watches.MountTable(func([]string) {})
		h.Cluster.Watch(func(hal.ClusterEvent) {})
	})
	w.OnEffect(func(e sim.Effect) {
		if e.Kind == sim.EffectUnstaged && len(w.Published()) > 0 {
			panic("S5")
		}
	})
	w.After(time.Minute, "pod-1", func() { w.Cluster.Apply(pod("pod-1")) })
	w.StartAgent()

	if err := w.RunFor(20 * time.Minute); err != nil {
		fmt.Println(err) // a panic of the agent, with its stack
	}
	w.Calm()
	_ = w.RunFor(10 * time.Minute)
	fmt.Println(len(w.Staged()), len(w.Active()))
	// Output: 0 0
}
