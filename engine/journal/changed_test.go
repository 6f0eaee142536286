package journal

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// loose is a line that asks for no sync.
func loose(r core.Record) core.Line {
	l := put(r)
	l.Sync = false
	return l
}

// Wherever somebody cuts a generation short, and whoever was synced, a start tells of it and doubts what it reads.
func TestCutShortIsTold(t *testing.T) {
	for _, syncs := range []bool{true, false} {
		d := newDisk()
		j, _ := openOn(t, d, testSize)
		for i := range 3 {
			l := put(stage(i))
			l.Sync = syncs
			require.NoError(t, add(j, d, l))
		}
		whole := slices.Clone(d.names[testDir+"/journal.1"].data)
		for at := range whole {
			d.names[testDir+"/journal.1"] = &inode{data: slices.Clone(whole[:at])}
			im, err := readImage(d.host(), hal.Call{}, testDir+"/journal.1", 1)
			require.NoError(t, err)
			require.NotEmpty(t, im.damages, "cut at %d", at)
			found := content{}
			im.apply(found)
			for key, k := range found {
				require.True(t, k.doubtful, "%s, cut at %d", key, at)
			}
		}
	}
}

// Zeros before good frames are what a power cut may leave of lines that were not synced. Without one they are damage.
func TestHoleOfThisBootIsTold(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	begin := j.end
	require.NoError(t, add(j, d, loose(stage(1))))
	end := j.end
	require.NoError(t, add(j, d, loose(stage(2))))
	clear(d.names[testDir+"/journal.1"].data[begin:end])
	later := *d
	later.names = map[string]*inode{}
	for name, f := range d.names {
		later.names[name] = &inode{dir: f.dir, data: slices.Clone(f.data)}
	}
	later.boot = "later"
	_, loaded := openOn(t, d.restart(), testSize)
	require.Len(t, loaded.Damages, 1)
	_, loaded = openOn(t, later.restart(), testSize)
	require.Empty(t, loaded.Damages, "the power cut took it")
	require.Equal(t, []core.Record{stage(2)}, loaded.Records)
}

// What nobody has written is no write that was cut short.
func TestForeignBytesAreNoTornWrite(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	begin := j.end
	require.NoError(t, add(j, d, put(stage(2))))
	f := d.names[testDir+"/journal.1"]
	for at := begin; at < j.end; at++ {
		f.data[at] = 'x'
	}
	d.boot = "later"
	_, loaded := openOn(t, d.restart(), testSize)
	require.Len(t, loaded.Damages, 1)
}

// A journal that somebody cuts short while it is written is not written on behind a hole: all records go to another.
func TestCutShortWhileItIsWritten(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	written := j.Print()
	require.NoError(t, written.Check(d.host(), hal.Call{}))
	f := d.names[testDir+"/journal.1"]
	f.data = f.data[:headerSize]
	require.ErrorIs(t, written.Check(d.host(), hal.Call{}), ErrChanged)
	require.Error(t, add(j, d, put(stage(2))))
	require.NoError(t, add(j, d))
	require.NoError(t, j.Print().Check(d.host(), hal.Call{}))
	_, loaded := openOn(t, d.restart(), testSize)
	require.Equal(t, []core.Record{stage(1), stage(2)}, loaded.Records)
}

func TestCheckSeesEachByte(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, MinSize)
	require.NoError(t, add(j, d, put(stage(1))))
	f := d.names[testDir+"/journal.1"]
	for at := range j.end {
		f.data[at] ^= 1
		require.ErrorIs(t, j.Print().Check(d.host(), hal.Call{}), ErrChanged)
		f.data[at] ^= 1
	}
	f.data[j.end] = 1 // nothing is there yet
	require.NoError(t, j.Print().Check(d.host(), hal.Call{}))
}

// Somebody cuts the spare short, or removes it. The journal makes another one before the spare becomes a generation.
func TestSpareIsCutShort(t *testing.T) {
	for _, spoil := range []func(d *disk){
		func(d *disk) { d.names[testDir+"/journal.spare"].data = nil },
		func(d *disk) { delete(d.names, testDir+"/journal.spare") },
	} {
		d := newDisk()
		j, _ := openOn(t, d, testSize)
		spoil(d)
		for j.generation == 1 {
			require.NoError(t, add(j, d, put(stage(1))))
		}
		require.Len(t, d.names[testDir+"/journal.2"].data, testSize)
		_, loaded := openOn(t, d.restart(), testSize)
		require.Empty(t, loaded.Damages)
	}
}

// What was cut away is lost also where there is other damage before: nothing that is read is the last word.
func TestCutShortBehindAnotherDamage(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	begin := j.end
	require.NoError(t, add(j, d, put(stage(1))))
	end := j.end
	require.NoError(t, add(j, d, put(stage(2))))
	f := d.names[testDir+"/journal.1"]
	clear(f.data[begin:end])
	f.data = f.data[:j.end]
	_, loaded := openOn(t, d.restart(), testSize)
	require.Len(t, loaded.Damages, 2)
	require.Equal(t, []hal.Key{stage(2).Rung.Key}, loaded.Doubtful)
}

// Foreign bytes over the length and the end of the last frame are no write that was cut short: no writer has that
// length.
func TestForeignBytesBehindAMagic(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	begin := j.end
	require.NoError(t, add(j, d, put(stage(1))))
	f := d.names[testDir+"/journal.1"]
	for at := begin + 4; at < j.end; at++ {
		f.data[at] = 'x'
	}
	_, loaded := openOn(t, d.restart(), testSize)
	require.Len(t, loaded.Damages, 1)
}

// A journal of several chunks is compared to its end.
func TestCheckReadsAllChunks(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, 4<<20)
	for i := 0; j.end < 2*checkChunk+100; i++ {
		require.NoError(t, add(j, d, loose(stage(i%8))))
	}
	require.NoError(t, j.Print().Check(d.host(), hal.Call{}))
	f := d.names[testDir+"/journal.1"]
	for _, at := range []int64{0, checkChunk - 1, checkChunk, 2 * checkChunk, j.end - 1} {
		f.data[at] ^= 1
		require.ErrorIs(t, j.Print().Check(d.host(), hal.Call{}), ErrChanged, "byte %d", at)
		f.data[at] ^= 1
	}
}

// Somebody puts a directory in the place of a generation. A start reports it, keeps it, and goes on.
func TestOtherThingInThePlaceOfAGeneration(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	d.names[testDir+"/journal.1"] = &inode{dir: true}
	j, loaded := openOn(t, d.restart(), testSize)
	require.Equal(t, []Damage{{testDir + "/journal.1", 0, "it is a directory, not a file"}}, loaded.Damages)
	require.False(t, loaded.New)
	require.Empty(t, j.Stats().Why)
	require.Equal(t, []string{"journal.2", "journal.damaged", "journal.spare"}, d.files())
}
