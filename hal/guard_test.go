package hal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

type death struct{}

func (death) Dies() {}

func TestGuard(t *testing.T) {
	panicked, stack := hal.Guard(func() {})
	require.Empty(t, panicked+stack)
	panicked, stack = hal.Guard(func() { _ = []int{}[len(t.Name())] })
	require.Contains(t, panicked, "index out of range")
	require.Contains(t, stack, "hal_test.TestGuard.func2 guard_test.go:")
	require.NotContains(t, stack, "testing.tRunner", "what is around the guard did not panic")
	require.PanicsWithValue(t, death{}, func() { hal.Guard(func() { panic(death{}) }) })
}
