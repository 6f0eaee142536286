package journal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A journal that may grow is never full while the disk has room, and a restart takes it as it has become.
func TestJournalGrows(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, MinSize)
	j.MayGrow(64 * MinSize)
	for i := range 100 {
		require.NoError(t, add(j, d, first(i)), "record %d", i)
		require.Empty(t, j.Stats().Why)
	}
	grown := j.Stats()
	require.Equal(t, int64(64*MinSize), grown.Size)
	require.Less(t, grown.Bytes, grown.Capacity)

	d = d.restart()
	j, loaded := openOn(t, d, MinSize)
	require.Len(t, loaded.Records, 100)
	require.Less(t, d.read, grown.Size, "the spare is as large, and there is nothing in it")
	require.GreaterOrEqual(t, j.Stats().Capacity, j.Stats().Bytes)
	require.Equal(t, grown.Bytes, j.Stats().Bytes)
}

// Where the disk has no room, what is there stays, records are refused for the disk's sake, and the journal grows once
// there is room.
func TestJournalCanNotGrow(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, MinSize)
	j.MayGrow(64 * MinSize)
	d.quota = 2 * MinSize
	records := 0
	for err := error(nil); err == nil; records++ {
		if err = add(j, d, first(records)); err != nil {
			require.ErrorIs(t, err, ErrRoom)
			require.ErrorContains(t, err, "it cannot grow: ")
			require.ErrorContains(t, err, "free space on the disk")
			break
		}
	}
	require.Equal(t, int64(MinSize), j.Stats().Size)
	require.Empty(t, j.Stats().Why, "the spare is there")
	d.quota = 0
	tries := 0
	for ; add(j, d, first(records)) != nil; tries++ {
		require.NoError(t, add(j, d))
		require.Less(t, tries, 2*growRetry)
	}
	require.Empty(t, j.Stats().Why)

	// A disk that has filled meanwhile has room for a smaller spare.
	for i := range 60 {
		require.NoError(t, add(j, d, first(records+1+i)))
	}
	_, loaded := openOn(t, d.restart(), MinSize)
	require.Len(t, loaded.Records, records+61)
}

// Those who wait for room are refused once it can't be made, and it is tried again for the next.
func TestJournalGrowsForThoseWhoWait(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, MinSize)
	j.MayGrow(64 * MinSize)
	d.quota = 2 * MinSize
	records := 0
	for add(j, d, first(records)) == nil {
		records++
	}
	for range 3 {
		require.True(t, j.Press())
		require.NoError(t, add(j, d))
		require.False(t, j.Press(), "it could not grow")
		require.NoError(t, add(j, d))
	}
	d.quota = 0
	require.True(t, j.Press())
	require.NoError(t, add(j, d))
	require.NoError(t, add(j, d, first(records)))
}
