package csidriver

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func TestFailBeforeAndAfterTheEffect(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	staging, c := r.mkdir("staging"), mountCapability("")
	require.NoError(t, WriteFaults(r.config.Faults,
		Rule{Method: "NodeStageVolume", Volume: "other", FailBefore: Code(codes.DataLoss)},
		Rule{Method: "NodeStageVolume", Volume: "d", Times: 2, FailBefore: Code(codes.Unavailable)},
		Rule{Method: "NodeStageVolume", Volume: "d", Times: 1, FailAfter: Code(codes.DeadlineExceeded)},
	))
	requireCode(t, codes.Unavailable, r.stage("d", staging, c))
	r.restart()
	requireCode(t, codes.Unavailable, r.stage("d", staging, c))
	requireMounted(t, false, staging)
	requireCode(t, codes.DeadlineExceeded, r.stage("d", staging, c))
	requireMounted(t, true, staging)
	require.NoError(t, r.stage("d", staging, c))
}

func TestSkipLetsCallsPassAndRewritingRearms(t *testing.T) {
	r := newRig(t)
	probe := func() error {
		_, err := r.identity.Probe(t.Context(), &csi.ProbeRequest{})
		return err
	}
	rule := Rule{Method: "Probe", Skip: 1, Times: 1, FailBefore: Code(codes.Internal)}
	for range 2 {
		require.NoError(t, WriteFaults(r.config.Faults, rule))
		require.NoError(t, probe())
		requireCode(t, codes.Internal, probe())
		require.NoError(t, probe())
	}
	require.NoError(t, os.WriteFile(r.config.Faults, []byte(`[{"metod":"Probe"}]`), 0o600))
	requireCode(t, codes.Internal, probe())
}

func TestCrashOnceIsOnceAlsoAfterTheRestart(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	staging, c := r.mkdir("staging"), mountCapability("")
	require.NoError(t, WriteFaults(r.config.Faults, Rule{Method: "NodeStageVolume", Times: 1, Crash: MomentAfter}))
	var statuses []int
	r.driver.exit = func(status int) { statuses = append(statuses, status) }
	require.NoError(t, r.stage("d", staging, c))
	require.Equal(t, []int{crashStatus}, statuses)
	r.restart()
	r.driver.exit = func(int) { t.Error("crashed again") }
	require.NoError(t, r.stage("d", staging, c))
}

func TestSlowCallKeepsItsVolumeBusyAndOutlivesItsCaller(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"), withVolume(t, "e=dir"))
	staging, other, c := r.mkdir("staging"), r.mkdir("other"), mountCapability("")
	require.NoError(t, WriteFaults(r.config.Faults,
		Rule{Method: "NodeStageVolume", Volume: "d", Times: 1, DelayBefore: Duration(300 * time.Millisecond)}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := r.node.NodeStageVolume(ctx, &csi.NodeStageVolumeRequest{
		VolumeId: "d", StagingTargetPath: staging, VolumeCapability: c,
	})
	requireCode(t, codes.DeadlineExceeded, err)
	requireCode(t, codes.Aborted, r.unstage("d", staging))
	require.NoError(t, r.stage("e", other, c), "another volume is free")
	r.stop() // waits for the slow call or ends its delay
	r.start()
}

func TestParallelWaits(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"), func(c *Config) { c.Parallel = true })
	staging, c := r.mkdir("staging"), mountCapability("")
	var group sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		group.Go(func() { results[i] = r.stage("d", staging, c) })
	}
	group.Wait()
	for _, err := range results {
		require.NoError(t, err)
	}
}

func TestNonsenseReplies(t *testing.T) {
	r := newRig(t)
	ask := func(kind Nonsense) (*csi.NodeGetInfoResponse, error) {
		require.NoError(t, WriteFaults(r.config.Faults, Rule{Method: "NodeGetInfo", Reply: kind}))
		return r.node.NodeGetInfo(t.Context(), &csi.NodeGetInfoRequest{})
	}
	empty, err := ask(NonsenseEmpty)
	require.NoError(t, err)
	require.Empty(t, empty.GetNodeId())
	wrong, err := ask(NonsenseWrongType)
	require.False(t, err == nil && wrong.GetNodeId() == "node-a")
	_, err = ask(NonsenseGarbage)
	requireCode(t, codes.Internal, err)
	_, err = ask(NonsenseHuge)
	requireCode(t, codes.ResourceExhausted, err)
	require.NoError(t, WriteFaults(r.config.Faults, Rule{Method: "*", Reply: NonsenseUnknownEnum}))
	answer, err := r.node.NodeGetCapabilities(t.Context(), &csi.NodeGetCapabilitiesRequest{})
	require.NoError(t, err)
	last := answer.GetCapabilities()[len(answer.GetCapabilities())-1]
	require.EqualValues(t, unknownCapability, last.GetRpc().GetType())
}

func TestRulesParseBack(t *testing.T) {
	path := t.TempDir() + "/faults.json"
	want := []Rule{{
		Method: "NodeStageVolume", Volume: "v", Skip: 1, Times: 2, DelayBefore: Duration(time.Second),
		DelayAfter: Duration(time.Minute), FailAfter: Code(codes.NotFound), Message: "m", Crash: MomentBefore,
		Reply: NonsenseEmpty,
	}, {Method: "*"}}
	require.NoError(t, WriteFaults(path, want...))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	got, err := ParseRules(data)
	require.NoError(t, err)
	require.Equal(t, want, got)
	for text, want := range map[string]string{
		`{}`: "line 1: the file is a list of rules, each between { and }; this " +
			"is an object",
		`[{}]`: "a rule has no method; write the RPC, like NodeStageVolume, or * " +
			"for any",
		`[{"method":"*","crash":"later"}]`:       `crash "later": want before or after`,
		`[{"method":"*","reply":"x"}]`:           `reply "x": want empty, wrong-type, garbage, huge or unknown-enum`,
		`[{"method":"NodeStageVolum"}]`:          `method: there is no RPC "NodeStageVolum"; did you mean NodeStageVolume?`,
		`[{"method":"nodepublishvolume"}]`:       "did you mean NodePublishVolume?",
		`[{"method":"*","times":-1}]`:            "skip, times, delayBefore and delayAfter are not below 0",
		`[{"method":"*","failBefore":"Fine"}]`:   `"Fine" is no gRPC error code`,
		`[{"method":"*","delayBefore":"1"}]`:     `"1" is not a time like 1.5s`,
		`[{"method":"*","delayBefore":1}]`:       "delayBefore can't be a number",
		"[{\"method\":\"*\",\n\"times\":\"1\"}]": "line 2: times can't be a string",
		`[{"mehtod":"*"}]`:                       `rule 0: there is no field "mehtod"; did you mean method?`,
	} {
		_, err := ParseRules([]byte(text))
		require.ErrorContains(t, err, "faults", text)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "Go ", text)
	}
}

func TestCallLogHasBothEndsAndNoSecrets(t *testing.T) {
	r := newRig(t, withVolume(t, "d=dir"))
	staging := r.mkdir("staging")
	require.NoError(t, r.stage("d", staging, mountCapability("")))
	requireCode(t, codes.NotFound, r.unpublish("none", r.path("target")))
	r.stop()
	data, err := os.ReadFile(r.config.CallLog)
	require.NoError(t, err)
	require.NotContains(t, string(data), "hunter2")
	require.Contains(t, string(data), redacted)
	calls, err := ReadCalls(r.config.CallLog)
	require.NoError(t, err)
	calls = calls[2:] // without the probe
	require.Len(t, calls, 4)
	require.Equal(t, []CallEvent{CallStarted, CallEnded, CallStarted, CallEnded},
		[]CallEvent{calls[0].Event, calls[1].Event, calls[2].Event, calls[3].Event})
	require.Equal(t, calls[0].Seq, calls[1].Seq)
	require.Equal(t, "NodeStageVolume", calls[1].Method)
	require.Equal(t, staging, calls[1].StagingPath)
	require.Equal(t, "OK", calls[1].Code)
	require.Equal(t, "NotFound", calls[3].Code)
	require.Equal(t, r.path("target"), calls[3].TargetPath)
	r.start()
}

func TestRedactFindsEverySecretField(t *testing.T) {
	secrets := map[string]string{"k": "hunter2"}
	in := &csi.NodePublishVolumeRequest{VolumeId: "v", Secrets: secrets, VolumeContext: map[string]string{"k": "open"}}
	out, ok := redact(in).(*csi.NodePublishVolumeRequest)
	require.True(t, ok)
	require.Equal(t, map[string]string{"k": redacted}, out.GetSecrets())
	require.Equal(t, "open", out.GetVolumeContext()["k"])
	require.Equal(t, "hunter2", in.GetSecrets()["k"], "the request itself must stay as it is")
}

func TestRegistration(t *testing.T) {
	r := newRig(t, func(c *Config) { c.RegistrationDir = c.StateDir + "-registry" })
	socket := r.config.RegistrationDir + "/csi.volnode.dev-reg.sock"
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	client := registerapi.NewRegistrationClient(conn)
	info, err := client.GetInfo(t.Context(), &registerapi.InfoRequest{})
	require.NoError(t, err)
	require.Equal(t, "CSIPlugin", info.GetType())
	require.Equal(t, r.config.Endpoint, info.GetEndpoint())
	require.Equal(t, []string{"1.0.0"}, info.GetSupportedVersions())
	_, err = client.NotifyRegistrationStatus(t.Context(), &registerapi.RegistrationStatus{PluginRegistered: true})
	require.NoError(t, err)
	r.stop()
	require.NoFileExists(t, socket)
	r.start()
}
