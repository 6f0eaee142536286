package csi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

// replies are all that can come back from a call.
func replies() (names []string, errs []error) {
	add := func(name string, err error) { names, errs = append(names, name), append(errs, err) }
	add("OK", nil)
	add("never sent", plugintest.NotSent())
	add("no reply", plugintest.NoReply())
	add("not a hal.Error", errors.New("?"))
	for code := hal.CodeOK; code <= hal.CodeUnauthenticated+1; code++ {
		add("status "+code.String(), plugintest.Status(code))
	}
	for _, text := range []string{
		"target is busy", "umount: exit status 32: target is busy", "context deadline exceeded", "context canceled",
		"Operation CANCELLED",
		"mkfs: signal: killed", "i/o timeout", "Timed out waiting for the device", "sh: exit status 137",
		"rpc error: code = Unavailable desc = no backend", " ", strings.Repeat("long ", 200) + "...",
	} {
		e := &hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeUnknown, Detail: text}
		add(fmt.Sprintf("UNKNOWN %.26q", text), e)
	}
	return names, errs
}

func TestOutcomes(t *testing.T) {
	names, errs := replies()
	datadriven.RunTest(t, "testdata/outcomes", func(t *testing.T, d *datadriven.TestData) string {
		verb := map[string]core.Verb{"setup": core.SetUp, "refresh": core.Refresh, "teardown": core.TearDown}[d.Cmd]
		var b strings.Builder
		for i, name := range names {
			v := judge(verb, errs[i], d.HasArg("quiet"))
			fmt.Fprintf(&b, "%-38s %-8s answer %s", name, v.outcome, v.answer)
			for _, flag := range []struct {
				is   bool
				name string
			}{
				{v.fenced, "fenced"},
				{v.belowUnknown, "below unknown"},
				{v.aboveUnknown, "above unknown"},
				{v.undoFirst, "undo first"},
				{v.unsent, "unsent"},
				{v.blocked, "blocked"},
			} {
				if flag.is {
					b.WriteString(", " + flag.name)
				}
			}
			b.WriteString("\n")
		}
		return b.String()
	})
}

func TestOutcomesHoldTogether(t *testing.T) {
	names, errs := replies()
	for i, err := range errs {
		for _, verb := range []core.Verb{core.SetUp, core.Refresh, core.TearDown} {
			for _, quiet := range []bool{false, true} {
				v := judge(verb, err, quiet)
				require.False(t, v.fenced && v.outcome != hal.Unknown, names[i])
				require.False(t, v.fenced && v.answer != core.NoAnswer &&
					v.answer != core.Doubted, "an answer ends the call: %s", names[i])
				require.False(t, v.answer == core.Final &&
					err != nil, "an error proves nothing of another call: %s", names[i])
				require.False(t, v.undoFirst && v.outcome != hal.Unknown, names[i])
				require.False(t, verb == core.TearDown && (v.undoFirst || v.belowUnknown), names[i])
			}
		}
	}
}

func TestWhatAnythingCanMakeUpEndsNoCall(t *testing.T) {
	ends := func(reply hal.Reply, code hal.Code) bool {
		return Ends(&hal.Error{Class: hal.ClassRPC, Reply: reply, Code: code})
	}
	require.True(t, Ends(nil))
	require.True(t, ends(hal.ReplyStatus, hal.CodeInternal))
	require.True(t, ends(hal.ReplyStatus, hal.CodeNotFound))
	for _, code := range []hal.Code{hal.CodeUnavailable, hal.CodeUnknown, hal.CodeCanceled, hal.CodeDeadlineExceeded} {
		require.False(t, ends(hal.ReplyStatus, code), code)
	}
	require.False(t, ends(hal.ReplyNone, hal.CodeInternal))
	said := &hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: hal.CodeUnknown, Detail: "target is busy"}
	require.True(t, Ends(said))
	said.Reply = hal.ReplyNone // gRPC made it up
	require.False(t, Ends(said))
}
