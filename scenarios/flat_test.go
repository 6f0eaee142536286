package scenarios

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios/workload"
	"github.com/volnode/volnode/scenarios/world"
)

// TestWorldsLeaveNothing runs many worlds: no goroutine and no memory is left of them. A hunter's own objects are
// dropped with it.
func TestWorldsLeaveNothing(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(GCPercent))
	rounds, worlds := 20, 500
	if testing.Short() {
		rounds, worlds = 4, 100
	}
	seed := uint64(0)
	hunt := func(h *Hunter) {
		for range worlds {
			h.Run(Schedule{Seed: seed})
			seed++
		}
	}
	round := func() (goroutines int, heap uint64) {
		hunt(NewHunter())
		for range 2 { // the second collection frees what the first one has finalised
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	goroutines, heap := round() // what is made once for all
	for range rounds - 1 {
		nowGoroutines, nowHeap := round()
		require.LessOrEqual(t, nowGoroutines, goroutines, "after %d worlds", seed)
		require.LessOrEqual(t, nowHeap, heap+512<<10, "bytes after %d worlds", seed)
	}
}

// TestCoroutinesAreKept runs the same worlds with coroutines of their own and with those of earlier ones, which end
// with the hunter.
func TestCoroutinesAreKept(t *testing.T) {
	own, keeps := NewHunter(), NewHunter()
	before := runtime.NumGoroutine()
	keeps.KeepCoroutines()
	for seed := range uint64(40) {
		require.Equal(t, own.Run(Schedule{Seed: seed}), keeps.Run(Schedule{Seed: seed}))
	}
	require.Greater(t, runtime.NumGoroutine(), before)
	require.Less(t, runtime.NumGoroutine(), before+200)
	keeps.Close()
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}

func TestHunterForgetsPods(t *testing.T) {
	h := NewHunter()
	want := h.Run(Schedule{Seed: 7})
	for i := len(h.stock.Pods); i <= workload.MostShapes; i++ {
		h.stock.Pods[world.Shape{Edits: uint8(i), Generation: uint8(i >> 8), Index: 200}] = workload.Built{}
	}
	got := h.Run(Schedule{Seed: 7})
	require.Less(t, len(h.stock.Pods), workload.MostShapes)
	require.Equal(t, want.Hash, got.Hash)
}
