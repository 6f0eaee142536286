package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// volsim runs one command line.
func volsim(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = execute(args, &out, &err)
	return status, out.String(), err.String()
}

func TestExitStatus(t *testing.T) {
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{}, exitUsage, "a command is missing"},
		{[]string{"fly"}, exitUsage, "fly"},
		{[]string{"run", "no_such_story"}, exitUsage, "volsim list --names lists the scenarios"},
		{[]string{"run", "./no/such/file.txt"}, exitUsage, "no such file"},
		{[]string{"replay"}, exitUsage, "seed"},
		{[]string{"replay", "--seed", "1", "--keep", "zz"}, exitUsage, "not a choice"},
		{[]string{"replay", "--seed", "1", "--keep", ""}, exitUsage, "--keep: the text is empty"},
		{[]string{"shrink", "--seed", "1", "--store", ""}, exitUsage, "--store: the text is empty"},
		{[]string{"hunt", "--runs", "20"}, 0, "20 schedules"},
		{[]string{"hunt", "--runs", "0"}, exitUsage, "at least 1"},
		{[]string{"hunt", "--budget", "1ns"}, exitUsage, "no schedule was run"},
		{[]string{"hunt", "--cpu", "1ns", "--json"}, exitUsage, "no schedule was run"},
		{[]string{"hunt", "--runs", "6", "--shard", "5/8"}, 0, "shard 5/8 has none of these seeds"},
		{[]string{"hunt", "--report", "", "--runs", "1"}, exitUsage, "--report: the text is empty"},
		{[]string{"hunt", "--workers", "0"}, exitUsage, "at least one must work"},
		{[]string{"hunt", "--budget", "-1s"}, exitUsage, "0 is no limit"},
		{[]string{"mutants", "--list", "--only", "unstage while"}, 0, "unstage while published"},
		{[]string{"mutants", "--list", "--only", "unstage while", "--json"}, 0, `"name":"unstage while published"`},
		{
			[]string{"mutants", "--list", "--only", "unstage whle published"},
			exitUsage,
			"volsim mutants --list names them all",
		},
		{[]string{"mutants", "--only", "nonexist"}, exitUsage, "no mutant's name contains that"},
		{[]string{"mutants", "--only", ""}, exitUsage, "leave --only out for all"},
		{[]string{"mutants", "--only", "journal,"}, exitUsage, "leave --only out for all"},
		{
			[]string{"mutants", "--only", "journal", "--junit", "/nonexist/x.xml"},
			exitUsage,
			"--junit: open /nonexist/x.xml",
		},
		{[]string{"coverage", "--runs", "20"}, exitViolation, "NEVER REACHED, without a reason"},
		{[]string{"hunt", "--runs", "-1"}, exitUsage, "--runs -1: want a whole number, not below 0"},
		{
			[]string{"hunt", "--budget", "5"},
			exitUsage,
			"--budget 5 has no unit: write --budget 5s for seconds, or 5m for minutes",
		},
		{[]string{"hunt", "now"}, exitUsage, `volsim hunt takes no argument, and "now" is one`},
		{[]string{"hunt", "--json", "--jsonl=-"}, exitUsage, "leave one out"},
		{[]string{"rnu"}, exitUsage, `there is no command "rnu"; did you mean run? 'volsim --help' lists all`},
		{
			[]string{"run", "--jsn"},
			exitUsage,
			"volsim run has no flag --jsn; did you mean --json? 'volsim run --help' lists all",
		},
		{[]string{"help", "hnut"}, exitUsage, `there is no command "hnut"; did you mean hunt?`},
		{[]string{"completion", "bahs"}, exitUsage, `there is no command "bahs"; did you mean bash?`},
		{[]string{"version"}, exitUsage, "did you mean volsim --version?"},
		{[]string{"hunt", "--sed", "4"}, exitUsage, "did you mean --seed?"},
		{[]string{"hunt", "--report"}, exitUsage, "--report needs a value"},
		{[]string{"hunt", "--budget", "soon"}, exitUsage, "--budget soon: want a time like 90s or 10m"},
		{
			[]string{"run", "demoo"},
			exitUsage,
			`there is no scenario "demoo", and no file of that name; did you mean demo?`,
		},
		{[]string{"replay", "4711"}, exitUsage, "if it is a seed: volsim replay --seed 4711"},
		{[]string{"mutants", "--only", "unstage whle published"}, exitUsage, "did you mean unstage while published?"},
		{[]string{"run"}, exitUsage, "volsim run: name scenarios"},
		{[]string{"run", "demo", "--trace", "--json"}, exitUsage, "leave --json out"},
		{[]string{"run", "."}, exitUsage, "there is no scenario \".\", and no file of that name"},
		{
			[]string{"run", "demo", "--report", "x", "--junit", "x"},
			exitUsage,
			"--report and --junit name the same file",
		},
		{[]string{"list", "--names", "--json"}, exitUsage, "leave one out"},
		{[]string{"replay", "demo", "--times", "4"}, exitUsage, "--times goes with --seed and --keep"},
		{[]string{"replay", "--seed", "1", "--still"}, exitUsage, "--still goes with --seed and --keep"},
		{[]string{"replay", "demo", "--quiet"}, 0, "demo: "},
		{
			[]string{"replay", "demo", "--quiet", "--keep", "csi.stage/fault@nobody#0=late"},
			0,
			"no call comes to csi.stage/fault@nobody#0=late",
		},
		{[]string{"diff", "1"}, exitUsage, "volsim diff: name two runs"},
		{[]string{"diff", "1", "2", "3"}, exitUsage, "volsim diff takes two runs; these are 3"},
		{[]string{"exhaust", "--workers", "0"}, exitUsage, "at least one must work"},
		{[]string{"exhaust", "--budget", "-1s", "demo"}, exitUsage, "0 is as long as it takes"},
		{[]string{"exhaust", "--exact", "--prune=false", "demo"}, exitUsage, "--prune=false leaves out nothing"},
		{[]string{"exhaust", "--budget", "1ns", "demo"}, exitUsage, "no fault was tried"},
		{[]string{"exhaust", "--budget", "1s", "--depth", "2", "--workers", "1", "demo"}, 0, "the budget is over"},
		{[]string{"mutants", "--workers", "0"}, exitUsage, "at least one must work"},
		{[]string{"mutants", "--budget", "0"}, exitUsage, "a mutant needs some CPU time"},
		{[]string{"coverage", "--runs", "0"}, exitUsage, "at least 1"},
		{[]string{"--version"}, 0, "commit "},
		{[]string{"hunt", "--runs", "1"}, 0, "1 schedule, "},
		{[]string{"run", "demo"}, 0, "ok demo"},
		{[]string{"shrink", "--seed", "1"}, 0, "breaks no property"},
	} {
		status, stdout, stderr := volsim(c.args...)
		require.Equal(t, c.status, status, "%v: %s", c.args, stderr)
		require.Contains(t, stdout+stderr, c.says, "%v", c.args)
	}
}

// full is a disk on which nothing has room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestFullDiskIsToldOf(t *testing.T) {
	for _, args := range [][]string{
		{"list"},
		{"run", "demo"},
		{"replay", "--seed", "1"},
		{"hunt", "--runs", "1"},
		{"diff", "1", "2"},
		{"shrink", "--seed", "1"},
	} {
		var stderr bytes.Buffer
		require.Equal(t, exitUsage, execute(args, full{}, &stderr), "%v", args)
		require.Contains(t, stderr.String(), "standard output: no space left on device", "%v", args)
	}
}

func TestFileOfAFindingThatIsNoneIsNotMade(t *testing.T) {
	page := filepath.Join(t.TempDir(), "x.html")
	status, _, stderr := volsim("shrink", "--seed", "1", "--report", page)
	require.Zero(t, status, stderr)
	require.NoFileExists(t, page)
}

// TestDiffReadsAPipe: what can be read only once is not looked at twice.
func TestDiffReadsAPipe(t *testing.T) {
	_, trace, stderr := volsim("replay", "--seed", "1")
	require.Empty(t, stderr)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	go func() {
		defer w.Close()
		_, _ = io.WriteString(w, trace)
	}()
	status, stdout, stderr := volsim("diff", "1", fmt.Sprintf("/dev/fd/%d", r.Fd()))
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "equal: ")
}

// TestOnlyTheCatalogueIsStored: a case names its scenario, which must be there when it is run.
func TestOnlyTheCatalogueIsStored(t *testing.T) {
	t.Chdir("../..")
	story := filepath.Join(t.TempDir(), "own.txt")
	const text = "# It is never up.\ndriver d absent\nvolume v of d\npod default/web uses v\nat 0s apply all\n"
	require.NoError(t, os.WriteFile(story, []byte(text), 0o600))
	status, _, stderr := volsim("shrink", story, "--store", "never_stored")
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, `there is no scenario "own"`)
	require.NoFileExists(t, "scenarios/regressions/never_stored.json")
}

func TestExhaustTellsWhatFails(t *testing.T) {
	story := filepath.Join(t.TempDir(), "never.txt")
	require.NoError(t, os.WriteFile(story, []byte(`# a driver that is never there
driver disk.example staging device absent
volume vol-a of disk.example
pod default/web uses vol-a
at 0s apply all
within 10s expect pod default/web ready
`), 0o600))
	status, stdout, stderr := volsim("exhaust", story)
	require.Equal(t, exitViolation, status, stderr)
	require.Contains(t, stdout, "FAIL expect at")
	require.Contains(t, stdout, "replay: volsim run "+story)

	status, stdout, stderr = volsim("exhaust", "pod_asks_for_what_is_not_served")
	require.Zero(t, status, stderr)
	require.Regexp(t, `\d+ generated +[1-9]\d* pruned +\d+ run +0 cut short`, stdout)
	_, stdout, _ = volsim("exhaust", "--exact", "pod_asks_for_what_is_not_served")
	require.Regexp(t, `\d+ generated +\d+ pruned +\d+ run +[1-9]\d* cut short`, stdout)
	_, stdout, _ = volsim("exhaust", "--prune=false", "pod_asks_for_what_is_not_served")
	require.Regexp(t, ` 0 pruned +\d+ run +0 cut short`, stdout)

	for _, args := range [][]string{{"exhaust", "--depth", "0"}, {"exhaust", "no_such_story"}} {
		status, _, stderr = volsim(args...)
		require.Equal(t, exitUsage, status, "%v: %s", args, stderr)
	}
}

// TestReplayCountsTheFaultsOfAScenario, which are its own.
func TestReplayCountsTheFaultsOfAScenario(t *testing.T) {
	_, out, _ := volsim("replay", "agent_is_killed_between_effect_and_reply")
	require.Regexp(t, `HAL calls, 1 fault, [1-9]\d* crash(es)?, hash `, out)
}

func TestReplayShowsTheSameTrace(t *testing.T) {
	_, first, _ := volsim("replay", "--seed", "3")
	_, second, _ := volsim("replay", "--seed", "3")
	require.Equal(t, first, second)
	require.Greater(t, strings.Count(first, "\n"), 100)
}

func TestDemoShowsOperationsAsVolnodeDoes(t *testing.T) {
	_, out, _ := volsim("run", "demo")
	for _, line := range []string{
		"verb=setup rung=csi.stage/csi.volnode.dev^", "verb=setup rung=csi.publish/csi.volnode.dev^",
		"verb=setup rung=emptydir/",
		"verb=teardown rung=csi.publish/", "verb=teardown rung=csi.stage/", "verb=teardown rung=emptydir/",
	} {
		require.Equal(t, 1, strings.Count(out, line), line)
	}
}

func TestJSON(t *testing.T) {
	for _, args := range [][]string{
		{"hunt", "--runs", "5", "--json"},
		{"replay", "--seed", "1", "--json"},
		{"run", "demo", "--json"},
		{"replay", "demo", "--log", "--json"},
		{"shrink", "--seed", "1", "--json"},
		{"explain", "--seed", "1", "--json"},
		{"diff", "1", "1", "--json"},
		{"diff", "1", "2", "--json"},
	} {
		_, out, _ := volsim(args...)
		require.True(t, json.Valid([]byte(out)), "%v: %s", args, out)
	}
	_, out, _ := volsim("list", "--json")
	for line := range strings.Lines(out) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	_, names, _ := volsim("list", "--names")
	require.Contains(t, strings.Split(names, "\n"), "demo")
}

// TestPlainBuildHasTheSameTrace compares this process, which is a race build under make unit, with a plain build in
// other processes.
func TestPlainBuildHasTheSameTrace(t *testing.T) {
	program := filepath.Join(t.TempDir(), "volsim")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, procs := range []string{"GOMAXPROCS=1", "GOMAXPROCS=2"} {
		for seed := range 8 {
			args := []string{"replay", "--quiet", "--seed", strconv.Itoa(seed)}
			_, want, _ := volsim(args...)
			cmd := exec.Command(program, args...)
			cmd.Env = append(os.Environ(), procs)
			got, err := cmd.Output()
			require.NoError(t, err)
			require.Equal(t, want, string(got), procs)
		}
	}
}
