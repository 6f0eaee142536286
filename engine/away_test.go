package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/hal"
)

// What people can do is said of a call that was not sent. What a driver has said stays, though it has the same words.
func TestOnlyOfACallThatWasNotSentPeopleAreToldWhatItsDriverLacks(t *testing.T) {
	r := &registry{}
	told := func(e *hal.Error, more string) string {
		e.Op, e.Object, e.Class = "NodeUnpublishVolume", "d.example^v /p", hal.ClassRPC
		return r.reached(core.View{Actor: "d.example"}, e.Error()+more)
	}
	require.Contains(t, told(&hal.Error{Reply: hal.ReplyNever, Detail: "connection refused"}, ""),
		"NodeUnpublishVolume d.example^v /p: not sent: driver d.example is not registered")
	require.Contains(t, told(&hal.Error{Reply: hal.ReplyNever}, "; volnode cannot clean up its path: remove /p: EIO"),
		"NodeUnpublishVolume d.example^v /p: not sent; volnode cannot clean up its path: remove /p: EIO; driver d.example "+
			"is not registered")
	for _, detail := range []string{"request not sent", "not sent", "iscsid: not sent: no session"} {
		e := &hal.Error{Reply: hal.ReplyStatus, Code: hal.CodeInternal, Detail: detail}
		require.Equal(t, "NodeUnpublishVolume d.example^v /p: INTERNAL: "+detail+"; more", told(e, "; more"))
	}
}
