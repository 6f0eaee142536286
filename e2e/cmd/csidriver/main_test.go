package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/e2e/csidriver"
)

func TestUsageErrorsExitWithTwo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: without root every start fails before its flags are read")
	}
	dir := t.TempDir()
	good := []string{"--endpoint", filepath.Join(dir, "s"), "--state-dir", dir}
	for _, args := range [][]string{
		{},
		{"--endpoint", "x"},
		{"--no-such-flag"},
		{"no-such-command"},
		{"state"},
		append([]string{"--volume", "demo=tape"}, good...),
		append([]string{"--backend", "tape"}, good...),
		append([]string{"--capacity", "much"}, good...),
	} {
		var out, errs strings.Builder
		require.Equal(t, exitUsage, run(t.Context(), args, &out, &errs), args)
		require.Contains(t, errs.String(), "csidriver: ", args)
	}
}

func TestStatePrintsEmptySetsForAnEmptyDirectory(t *testing.T) {
	var out, errs strings.Builder
	require.Zero(t, run(t.Context(), []string{"state", "--state-dir", t.TempDir()}, &out, &errs), errs.String())
	var got csidriver.State
	require.NoError(t, json.Unmarshal([]byte(out.String()), &got))
	require.NotNil(t, got.Staged)
	require.Empty(t, got.Staged)
}

func TestBrokenStateFileIsNotAUsageError(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "state.json"), []byte("{"), 0o600))
	var out, errs strings.Builder
	require.Equal(t, exitFailed, run(t.Context(), []string{"state", "--state-dir", dir}, &out, &errs))
	require.Contains(t, errs.String(), "state.json")
}
