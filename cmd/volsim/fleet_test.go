package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func fleetJob(t *testing.T) *batchv1.Job {
	text, err := os.ReadFile("../../examples/fleet/job.yaml")
	require.NoError(t, err)
	var job batchv1.Job
	require.NoError(t, yaml.UnmarshalStrict(text, &job))
	return &job
}

func TestFleetJobIsIndexed(t *testing.T) {
	job := fleetJob(t)
	require.Equal(t, "batch/v1", job.APIVersion)
	require.Equal(t, "Job", job.Kind)
	require.Equal(t, batchv1.IndexedCompletion, *job.Spec.CompletionMode)
	require.Equal(t, corev1.RestartPolicyNever, job.Spec.Template.Spec.RestartPolicy, "backoffLimitPerIndex needs it")
	require.Zero(t, *job.Spec.BackoffLimitPerIndex)
	require.Equal(t, *job.Spec.Completions, *job.Spec.Parallelism)
}

// TestFleetMerges runs what each pod of the Job runs, with fewer schedules, and merges what they write.
func TestFleetMerges(t *testing.T) {
	job := fleetJob(t)
	var all strings.Builder
	for i := range *job.Spec.Completions {
		var args []string
		for _, arg := range job.Spec.Template.Spec.Containers[0].Args {
			args = append(args, strings.ReplaceAll(arg, "$(JOB_COMPLETION_INDEX)", strconv.Itoa(int(i))))
		}
		status, stdout, stderr := volsim(append(args, "--seed", "717", "--runs", "6")...)
		require.Zero(t, status, stderr)
		require.Empty(t, stderr)
		all.WriteString(stdout)
	}
	logs := filepath.Join(t.TempDir(), "logs")
	require.NoError(t, os.WriteFile(logs, []byte(all.String()), 0o600))
	status, out, stderr := volsim("merge", logs)
	require.Zero(t, status, stderr)
	require.Empty(t, stderr, "no shard is missing")
	require.Contains(t, out, "8 hunts")
	require.Contains(t, out, "\n6 schedules, ")
}

// TestFleetImageNeedsNothing builds the program as the Dockerfile does.
func TestFleetImageNeedsNothing(t *testing.T) {
	text, err := os.ReadFile("../../examples/fleet/Dockerfile")
	require.NoError(t, err)
	require.Contains(t, string(text),
		"CGO_ENABLED=0 go build -buildvcs=auto -trimpath -ldflags=-s -o /volsim ./cmd/volsim\n")
	require.Contains(t, string(text), "\nFROM scratch\n")
	program := filepath.Join(t.TempDir(), "volsim")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	f, err := elf.Open(program)
	require.NoError(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "the program is linked dynamically")
	}
	hunt := exec.Command(program, "hunt", "--runs", "2", "--jsonl", "-")
	hunt.Env, hunt.Dir = []string{}, t.TempDir()
	out, err = hunt.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
