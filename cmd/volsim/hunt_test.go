package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/minimise"
)

func TestSignalEndsAHuntThatCanGoOn(t *testing.T) {
	program := filepath.Join(t.TempDir(), "volsim")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd := exec.Command(program, "hunt", "--runs", "100000000", "--seed-from", "a text", "--workers", "1")
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		var stdout strings.Builder
		cmd.Stdout = &stdout
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(stderr).ReadString('\n') // signals are awaited by now
		require.NoError(t, err)
		require.Contains(t, line, `made of "a text"`)
		require.NoError(t, cmd.Process.Signal(s))
		status, ok := errors.AsType[*exec.ExitError](cmd.Wait())
		require.True(t, ok)
		require.Equal(t, exitInterrupted, status.ExitCode())
		lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		require.Len(t, lines, 2)
		require.Contains(t, lines[0], "interrupted; go on with: volsim hunt --seed ")
		require.Contains(t, lines[0], " --workers=1")
		require.Contains(t, lines[1], "0 violations")
	}
}

// TestSignalEndsAnExhaustion that has told what first faults lead to: what it has done so far is told.
func TestSignalEndsAnExhaustion(t *testing.T) {
	program := filepath.Join(t.TempDir(), "volsim")
	out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(program, "exhaust", "--depth", "2", "--workers", "1", "demo")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	var stdout strings.Builder
	cmd.Stdout = &stdout
	require.NoError(t, cmd.Start())
	told := bufio.NewReader(stderr)
	line, err := told.ReadString('\n')
	require.NoError(t, err)
	require.Regexp(t, `^1 scenario, each first fault has run: .* [1-9]\d* left\n$`, line)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	line, err = told.ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "interrupted")
	status, ok := errors.AsType[*exec.ExitError](cmd.Wait())
	require.True(t, ok)
	require.Equal(t, exitInterrupted, status.ExitCode())
	require.Regexp(t, `1 scenario, depth 2 .* [1-9]\d* left, `, stdout.String())
}

func TestShardsMerge(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.jsonl"), filepath.Join(dir, "b.jsonl")
	for i, path := range []string{a, b} {
		status, _, stderr := volsim("hunt", "--seed", "350", "--runs", "20", "--shard", []string{"0/2", "1/2"}[i],
			"--jsonl", path)
		require.Zero(t, status, stderr)
	}
	status, out, stderr := volsim("merge", a, b)
	require.Zero(t, status, stderr)
	require.Contains(t, out, "2 hunts of version")
	require.Contains(t, out, "\n20 schedules, ")

	status, out, stderr = volsim("merge", a)
	require.Equal(t, exitUsage, status)
	require.Contains(t, out, "\n10 schedules, ")
	require.Contains(t, stderr, "nothing of the shards 1/2: merge what they wrote too, or say --partial")
	status, _, stderr = volsim("merge", a, "--partial")
	require.Zero(t, status, stderr)
	require.Equal(t, "nothing of the shards 1/2\n", stderr)

	status, _, stderr = volsim("merge", a, b, a)
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, a+":2 and in "+a+":2")

	text, err := os.ReadFile(a)
	require.NoError(t, err)
	lines := strings.SplitAfter(string(text), "\n")
	cut := filepath.Join(dir, "cut.jsonl")
	require.NoError(t, os.WriteFile(cut, []byte(strings.Join(lines[:len(lines)-2], "")), 0o600))
	status, _, stderr = volsim("merge", cut, b)
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, "1 of 2 hunts did not tell their end: run them again in place of what they wrote, "+
		"or say --partial")
	status, _, stderr = volsim("merge", cut, b, "--partial")
	require.Zero(t, status, stderr)
	require.NoError(t, os.WriteFile(cut, []byte(lines[0]+lines[len(lines)-2]), 0o600))
	status, _, stderr = volsim("merge", cut, "--partial")
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, "no schedule in these hunts")

	failed := string(text) +
		`{"schema":1,"kind":"failure","seed":351,` +
		`"violation":{"property":"S5","site":"unstage","story":"it was published"}}` + "\n"
	require.NoError(t, os.WriteFile(a, []byte(failed), 0o600))
	status, out, _ = volsim("merge", a, b)
	require.Equal(t, exitViolation, status)
	require.Contains(t, out, "FAIL S5 at unstage")
	require.Contains(t, out, "replay: volsim replay --seed 351")

	require.NoError(t, os.WriteFile(b, []byte("torn\n"), 0o600))
	status, _, stderr = volsim("merge", b)
	require.Equal(t, exitUsage, status)
	require.Contains(t, stderr, b+":1: no line of a hunt")
}

func TestLinesOnStandardOutputAreAlone(t *testing.T) {
	status, stdout, stderr := volsim("hunt", "--runs", "3", "--jsonl", "-", "--seed-from", "x")
	require.Zero(t, status)
	require.Empty(t, stderr)
	require.Equal(t, 3, strings.Count(stdout, "\n"))
	for line := range strings.Lines(stdout) {
		require.True(t, strings.HasPrefix(line, `{"schema":1,"kind":"`), line)
	}
}

func TestHuntRefuses(t *testing.T) {
	for _, c := range [][]string{
		{"--shard", "4/4", "--shard: \"4/4\" is not a shard"},
		{"--seed", "1", "--seed-from", "x", "leave one out"},
		{"--seed-from", "", "the text is empty"},
		{"--seed", "9223372036854775807", "seeds end at"},
		{"--jsonl", "/no/such/dir/x", "--jsonl: open /no/such/dir/x"},
	} {
		status, _, stderr := volsim(append([]string{"hunt"}, c[:len(c)-1]...)...)
		require.Equal(t, exitUsage, status, "%v", c)
		require.Contains(t, stderr, c[len(c)-1])
	}
}

func TestFilesAreWritten(t *testing.T) {
	dir := t.TempDir()
	for _, c := range [][]string{
		{"hunt", "--runs", "5", "--guided=false", "--report", "<", "--junit", "<", "--perfetto", "<", "--jsonl", "<"},
		{"run", "demo", "--report", "<", "--junit", "<", "--perfetto", "<"},
		{"replay", "--seed", "3", "--perfetto", "<"},
	} {
		var files []string
		for i, arg := range c {
			if arg == "<" {
				c[i] = filepath.Join(dir, c[0]+c[i-1])
				files = append(files, c[i])
			}
		}
		status, _, stderr := volsim(c...)
		require.Zero(t, status, "%v: %s", c, stderr)
		for _, path := range files {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			switch {
			case strings.HasSuffix(path, "report"):
				require.Contains(t, string(text), "Every property holds")
				require.Contains(t, string(text), "volsim "+c[0])
				require.Equal(t, c[0] == "hunt", strings.Contains(string(text), "volsim hunt --guided=false --"))
			case strings.HasSuffix(path, "junit"):
				require.Contains(t, string(text), `failures="0"`)
			case strings.HasSuffix(path, "perfetto"):
				require.True(t, json.Valid(text))
				require.Contains(t, string(text), `"thread_name"`)
			}
		}
	}
	for _, c := range [][]string{
		{"run", "demo", "demo", "--perfetto", filepath.Join(dir, "x"), "name one scenario"},
		{"hunt", "--report", "-", "only --jsonl can go to standard output"},
		{"run", "demo", "--junit", "/no/such/dir/x", "--junit: open /no/such/dir/x"},
	} {
		status, _, stderr := volsim(c[:len(c)-1]...)
		require.Equal(t, exitUsage, status, "%v", c)
		require.Contains(t, stderr, c[len(c)-1])
	}
}

// TestFailureIsReported runs a scenario that expects what is not so.
func TestFailureIsReported(t *testing.T) {
	dir := t.TempDir()
	story, page, junit := filepath.Join(dir, "story.txt"), filepath.Join(dir, "x.html"), filepath.Join(dir, "x.xml")
	require.NoError(t, os.WriteFile(story,
		[]byte("# A pod is never ready.\ndriver disk.example staging\nvolume vol-a of disk.example\n"+
			"pod default/web uses vol-a\nat 0s apply all\nafter 5s expect pod default/web not ready\n"), 0o600))
	status, _, _ := volsim("run", story, "--report", page, "--junit", junit)
	require.Equal(t, exitViolation, status)
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), `<article class="card" id="finding-1"`)
	require.Contains(t, string(text), "1 failure<")
	text, err = os.ReadFile(junit)
	require.NoError(t, err)
	require.Contains(t, string(text), `<failure type="expect"`)
}

func TestCanariesMustBeFound(t *testing.T) {
	dir := t.TempDir()
	lines := filepath.Join(dir, "a.jsonl")
	status, out, stderr := volsim("hunt", "--seed", "95", "--runs", "10", "--canary", "--jsonl", lines)
	require.Zero(t, status, stderr)
	require.Contains(t, out, " 0 violations, 1 of 1 canaries found, ")
	status, out, stderr = volsim("merge", lines)
	require.Zero(t, status, stderr)
	require.Contains(t, out, "1 of 1 canaries found")

	text, err := os.ReadFile(lines)
	require.NoError(t, err)
	require.Contains(t, string(text), `"canariesCaught":1`)
	deaf := strings.ReplaceAll(string(text), `,"canariesCaught":1`, "")
	require.NoError(t, os.WriteFile(lines, []byte(deaf), 0o600))
	status, out, stderr = volsim("merge", lines)
	require.Equal(t, exitViolation, status)
	require.Contains(t, out, "0 of 1 canaries found")
	require.Contains(t, stderr, "1 of 1 canaries passed, and each must fail")
}

func TestLongCaseIsShrunkForACommand(t *testing.T) {
	s, err := scenarios.Parse("never_synced.txt", `# The source never tells that it has told everything.
driver disk.example staging device
volume vol-a of disk.example
pod default/web uses vol-a

at 0s hold synced
at 1s apply all
`)
	require.NoError(t, err)
	c := cases.Case{Scenario: s, Still: true}
	for i := range 300 {
		kept, err := cases.ParseKeep(fmt.Sprintf("csi.stage/fault@nobody-%d#0=late", i))
		require.NoError(t, err)
		c.Keep = append(c.Keep, kept...)
	}
	require.Greater(t, len(c.String()), longestKeep)
	short := inShort(c)
	require.LessOrEqual(t, len(short.String()), longestKeep)
	found, _ := minimise.AsItIs(scenarios.NewHunter(), short)
	require.NotNil(t, found, "it fails all the same")
	require.Equal(t, short, inShort(short), "a short one is told as it is")
}

func TestOnlyItsBudgetEndsAHunt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hunt.jsonl")
	runs := func(args ...string) uint64 {
		status, _, stderr := volsim(append([]string{"hunt", "--jsonl", path}, args...)...)
		require.Zero(t, status, stderr)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		head, _, _ := strings.Cut(string(text), "\n")
		var first struct {
			Runs uint64 `json:"runs"`
		}
		require.NoError(t, json.Unmarshal([]byte(head), &first), head)
		return first.Runs
	}
	require.Equal(t, uint64(cases.MaxSeed-8), runs("--seed", "7", "--cpu", "200ms"))
	require.Equal(t, uint64(4), runs("--seed", "7", "--cpu", "1h", "--runs", "4"))
}

// TestAGuidedScheduleIsNoSeed: who reads where a failure was found does not take a guided schedule for a seed.
func TestAGuidedScheduleIsNoSeed(t *testing.T) {
	require.Equal(t, "seed 351", origin(351, nil))
	require.Equal(t, "guided schedule 351, which is no run of that seed", origin(351, &cases.Case{Still: true}))
}
