package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// diskPod is a pod with an emptyDir on disk and a uid of its own.
func diskPod(name, uid string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {namespace: demo, name: " + name + ", uid: " + uid + "}\nspec:\n" +
		"  containers: [{name: c, image: i, volumeMounts: [{name: scratch, mountPath: /s}]}]\n  volumes: [{name: " +
		"scratch, emptyDir: {}}]\n"
}

// writes puts a file into the emptyDir of a pod and returns its path.
func (r *rig) writes(uid string) string {
	r.t.Helper()
	file := filepath.Join(r.root(), "pods", uid, "volumes/kubernetes.io~empty-dir/scratch/data")
	require.NoError(r.t, os.WriteFile(file, []byte(uid), 0o600))
	return file
}

func TestARenamedPodKeepsItsData(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("a.yaml", diskPod("old", "uid-1"))
	r.apply("b.yaml", diskPod("b", "uid-2"))
	r.must("wait", "pod/demo/old")
	r.must("wait", "pod/demo/b")
	one, two := r.writes("uid-1"), r.writes("uid-2")
	r.apply("a.yaml", diskPod("new", "uid-1"))
	r.must("wait", "pod/demo/new")
	r.must("wait", "pod/demo/old", "--for=gone")
	r.apply("a.yaml", diskPod("new", "uid-2")) // for a while two pods have one uid
	r.until("give each its own uid")
	r.apply("b.yaml", diskPod("b", "uid-1"))
	r.until("source in order again")
	r.must("wait", "pod/demo/new")
	require.FileExists(t, one)
	require.FileExists(t, two)
	require.NotContains(t, r.must("status"), "trouble")
}

func TestWhatIsMissingElsewhereWaitsForAPerson(t *testing.T) {
	r := newRig(t)
	r.apply("web.yaml", diskPod("web", "uid-1"))
	r.start()
	r.must("wait", "pod/demo/web")
	data := r.writes("uid-1")
	manifests := r.path("manifests")

	require.NoError(t, unix.Mount("tmpfs", manifests, "tmpfs", 0, "mode=0755"))
	t.Cleanup(func() { _ = unix.Unmount(manifests, unix.MNT_DETACH) })
	r.until("the directory is another one")
	require.Contains(t, r.must("status"), "1 missing manifest not accepted (volnode sources)")
	r.apply("more.yaml", diskPod("more", "uid-2"))
	r.must("wait", "pod/demo/more")
	status, _ := r.stop(syscall.SIGTERM)
	require.Zero(t, status)
	r.start() // the disk of the manifests is not mounted at a start
	r.must("wait", "pod/demo/web")
	require.FileExists(t, data)
	require.Contains(t, r.must("sources"), "waits for --accept: "+manifests+"/web.yaml")
	require.Contains(t, r.must("plan"), "held back: "+manifests+"/web.yaml")
	accepted := r.must("sources", "--accept")
	require.Contains(t, accepted, "accepted: "+manifests+"/web.yaml: counts as removed; pod demo/web goes")
	require.Contains(t, accepted, "accepted: 1 missing manifest")
	require.NotContains(t, accepted, "still counts")
	require.NotContains(t, accepted, "--accept")
	r.must("wait", "pod/demo/web", "--for=gone")
	require.NoFileExists(t, data)
	require.Contains(t, r.must("sources"), "all manifests are in order")
	require.Contains(t, r.must("sources", "--accept"), "accepted nothing")
}

func TestABadManifestHoldsOnlyWhatItMayHold(t *testing.T) {
	r := newRig(t)
	r.apply("web.yaml", diskPod("web", "uid-1"))
	r.apply("other.yaml", diskPod("other", "uid-2"))
	r.start()
	r.must("wait", "pod/demo/web")
	r.must("wait", "pod/demo/other")
	r.apply("all.yaml", diskPod("web", "uid-1")+"speck: {}\n")
	r.until("speck")
	require.Contains(t, r.must("status"), "1 in trouble (volnode sources)")
	r.remove("web.yaml") // it was moved there
	r.remove("other.yaml")
	r.must("wait", "pod/demo/other", "--for=gone")
	r.until("may hold it")
	require.Contains(t, r.must("status"), "teardown of 1 pod held back")
	require.Contains(t, r.must("plan"),
		"held back: Pod demo/web: its manifest is gone, but volnode keeps it: "+r.path("manifests/all.yaml")+" may hold it")
	require.NoError(t, os.Remove(r.path("manifests/all.yaml")))
	require.NoError(t, os.Mkdir(r.path("manifests/all.yaml"), 0o755))
	r.must("wait", "pod/demo/web", "--for=gone")
	require.True(t, strings.Contains(r.must("status"), "is a directory"))
}
