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

// While a write hangs, lines wait up to a bound. Those beyond are dropped, and a line behind the others says how many.
func TestLinesThatTheLogDoesNotTakeAreDroppedAndCounted(t *testing.T) {
	runtime := &tasks{}
	var written [][]Entry
	l := lines{runtime: runtime, sink: func(all []Entry) { written = append(written, all) }, written: func() {}}
	l.log(LevelInfo, "first")
	for range mostLines + 3 {
		l.log(LevelInfo, "more")
	}
	require.Len(t, runtime.waiting, 1, "one write at a time")
	runtime.next()
	runtime.next()
	require.Empty(t, runtime.waiting)
	require.Equal(t, []Entry{{Message: "first"}}, written[0])
	require.Len(t, written[1], mostLines+1)
	last := written[1][mostLines]
	require.Equal(t, LevelWarn, last.Level)
	require.Equal(t, []string{"lines", "3"}, last.Fields)
}
