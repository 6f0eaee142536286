package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// Of a record of another boot neither instants nor fingerprints mean anything in this one: a mount id may be somebody
// else's by now, and a bound may lie months ahead.
func TestDoubtfulRecordOfAnotherBoot(t *testing.T) {
	limits := core.Limits{SetUp: time.Minute, TearDown: time.Minute, LateWindow: time.Minute}
	rec := core.Record{
		Rung: core.Rung{Key: "k", Pod: "p", Limits: limits}, Phase: core.Confirmed, Boot: "before",
		Fingerprint: "mount 7", Seen: "",
		Generation:    []core.Foundation{{Key: "below", Fingerprint: "mount 6"}},
		SetUpUntil:    hal.Instant(2400 * time.Hour),
		TearDownUntil: hal.Instant(2400 * time.Hour),
	}
	now := hal.Instant(time.Minute)

	got := doubtful(rec, now, "now")
	require.Equal(t, core.Intent, got.Phase)
	require.Equal(t, hal.BootID("now"), got.Boot)
	require.Equal(t, now.Add(2*time.Minute), got.SetUpUntil)
	require.Equal(t, now.Add(2*time.Minute), got.TearDownUntil)
	require.True(t, got.MayBeUsed)
	require.Empty(t, got.Fingerprint)
	require.Empty(t, got.Generation)
	require.NotEmpty(t, got.Seen, "nobody has seen in this boot that nothing was there")

	rec.Boot = "now"
	got = doubtful(rec, now, "now")
	require.Equal(t, hal.Instant(2400*time.Hour), got.SetUpUntil)
	require.Equal(t, "mount 7", got.Fingerprint)
	require.Empty(t, got.Seen)
}
