package dealings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is S27 of tokens: the agent gives a driver those that its CSIDriver asks for, of the pod's account and
// bound to the pod, and each is good when the request is sent.

const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// tokensTold takes the tokens out of what a driver is told, and says what they are.
func tokensTold(r *world.Run, a *asked) {
	for _, told := range [...]struct {
		in string
		at *map[string]string
	}{{"volume_context", &a.context}, {"secrets", &a.secrets}} {
		text, is := (*told.at)[tokensKey]
		if !is {
			continue
		}
		*told.at = maps.Clone(*told.at)
		delete(*told.at, tokensKey)
		var tokens map[string]struct {
			Token               string `json:"token"`
			ExpirationTimestamp string `json:"expirationTimestamp"`
		}
		if err := json.Unmarshal([]byte(text), &tokens); err != nil {
			a.tokens += "tokens that can't be read, in " + told.in
			continue
		}
		var all []string
		for _, audience := range slices.Sorted(maps.Keys(tokens)) {
			t, is := r.W.TokenOf(tokens[audience].Token)
			switch {
			case !is:
				all = append(all, "one that nobody has made")
			case t.Audience != audience:
				all = append(all, "one for another audience than it says")
			case t.Ends <= r.W.Now():
				all = append(all, "one that has expired")
			case t.Expires != tokens[audience].ExpirationTimestamp:
				all = append(all, "one that expires at another time than it says")
			default:
				all = append(all, tokenText(t.TokenRequest))
			}
		}
		a.tokens += told.in + ": " + strings.Join(all, "; ")
	}
}

func tokenText(q hal.TokenRequest) string {
	return fmt.Sprintf("%s/%s for %q, of pod %s (%s), for %v", q.Namespace, q.ServiceAccount, q.Audience, q.Pod, q.PodUID,
		q.Lifetime)
}

// tokensAsked says what the tokens are to be that an object asks for, "" for none.
func tokensAsked(object *storagev1.CSIDriver, pod *corev1.Pod) string {
	requests := slices.SortedFunc(slices.Values(object.Spec.TokenRequests), func(a, b storagev1.TokenRequest) int {
		return strings.Compare(a.Audience, b.Audience)
	})
	if len(requests) == 0 {
		return ""
	}
	account := pod.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	var all []string
	for _, q := range requests {
		lasts := time.Hour
		if q.ExpirationSeconds != nil {
			lasts = time.Duration(*q.ExpirationSeconds) * time.Second
		}
		all = append(all, tokenText(hal.TokenRequest{
			Namespace: pod.Namespace, ServiceAccount: account, Pod: pod.Name, PodUID: string(pod.UID), Audience: q.Audience,
			Lifetime: lasts,
		}))
	}
	in := "volume_context"
	if object.Spec.ServiceAccountTokenInSecrets != nil && *object.Spec.ServiceAccountTokenInSecrets {
		in = "secrets"
	}
	return in + ": " + strings.Join(all, "; ")
}
