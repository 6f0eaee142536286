package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// asRead keeps what is in doubt as it was read.
func asRead(r core.Record) core.Record { return r }

func acceptAll([]core.Record) error { return nil }

func openOn(t require.TestingT, d *disk, size int64) (*Journal, Loaded) {
	j, loaded, err := Open(d.host(), hal.Call{}, testDir, size, asRead, acceptAll)
	require.NoError(t, err)
	return j, loaded
}

func add(j *Journal, d *disk, lines ...core.Line) error { return j.Append(d.host(), hal.Call{}, lines) }

func TestEmptyDirectory(t *testing.T) {
	d := newDisk()
	j, loaded := openOn(t, d, testSize)
	require.Equal(t, Loaded{Records: []core.Record{}, New: true}, loaded)
	require.Equal(t, []string{"journal.1", "journal.spare"}, d.files())
	require.Equal(t, Stats{Capacity: capacityOf(testSize), Size: testSize, Generation: 1}, j.Stats())
	require.Equal(t, uint32(0o700), d.names[testDir].mode)
	require.Equal(t, uint32(0o600), d.names[testDir+"/journal.1"].mode)
	require.Equal(t, uint32(0o600), d.names[testDir+"/journal.spare"].mode)

	_, loaded = openOn(t, d.restart(), testSize)
	require.False(t, loaded.New)
	require.Equal(t, []string{"journal.2", "journal.spare"}, d.files())
}

func TestWhatABatchCosts(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	d.calls = nil
	unsynced := put(stage(1))
	unsynced.Sync = false
	require.NoError(t, add(j, d, put(stage(1))))
	require.NoError(t, add(j, d, unsynced))
	require.NoError(t, add(j, d))
	require.Equal(t, []string{"write journal.1", "sync journal.1", "write journal.1"}, d.calls)
}

func TestRotation(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	for j.generation == 1 {
		d.calls = nil
		require.NoError(t, add(j, d, put(stage(1)), put(stage(2))))
	}
	require.Equal(t, []string{
		"stat journal.spare", "write journal.spare", "sync journal.spare", "rename journal.spare", "sync journal",
		"remove journal.1",
		"remove journal.spare", "allocate journal.spare",
	}, d.calls)
	_, loaded := openOn(t, d.restart(), testSize)
	require.Equal(t, []core.Record{stage(1), stage(2)}, loaded.Records)
}

// Whatever one call of a start or of a batch answers, what was durable stays, and the next batch mends it.
func TestEachCallFails(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
		for n := 1; ; n++ {
			d := newDisk()
			j, _ := openOn(t, d, testSize)
			require.NoError(t, add(j, d, put(stage(1))))
			full := j.end
			j.end = j.live - 8 // the next batch does not fit
			failed := false
			d.calls = nil
			d.fault = func(k int, _ string) syscall.Errno {
				if k != n {
					return 0
				}
				failed = true
				return errno
			}
			err := add(j, d, put(stage(2)))
			d.fault = nil
			if !failed {
				require.Greater(t, n, 6)
				break
			}
			j.end = max(j.end, full)
			if err != nil {
				require.Contains(t, j.Stats().Why, "volnode starts no operation")
				require.ErrorIs(t, err, errno)
				require.ErrorIs(t, add(j, d, put(stage(9))), ErrRoom, "no ladder is begun without a spare")
			}
			require.NoError(t, add(j, d))
			require.NoError(t, add(j, d, put(stage(3))), "call %d", n)
			require.Empty(t, j.Stats().Why)
			cut := d.cut(func(int) int { return 0 })
			_, loaded := openOn(t, cut, testSize)
			require.Empty(t, loaded.Damages)
			require.Equal(t, []core.Record{stage(1), stage(2), stage(3)}, loaded.Records, "call %d", n)
		}
	}
}

func TestEachCallOfAStartFails(t *testing.T) {
	for n := 1; ; n++ {
		d := newDisk()
		j, _ := openOn(t, d, testSize)
		require.NoError(t, add(j, d, put(stage(1))))
		d.restart()
		failed := false
		d.fault = func(k int, _ string) syscall.Errno {
			if k != n {
				return 0
			}
			failed = true
			return syscall.EIO
		}
		j, loaded, err := Open(d.host(), hal.Call{}, testDir, testSize, asRead, acceptAll)
		d.restart()
		if !failed {
			require.Greater(t, n, 8)
			break
		}
		if err == nil {
			require.Equal(t, []core.Record{stage(1)}, loaded.Records)
			require.NoError(t, add(j, d))
			require.NoError(t, add(j, d, put(stage(2))))
			require.Empty(t, j.Stats().Why)
		}
		_, loaded = openOn(t, d.cut(func(int) int { return 0 }), testSize)
		require.Equal(t, stage(1), loaded.Records[0])
		require.Len(t, loaded.Records, map[bool]int{true: 2, false: 1}[err == nil])
	}
}

// A sync that fails and then succeeds has proved nothing: the generation is left at once.
func TestFailedSyncIsNotRepeated(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	d.fault = func(_ int, call string) syscall.Errno {
		if call == "sync" {
			return syscall.EIO
		}
		return 0
	}
	err := add(j, d, put(stage(2)))
	require.ErrorIs(t, err, syscall.EIO)
	require.Error(t, add(j, d, put(stage(3))))
	d.fault, d.calls = nil, nil
	require.NoError(t, add(j, d))
	require.NotContains(t, d.calls, "sync journal.1")
	require.Contains(t, d.calls, "sync journal.spare")
	_, loaded := openOn(t, d.cut(func(int) int { return 0 }), testSize)
	require.Equal(t, []core.Record{stage(1), stage(2), stage(3)}, loaded.Records)
}

// On a full disk teardowns go on, volumes are not begun, and a start keeps the spare.
func TestFullDisk(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	d.quota = 2 * testSize
	for range 300 {
		leaving := put(stage(1))
		leaving.Record.Phase = core.Leaving
		require.NoError(t, add(j, d, leaving))
	}
	require.Greater(t, j.generation, uint64(2))
	j, loaded := openOn(t, d.restart(), testSize)
	require.Len(t, loaded.Records, 1)
	require.Empty(t, j.Stats().Why)

	// Somebody takes the space of the old generation before the spare is made.
	d.quota = testSize
	j, _ = openOn(t, d.restart(), testSize)
	require.Contains(t, j.Stats().Why, "no space left on device")
	require.ErrorIs(t, add(j, d, put(stage(2))), ErrRoom)
	leaving := put(stage(1))
	leaving.Record.Phase = core.Leaving
	require.NoError(t, add(j, d, leaving))
	d.quota = 0
	require.NoError(t, add(j, d))
	require.Empty(t, j.Stats().Why)
	require.NoError(t, add(j, d, put(stage(2))))
}

func TestNewerVersionIsRefused(t *testing.T) {
	d := newDisk()
	openOn(t, d, testSize)
	f := d.names[testDir+"/journal.1"]
	f.data[8] = Version + 1
	copy(f.data, appendHeader(nil, header{generation: 1})[:8])
	seal := appendHeader(nil, header{generation: 1})
	seal[8] = Version + 1
	copy(f.data, resealed(seal))
	before := slices.Clone(f.data)
	_, _, err := Open(d.restart().host(), hal.Call{}, testDir, testSize, asRead, acceptAll)
	var refusal *VersionError
	require.ErrorAs(t, err, &refusal)
	require.EqualError(t, err, "journal /r/volnode/journal/journal.1: format version 2, "+
		"but this volnode reads up to version 1; volnode left it unchanged; run the volnode that wrote it, or a newer one")
	require.Equal(t, before, d.names[testDir+"/journal.1"].data)
	require.Equal(t, []string{"journal.1", "journal.spare"}, d.files())
}

// resealed gives a changed header a good checksum.
func resealed(h []byte) []byte {
	sum := checksumOf(h[:headerSize-4])
	return append(h[:headerSize-4:headerSize-4], byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24))
}

// Each byte of a small journal, changed in several ways, is reported or makes no difference; and no record is ever
// another.
func TestDamageAtEachByte(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, MinSize)
	require.NoError(t, add(j, d, put(stage(1)), put(stage(2))))
	j, _ = openOn(t, d.restart(), MinSize)
	require.NoError(t, add(j, d, put(publish(1, 1))))
	confirmed := put(stage(2))
	confirmed.Record.Phase, confirmed.Record.Fingerprint, confirmed.Sync = core.Confirmed, "mount 1", false
	require.NoError(t, add(j, d, confirmed))
	require.NoError(t, add(j, d, core.Line{Key: "publish/v1/p1", Drop: true, Sync: true}, put(stage(3))))
	good := d.names[testDir+"/journal.2"].data
	want := []core.Record{stage(1), confirmed.Record, stage(3)}
	all := append([]core.Record{stage(2), publish(1, 1)}, want...)
	for at := range good {
		for _, flip := range []byte{1, 0x80, 0xff, 0xa5} {
			bad := newDisk()
			openOn(t, bad, MinSize)
			data := slices.Clone(good)
			data[at] ^= flip
			delete(bad.names, testDir+"/journal.1")
			bad.names[testDir+"/journal.2"] = &inode{data: data}
			_, loaded := openOn(t, bad, MinSize)
			for _, r := range loaded.Records {
				require.Contains(t, all, r)
				_, doubtful := slices.BinarySearch(loaded.Doubtful, r.Rung.Key)
				require.True(t, doubtful || slices.ContainsFunc(want, func(w core.Record) bool {
					return w.Rung.Key == r.Rung.Key && w.Phase == r.Phase
				}), "byte %d: an older record is not doubted: %v", at, r.Rung.Key)
			}
			if at >= int(j.end) {
				require.Equal(t, want, loaded.Records)
				continue
			}
			require.NotEmpty(t, loaded.Damages, "byte %d of %d, flip %x", at, j.end, flip)
			require.Contains(t, bad.files(), "journal.damaged")
			require.Equal(t, data, bad.names[testDir+"/journal.damaged"].data)
			_, loaded = openOn(t, bad.restart(), MinSize)
			require.Empty(t, loaded.Damages, "reported once")
		}
	}
}

func TestDamagedNewestFallsBack(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1)), put(stage(2))))
	older := slices.Clone(d.names[testDir+"/journal.1"].data)
	j, _ = openOn(t, d.restart(), testSize)
	require.NoError(t, add(j, d, put(stage(3))))
	d.names[testDir+"/journal.1"] = &inode{data: older}
	d.names[testDir+"/journal.2"].data[headerSize+40]++ // the first record of the snapshot
	_, loaded := openOn(t, d.restart(), testSize)
	require.Equal(t, []core.Record{stage(1), stage(2), stage(3)}, loaded.Records)
	require.Equal(t, []Damage{{testDir + "/journal.2", headerSize, loaded.Damages[0].What}}, loaded.Damages)
	require.Equal(t, []hal.Key{"stage/v1"}, loaded.Doubtful, "it was in the damaged part, or is gone")
	require.Contains(t, loaded.Damages[0].String(), "cannot read part of the snapshot")
	require.Equal(t, []string{"journal.3", "journal.damaged", "journal.spare"}, d.files())
}

// damagedDisk has a journal of three records, of which the second is damaged, and returns its file.
func damagedDisk(t *testing.T) (*disk, *inode) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	at := j.end
	require.NoError(t, add(j, d, put(stage(2))))
	require.NoError(t, add(j, d, put(stage(3))))
	damaged := d.names[testDir+"/journal.1"]
	damaged.data[at+frameHead]++
	return d, damaged
}

// What damage leaves in doubt is in doubt in what the start writes: the next start reads that, and sees no damage.
func TestDoubtIsWritten(t *testing.T) {
	d, _ := damagedDisk(t)
	fenced := stage(1)
	fenced.SetUpUntil = 77
	_, loaded, err := Open(d.restart().host(), hal.Call{}, testDir, testSize, func(r core.Record) core.Record {
		require.Equal(t, stage(1), r)
		return fenced
	}, acceptAll)
	require.NoError(t, err)
	require.NotEmpty(t, loaded.Damages)
	require.Equal(t, []core.Record{fenced, stage(3)}, loaded.Records)
	_, loaded = openOn(t, d.restart(), testSize)
	require.Empty(t, loaded.Damages)
	require.Equal(t, []core.Record{fenced, stage(3)}, loaded.Records)
}

// Whoever dies while it takes a damaged generation out of use, before or after any effect, somebody keeps it for
// people, and somebody tells of it or has already done all there was to do.
func TestDamageIsKeptWhoeverDies(t *testing.T) {
	for n := 1; ; n++ {
		d, damaged := damagedDisk(t)
		d.restart().fault = func(k int, _ string) syscall.Errno {
			if k == n {
				panic(died{})
			}
			return 0
		}
		isDead := dies(func() { openOn(t, d, testSize) })
		isKept := slices.Contains(d.files(), "journal.damaged")
		_, loaded := openOn(t, d.restart(), testSize)
		require.Equal(t, isKept, len(loaded.Damages) == 0, "call %d", n)
		require.Equal(t, []core.Record{stage(1), stage(3)}, loaded.Records)
		require.Same(t, damaged, d.names[testDir+"/journal.damaged"], "call %d", n)
		require.Len(t, d.files(), 3)
		if !isDead {
			require.Greater(t, n, 12)
			return
		}
	}
}

// dies reports whether f dies in a call.
func dies(f func()) (isDead bool) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case died:
			isDead = true
		default:
			panic(r)
		}
	}()
	f()
	return false
}

// A generation that was replaced and can't be read is kept too, and nothing waits for it.
func TestReplacedGenerationCanNotBeRead(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	older := d.names[testDir+"/journal.1"]
	openOn(t, d.restart(), testSize)
	d.names[testDir+"/journal.1"] = older
	reads := 0
	d.restart().fault = func(_ int, call string) syscall.Errno {
		if call == "read" {
			reads++
		}
		if call == "read" && reads == 3 { // after the newest and the spare
			return syscall.EIO
		}
		return 0
	}
	_, loaded := openOn(t, d, testSize)
	require.Equal(t, []core.Record{stage(1)}, loaded.Records)
	require.Len(t, loaded.Damages, 1)
	require.Contains(t, loaded.Damages[0].What, "input/output error")
	require.Same(t, older, d.names[testDir+"/journal.damaged"])
}

func TestOddFiles(t *testing.T) {
	for what, data := range map[string][]byte{
		"empty": {}, "short": make([]byte, 10), "zeros": make([]byte, testSize),
		"text":     []byte(fmt.Sprintf("%09000d", 7)),
		"too long": make([]byte, MaxSize+1),
	} {
		d := newDisk()
		openOn(t, d, testSize)
		d.names[testDir+"/journal.5"] = &inode{data: data}
		d.names[testDir+"/journal.damaged"] = &inode{data: []byte("old")}
		d.names[testDir+"/notes.txt"] = &inode{data: []byte("an admin's")}
		j, loaded := openOn(t, d.restart(), testSize)
		require.NotEmpty(t, loaded.Damages, what)
		require.False(t, loaded.New)
		require.Empty(t, j.Stats().Why)
		require.Equal(t, []string{"journal.6", "journal.damaged", "journal.spare", "notes.txt"}, d.files())
	}
}

func TestUnreadableIsNotEmpty(t *testing.T) {
	d := newDisk()
	openOn(t, d, testSize)
	for _, call := range []string{"list", "read"} {
		d.restart().fault = func(_ int, c string) syscall.Errno {
			if c == call {
				return syscall.EIO
			}
			return 0
		}
		_, _, err := Open(d.host(), hal.Call{}, testDir, testSize, asRead, acceptAll)
		require.ErrorIs(t, err, syscall.EIO)
	}
}

func TestMisuse(t *testing.T) {
	d := newDisk()
	_, _, err := Open(d.host(), hal.Call{}, testDir, 100, asRead, acceptAll)
	require.True(t, errors.Is(err, ErrSize))
	j, _ := openOn(t, d, testSize)
	b, err := j.Prepare(nil)
	require.NoError(t, err)
	require.Panics(t, func() { _, _ = j.Prepare(nil) })
	require.NoError(t, j.Complete(b))
	require.Panics(t, func() { _ = j.Complete(b) })
	require.Panics(t, func() { _, _ = j.Prepare([]core.Line{{Key: "a"}}) })
}

// What a later frame calls durable was durable, also where nothing of it is left; what none calls so may be missing.
func TestMissingBatches(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	for j.generation == 1 {
		require.NoError(t, add(j, d, put(stage(1))))
	}
	unsynced := put(stage(2))
	unsynced.Sync = false
	begin := j.end
	require.NoError(t, add(j, d, unsynced))
	middle := j.end
	require.NoError(t, add(j, d, put(stage(3))))
	last := j.end
	require.NoError(t, add(j, d, put(stage(4))))
	good := d.names[testDir+"/journal.2"].data
	without := func(from, to, end int64) Loaded {
		data := slices.Clone(good)
		clear(data[from:to])
		clear(data[end:])
		d.restart().names[testDir+"/journal.9"] = &inode{data: reread(data, 2, 9)}
		_, loaded := openOn(t, d, testSize)
		delete(d.names, testDir+"/journal.10")
		return loaded
	}
	loaded := without(begin, middle, last)
	require.Empty(t, loaded.Damages, "the power cut took it")
	require.Equal(t, []core.Record{stage(1), stage(3)}, loaded.Records)
	loaded = without(begin, middle, j.end)
	require.Len(t, loaded.Damages, 1, "the sync of the next made it durable, and the one after says so")
	require.Contains(t, loaded.Damages[0].What, "lines that were durable")
	require.Equal(t, []core.Record{stage(1), stage(3), stage(4)}, loaded.Records)
	require.Equal(t, []hal.Key{"stage/v1"}, loaded.Doubtful)
}

// reread is a file of one generation with the number of another.
func reread(data []byte, from, to uint64) []byte {
	out := appendHeader(nil, header{generation: to})
	for _, f := range scan(data, from).frames {
		for len(out) < f.at {
			out = append(out, 0)
		}
		at := len(out)
		out = sealFrame(append(appendHead(out, f.kind, f.seq, f.synced), f.payload...), at, sealOf(to))
	}
	return append(out, make([]byte, len(data)-len(out))...)
}

// A journal that is not accepted is left as it is.
func TestRefusedJournalIsNotTouched(t *testing.T) {
	d := newDisk()
	j, _ := openOn(t, d, testSize)
	require.NoError(t, add(j, d, put(stage(1))))
	refused, files := errors.New("not ours"), d.files()
	d.restart().calls = nil
	_, _, err := Open(d.host(), hal.Call{}, testDir, testSize, asRead, func(records []core.Record) error {
		require.Equal(t, []core.Record{stage(1)}, records)
		return refused
	})
	require.ErrorIs(t, err, refused)
	require.Equal(t, files, d.files())
	for _, call := range d.calls {
		require.False(t, strings.HasPrefix(call, "write") || strings.HasPrefix(call, "rename") ||
			strings.HasPrefix(call, "remove"), call)
	}
}
