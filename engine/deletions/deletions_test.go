package deletions_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/sim"
)

const dir = "/var/lib/volnode/volnode"

func appended(_ bool, err error) error { return err }

func entry(volume string) deletions.Entry { return numbered(0, volume) }

func numbered(seq uint64, volume string) deletions.Entry {
	return deletions.Entry{
		Seq: seq, Time: "2030-01-01T00:00:00Z", UID: "u", Volume: volume, Path: "/p/" + volume,
		Cause: strings.Repeat("c", 200),
	}
}

func TestWhatIsAppendedIsReadByTheNextStart(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		l, entries := deletions.Open(&h, hal.Call{}, dir)
		require.Empty(t, entries)
		require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("a"), entry("b")}, nil)))
		require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("c")}, nil)))
		require.NoError(t, h.Tree.Remove(hal.Call{}, deletions.File(dir)))
		require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("d")}, nil)),
			"somebody has removed it")
		// A line that was cut short hides no other.
		torn := append(w.ReadFile(deletions.File(dir)), `{"time":"2030`...)
		require.NoError(t, h.Files.Write(hal.Call{}, deletions.File(dir), torn, 0o600))
		l, entries = deletions.Open(&h, hal.Call{}, dir)
		require.Equal(t, []deletions.Entry{numbered(4, "d")}, entries)
		require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("e")}, nil)))
		_, entries = deletions.Open(&h, hal.Call{}, dir)
		require.Equal(t, []deletions.Entry{numbered(4, "d"), numbered(5, "e")}, entries, "a start counts on")
	})
}

func TestTheLogIsBounded(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		l, _ := deletions.Open(&h, hal.Call{}, dir)
		many := make([]deletions.Entry, 500)
		for i := range many {
			many[i] = entry("v")
		}
		for range 30 {
			require.NoError(t, appended(l.Append(&h, hal.Call{}, many, nil)))
			for _, name := range w.Entries(dir) {
				require.LessOrEqual(t, len(w.ReadFile(dir+"/"+name)), deletions.MaxFile+1)
			}
		}
		require.Equal(t, []string{"deletions.log", "deletions.log.1", "deletions.log.spare"}, w.Entries(dir))
		_, entries := deletions.Open(&h, hal.Call{}, dir)
		require.Len(t, entries, deletions.MaxRecent)
	})
}

// Somebody cuts the log short, or puts another file in its place, as logrotate(8) does: what comes then is read by the
// next start.
func TestTheLogIsRotatedBySomebodyElse(t *testing.T) {
	for name, rotate := range map[string]func(h *hal.Host) error{
		"copytruncate": func(h *hal.Host) error { return h.Files.Write(hal.Call{}, deletions.File(dir), nil, 0o600) },
		"create": func(h *hal.Host) error {
			if err := h.Tree.Rename(hal.Call{}, deletions.File(dir), dir+"/rotated"); err != nil {
				return err
			}
			return h.Files.Write(hal.Call{}, deletions.File(dir), nil, 0o600)
		},
	} {
		w := sim.New(sim.Config{})
		h := w.Host()
		w.Do(func() {
			l, _ := deletions.Open(&h, hal.Call{}, dir)
			require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("a")}, nil)), name)
			require.NoError(t, rotate(&h), name)
			require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("b")}, nil)), name)
			require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("c")}, nil)), name)
			_, entries := deletions.Open(&h, hal.Call{}, dir)
			require.Equal(t, []deletions.Entry{numbered(2, "b"), numbered(3, "c")}, entries, name)
		})
		w.Close()
	}
}

// What was written before is written once more only if somebody has taken it away.
func TestADeletionThatGoesOnIsToldAgainToAnotherFile(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		l, _ := deletions.Open(&h, hal.Call{}, dir)
		a := []deletions.Entry{entry("a")}
		require.NoError(t, appended(l.Append(&h, hal.Call{}, a, nil)))
		require.NoError(t, appended(l.Append(&h, hal.Call{}, nil, a)))
		_, entries := deletions.Open(&h, hal.Call{}, dir)
		require.Len(t, entries, 1)
		require.NoError(t, h.Tree.Remove(hal.Call{}, deletions.File(dir)))
		require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("b")}, a)))
		_, entries = deletions.Open(&h, hal.Call{}, dir)
		require.Equal(t, []deletions.Entry{numbered(2, "a"), numbered(3, "b")}, entries)
	})
}

// What was written before is written once more, and only once, if others were written since somebody took it away, or
// since there was room for it.
func TestADeletionThatGoesOnIsToldAgainWhoeverBeganTheFile(t *testing.T) {
	many := make([]deletions.Entry, 3000)
	for name, loses := range map[string]func(h *hal.Host, l *deletions.Log) error{
		"removed": func(h *hal.Host, _ *deletions.Log) error { return h.Tree.Remove(hal.Call{}, deletions.File(dir)) },
		"cut": func(h *hal.Host, _ *deletions.Log) error {
			return h.Files.Write(hal.Call{}, deletions.File(dir), nil, 0o600)
		},
		"too long twice": func(h *hal.Host, l *deletions.Log) error {
			for i := range many {
				many[i] = entry("v")
			}
			for range 3 {
				if _, err := l.Append(h, hal.Call{}, many, nil); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		w := sim.New(sim.Config{})
		h := w.Host()
		w.Do(func() {
			l, _ := deletions.Open(&h, hal.Call{}, dir)
			a, b := []deletions.Entry{entry("a")}, []deletions.Entry{entry("b")}
			require.NoError(t, appended(l.Append(&h, hal.Call{}, a, nil)), name)
			require.NoError(t, loses(&h, l), name)
			require.NoError(t, appended(l.Append(&h, hal.Call{}, b, nil)), name)
			for _, isAgain := range []bool{false, true} {
				stands, err := l.Append(&h, hal.Call{}, nil, a)
				require.NoError(t, err, name)
				require.Equal(t, isAgain, stands, name)
			}
			stands, err := l.Append(&h, hal.Call{}, nil, append(b, a...))
			require.NoError(t, err, name)
			require.True(t, stands, name)
			_, entries := deletions.Open(&h, hal.Call{}, dir)
			require.Equal(t, []deletions.Entry{b[0], a[0]}, entries[len(entries)-2:], name)
		})
		w.Close()
	}
}

// A log that can't be continued becomes the older one. The next one does not take its place.
func TestALogThatHasAHoleTwiceLosesNothing(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		for _, volume := range []string{"a", "b", "c", "d"} {
			l, _ := deletions.Open(&h, hal.Call{}, dir)
			require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry(volume)}, nil)))
			holed := append(w.ReadFile(deletions.File(dir)), "\x00\n{"...)
			require.NoError(t, h.Files.Write(hal.Call{}, deletions.File(dir), holed, 0o600))
		}
		_, entries := deletions.Open(&h, hal.Call{}, dir)
		require.Equal(t, []deletions.Entry{numbered(1, "a"), numbered(2, "b"), numbered(3, "c"), numbered(4, "d")},
			entries)
	})
}

// blind is files that can't be read.
type blind struct{ hal.Files }

func (blind) Read(hal.Call, string, int64) ([]byte, error) {
	return nil, &hal.Error{Outcome: hal.NotDone, Errno: syscall.EIO}
}

// A log that can't be read is known by its size and time: what it has is not written again and again.
func TestALogThatCanNotBeReadIsNotToldAgainEachTime(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		l, _ := deletions.Open(&h, hal.Call{}, dir)
		a, b := []deletions.Entry{entry("a")}, []deletions.Entry{entry("b")}
		require.NoError(t, appended(l.Append(&h, hal.Call{}, a, nil)))
		require.NoError(t, h.Files.Write(hal.Call{}, deletions.File(dir)+".1", []byte("older\n"), 0o600))
		h.Files = blind{h.Files}
		for range 3 {
			require.NoError(t, appended(l.Append(&h, hal.Call{}, nil, a)))
		}
		require.NoError(t, appended(l.Append(&h, hal.Call{}, b, nil)))
		require.NoError(t, appended(l.Append(&h, hal.Call{}, nil, append(a, b...))))
		require.Len(t, deletions.Parse(w.ReadFile(deletions.File(dir))), 3, "a twice, as nobody can tell, and b")
	})
}

// slow is files and a clock beside which somebody writes over the log during the first sync, which takes a while.
type slow struct {
	hal.Files
	hal.Runtime
	took *time.Duration
}

func (s slow) Sync(c hal.Call, at string) error {
	if at == deletions.File(dir) && *s.took == 0 {
		*s.took = 200 * time.Millisecond
		if err := s.Files.WriteAt(c, at, 0, []byte("garbage")); err != nil {
			return err
		}
	}
	return s.Files.Sync(c, at)
}

func (s slow) Now() hal.Instant { return s.Runtime.Now().Add(*s.took) }

func TestTheLogIsChangedDuringALongSync(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		l, _ := deletions.Open(&h, hal.Call{}, dir)
		s := slow{h.Files, h.Runtime, new(time.Duration)}
		h.Files, h.Runtime = s, s
		require.Error(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("a")}, nil)))
		require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("a")}, nil)))
		require.Equal(t, []deletions.Entry{numbered(2, "a")}, deletions.Parse(w.ReadFile(deletions.File(dir))))
	})
}

// reading is files that count what is read, and a clock.
type reading struct {
	hal.Files
	hal.Runtime
	now   *hal.Instant
	reads *int
}

func (r reading) Read(c hal.Call, at string, limit int64) ([]byte, error) {
	*r.reads++
	return r.Files.Read(c, at, limit)
}

func (r reading) Now() hal.Instant { return *r.now }

// Entries that follow each other at once do not each cost a reading of the log; who overwrites it is found all the
// same.
func TestTheLogIsNotComparedAtEachWrite(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		now, reads := h.Runtime.Now(), 0
		r := reading{h.Files, h.Runtime, &now, &reads}
		h.Files, h.Runtime = r, r
		l, _ := deletions.Open(&h, hal.Call{}, dir)
		a := []deletions.Entry{entry("a")}
		require.NoError(t, appended(l.Append(&h, hal.Call{}, a, nil)))
		reads = 0
		for range 100 {
			now = now.Add(time.Millisecond)
			require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("b")}, a)))
		}
		require.LessOrEqual(t, reads, 3)
		require.NoError(t, h.Files.WriteAt(hal.Call{}, deletions.File(dir), 0, []byte("garbage")))
		now = now.Add(time.Second)
		require.NoError(t, appended(l.Append(&h, hal.Call{}, nil, a)))
		entries := deletions.Parse(w.ReadFile(deletions.File(dir)))
		require.Equal(t, numbered(102, "a"), entries[len(entries)-1])
	})
}

// gone stands for files of a node on which somebody removes the log while volnode syncs its directory.
type gone struct {
	hal.Files
	tree hal.Tree
	is   *bool
}

func (g gone) Sync(c hal.Call, at string) error {
	if at == dir && !*g.is {
		*g.is = true
		if err := g.tree.Remove(c, deletions.File(dir)); err != nil {
			return err
		}
	}
	return g.Files.Sync(c, at)
}

func TestTheLogIsRemovedDuringASync(t *testing.T) {
	w := sim.New(sim.Config{})
	defer w.Close()
	h := w.Host()
	w.Do(func() {
		l, _ := deletions.Open(&h, hal.Call{}, dir)
		h.Files = gone{h.Files, h.Tree, new(bool)}
		require.Error(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("a")}, nil)))
		require.NoError(t, appended(l.Append(&h, hal.Call{}, []deletions.Entry{entry("a")}, nil)))
		require.Len(t, deletions.Parse(w.ReadFile(deletions.File(dir))), 1)
	})
}
