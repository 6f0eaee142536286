package projected

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

// tokensOf is a volume with tokens of these lifetimes in seconds, 0 for the default one.
func tokensOf(lifetimes ...int64) corev1.VolumeSource {
	mode := int32(0o444)
	p := &corev1.ProjectedVolumeSource{DefaultMode: &mode}
	for i := range lifetimes {
		t := &corev1.ServiceAccountTokenProjection{Audience: "vault", Path: string(rune('a' + i))}
		if lifetimes[i] != 0 {
			t.ExpirationSeconds = &lifetimes[i]
		}
		p.Sources = append(p.Sources, corev1.VolumeProjection{ServiceAccountToken: t})
	}
	return corev1.VolumeSource{Projected: p}
}

// rungOf is the rung of a volume with tokens, of a pod that p has changed.
func rungOf(t *testing.T, src corev1.VolumeSource, p func(*corev1.PodSpec)) core.Rung {
	t.Helper()
	s, v := volumeOf(t, src, known)
	v.HasTokens = true
	p(&v.Pod.Spec)
	rungs, problem := s.Ladder(nil, v)
	require.Nil(t, problem)
	return rungs[0]
}

// A token is of the pod and for the audience. It is 0600 and the user's if there is a user or a group, else it has the
// mode of the volume (K:G103). The setup is repeated once four fifths of the shortest lifetime are over.
func TestTokensAreThePodsOwn(t *testing.T) {
	root, user, group, other := int64(0), int64(1000), int64(2000), int64(1001)
	for want, of := range map[string]func(*corev1.PodSpec){
		"default 0444 0:0": func(*corev1.PodSpec) {},
		"web 0600 1000:0": func(p *corev1.PodSpec) {
			p.ServiceAccountName, p.SecurityContext = "web", &corev1.PodSecurityContext{RunAsUser: &user}
			p.Containers = []corev1.Container{{Name: "c"}}
		},
		"root 0600 0:0": func(p *corev1.PodSpec) {
			p.ServiceAccountName, p.SecurityContext = "root", &corev1.PodSecurityContext{RunAsUser: &root}
			p.Containers = []corev1.Container{{Name: "c"}}
		},
		"web 0640 1000:2000": func(p *corev1.PodSpec) {
			p.ServiceAccountName = "web"
			p.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &other, FSGroup: &group}
			p.Containers = []corev1.Container{{Name: "c", SecurityContext: &corev1.SecurityContext{RunAsUser: &user}}}
		},
		"default 0640 0:2000": func(p *corev1.PodSpec) {
			p.SecurityContext = &corev1.PodSecurityContext{RunAsUser: &user, FSGroup: &group}
			p.Containers = []corev1.Container{{}, {SecurityContext: &corev1.SecurityContext{RunAsUser: &other}}}
		},
	} {
		n := plugintest.New("/r/pods")
		rung := rungOf(t, tokensOf(0, 600), of)
		o := core.Op{ID: 1, Verb: core.SetUp, Key: rung.Key, Kind: rung.Kind, Pod: rung.Pod, Params: rung.Want}
		began := n.HAL().Runtime.Now()
		r := setUp(n.HAL(), o)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.InDelta(t, int64(began.Add(480*time.Second)), int64(r.RefreshBy), float64(time.Second))
		require.InDelta(t, int64(began.Add(600*time.Second)), int64(r.Expires), float64(time.Second))
		given := n.World.Tokens()
		require.Len(t, given, 2)
		for i, lasts := range []time.Duration{time.Hour, 10 * time.Minute} {
			account, seen, _ := strings.Cut(want, " ")
			require.Equal(t, hal.TokenRequest{
				Namespace: "ns", ServiceAccount: account, Pod: "web", PodUID: "u1", Audience: "vault", Lifetime: lasts,
			}, given[i].TokenRequest)
			at := core.Value(o.Params, plugin.ParamPath) + "/" + string(rune('a'+i))
			require.Equal(t, given[i].Text, string(n.World.ReadFile(at)))
			info, ok := n.World.Found(at)
			require.True(t, ok)
			require.Equal(t, seen, fmt.Sprintf("%04o %d:%d", info.Mode, info.UID, info.GID), want)
		}
	}
}

func TestTokensThatCanNotBeMade(t *testing.T) {
	s, v := volumeOf(t, tokensOf(0), known)
	_, problem := s.Ladder(nil, v)
	require.ErrorContains(t, problem, "sources[0].serviceAccountToken: needs a token of service account default, and "+
		"volnode has nobody who makes tokens")
	v.HasTokens = true
	for _, seconds := range []int64{-1, 599, 1<<32 + 1} {
		v.Spec.VolumeSource = tokensOf(seconds)
		_, problem = s.Ladder(nil, v)
		require.ErrorContains(t, problem, "is not between 600 and 4294967296")
	}
	src := tokensOf(0)
	src.Projected.Sources[0].ServiceAccountToken.Path = "../token"
	v.Spec.VolumeSource = src
	_, problem = s.Ladder(nil, v)
	require.ErrorContains(t, problem, `begins with ".."`)
	for errno, why := range map[syscall.Errno]string{
		syscall.ENOENT: "there is no service account ns/default; add it",
		syscall.EIO:    "volnode cannot get a token of service account ns/default: ",
	} {
		n := plugintest.New("/r/pods")
		rung := rungOf(t, tokensOf(0), func(*corev1.PodSpec) {})
		o := core.Op{ID: 1, Verb: core.SetUp, Key: rung.Key, Kind: rung.Kind, Pod: rung.Pod, Params: rung.Want}
		n.Fail["token ns/default for \"vault\""] = plugintest.Errno("token", "ns/default", errno)
		r := setUp(n.HAL(), o)
		require.Equal(t, hal.NotDone, r.Outcome, n.Calls)
		require.Contains(t, r.Reason, why)
		require.Equal(t, "/r/pods directory\n", n.Tree("/r"), "nothing is made")
	}
}
