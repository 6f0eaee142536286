package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A wait whose time is over at once looks all the same, and what it says of the pod is true.
func TestAWaitOfNoTimeLooks(t *testing.T) {
	r := newRig(t)
	r.start()
	r.must("wait", "all", "--for=gone") // all manifests are read
	none := r.ask("wait", "pod/demo/web", "--timeout=0s")
	require.Equal(t, exitNotReady, none.status)
	require.Contains(t, none.errOut, "no manifest names it")
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

// Who asks for what is not there is told how it is named, and what there is.
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
