package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine"
)

// A wait whose time is over at once looks all the same, and what it says of the pod is true.
func TestAWaitOfNoTimeLooks(t *testing.T) {
	r := newRig(t)
	r.start()
	r.must("wait", "all", "--for=gone") // all manifests are read
	none := r.ask("wait", "pod/demo/web", "--timeout=0s")
	require.Equal(t, exitNotReady, none.status)
	require.Contains(t, none.errOut, "no manifest that counts names it")
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	for range 20 {
		r.must("wait", "pod/demo/web", "--timeout=0s")
	}
	for _, args := range [][]string{{"wait", "pod/demo/web", "--for=gone", "--timeout=0s"}, {"wait", "all", "--for=gone", "--timeout=0s"}} {
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
		{"volume", "data", exitUsage, []string{"DRIVER^HANDLE", "pod demo/db has a volume data", "volnode describe pod demo/db"}},
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
	e := r.ask("wait", "pod/demo/web", "--for=gone", "--timeout=1s")
	require.Equal(t, exitNotReady, e.status)
	require.Contains(t, e.errOut, "; processes may still use it: 'lsof +D "+at+"' shows which; end them; volnode tries again in ")
	require.Contains(t, e.errOut, "no manifest names pod demo/web any more; not gone yet: 1 volume")
	require.NoError(t, held.Close())
	r.must("wait", "pod/demo/web", "--for=gone")

	require.Equal(t, "data(pv-1)", volumeText(engine.VolumeStatus{Name: "data", PV: "pv-1"}))
	require.Equal(t, "(pv-1)", volumeText(engine.VolumeStatus{Name: "pv-1", PV: "pv-1"}))
	require.Equal(t, "scratch", volumeText(engine.VolumeStatus{Name: "scratch"}))
}
