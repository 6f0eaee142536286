package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
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

// TestFaultsAreDocumented: the help has every field of a rule, and its example is one.
func TestFaultsAreDocumented(t *testing.T) {
	var out, errs strings.Builder
	require.Zero(t, run(t.Context(), []string{"--help"}, &out, &errs), errs.String())
	for f := range reflect.TypeFor[csidriver.Rule]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		require.Contains(t, out.String(), "\n  "+name+" ", "--help")
	}
	from := strings.Index(out.String(), "[{")
	rules, err := csidriver.ParseRules([]byte(out.String()[from : strings.Index(out.String(), "}]")+2]))
	require.NoError(t, err)
	require.Len(t, rules, 1)

	errs.Reset()
	require.Equal(t, exitUsage, run(t.Context(), []string{"--falts", "x"}, &out, &errs))
	require.Contains(t, errs.String(), "csidriver has no flag --falts; did you mean --faults?")
	errs.Reset()
	require.Equal(t, exitUsage, run(t.Context(), []string{"--endpoint", "x"}, &out, &errs))
	require.Contains(t, errs.String(), "csidriver needs --state-dir: directory for state and volumes")
	errs.Reset()
	require.Equal(t, exitUsage, run(t.Context(), []string{"stat"}, &out, &errs))
	require.Contains(t, errs.String(), `there is no command "stat"; did you mean state?`)
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
