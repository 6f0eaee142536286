package projected

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is tokens of the pod's service account. One is asked for each time that the files are written, and the
// setup is repeated before one expires.

const (
	paramUser = "user" // whose tokens and certificates are, in decimal; "" is root's
	// paramRun is the run of the agent that has asked for the tokens. Another run does not know how old they are, so it
	// asks for others before it says that the volume is ready.
	paramRun = "run"

	// ownedMode is of the file of a token or of certificates that has an owner or a group.
	ownedMode = 0o600
)

func isToken(p corev1.VolumeProjection) bool { return p.ServiceAccountToken != nil }

// tokenVersion checks a token at a field. Each is of one version: what changes its content is among the files.
func tokenVersion(v plugin.Volume, at string, t *corev1.ServiceAccountTokenProjection) (string, *plugin.Problem) {
	at += ".serviceAccountToken"
	if p := v.WantsTokens(at); p != nil {
		return "", p
	}
	if bad := badPath(t.Path); bad != "" {
		return "", plugin.Problemf(at+".path", "%.100q %s", t.Path, bad)
	}
	if p := plugin.BadLifetime(at, t.ExpirationSeconds); p != nil {
		return "", p
	}
	return "token", nil
}

// withTokens adds to the rung of a volume what its tokens need.
func withTokens(r *core.Rung, v plugin.Volume) {
	for i := range r.Want {
		if r.Want[i].Name == paramName {
			r.Want[i].OnChange = core.OnChangeRefresh // tokens are bound to it
		}
	}
	r.Want = plugin.Sorted(append(r.Want,
		core.Param{Name: plugin.ParamAccount, Value: plugin.ServiceAccount(v.Pod), OnChange: core.OnChangeRefresh},
		core.Param{Name: paramRun, Value: v.Run, OnChange: core.OnChangeRefresh},
	))
}

// addToken adds the file of a token, or says why it can't.
func (m *made) addToken(
	h *hal.Host, o core.Op, t *corev1.ServiceAccountTokenProjection, byDefault *int32,
) (why string) {
	c, namespace := reading(h, o)
	token, why := plugin.TokenOf(h, c, hal.TokenRequest{
		Namespace: namespace, ServiceAccount: core.Value(o.Params, plugin.ParamAccount),
		Pod: core.Value(o.Params, paramName), PodUID: string(o.Pod),
		Audience: t.Audience, Lifetime: plugin.Lifetime(t.ExpirationSeconds),
	})
	if why != "" {
		return why
	}
	now := h.Runtime.Now()
	if by := now.Add(token.RenewIn()); m.renewBy == 0 || by < m.renewBy {
		m.renewBy = by
	}
	if at := now.Add(token.GoodFor()); m.expires == 0 || at < m.expires {
		m.expires = at
	}
	m.files[t.Path] = owned(o, token.Reveal(), byDefault)
	return ""
}

// owned is a file of the user whom all containers of the pod run as (K:G103).
func owned(o core.Op, text string, byDefault *int32) file {
	f := file{data: text, mode: modeOf(nil, byDefault)}
	user := core.Value(o.Params, paramUser)
	if user != "" || core.Value(o.Params, plugin.ParamFSGroup) != "" {
		f.mode = ownedMode
	}
	f.user = max(0, op.Number(user))
	return f
}
