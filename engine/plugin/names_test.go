package plugin

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/engine/op"
)

func TestNamesThatAreRefused(t *testing.T) {
	hostile := []string{
		"", ".", "..", "...", "a/b", "../a", "a/..", "/", "a\x00", "\x00", "a\nb", "a b", "-a", "a-", ".a", "a.",
		"a..b", "é", "a\\b",
		"a~b", "a%2Fb", "\u202ea", "a\x7f", strings.Repeat("a", 254), "$(id)", "a;b", "*", "a^b",
	}
	for _, name := range hostile {
		for what, bad := range map[string]func(string) string{
			"driver": BadDriverName, "pod": BadPodUID, "object": BadObjectName, "volume": BadVolumeName,
		} {
			require.NotEmpty(t, bad(name), "%s %q", what, name)
		}
	}
	require.NotEmpty(t, BadVolumeName("a.b"))
	require.NotEmpty(t, BadVolumeName("A"))
	require.NotEmpty(t, BadDriverName(strings.Repeat("a", 64)))
}

func TestNamesThatAreTaken(t *testing.T) {
	require.Empty(t, BadDriverName("hostpath.csi.k8s.io"))
	require.Empty(t, BadPodUID("6f1c8e1e-7f0f-4c9e-9d5e-0a1b2c3d4e5f"))
	require.Empty(t, BadObjectName("pvc-1.example"))
	require.Empty(t, BadVolumeName("data-0"))
}

func TestLayoutIsTheKubelets(t *testing.T) {
	const hash = "2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683" // echo -n key | sha256sum
	require.Equal(t, Place{
		Path: "/r/plugins/kubernetes.io/csi/d.example/" + hash + "/globalmount",
		Data: "/r/plugins/kubernetes.io/csi/d.example/" + hash + "/vol_data.json",
		Stop: "/r/plugins/kubernetes.io/csi/d.example",
	}, StagePlace("/r", "d.example", "key"))
	require.Equal(t, Place{
		Path: "/r/pods/u1/volumes/kubernetes.io~csi/pv1/mount",
		Data: "/r/pods/u1/volumes/kubernetes.io~csi/pv1/vol_data.json",
		Stop: "/r/pods",
	}, PublishPlace("/r", "u1", "pv1"))
	require.Equal(t, "/r/plugins/kubernetes.io/csi/volumeDevices/staging/pv1", BlockStagePlace("/r", "pv1").Path)
	require.Equal(t, "/r/plugins/kubernetes.io/csi/volumeDevices/pv1/data/vol_data.json",
		BlockStagePlace("/r", "pv1").Data)
	require.Equal(t, "/r/plugins/kubernetes.io/csi/volumeDevices/publish/pv1/u1",
		BlockPublishPlace("/r", "u1", "pv1").Path)
	require.Equal(t, "/r/pods/u1/volumes/a.example~b/v", PodPlace("/r", "u1", DirectoryOf("a.example/b"), "v").Path)
	require.NotEmpty(t, BadVolumeName(path.Base(op.TrashOf("/r/v"))))
}

func FuzzEscapeIsInjective(f *testing.F) {
	f.Add("a/b", "a%2Fb")
	f.Add("a^b", "a")
	f.Fuzz(func(t *testing.T, a, b string) {
		ea, eb := Escape(a), Escape(b)
		require.Equal(t, a == b, ea == eb)
		require.False(t, strings.ContainsAny(ea, "/^ \n\x00"))
	})
}
