package csi

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// ends is the word of the documentation for what a reply says of its call.
func ends(verb core.Verb, err error) string {
	v, quiet := judge(verb, err, false), judge(verb, err, true)
	word := map[hal.Outcome]string{hal.Done: "done", hal.NotDone: "nothing done", hal.Unknown: "ended"}[v.outcome]
	switch {
	case v.fenced:
		word = "in doubt"
	case v.outcome != quiet.outcome:
		word += "; done, if no other call may act"
	case v.blocked:
		word += "; Stuck"
	}
	return word
}

// The table for authors of drivers says what judge does, and names each word that leaves a call in doubt.
func TestTheTableForAuthorsOfDriversIsTrue(t *testing.T) {
	var table strings.Builder
	row := func(reply string, err error) {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", reply, ends(core.SetUp, err), ends(core.TearDown, err))
	}
	said := func(code hal.Code, text string) error {
		return &hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyStatus, Code: code, Detail: text}
	}
	row("`OK`", nil)
	for code := hal.CodeCanceled; code <= hal.CodeUnauthenticated; code++ {
		if code == hal.CodeUnknown {
			row("`UNKNOWN`, with any other text", said(code, "target is busy"))
			row("`UNKNOWN`, without a text, or with one of the words below", said(code, ""))
			continue
		}
		row("`"+code.String()+"`", said(code, "text"))
	}
	row("any status that the driver's own process has not sent in a `grpc-status` trailer",
		&hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyNone, Code: hal.CodeInternal})
	row("nothing before the time-out", &hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyNone})
	row("the call could not be sent", &hal.Error{Class: hal.ClassRPC, Reply: hal.ReplyNever})
	page, err := os.ReadFile("../../../docs/volnode.md")
	require.NoError(t, err)
	require.True(t, strings.Contains(string(page), "|---|---|---|\n"+table.String()+"\n"),
		"docs/volnode.md does not have this:\n%s", table.String())
	words := "`" + strings.Join(plugin.Doubts, "`, `") + "`"
	require.True(t, strings.Contains(strings.Join(strings.Fields(string(page)), " "), words),
		"docs/volnode.md does not have this: %s", words)
	for _, word := range plugin.Doubts {
		require.Equal(t, "in doubt", ends(core.SetUp, said(hal.CodeUnknown, "it says: "+word)), word)
	}
}
