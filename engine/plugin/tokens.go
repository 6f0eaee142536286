package plugin

import (
	"cmp"
	"math"
	"strconv"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal"
)

// WantsTokens is the problem of a volume that needs tokens of service accounts, at a field, where nobody makes any.
func (v Volume) WantsTokens(field string) *Problem {
	if v.HasTokens {
		return nil
	}
	return Problemf(field, "needs a token of service account %s, and volnode has nobody who makes tokens: only an API "+
		"server does; remove it", ServiceAccount(v.Pod))
}

// ServiceAccount is the name of the service account that a pod runs as.
func ServiceAccount(pod *corev1.Pod) string { return cmp.Or(pod.Spec.ServiceAccountName, "default") }

// User is who all containers of a pod run as, in decimal; "" if the pod does not say, or if they differ (K:G103).
func User(pod *corev1.Pod) string {
	var all *int64
	ofPod := (*int64)(nil)
	if c := pod.Spec.SecurityContext; c != nil {
		ofPod = c.RunAsUser
	}
	for c := range Containers(pod) {
		user := ofPod
		if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
			user = c.SecurityContext.RunAsUser
		}
		if user == nil || all != nil && *all != *user {
			return ""
		}
		all = user
	}
	if all == nil || *all < 0 || *all > math.MaxInt32 {
		return ""
	}
	return strconv.FormatInt(*all, 10)
}

// RenewTokens is [core.Rung.Renew] of a rung with tokens, in seconds. Each setup says when the next one is due, which
// is before that. But a start does not know how old its tokens are: so it asks for others.
const RenewTokens = 18 * 60 * 60

// TokenOf asks for a token, or says why there is none.
func TokenOf(h *hal.Host, c hal.Call, r hal.TokenRequest) (t hal.Token, why string) {
	if h.Tokens == nil {
		return t, "volnode has nobody who makes tokens of service accounts"
	}
	name := r.Namespace + "/" + r.ServiceAccount
	switch t, err := h.Tokens.Token(c, r); {
	case hal.Is(err, syscall.ENOENT):
		return t, "there is no service account " + name + "; add it"
	case err != nil:
		return t, "volnode cannot get a token of service account " + name + ": " + err.Error()
	default:
		return t, ""
	}
}
