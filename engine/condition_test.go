package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// A wait for a pod counts what is up as ready also while it is looked at or refreshed. The status says the same.
func TestWhatIsUpIsReadyWhileItIsRefreshed(t *testing.T) {
	up := core.View{State: core.Present, IsProvided: true, Desired: "wanted", Step: 7, Verb: core.Refresh}
	require.Equal(t, Ready, condition(up, 0))
	require.Equal(t, Stuck, condition(up, hal.Instant(2*overdue+time.Second)))
	up.Desired = "unwanted"
	require.Equal(t, Working, condition(up, 0))
	require.Equal(t, Working, condition(core.View{Desired: "wanted", Step: 7, Verb: core.SetUp}, 0))
}

// What is up and was edited to what it can't be is not Ready, and a call of a refresh that may still act is no more
// than that.
func TestWhatWasEditedIsNotReadyBeforeItIsThat(t *testing.T) {
	v := core.View{State: core.Present, Desired: "wanted", Step: 7, Verb: core.Refresh}
	require.Equal(t, Working, condition(v, 0))
	v.Step, v.SetUpOpen = 0, 1
	require.Equal(t, Degraded, condition(v, 0))
	v.IsBlocked = true
	require.Equal(t, Blocked, condition(v, 0))
	v.Desired = "unwanted"
	require.Equal(t, Stuck, condition(v, 0))
}
