package journal

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// machine drives a journal on a disk, and remembers every batch since the last start.
type machine struct {
	disk    *disk
	journal *Journal
	batches []map[hal.Key]uint64 // what each set: the Seq of the record, 0 for none; the first is what the start found
	durable int                  // index of the last batch that is durable
	next    uint64
}

func (m *machine) open(t require.TestingT) Loaded {
	j, loaded, err := Open(m.disk.host(), hal.Call{}, testDir, testSize, asRead, acceptAll)
	require.NoError(t, err)
	require.Empty(t, loaded.Damages)
	m.journal = j
	return loaded
}

// check holds what was read against all batches since the last start: durable ones are there, the others whole or
// not at all.
func (m *machine) check(t require.TestingT, loaded Loaded) {
	got := map[hal.Key]uint64{}
	for _, r := range loaded.Records {
		got[r.Rung.Key] = r.Seq
		require.Equal(t, m.record(r.Rung.Key, r.Seq), r)
	}
	newest := map[hal.Key]int{} // the batch that each record was read from
	for key, seq := range got {
		newest[key] = -1
		for i, b := range m.batches {
			if s, in := b[key]; in && s == seq {
				newest[key] = i
			}
		}
		require.GreaterOrEqual(t, newest[key], 0, "%s %d was invented", key, seq)
	}
	// at reports whether what was read of key may be as of batch i or later.
	at := func(key hal.Key, i int) bool {
		if n, there := newest[key]; there {
			return n >= i
		}
		for _, b := range m.batches[i:] {
			if s, in := b[key]; in && s == 0 {
				return true
			}
		}
		return false
	}
	for i, b := range m.batches {
		proven := i <= m.durable
		for key := range b {
			proven = proven || newest[key] == i && got[key] != 0
		}
		for key := range b {
			require.True(t, !proven || at(key, i) || b[key] == 0 && got[key] == 0,
				"batch %d of %d (durable %d): %s is %d", i, len(m.batches), m.durable, key, got[key])
		}
	}
	m.batches, m.durable = []map[hal.Key]uint64{got}, 0
}

func (m *machine) record(key hal.Key, seq uint64) core.Record {
	r := stage(0)
	r.Rung.Key, r.Seq = key, seq
	r.Fingerprint = fmt.Sprintf("%0*d", int(seq%7)*20, seq)
	return r
}

func (m *machine) lines(t *rapid.T) ([]core.Line, map[hal.Key]uint64) {
	var lines []core.Line
	set := map[hal.Key]uint64{}
	sync := rapid.Bool().Draw(t, "sync")
	for range rapid.IntRange(0, 4).Draw(t, "lines") {
		key := hal.Key(fmt.Sprintf("rung/%d", rapid.IntRange(0, 9).Draw(t, "key")))
		if rapid.IntRange(0, 3).Draw(t, "drop") == 0 {
			set[key] = 0
			lines = append(lines, core.Line{Key: key, Drop: true, Sync: sync})
			continue
		}
		m.next++
		set[key] = m.next
		lines = append(lines, core.Line{Key: key, Record: m.record(key, m.next), Sync: sync})
	}
	return lines, set
}

// append writes a batch. fault is the number of the call that fails with errno, or in which the agent dies when
// errno is 0; 0 is none.
func (m *machine) append(t *rapid.T, fault int, errno syscall.Errno) (alive bool) {
	lines, set := m.lines(t)
	m.disk.calls = nil
	m.disk.fault = func(n int, _ string) syscall.Errno {
		if n == fault && errno == 0 {
			panic(died{})
		}
		if n == fault {
			return errno
		}
		return 0
	}
	defer func() {
		m.disk.fault = nil
		if r := recover(); r != nil {
			require.Equal(t, died{}, r)
			alive = false
		}
	}()
	b, err := m.journal.Prepare(lines)
	if err != nil {
		require.ErrorIs(t, err, ErrRoom)
		return true
	}
	m.batches = append(m.batches, set)
	snapshot := b.image != nil
	b.Write(m.disk.host(), hal.Call{})
	err = m.journal.Complete(b)
	if err == nil && (snapshot || len(lines) > 0 && lines[0].Sync) {
		m.durable = len(m.batches) - 1
	}
	return true
}

func TestNothingDurableIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{disk: newDisk()}
		loaded := m.open(t)
		require.True(t, loaded.New)
		m.check(t, loaded)
		choose := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			alive := true
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				alive = m.append(t, rapid.IntRange(1, 9).Draw(t, "call"), 0)
			case 1:
				errno := rapid.SampledFrom([]syscall.Errno{syscall.EIO, syscall.ENOSPC}).Draw(t, "errno")
				m.append(t, rapid.IntRange(1, 9).Draw(t, "call"), errno)
			case 2:
				alive = false
			default:
				m.append(t, 0, 0)
			}
			if alive && rapid.IntRange(0, 9).Draw(t, "go on") != 0 {
				continue
			}
			m.disk = m.disk.restart()
			if rapid.Bool().Draw(t, "power cut") {
				m.disk = m.disk.cut(choose)
			}
			m.check(t, m.open(t))
		}
	})
}
