package trace

import (
	"errors"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

func TestWhatADriverSaidIsNotTraced(t *testing.T) {
	said := &hal.Error{
		Op: "NodeUnstageVolume", Object: "d v", Class: hal.ClassRPC, Outcome: hal.Unknown,
		Code: hal.CodeInternal, Reply: hal.ReplyStatus, Detail: "no key hunter2",
	}
	require.Equal(t, "NodeUnstageVolume d v: INTERNAL: message withheld", textOf(said))
	require.Equal(t, "no key hunter2", said.Detail, "the error itself stays as it is")
	said.Reply = hal.ReplyNone
	require.NotContains(t, textOf(said), "hunter2")
	for _, err := range []error{
		errors.New("plain"),
		&hal.Error{Op: "umount", Object: "/a", Class: hal.ClassSyscall, Errno: syscall.EBUSY, Detail: "held by 7"},
		&hal.Error{
			Op: "NodeStageVolume", Object: "d v", Class: hal.ClassRPC, Reply: hal.ReplyNever,
			Detail: "dial refused",
		},
	} {
		require.Equal(t, err.Error(), textOf(err))
	}
}
