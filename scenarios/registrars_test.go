package scenarios

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
)

// TestASocketThatIsMadeOnceMoreIsNoted: the agent writes in calm who serves a driver, if its socket is made once more,
// and an older one waits.
func TestASocketThatIsMadeOnceMoreIsNoted(t *testing.T) {
	for name, c := range map[string]struct{ isAnew, waits, want bool }{
		"made once more while one waits": {true, true, true},
		"no other waits":                 {true, false, false},
		"it stands as it was":            {false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := bare(t)
			_ = r.w.RunFor(time.Hour)
			r.core = core.New(core.Start{Now: 1, Boot: "b"})
			socket, since := r.w.Drivers()[0].Socket, r.w.Now()
			if r.registrars.since[socket] = since; c.isAnew {
				r.registrars.since[socket]++
			}
			if c.waits {
				r.core.Step(2, core.Serves{Actor: "d", By: "7 " + socket})
			}
			require.Equal(t, c.want, r.notesAnew(since))
		})
	}
}
