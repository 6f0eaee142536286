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
			Object: rapid.StringMatching(`[a-z/. ;%@=]{0,8}`).Draw(t, "object"),
			Exact:  rapid.Bool().Draw(t, "exact"),
			Rung:   rapid.SampledFrom([]string{"", NoRung, "csi.stage/d^vol 1"}).Draw(t, "rung"),
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
	for _, text := range []string{
		"", "umount", "umount before", "umount soon kill", "umount before EWHAT",
		"#1 before kill", "umount#0 before kill", "umount#01 after kill", "a b c d", "umount@%4 before kill",
		"umount for before kill",
	} {
		_, err := Parse(text)
		require.ErrorIs(t, err, ErrRule, text)
	}
	_, err := ParseAll("umount before kill; x")
	require.ErrorIs(t, err, ErrRule)
}

func FuzzParse(f *testing.F) {
	f.Add("umount#2@a before kill")
	f.Add("rename#1=/a%20/b for - after EIO")
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
		return i.around(wrap.Site{Name: name, Object: object, Class: class}, hal.Call{},
			func() error { made++; return nil })
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

// A rule that names the object in full and the rung counts those calls alone.
func TestExact(t *testing.T) {
	rules, err := ParseAll("mkdir#2=/a for - before kill; rename=/a%20/b for hostpath/p/v after kill")
	require.NoError(t, err)
	killed := 0
	i := New(rules, func() { killed++ }, nil)
	call := func(name, object string, rung hal.Key) {
		_ = i.around(wrap.Site{Name: name, Object: object}, hal.Call{Key: rung}, func() error { return nil })
	}
	call("mkdir", "/a", "")
	call("mkdir", "/a/b", "")
	call("mkdir", "/a", "some/rung")
	call("rename", "/a /b", "")
	require.Zero(t, killed)
	call("mkdir", "/a", "")
	require.Equal(t, 1, killed)
	call("rename", "/a /b", "hostpath/p/v")
	require.Equal(t, 2, killed)
}
