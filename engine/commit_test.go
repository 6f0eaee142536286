package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

func TestAFailureThatGoesOnIsLoggedEverMoreRarely(t *testing.T) {
	var c commits
	var now hal.Instant
	logged := 0
	for range 24 * 60 * 60 {
		now = now.Add(time.Second)
		if c.isNews(now, "no space left on device") {
			logged++
		}
	}
	require.Equal(t, 29, logged, "after 1, 2, 4 ... 60 minutes, then once an hour")
	require.True(t, c.isNews(now, "input/output error"), "another failure")
	require.False(t, c.isNews(now.Add(59*time.Second), "input/output error"))
	require.True(t, c.isNews(now.Add(time.Minute), "input/output error"))
}
