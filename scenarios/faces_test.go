package scenarios

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/judges"
)

// Who waits for a pod waits for the volumes that it has, and not for the end of a call for one that it had.
func TestWhoWaitsDoesNotWaitForAFormerVolume(t *testing.T) {
	for desired, isTrue := range map[string]bool{
		"unwanted": true, "wanted": false, "held": false,
		"held, and not named": true,
	} {
		a := judges.PodAnswers{
			Uid: "u", Mounted: map[string]engine.MountedVolume{"data": {}},
			Possibly: map[string]engine.MountedVolume{"data": {}, "former": {}},
		}
		a.Gone, a.Named = errors.New("not yet"), []string{"data", "former"}
		desired, isFormer := strings.CutSuffix(desired, ", and not named")
		if isFormer {
			a.Named = a.Named[:1]
		}
		p := &engine.PodStatus{UID: "u", Wanted: true, State: engine.Uncertain, Volumes: []engine.VolumeStatus{
			{Name: "data", State: engine.Ready, Keys: []hal.Key{"data"}},
			{Name: "former", State: engine.Uncertain, Keys: []hal.Key{"former"}},
		}}
		rungs := map[hal.Key]*engine.RungStatus{
			"data":   {Actual: "Present", Desired: "wanted"},
			"former": {Actual: "Unknown", Desired: desired},
		}
		require.Equal(t, isTrue, a.Contradicts(p, rungs, false) == "", desired)
	}
}
