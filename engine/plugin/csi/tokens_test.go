package csi

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

// A driver finds its tokens in the volume context, or among the secrets if it says so, as the kubelet writes them
// (K:G49).
func TestADriverGetsItsTokens(t *testing.T) {
	for _, inSecrets := range []string{"", plugin.Yes} {
		n := newNode()
		n.World.Cluster.Hold(hal.SecretKind, "ns", "s", map[string]string{"key": "value"})
		var got *csi.NodePublishVolumeRequest
		before := n.OnPublish
		n.OnPublish = func(r *csi.NodePublishVolumeRequest) {
			got = r
			if before != nil {
				before(r)
			}
		}
		o := publishOp(
			core.Param{Name: paramContext, Value: `{"a":"b"}`},
			core.Param{Name: plugin.ParamAccount, Value: "web"},
			core.Param{Name: plugin.ParamPod, Value: "ns/pod"},
			core.Param{Name: plugin.ParamSecret, Value: "ns/s"},
			core.Param{Name: plugin.ParamTokens, Value: `[{"audience":"vault","expirationSeconds":600},{"audience":""}]`},
			core.Param{Name: paramTokensSecret, Value: inSecrets},
		)
		publish(n.HAL(), o)
		given := n.World.Tokens()
		require.Len(t, given, 2)
		for i, q := range []hal.TokenRequest{{Audience: "vault", Lifetime: 10 * time.Minute}, {Lifetime: time.Hour}} {
			q.Namespace, q.ServiceAccount, q.Pod, q.PodUID = "ns", "web", "pod", "u1"
			require.Equal(t, q, given[i].TokenRequest)
		}
		text := fmt.Sprintf(`{"":{"token":%q,"expirationTimestamp":%q},"vault":{"token":%q,"expirationTimestamp":%q}}`,
			given[1].Text, given[1].Expires, given[0].Text, given[0].Expires)
		context, secrets := map[string]string{"a": "b"}, map[string]string{"key": "value"}
		told := context
		if inSecrets != "" {
			told = secrets
		}
		told["csi.storage.k8s.io/serviceAccount.tokens"] = text
		require.Equal(t, context, got.GetVolumeContext())
		require.Equal(t, secrets, got.GetSecrets())
		require.ElementsMatch(t, []string{given[0].Text, given[1].Text}, tokensIn(told))
		require.Equal(t, time.Hour, plugin.TokenSpan(o.Params))
		require.Equal(t, map[string]string{"key": "value"}, n.World.Cluster.Held(hal.SecretKind, "ns/s"),
			"nobody's Secret is changed")
	}
}

func TestWithoutATokenNothingIsPublished(t *testing.T) {
	const one = `[{"audience":"a"}]`
	for want, c := range map[string]struct {
		text  string
		errno syscall.Errno
	}{
		"there is no service account ns/web; add it":                  {one, syscall.ENOENT},
		"volnode cannot get a token of service account ns/web: token": {one, syscall.EIO},
		"tokens: ": {"{", syscall.EIO},
	} {
		n := newNode()
		n.Fail[`token ns/web for "a"`] = plugintest.Errno("token", "", c.errno)
		r := publish(n.HAL(), publishOp(
			core.Param{Name: plugin.ParamAccount, Value: "web"}, core.Param{Name: plugin.ParamPod, Value: "ns/pod"},
			core.Param{Name: plugin.ParamTokens, Value: c.text},
		))
		require.Equal(t, hal.NotDone, r.Outcome)
		require.Contains(t, r.Reason, want)
		require.NotContains(t, fmt.Sprint(n.Calls), "NodePublishVolume")
	}
	require.Empty(t, tokensIn(map[string]string{tokensKey: "{"}))
	require.Zero(t, plugin.TokenSpan([]core.Param{{Name: plugin.ParamTokens, Value: "{"}}))
}
