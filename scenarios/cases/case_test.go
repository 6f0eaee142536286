package cases

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/lang"
)

func TestKeepRefusesNonsense(t *testing.T) {
	for _, text := range []string{"", "xyz", "a.b=", "a.b=-1", "a.b=-1s", "a.b=nonsense", "a.b,,c.d", "a.b@c#x=1"} {
		_, err := ParseKeep(text)
		require.Error(t, err, "%q", text)
	}
}

func TestKeepPrintsAndParses(t *testing.T) {
	text := "hunt.tie=7,workload.pod@pod-1#2=1,workload.time@pod-1#2=1m0s," +
		"mounts.mount/fault@~/pods/u/volumes/kubernetes.io~csi/v/mount#0=fail-no-effect," +
		"driver.personality@disk.example not found#0=driver-nasty,csi.stage/crash@d^v#1"
	kept, err := ParseKeep(text)
	require.NoError(t, err)
	require.Equal(t, text, Case{Keep: kept}.String())
	require.Equal(t, lang.RootDir+"/pods/u/volumes/kubernetes.io~csi/v/mount", kept[3].ID.Object)
	require.Equal(t, sim.FailNone, kept[3].Fault)
	require.True(t, kept[5].Drawn)
}

func FuzzParseKeep(f *testing.F) {
	f.Add("hunt.tie=7,workload.pod@pod-1#2=1,workload.time@pod-1#2=1m0s,mounts.mount/fault@~/pods/u/mount#0=fails," +
		"csi.stage/crash@d^v#1")
	f.Add("a.b@x@#0=1")
	f.Add("a.b=1h,c.d@#0,e.f@g#9=driver-nasty")
	f.Fuzz(func(t *testing.T, text string) {
		kept, err := ParseKeep(text)
		if err != nil {
			return
		}
		printed := Case{Keep: kept}.String()
		again, err := ParseKeep(printed)
		require.NoError(t, err, "printed of %q", text)
		require.Equal(t, printed, Case{Keep: again}.String())
		for i, k := range kept {
			k.Time = again[i].Time // what is shorter than a microsecond is printed without its unit
			require.Equal(t, k, again[i])
		}
		Case{Keep: kept}.Setup()
	})
}
