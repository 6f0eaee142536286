package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// get asks the control socket as any HTTP client can.
func (r *rig) get(t *testing.T, path string) (int, string) {
	t.Helper()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", r.socket())
		},
	}
	response, err := (&http.Client{Transport: transport, Timeout: patience}).Get("http://volnode" + path)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestTheControlSocketIsForRoot(t *testing.T) {
	r := newRig(t)
	r.start()
	info, err := os.Stat(r.socket())
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	program := filepath.Join(r.path(), "volnode")
	content, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, content, 0o755))
	asNobody := func() ended {
		cmd := exec.Command(program, "status", "--socket", r.socket())
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		return finish(t, cmd)
	}
	e := asNobody()
	require.Equal(t, exitPermission, e.status, e.errOut)
	require.Contains(t, e.errOut, "run this command as root")

	// Were the modes changed, the peer's user would still be looked at.
	require.NoError(t, os.Chmod(r.path("run"), 0o755))
	require.NoError(t, os.Chmod(r.socket(), 0o666))
	e = asNobody()
	require.Equal(t, exitPermission, e.status, e.errOut)
	require.Contains(t, e.errOut, "hung up: it answers only root")
	require.Empty(t, e.out)
	r.must("status")
}

func TestBadRequests(t *testing.T) {
	r := newRig(t)
	r.start()
	for path, want := range map[string]int{
		"/v1/status": 200, "/v1/none": 404, "/": 404, "/v1/describe?kind=node&name=a": 400,
		"/v1/describe?kind=pod&name=demo/none": 404,
		"/v1/wait?pod=demo/web&for=ready":      400, "/v1/wait?for=ready&timeout=1s": 400,
		"/v1/wait?pod=web&for=ready&timeout=1s":        400,
		"/v1/wait?pod=demo/web&for=gone&timeout=9999h": 400, "/v1/wait?pod=DEMO/web&for=gone&timeout=1s": 400,
		"/v1/describe?kind=pod&name=DEMO/web": 400, "/v1/describe?kind=volume&name=data": 400,
	} {
		got, body := r.get(t, path)
		require.Equal(t, want, got, "%s: %s", path, body)
	}
	conn, err := net.Dial("unix", r.socket())
	require.NoError(t, err)
	defer conn.Close()
	// It may hang up while it is still written to.
	_, _ = io.WriteString(conn, "GET /v1/status?"+strings.Repeat("a", 64<<10)+" HTTP/1.1\r\nHost: a\r\n\r\n")
	answer, _ := io.ReadAll(conn)
	require.NotContains(t, string(answer), " 200 ")
}

// At most one is connected. A second waits while the first is busy, and takes the place of one that is idle.
func TestConnectionsAreBounded(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := limited(inner, 1)
	accept := func() <-chan error {
		c, err := net.Dial("tcp", inner.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		result := make(chan error, 1)
		go func() {
			c, err := l.Accept()
			if err == nil {
				l.note(c, http.StateNew)
			}
			result <- err
		}()
		return result
	}
	require.NoError(t, <-accept())
	require.NoError(t, <-accept(), "the first is idle")
	l.note(l.idle[0], http.StateActive)
	waits := accept()
	require.Len(t, l.slots, 1)
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-waits, net.ErrClosed)
}

// flood keeps n idle connections open until the end of the test. One that is closed is made again.
func flood(t *testing.T, n int, network, address string) {
	t.Helper()
	var all sync.WaitGroup
	var opened sync.WaitGroup
	over := t.Context()
	t.Cleanup(all.Wait)
	opened.Add(n)
	for range n {
		all.Go(func() {
			isFirst := true
			for over.Err() == nil {
				c, err := net.Dial(network, address)
				if isFirst {
					isFirst = false
					opened.Done()
				}
				if err == nil {
					end := context.AfterFunc(over, func() { _ = c.Close() })
					_, _ = c.Read(make([]byte, 1)) // until the daemon hangs up
					end()
					_ = c.Close()
				}
				select {
				case <-time.After(time.Second): //nolint:forbidigo // bounds a wait
				case <-over.Done():
				}
			}
		})
	}
	opened.Wait()
}

// Whoever opens connections and says nothing keeps neither the engine from its files nor others from the metrics.
func TestIdleConnectionsHoldNothingUp(t *testing.T) {
	r := newRig(t)
	const address = "127.0.0.1:19811"
	r.args, r.files = []string{"--metrics-address", address}, 1024
	r.start()
	flood(t, 1500, "tcp", address)
	flood(t, 300, "unix", r.socket())
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", r.daemon.cmd.Process.Pid))
	require.NoError(t, err)
	require.Less(t, len(open), r.files/2, "the other half is the engine's")
	r.churn(1)
	response, err := (&http.Client{Timeout: patience}).Get("http://" + address + "/metrics")
	require.NoError(t, err)
	_ = response.Body.Close()
	require.Equal(t, 200, response.StatusCode)
	r.stopsSoon()
}

const planted = "hunter2-5f1c9d"

// A secret goes to the driver, which quotes it in its error. It must come out nowhere.
func TestSecretsComeOutNowhere(t *testing.T) {
	r := newRig(t)
	r.args = []string{"--metrics-address", "127.0.0.1:0"}
	driver := newFakeDriver(t, r)
	r.start()
	r.apply("pod.yaml", driver.manifests(planted))
	require.Equal(t, planted, (<-driver.staging).GetSecrets()["password"])
	<-driver.staging // the second attempt: the first has been reported
	var all strings.Builder
	for _, args := range [][]string{
		{"status"},
		{"status", "-o", "wide"},
		{"status", "-o", "json"},
		{"plan"},
		{"plan", "-o", "json"},
		{"describe", "pod", "demo/db"},
		{"describe", "volume", fakeName + "^vol-1"},
		{"describe", "pod", "demo/db", "-o", "json"},
		{"wait", "pod/demo/db", "--timeout=10ms"},
	} {
		e := r.ask(args...)
		all.WriteString(e.out + e.errOut)
	}
	require.Contains(t, all.String(), "login failed", "the driver's error is shown")
	for _, path := range []string{"/metrics", "/readyz?verbose", "/v1/status"} {
		_, body := r.get(t, path)
		all.WriteString(body)
	}
	all.WriteString(r.daemon.logged())
	require.NoError(t, filepath.WalkDir(r.root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "manifests" {
			return err // the last good copies of manifests hold what the manifests hold
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	}))
	trace, err := os.ReadFile(r.path("trace.jsonl"))
	require.NoError(t, err)
	all.Write(trace)
	require.NotContains(t, all.String(), planted)
}

func TestMetrics(t *testing.T) {
	r := newRig(t)
	driver := newFakeDriver(t, r)
	r.start()
	r.apply("web.yaml", memoryPod)
	r.must("wait", "pod/demo/web")
	r.apply("pod.yaml", driver.manifests(""))
	<-driver.staging
	<-driver.staging
	_, body := r.get(t, "/metrics")
	const (
		calls = "csi_operations_seconds_count{driver_name=\"fake.example.com\","
		ops   = "storage_operation_duration_seconds_count{migrated=\"false\","
		total = "volume_manager_total_volumes"
	)
	for _, want := range []string{
		calls + `grpc_status_code="INTERNAL",method_name="/csi.v1.Node/NodeStageVolume",migrated="false"}`,
		calls + `grpc_status_code="OK",method_name="/csi.v1.Node/NodeGetInfo",migrated="false"} 1`,
		ops + `operation_name="volume_mount",status="success",volume_plugin="kubernetes.io/empty-dir"} 1`,
		ops + `operation_name="mount_device",status="fail-unknown",volume_plugin="kubernetes.io/csi"}`,
		total + `{plugin_name="kubernetes.io/empty-dir",state="actual_state_of_world"} 1`,
		total + `{plugin_name="kubernetes.io/csi",state="desired_state_of_world"} 1`,
		`volnode_volume_state{state="Ready"} 1`, `volnode_oldest_stuck_seconds 0`, `volnode_uncertain_volumes 0`,
		`volnode_build_info{`,
		`volnode_journal_records 2`, `volnode_journal_bytes `, `go_goroutines`, `process_open_fds`,
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "vol-1")
	require.NotContains(t, body, "demo")
}

// Somebody removes the control socket of a daemon that runs, or its directory, or puts a file in its place: it is there
// again, once it can be.
func TestTheControlSocketIsMadeAgain(t *testing.T) {
	r := newRig(t)
	r.start()
	dir, aside := filepath.Dir(r.socket()), filepath.Join(t.TempDir(), "aside")
	for name, take := range map[string]func(){
		"the socket":    func() { require.NoError(t, os.Remove(r.socket())) },
		"its directory": func() { require.NoError(t, os.Rename(dir, aside)) }, // at once: the daemon makes it again
		"it is moved":   func() { require.NoError(t, os.Rename(r.socket(), r.socket()+".old")) },
	} {
		take()
		isThere := func() bool { return r.ask("status").status == 0 }
		require.Eventually(t, isThere, 20*time.Second, 50*time.Millisecond, name) //nolint:forbidigo // another process
	}
	status, _ := r.stop(syscall.SIGTERM)
	require.Zero(t, status)
	require.NoFileExists(t, r.socket())
}
