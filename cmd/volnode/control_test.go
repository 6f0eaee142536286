package main

import (
	"context"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// get asks the control socket as any HTTP client can.
func (r *rig) get(t *testing.T, path string) (int, string) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", r.socket())
	}}
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
	require.Contains(t, e.errOut, "only root may ask")

	// Were the modes changed, the peer's user would still be looked at.
	require.NoError(t, os.Chmod(r.path("run"), 0o755))
	require.NoError(t, os.Chmod(r.socket(), 0o666))
	e = asNobody()
	require.Equal(t, exitPermission, e.status, e.errOut)
	require.Contains(t, e.errOut, "hung up: it answers root only")
	require.Empty(t, e.out)
	r.must("status")
}

func TestBadRequests(t *testing.T) {
	r := newRig(t)
	r.start()
	for path, want := range map[string]int{
		"/v1/status": 200, "/v1/none": 404, "/": 404, "/v1/describe?kind=node&name=a": 400, "/v1/describe?kind=pod&name=demo/none": 404,
		"/v1/wait?pod=demo/web&for=ready": 400, "/v1/wait?for=ready&timeout=1s": 400, "/v1/wait?pod=web&for=ready&timeout=1s": 400,
		"/v1/wait?pod=demo/web&for=gone&timeout=9999h": 400,
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

func TestConnectionsAreBounded(t *testing.T) {
	needRoot(t)
	dir := openTempDir(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "run"), 0o700))
	l, err := listenControl(filepath.Join(dir, "run", "s"))
	require.NoError(t, err)
	defer l.Close()
	l.slots = make(chan struct{}, 1)
	for range 2 {
		c, err := net.Dial("unix", filepath.Join(dir, "run", "s"))
		require.NoError(t, err)
		defer c.Close()
	}
	first, err := l.Accept()
	require.NoError(t, err)
	require.Len(t, l.slots, cap(l.slots), "the second has to wait")
	require.NoError(t, first.Close())
	_, err = l.Accept()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	_, err = l.Accept() // no slot is free, and none will be
	require.ErrorIs(t, err, net.ErrClosed)
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
		`volnode_volume_state{state="Ready"} 1`, `volnode_oldest_stuck_seconds 0`, `volnode_uncertain_volumes 0`, `volnode_build_info{`,
		`volnode_journal_records 2`, `volnode_journal_bytes `, `go_goroutines`, `process_open_fds`,
	} {
		require.Contains(t, body, want)
	}
	require.NotContains(t, body, "vol-1")
	require.NotContains(t, body, "demo")
}
