package plugin

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
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

// The bounds of the lifetime of a token in seconds, and what it is if nobody says.
const leastSeconds, defaultSeconds, mostSeconds = 600, 3600, 1 << 32

// Lifetime is how long a token is to live for that is asked for with so many seconds, nil for the default.
func Lifetime(seconds *int64) time.Duration {
	if seconds == nil {
		return defaultSeconds * time.Second
	}
	return time.Duration(*seconds) * time.Second
}

// BadLifetime says why a field that names a lifetime can't be served, nil if it can.
func BadLifetime(field string, seconds *int64) *Problem {
	if seconds != nil && (*seconds < leastSeconds || *seconds > mostSeconds) {
		return Problemf(field+".expirationSeconds", "%d is not between %d and %d", *seconds, leastSeconds,
			int64(mostSeconds))
	}
	return nil
}

// TokenSpan is how long after the setup of a rung with these parameters its driver may have tokens that are good; 0 if
// it is given none.
func TokenSpan(made []core.Param) time.Duration {
	var requests []storagev1.TokenRequest
	if text := core.Value(made, ParamTokens); text == "" || json.Unmarshal([]byte(text), &requests) != nil {
		return 0
	}
	return LongestToken(requests)
}

// LongestToken is the longest lifetime of the tokens that a driver asks for; 0 if it asks for none.
func LongestToken(requests []storagev1.TokenRequest) (longest time.Duration) {
	for i := range requests {
		longest = max(longest, Lifetime(requests[i].ExpirationSeconds))
	}
	return longest
}

// tokenTimeout is how long a verb waits for one token.
const tokenTimeout = 30 * time.Second

// TokenOf asks for a token, or says why there is none.
func TokenOf(h *hal.Host, c hal.Call, r hal.TokenRequest) (t hal.Token, why string) {
	if h.Tokens == nil {
		return t, "volnode has nobody who makes tokens of service accounts"
	}
	if last := h.Runtime.Now().Add(tokenTimeout); c.Deadline == 0 || last < c.Deadline {
		c.Deadline = last
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
