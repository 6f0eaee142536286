package engine

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// tasks is a runtime whose tasks begin when the test says so. What is posted runs at once.
type tasks struct{ waiting []func() }

func (*tasks) Now() hal.Instant                               { return 0 }
func (*tasks) BootID() hal.BootID                             { return "" }
func (*tasks) Post(f func())                                  { f() }
func (*tasks) At(hal.Instant, func())                         {}
func (t *tasks) Go(task func())                               { t.waiting = append(t.waiting, task) }
func (*tasks) Await(context.Context, func(done func())) error { return nil }

func (t *tasks) next() {
	task := t.waiting[0]
	t.waiting = t.waiting[1:]
	task()
}

// While the sink hangs, events wait up to a bound. Those beyond are dropped, and an event behind the others says how
// many.
func TestEventsThatNobodyTakesAreDroppedAndCounted(t *testing.T) {
	runtime := &tasks{}
	var taken [][]Event
	s := stream{runtime: runtime, sink: func(all []Event) { taken = append(taken, all) }, taken: func() {}}
	s.emit(PodIgnored{})
	for n := range mostWaiting + 3 {
		s.emit(AllSynced{n})
	}
	require.Len(t, runtime.waiting, 1, "one call of the sink at a time")
	runtime.next()
	runtime.next()
	require.Empty(t, runtime.waiting)
	require.Equal(t, []Event{PodIgnored{}}, taken[0])
	require.Len(t, taken[1], mostWaiting+1)
	require.Equal(t, EventsDropped{3}, taken[1][mostWaiting])
}
