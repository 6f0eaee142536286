package scenarios

import (
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// Buffers is what the runs of one goroutine leave to those that come next: see [sim.Buffers] and [world.Legacy]. The
// zero value is empty. nil leaves nothing.
type Buffers struct {
	worlds sim.Buffers
	legacy world.Legacy
}

// KeepCoroutines has worlds use the coroutines of earlier ones. They leak if b is not closed.
func (b *Buffers) KeepCoroutines() { b.worlds.KeepCoroutines() }

// Close ends the coroutines that were kept. No run may use b any more.
func (b *Buffers) Close() { b.worlds.Close() }

func (b *Buffers) ofWorlds() *sim.Buffers {
	if b == nil {
		return nil
	}
	return &b.worlds
}
