package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// podWithoutUID is a pod without a uid, with an emptyDir on disk.
const podWithoutUID = `
apiVersion: v1
kind: Pod
metadata: {namespace: demo, name: web}
spec:
  containers:
  - {name: c, image: example.com/c, volumeMounts: [{name: scratch, mountPath: /scratch}]}
  volumes:
  - {name: scratch, emptyDir: {}}
`

// written brings the pod up and returns a file in its emptyDir.
func (r *rig) written() string {
	r.t.Helper()
	r.apply("web.yaml", podWithoutUID)
	r.must("wait", "pod/demo/web", "--for=ready", "--timeout", "60s")
	note := r.status().Pods[0].Volumes[0].Path + "/note"
	require.NoError(r.t, os.WriteFile(note, []byte("keep me"), 0o600))
	return note
}

// A node keeps the name of its first start, and so pods without a uid keep theirs.
func TestANodeKeepsItsName(t *testing.T) {
	r := newRig(t)
	r.start()
	note := r.written()
	r.stop(syscall.SIGTERM)
	r.refused(exitConfig, `belongs to node "test-node"`, "--node-name=other")
	require.FileExists(t, note)

	file := filepath.Join(r.root(), "volnode", "identity")
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(content), "test-node", "best-node", 1)), 0o600))
	r.refused(exitConfig, "its checksum does not fit")
	require.FileExists(t, note)

	// Without the file, as after an upgrade: the journal knows that the name was another one.
	require.NoError(t, os.Remove(file))
	r.refused(exitConfig, "the host was renamed", "--node-name=other")
	require.NoFileExists(t, file)
	r.start()
	r.must("wait", "pod/demo/web", "--for=ready", "--timeout", "60s")
	require.FileExists(t, note)
	require.FileExists(t, file)
}

// A root directory of another agent is taken over only with a word, and what its emptyDirs hold is kept.
func TestAnotherAgentsRootDirectory(t *testing.T) {
	r := newRig(t)
	pod := filepath.Join(r.root(), "pods", "11111111-2222-4333-8444-555555555555", "volumes", "kubernetes.io~empty-dir")
	require.NoError(t, os.MkdirAll(filepath.Join(pod, "cache"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(pod, "cache", "data"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(pod, "empty"), 0o755))
	r.refused(exitConfig, "it is another agent's. volnode changed nothing")
	entries, err := os.ReadDir(r.root())
	require.NoError(t, err)
	require.Len(t, entries, 1, "only pods is there")

	r.start("--adopt")
	r.until("no manifest names pod 11111111-2222-4333-8444-555555555555")
	r.until("run 'volnode sources --accept'")
	require.Contains(t, r.must("sources", "--accept"), "11111111-2222-4333-8444-555555555555")
	r.until("volnode keeps it")
	require.FileExists(t, filepath.Join(pod, "cache", "data"))
	require.Eventually(t, func() bool { //nolint:forbidigo // another process tells nothing
		_, err := os.Stat(filepath.Join(pod, "empty"))
		return errors.Is(err, os.ErrNotExist)
	}, time.Minute, 5*time.Millisecond, "nobody's data is in it")
	r.stop(syscall.SIGTERM)
	r.start()
	r.until("volnode keeps it")
}

// The lock is on the root directory itself: what is removed below it lets no second volnode in.
func TestTheLockOutlivesItsFiles(t *testing.T) {
	r := newRig(t)
	require.NoError(t, os.Mkdir(filepath.Join(r.root(), "volnode"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(r.root(), "volnode", "volnode.lock"), nil, 0o600))
	r.start()
	require.NoError(t, os.Remove(filepath.Join(r.root(), "volnode", "volnode.lock")))
	r.refused(exitTemporary, "another volnode (pid ", "--socket", r.path("run", "other.sock"))
}

// What somebody removes of volnode's own files while it runs is made again, and the next start adopts what stands.
func TestOwnFilesAreMadeAgain(t *testing.T) {
	r := newRig(t)
	r.start()
	note := r.written()
	own := filepath.Join(r.root(), "volnode")
	for _, name := range []string{"journal", "identity", ""} {
		require.NoError(t, os.Rename(filepath.Join(own, name), filepath.Join(r.root(), "away-"+name)))
		require.Eventually(t, func() bool { //nolint:forbidigo // another process tells nothing
			_, idErr := os.Stat(filepath.Join(own, "identity"))
			files, err := filepath.Glob(filepath.Join(own, "journal", "journal.[0-9]*"))
			return idErr == nil && err == nil && len(files) == 1 && r.status().Journal.Why == ""
		}, patience, 50*time.Millisecond, "%q is made again", name)
	}
	require.NotEmpty(t, r.status().Journal.Damage)
	r.stop(syscall.SIGKILL)
	r.start()
	r.must("wait", "pod/demo/web", "--for=ready", "--timeout", "60s")
	require.FileExists(t, note)
	require.Equal(t, 1, r.status().Journal.Records)

	r.remove("web.yaml")
	r.must("wait", "pod/demo/web", "--for=gone", "--timeout", "60s")
	require.Contains(t, r.must("describe", "pod", "demo/web"), "the pod was removed from its source")
}
