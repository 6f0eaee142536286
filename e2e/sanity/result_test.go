package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResultSpeaksForItself(t *testing.T) {
	r := result{Suite: "mount", Specs: []spec{
		{Text: "a", Outcome: passed},
		{Text: "b", Outcome: skipped, Reason: "Snapshot not supported"},
		{Text: "c", Outcome: skipped, Reason: "something else"},
	}}
	require.Equal(t, "sanity mount: 1 passed, 0 failed, 2 skipped", r.summary())
	require.True(t, r.ok())
	var out strings.Builder
	r.printSkipped(&out)
	require.Equal(t, `skipped in mount:
  b
      lacks: controller capability CREATE_DELETE_SNAPSHOT
  c
      lacks: something else
`, out.String())
	r.problem(nil)
	require.True(t, r.ok())
	r.problem(errors.New("leak"))
	require.False(t, r.ok())
	require.False(t, result{Suite: "empty"}.ok(), "a suite that ran nothing proves nothing")
}
