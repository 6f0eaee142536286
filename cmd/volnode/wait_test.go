package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/manifest"
)

// A wait whose time is over at once looks all the same, and what it says of the pod is true.
func TestAWaitOfNoTimeLooks(t *testing.T) {
	r := newRig(t)
	r.start()
	r.must("wait", "all", "--for=gone") // all manifests are read
	none := r.ask("wait", "pod/demo/web", "--timeout=0s")
	require.Equal(t, exitNotReady, none.status)
	require.Contains(t, none.errOut, "no valid manifest names it")
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	for range 20 {
		r.must("wait", "pod/demo/web", "--timeout=0s")
	}
	for _, args := range [][]string{
		{"wait", "pod/demo/web", "--for=gone", "--timeout=0s"},
		{"wait", "all", "--for=gone", "--timeout=0s"},
	} {
		is := r.ask(args...)
		require.Equal(t, exitNotReady, is.status, args)
		require.Contains(t, is.errOut, "volume scratch is Ready", args)
		require.Contains(t, is.errOut, "is not gone now", args)
	}
	r.remove("web.yaml")
	r.must("wait", "pod/demo/web", "--for=gone")
	r.must("wait", "pod/demo/web", "--for=gone", "--timeout=0s")
	r.must("wait", "all", "--for=gone", "--timeout=0s")
}

// A time-out bounds a command also if the daemon takes the question and says nothing.
func TestATimeOutBoundsACommand(t *testing.T) {
	r := newRig(t)
	r.start()
	require.NoError(t, r.daemon.cmd.Process.Signal(syscall.SIGSTOP))
	for _, args := range [][]string{
		{"wait", "pod/demo/web"}, {"status"}, {"plan"}, {"describe", "pod", "demo/web"},
	} {
		begun := time.Now()
		is := r.ask(append(args, "--timeout=500ms")...)
		require.Equal(t, exitUnreachable, is.status, args)
		require.Contains(t, is.errOut, "the daemon at "+r.socket()+" does not answer", args)
		require.Less(t, time.Since(begun), shortAsk/2, args)
	}
}

// A directory that nobody knows is of one pod, so who asks for another pod that volnode knows does not wait for it. It
// may be of any that volnode does not know, if its uid is none that volnode makes: records may have been lost.
func TestAStrayDirectoryIsNobodyElse(t *testing.T) {
	r := newRig(t)
	r.start()
	r.must("wait", "all", "--for=gone")
	r.stop(syscall.SIGTERM)
	const given = "0d7a5d5e-6a0c-4b0e-9a39-0c1d1f6d2a11"
	own := string(manifest.PodUID("test-node", "demo", "lost"))
	for _, uid := range []string{given, own} {
		dir := filepath.Join(r.root(), "pods", uid, "volumes/kubernetes.io~empty-dir/scratch")
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), []byte("x"), 0o600))
	}
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	r.remove("web.yaml")
	r.must("wait", "pod/demo/web", "--for=gone")
	for _, target := range []string{"pod/demo/lost", "pod/demo/never", "all"} {
		require.Equal(t, exitNotReady, r.ask("wait", target, "--for=gone", "--timeout=0s").status, target)
	}
	require.Contains(t, r.ask("wait", "pod/demo/lost", "--for=gone", "--timeout=0s").errOut, own)

	r.stop(syscall.SIGTERM)
	require.NoError(t, os.RemoveAll(filepath.Join(r.root(), "volnode/journal")))
	r.start()
	r.until("all sources synced")
	none := r.ask("wait", "pod/demo/never", "--for=gone", "--timeout=0s")
	require.Equal(t, exitNotReady, none.status)
	require.Contains(t, none.errOut, given)
	require.NotContains(t, none.errOut, own)
}

// If a person asks for an object that is not there, describe says how such objects are named, and which there are.
func TestWhatIsNotKnownNamesWhatIs(t *testing.T) {
	r := newRig(t)
	driver := newFakeDriver(t, r)
	r.start()
	r.apply("pod.yaml", driver.manifests(""))
	<-driver.staging
	for _, c := range []struct {
		kind, name string
		status     int
		want       []string
	}{
		{"volume", "data", exitUsage, []string{
			"DRIVER^HANDLE", "pod demo/db has a volume data",
			"volnode describe pod demo/db",
		}},
		{"volume", "vol-1", exitUsage, []string{"DRIVER^HANDLE", "near it: " + fakeName + "^vol-1"}},
		{"volume", fakeName + "^vol-2", exitFailed, []string{"DRIVER^HANDLE", "near it: " + fakeName + "^vol-1"}},
		{"pod", "default/db", exitFailed, []string{"NAMESPACE/NAME", "near it: demo/db"}},
		{"pod", "db", exitFailed, []string{"NAMESPACE/NAME", "near it: demo/db"}},
		{"pod", "demo/DB", exitUsage, []string{"RFC 1123", "near it: demo/db"}},
		{"driver", "fake", exitFailed, []string{"near it: " + fakeName}},
		{"rung", "csi.stage/none^none", exitFailed, []string{"known: csi.publish/"}},
	} {
		e := r.ask("describe", c.kind, c.name)
		require.Equal(t, c.status, e.status, "%s %s: %s", c.kind, c.name, e.errOut)
		for _, want := range c.want {
			require.Contains(t, e.errOut, want, "%s %s", c.kind, c.name)
		}
	}
}

// What is in use says how to find out by whom. Who follows a volume finds it by one name as long as it is there.
func TestABusyVolumeNamesACure(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	at := r.status().Pods[0].Volumes[0].Path
	held, err := os.Create(at + "/held")
	require.NoError(t, err)
	defer held.Close()
	r.remove("web.yaml")
	var e ended
	r.eventually(func() bool { // while a teardown is under way, a wait tells of it
		e = r.ask("wait", "pod/demo/web", "--for=gone", "--timeout=100ms")
		require.Equal(t, exitNotReady, e.status)
		return strings.Contains(e.errOut, "processes may still use it")
	})
	require.Contains(t, e.errOut, "; processes may still use it: 'fuser -vm "+at+"' shows those on its filesystem; "+
		"end what uses the volume; "+
		"volnode tries again in ")
	if fuser, err := exec.LookPath("fuser"); err == nil { // it is true
		users, _ := exec.Command(fuser, "-m", at).Output() // it may not look at all processes
		require.Contains(t, strings.Fields(string(users)), strconv.Itoa(os.Getpid()))
	}
	require.Contains(t, e.errOut, "no manifest names pod demo/web; volnode still tears down 1 volume")
	require.NoError(t, held.Close())
	r.must("wait", "pod/demo/web", "--for=gone")

	require.Equal(t, "data(pv-1)", volumeText(engine.VolumeStatus{Name: "data", PV: "pv-1"}))
	require.Equal(t, "(pv-1)", volumeText(engine.VolumeStatus{Name: "pv-1", PV: "pv-1"}))
	require.Equal(t, "scratch", volumeText(engine.VolumeStatus{Name: "scratch"}))
}

// A wait and a description tell which bad file concerns the pod, why it is bad, and what counts meanwhile; of other
// troubles there is one word.
func TestBadManifestOfAPodIsNamed(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	r.apply("other.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspek: {}\n")
	r.must("describe", "pod", "demo/web")
	require.NotContains(t, r.ask("describe", "pod", "demo/web").out, "trouble")

	r.apply("web.yaml", strings.Replace(memoryPod, "spec:", "spek:", 1))
	bad := r.path("manifests", "web.yaml")
	var is string
	r.eventually(func() bool {
		is = r.ask("describe", "pod", "demo/web").out
		return strings.Contains(is, "trouble: "+bad)
	})
	require.Contains(t, is, `unknown field "spek"; did you mean "spec"?`)
	require.Contains(t, is, "; until it is corrected, its last good content counts")
	require.NotContains(t, is, "other.yaml")

	gone := r.ask("wait", "pod/demo/web", "--for=gone", "--timeout=100ms")
	require.Equal(t, exitNotReady, gone.status)
	require.Contains(t, gone.errOut, "trouble: "+bad)
	require.NotContains(t, gone.errOut, "other.yaml")
	require.Contains(t, gone.errOut, "; 'volnode sources' shows 1 trouble that does not name it")

	none := r.ask("describe", "pod", "default/other")
	require.Equal(t, exitFailed, none.status)
	require.Contains(t, none.errOut, r.path("manifests", "other.yaml")+": ")
	require.NotContains(t, none.errOut, bad)
	none = r.ask("wait", "pod/default/other", "--timeout=100ms")
	require.Contains(t, none.errOut, "trouble: "+r.path("manifests", "other.yaml"))
	require.NotContains(t, none.errOut, bad)
}

// What is in the manifest directory and no manifest is a note: nobody waits for it, and the log tells of it once.
func TestPassedOverNamesAreToldOf(t *testing.T) {
	r := newRig(t)
	r.start()
	r.must("wait", "all", "--for=gone")
	require.NotContains(t, r.must("status"), "note:")
	for _, name := range []string{"web.yml~", "web.yaml.bak", "notes.txt", ".web.yaml.swp"} {
		require.NoError(t, os.WriteFile(r.path("manifests", name), []byte(memoryPod), 0o600))
	}
	require.NoError(t, os.Mkdir(r.path("manifests", "more"), 0o700))
	note := "note: " + r.path("manifests") + ": 4 names are ignored: more, notes.txt, web.yaml.bak, web.yml~; " +
		"a manifest is a file in this directory whose name ends with .yaml, .yml or .json\n"
	r.eventually(func() bool { return strings.Contains(r.must("status"), note) })
	require.Contains(t, r.must("sources"), note)
	require.Contains(t, r.must("sources"), "all manifests are in order")
	require.Empty(t, r.status().Sources)
	status, ready := r.get(t, "/readyz?verbose")
	require.Equal(t, http.StatusOK, status, ready)
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	require.Equal(t, 1, strings.Count(r.daemon.logged(), "web.yml~"), "it is told once")
	for _, name := range []string{"web.yml~", "web.yaml.bak", "more", "notes.txt"} {
		require.NoError(t, os.Remove(filepath.Join(r.path("manifests"), name)))
	}
	r.eventually(func() bool { return !strings.Contains(r.must("status"), "note:") })
}
