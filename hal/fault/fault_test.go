package fault

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/wrap"
)

func TestParsePrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{
			Site:   rapid.SampledFrom([]string{"umount", "remove-tree", "NodeStageVolume", AnyCall}).Draw(t, "site"),
			Nth:    rapid.IntRange(0, 50).Draw(t, "nth"),
			Object: rapid.StringMatching(`[a-z/.]{0,8}`).Draw(t, "object"),
			When:   rapid.SampledFrom([]When{Before, After}).Draw(t, "when"),
		}
		switch rapid.IntRange(0, 2).Draw(t, "action") {
		case 0:
			r.Kill = true
		case 1:
			r.Errno = rapid.SampledFrom([]syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EBUSY}).Draw(t, "errno")
		case 2:
			r.Code = rapid.SampledFrom([]hal.Code{hal.CodeAborted, hal.CodeDeadlineExceeded}).Draw(t, "code")
		}
		back, err := Parse(r.String())
		require.NoError(t, err)
		require.Equal(t, r, back)
	})
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "umount", "umount before", "umount soon kill", "umount before EWHAT", "#1 before kill", "umount#0 before kill", "umount#01 after kill", "a b c d"} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrRule, text)
	}
	_, err := ParseAll("umount before kill; x")
	require.ErrorIs(t, err, ErrRule)
}

func FuzzParse(f *testing.F) {
	f.Add("umount#2@a before kill")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		back, err := Parse(r.String())
		require.NoError(t, err)
		require.Equal(t, r, back)
	})
}

// The rule says which call, on which side, and with what; the others go through.
func TestAround(t *testing.T) {
	rules, err := ParseAll("umount#2@/a before EBUSY; NodeStageVolume after UNAVAILABLE; fsync#1 before kill")
	require.NoError(t, err)
	killed, made := 0, 0
	i := New(rules, func() { killed++ }, nil)
	do := func(name, object string, class hal.Class) error {
		return i.around(wrap.Site{Name: name, Object: object, Class: class}, hal.Call{}, func() error { made++; return nil })
	}
	require.NoError(t, do("umount", "/a", hal.ClassSyscall))
	require.NoError(t, do("umount", "/b", hal.ClassSyscall))
	require.Equal(t, 2, made)
	err = do("umount", "/a/x", hal.ClassSyscall)
	require.ErrorIs(t, err, syscall.EBUSY)
	require.Equal(t, hal.NotDone, hal.OutcomeOf(err))
	require.Equal(t, 2, made, "before: the call is not made")
	require.NoError(t, do("umount", "/a", hal.ClassSyscall))

	err = do("NodeStageVolume", "d v", hal.ClassRPC)
	var e *hal.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, hal.CodeUnavailable, e.Code)
	require.Equal(t, hal.Unknown, hal.OutcomeOf(err))
	require.Equal(t, 4, made, "after: the call is made")

	_ = do("fsync", "/j", hal.ClassFile)
	require.Equal(t, 1, killed)
}
