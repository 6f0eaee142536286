package main

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
)

func TestAPodComesUpAndGoes(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	require.Equal(t, "pod/demo/web ready\n", r.must("wait", "pod/demo/web", "--for=ready"))
	require.Equal(t, 1, r.mountsBelow())

	out := r.must("status")
	require.Contains(t, out, "test-node  1 pod  1 volume: 1 Ready")
	require.Regexp(t, `(?m)^demo/web +scratch +Ready +-$`, out)
	require.Regexp(t, `^demo/web +scratch +Ready +-\n$`, r.must("status", "--no-headers"))
	require.Regexp(t, `(?m)^emptydir/\S+/scratch +Ready +Present +wanted`, r.must("status", "-o", "wide"))
	require.Equal(t, "nothing to do\n", r.must("plan"))
	require.Contains(t, r.must("describe", "pod", "demo/web"), "volume scratch\n    state      Ready")
	s := r.status()
	require.Contains(t, r.must("describe", "pod", string(s.Pods[0].UID)), "pod demo/web")
	require.Contains(t, r.must("describe", "rung", string(s.Rungs[0].Key)), "actual     Present")
	unknown := r.ask("describe", "pod", "demo/none")
	require.Equal(t, exitFailed, unknown.status)
	require.Contains(t, unknown.errOut, "pod demo/none is not known")

	r.remove("web.yaml")
	require.Equal(t, "pod/demo/web gone\n", r.must("wait", "pod/demo/web", "--for=gone"))
	require.Equal(t, "all gone\n", r.must("wait", "all", "--for=gone"))
	require.Zero(t, r.mountsBelow())
	require.Zero(t, r.status().Journal.Records)
	require.Contains(t, r.daemon.logged(), `"msg":"operation","op":"1","verb":"setup"`)
	require.Contains(t, r.daemon.logged(), `"level":"DEBUG","msg":"operation started","op":"1","verb":"setup"`)
}

func TestThePlanCountsVolumesThatWait(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", strings.Replace(memoryPod, "emptyDir: {medium: Memory, sizeLimit: 1Mi}",
		"csi: {driver: none.example}", 1))
	r.until("none.example")
	require.Equal(t, "no operation can run now: 1 volume waits or is blocked; see volnode status\n",
		r.must("plan"))
}

func TestStopLeavesMountsAndTheNextRunGoesOn(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	before := r.status().Rungs[0].Fingerprint
	status, _ := r.stop(syscall.SIGTERM)
	require.Zero(t, status)
	require.Equal(t, 1, r.mountsBelow())
	require.NoFileExists(t, r.socket())

	r.start()
	r.must("wait", "pod/demo/web")
	require.Equal(t, before, r.status().Rungs[0].Fingerprint)
	require.NotContains(t, r.daemon.logged(), `"msg":"operation"`)

	// What SIGKILL leaves is a socket that nobody serves.
	require.NoError(t, r.daemon.cmd.Process.Kill())
	<-r.daemon.done
	require.FileExists(t, r.socket())
	unserved := r.ask("status")
	require.Equal(t, exitUnreachable, unserved.status)
	require.Contains(t, unserved.errOut, r.socket()+": the volnode that made this socket has ended")
	r.start()
	r.must("wait", "pod/demo/web")

	// A pod whose manifest went while nobody looked is known by the journal, which has its name.
	open, err := os.Create(filepath.Join(r.status().Pods[0].Volumes[0].Path, "open"))
	require.NoError(t, err)
	defer open.Close()
	status, _ = r.stop(syscall.SIGINT)
	require.Zero(t, status)
	r.remove("web.yaml")
	r.start()
	r.until("busy")
	require.Regexp(t, `(?m)^demo/web +scratch `, r.must("status", "--no-headers"))
	require.Regexp(t, `(?m)^- +teardown +emptydir/\S+ +demo/web$`, r.must("plan"))
	require.Equal(t, exitNotReady, r.ask("wait", "pod/demo/web", "--for=gone", "--timeout=10ms").status)
	r.must("wait", "pod/demo/other", "--for=gone")
	require.NoError(t, open.Close())
	r.must("wait", "pod/demo/web", "--for=gone")
	r.must("wait", "all", "--for=gone")
	require.Zero(t, r.mountsBelow())
}

func TestStopDoesNotWaitForACallThatHangs(t *testing.T) {
	r := newRig(t)
	driver := newFakeDriver(t, r)
	driver.hang = true
	r.start()
	r.apply("pod.yaml", driver.manifests(""))
	<-driver.staging
	// The call hangs until the test ends: a stop that waited for it would not end, and could not log what follows.
	status, _ := r.stop(syscall.SIGTERM)
	require.Zero(t, status)
	require.Contains(t, r.daemon.logged(), "stopped with operations in flight")
}

func TestAWaitIsForAPodToCome(t *testing.T) {
	r := newRig(t)
	r.start()
	waiter := exec.Command("/proc/self/exe", "wait", "pod/demo/web", "--timeout=60s", "--socket", r.socket())
	result := make(chan ended, 1)
	go func() { result <- finish(t, waiter) }()
	r.apply("other.yaml", strings.ReplaceAll(memoryPod, "web", "other"))
	r.must("wait", "pod/demo/other")
	r.apply("web.yaml", memoryPod)
	e := <-result
	require.Zero(t, e.status, e.errOut)
}

// The daemon is waited for: until it starts, while it starts again, and no longer than was said.
func TestAWaitIsForTheDaemonToCome(t *testing.T) {
	r := newRig(t)
	r.apply("web.yaml", memoryPod)
	began := time.Now()
	e := r.ask("wait", "pod/demo/web", "--timeout=300ms")
	require.Equal(t, exitUnreachable, e.status)
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	require.Contains(t, e.errOut,
		"pod/demo/web: no daemon answered within 300ms whether it is ready: no volnode serves "+r.socket())

	wait := func(args ...string) <-chan ended {
		result := make(chan ended, 1)
		cmd := exec.Command("/proc/self/exe", append(args, "--timeout=60s", "--socket", r.socket())...)
		go func() { result <- finish(t, cmd) }()
		return result
	}
	waits := wait("wait", "pod/demo/web")
	asks := wait("status")
	r.start()
	for _, result := range []<-chan ended{waits, asks} {
		e = <-result
		require.Zero(t, e.status, e.errOut)
	}

	waits = wait("wait", "pod/demo/web", "--for=gone")
	for metrics := ""; !strings.Contains(metrics, "volnode_waits 1\n"); {
		_, metrics = r.get(t, "/metrics")
	}
	require.NoError(t, r.daemon.cmd.Process.Kill())
	<-r.daemon.done
	r.start()
	r.must("wait", "pod/demo/web")
	status, _ := r.stop(syscall.SIGTERM) // it says to those who wait that it is stopping
	require.Zero(t, status)
	r.start()
	r.remove("web.yaml")
	e = <-waits
	require.Zero(t, e.status, e.errOut)
	require.Equal(t, "pod/demo/web gone\n", e.out)
}

func TestAWaitWhoseTimeIsOverSaysWhatIsMissing(t *testing.T) {
	r := newRig(t)
	r.start()
	e := r.ask("wait", "pod/demo/web", "--timeout=10ms")
	require.Equal(t, exitNotReady, e.status)
	r.until("all sources synced")
	e = r.ask("wait", "pod/demo/web", "--timeout=10ms")
	require.Equal(t, exitNotReady, e.status)
	require.Contains(t, e.errOut, "pod demo/web is not known: no valid manifest names it")
	r.must("wait", "pod/demo/web", "--for=gone", "--timeout=10ms")

	r.apply("pod.yaml", (&fakeDriver{}).manifests(""))
	r.until("volume blocked")
	e = r.ask("wait", "pod/demo/db", "--timeout=10ms")
	require.Equal(t, exitNotReady, e.status)
	require.Contains(t, e.errOut, "demo/db: volume data is Blocked: ")
	require.Contains(t, e.errOut, "fake.example.com")
	require.Contains(t, e.errOut, "pod/demo/db is not ready after 10ms: 1 of its 1 volume is not ready")

	e = r.ask("wait", "pod/demo/db", "--for=gone", "--timeout=10ms")
	require.Equal(t, exitNotReady, e.status)
	require.Contains(t, e.errOut, "still wanted: a manifest names it")
	e = r.ask("wait", "all", "--for=gone", "--timeout=10ms")
	require.Equal(t, exitNotReady, e.status)
}

// What was read before is lost, and volumes are there. At the first start of a node nothing is, so a bad manifest says
// of nobody that he may be there.
func TestNothingIsGoneBeforeAllManifestsAreRead(t *testing.T) {
	r := newRig(t)
	r.apply("bad.yaml", "kind: [")
	r.start()
	r.until("source in trouble")
	r.must("wait", "pod/demo/db", "--for=gone")
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	r.stop(syscall.SIGTERM)
	require.NoError(t, os.RemoveAll(filepath.Join(r.root(), "volnode/manifests")))
	r.start()
	r.until("source in trouble")
	e := r.ask("wait", "pod/demo/db", "--for=gone", "--timeout=10ms")
	require.Equal(t, exitNotReady, e.status)
	require.Contains(t, e.errOut, "volnode has not read all manifests")
	require.Contains(t, e.errOut, "bad.yaml")
	require.Contains(t, r.must("status"), "trouble: ")
	status, body := r.get(t, "/readyz?verbose")
	require.Equal(t, 503, status)
	require.Contains(t, body, "[+]journal ok\n[-]sources failed: ")
	status, _ = r.get(t, "/healthz")
	require.Equal(t, 200, status)
}

func TestAPodThatIsHeldBackSaysByWhichFile(t *testing.T) {
	r := newRig(t)
	r.apply("web.yaml", memoryPod)
	r.start()
	r.must("wait", "pod/demo/web")
	r.apply("bad.yaml", "kind: [")
	r.until("bad.yaml")
	r.remove("web.yaml")
	const held = "its manifest is gone, but volnode keeps it: "
	r.until(held)
	whole := held + r.path("manifests", "bad.yaml") +
		" may hold it and is bad: correct or remove that file"
	e := r.ask("wait", "pod/demo/web", "--for=gone", "--timeout=10ms")
	require.Equal(t, exitNotReady, e.status)
	require.Contains(t, e.errOut, "pod demo/web is still wanted: "+whole)
	plan := r.must("plan")
	require.Contains(t, plan, "nothing to do\n")
	require.Contains(t, plan, "held back: Pod demo/web: "+whole)
	r.remove("bad.yaml")
	r.must("wait", "pod/demo/web", "--for=gone")
}

func TestEachRowSaysWhatItIsOf(t *testing.T) {
	var out strings.Builder
	printStatus(&out, engine.Status{Pods: []engine.PodStatus{
		{Namespace: "demo", Name: "a", State: engine.Ready, Wanted: true},
		{Namespace: "demo", Name: "b", State: engine.Ready, Wanted: true, Volumes: []engine.VolumeStatus{
			{Name: "v", State: engine.Ready},
			{Name: "old", State: engine.Ready, Keys: []hal.Key{"emptydir/u/old"}},
		}},
	}}, false, false)
	require.Regexp(t, `^demo/a +- +Ready +no container names a volume\ndemo/b +v +Ready +-\ndemo/b +old +Ready +-\n$`,
		out.String())
}

func TestTheServiceManagerIsTold(t *testing.T) {
	r := newRig(t)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: r.path("run", "notify"), Net: "unixgram"})
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
	expect := func(want string) {
		t.Helper()
		for buffer := make([]byte, 4096); ; {
			n, err := conn.Read(buffer)
			require.NoError(t, err, "no %s came", want)
			if strings.Contains(string(buffer[:n]), want) {
				return
			}
		}
	}
	r.env = []string{"NOTIFY_SOCKET=" + r.path("run", "notify"), "WATCHDOG_USEC=40000"}
	r.start()
	expect("READY=1")
	expect("WATCHDOG=1")
	r.apply("web.yaml", memoryPod)
	expect("STATUS=1 volume: 1 Ready")
	require.NoError(t, r.daemon.cmd.Process.Signal(syscall.SIGTERM))
	expect("STOPPING=1")
}

func TestThePlanIsWhatWillBeDone(t *testing.T) {
	r := newRig(t)
	driver := newFakeDriver(t, r)
	driver.hang = true
	r.start()
	r.apply("pod.yaml", driver.manifests(""))
	<-driver.staging
	require.Regexp(t, `(?m)^\+ +setup +csi\.publish/\S+ +demo/db$`, r.must("plan"))
	var steps []planStep
	require.NoError(t, json.Unmarshal([]byte(r.must("plan", "-o", "json")), &steps))
	require.NotEmpty(t, steps)
	s := r.status()
	require.Equal(t, engine.Working, s.Pods[0].State)
	require.Contains(t, r.must("status"), "setup csi.stage/fake.example.com^vol-1 for ")
}

func TestTheTraceHasTheCalls(t *testing.T) {
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	trace, err := os.ReadFile(r.path("trace.jsonl"))
	require.NoError(t, err)
	found := false
	for line := range strings.Lines(string(trace)) {
		var c tracedCall
		require.NoError(t, json.Unmarshal([]byte(line), &c))
		found = found || c.Call == "mount" && strings.HasPrefix(c.Object, "tmpfs ") && c.Op != 0 && c.Effect &&
			c.Outcome == "done"
	}
	require.True(t, found, "%s", trace)
}

// What a pod keeps in memory is not written to swap, where the kernel can be told so (6.4 and newer).
func TestMemoryIsNotSwapped(t *testing.T) {
	probe := t.TempDir()
	knows := unix.Mount("probe", probe, "tmpfs", 0, "noswap") == nil
	if knows {
		require.NoError(t, unix.Unmount(probe, 0))
	}
	r := newRig(t)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web", "--for=ready")
	table, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	options := regexp.MustCompile(`(?m) ` + regexp.QuoteMeta(r.root()) +
		`/pods/\S+/scratch .* volnode-emptydir (\S+)$`).FindSubmatch(table)
	require.NotNil(t, options, "the volume is mounted")
	require.Equal(t, knows, strings.Contains(string(options[1]), "noswap"), "%s", options[1])
}
