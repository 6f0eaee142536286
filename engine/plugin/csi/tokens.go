package csi

import (
	"encoding/json"
	"maps"
	"slices"

	storagev1 "k8s.io/api/storage/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// This file is tokens of the pod's service account, which a driver asks for in its CSIDriver. They are asked for at
// each publish, and not of raw block volumes (K:G49).

// tokensKey is where a driver finds its tokens, in the volume context or among the secrets.
const tokensKey = "csi.storage.k8s.io/serviceAccount.tokens"

// tokensOf is what a volume's driver asks for, as JSON; "" for nothing.
func tokensOf(v plugin.Volume, w wish) (string, *plugin.Problem) {
	requests := v.Object.Spec.TokenRequests
	if w.block || len(requests) == 0 {
		return "", nil
	}
	field := "CSIDriver " + w.driver + " spec.tokenRequests"
	if p := v.WantsTokens(field); p != nil {
		return "", p
	}
	for i := range requests {
		if p := plugin.BadLifetime(field, requests[i].ExpirationSeconds); p != nil {
			return "", p
		}
	}
	text, err := json.Marshal(requests)
	if err != nil {
		return "", plugin.Problemf(field, "%v", err)
	}
	return string(text), nil
}

// tokenParams are the parameters of a publish with tokens. A change of them counts when the volume is published next.
func tokenParams(v plugin.Volume, w wish) []core.Param {
	isSecret := v.Object.Spec.ServiceAccountTokenInSecrets
	return []core.Param{
		{Name: plugin.ParamAccount, Value: plugin.ServiceAccount(v.Pod)},
		{Name: plugin.ParamTokens, Value: w.tokens},
		{Name: paramTokensSecret, Value: flag(isSecret != nil && *isSecret)},
	}
}

// addTokens adds the tokens that the driver asks for to the volume context, or to the secrets.
func (w work) addTokens(context, secrets map[string]string) (_, _ map[string]string, r core.Result, ok bool) {
	text := w.param(plugin.ParamTokens)
	if text == "" {
		return context, secrets, r, true
	}
	var requests []storagev1.TokenRequest
	if err := json.Unmarshal([]byte(text), &requests); err != nil {
		why := "the record of " + string(w.o.Key) + ": " + plugin.ParamTokens + ": " + err.Error()
		return nil, nil, op.NotDone(why), false
	}
	type status struct { // TokenRequestStatus of authentication.k8s.io/v1
		Token   string `json:"token"`
		Expires string `json:"expirationTimestamp"`
	}
	tokens := map[string]status{}
	namespace, name := plugin.PodOf(w.o.Params)
	for _, request := range requests {
		t, why := plugin.TokenOf(w.h, w.c, hal.TokenRequest{
			Namespace: namespace, ServiceAccount: w.param(plugin.ParamAccount), Pod: name, PodUID: string(w.o.Pod),
			Audience: request.Audience, Lifetime: plugin.Lifetime(request.ExpirationSeconds),
		})
		if why != "" {
			return nil, nil, op.NotDone(why), false
		}
		tokens[request.Audience] = status{t.Reveal(), t.Expires()}
	}
	told, err := json.Marshal(tokens)
	if err != nil {
		return nil, nil, op.NotDone(err.Error()), false
	}
	to := &context
	if w.is(paramTokensSecret) {
		to = &secrets
	}
	if *to = maps.Clone(*to); *to == nil { // it is the cluster's
		*to = map[string]string{}
	}
	(*to)[tokensKey] = string(told)
	return context, secrets, r, true
}

// tokensIn returns the tokens in a volume context, or among secrets.
func tokensIn(told map[string]string) (all []string) {
	text, is := told[tokensKey]
	if !is {
		return nil
	}
	var tokens map[string]struct {
		Token string `json:"token"`
	}
	if json.Unmarshal([]byte(text), &tokens) != nil {
		return nil
	}
	for _, audience := range slices.Sorted(maps.Keys(tokens)) {
		all = append(all, tokens[audience].Token)
	}
	return all
}
