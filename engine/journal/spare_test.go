package journal

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
)

// The agent has died while it wrote the next generation to the spare, and the next life has less to write. Nothing of
// what the spare held counts.
func TestAHalfWrittenSpareIsNotTakenForZeros(t *testing.T) {
	other := newDisk()
	j, _ := openOn(t, other, testSize)
	require.NoError(t, add(j, other, put(stage(1))))
	openOn(t, other.restart(), testSize)
	j, _ = openOn(t, other.restart(), testSize)
	for i := range 9 {
		require.NoError(t, add(j, other, put(stage(2+i))))
	}
	d := newDisk()
	openOn(t, d, testSize)
	j, _ = openOn(t, d.restart(), testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	d.names[testDir+"/"+nameSpare].data = slices.Clone(other.names[testDir+"/"+nameOf(3)].data)

	_, loaded := openOn(t, d.restart(), testSize)
	require.Equal(t, []core.Record{stage(1)}, loaded.Records)
	_, loaded = openOn(t, d.restart(), testSize)
	require.Empty(t, loaded.Damages)
	require.Equal(t, []core.Record{stage(1)}, loaded.Records)
}
