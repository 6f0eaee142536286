package projected

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios/world"
)

// This file is what S20 says of tokens: each is the pod's own, for the audience that the volume names, and it is good
// when containers get it and as long as they run.

// isToken reports whether a token is one that a source of a volume asks for, for a pod in some version.
func isToken(p *corev1.Pod, s *corev1.ServiceAccountTokenProjection, t *sim.Token) bool {
	lasts := int64(3600)
	if s.ExpirationSeconds != nil {
		lasts = *s.ExpirationSeconds
	}
	account := p.Spec.ServiceAccountName
	if account == "" {
		account = "default"
	}
	return t.Namespace == p.Namespace && t.ServiceAccount == account && t.Pod == p.Name && t.PodUID == string(p.UID) &&
		t.Audience == s.Audience && t.Lifetime == time.Duration(lasts)*time.Second
}

// tokens are the files that a token may be; if isPresent only of tokens of the present version of the pod that are
// good.
func (h *run) tokens(
	r *world.Run, p *world.Pod, s *corev1.ServiceAccountTokenProjection, byDefault *int32, isPresent bool,
) (all []map[string]file) {
	user, isOwned := world.UserOf(p.Object)
	given := r.W.Tokens()
	for i := range given {
		t := &given[i]
		isPods := isToken(p.Object, s, t) || !isPresent && slices.ContainsFunc(h.told, func(o told) bool {
			return o.pod == p && isToken(o.object, s, t)
		})
		if !isPods || isPresent && t.Ends <= r.W.Now() {
			continue
		}
		f := file{text: t.Text, mode: 0o644, uid: user}
		if byDefault != nil {
			f.mode = uint32(*byDefault)
		}
		all = append(all, map[string]file{s.Path: f})
		if isOwned || slices.ContainsFunc(p.Groups, func(group string) bool { return group != "" }) {
			f.mode = 0o600
			all = append(all, map[string]file{s.Path: f})
		}
	}
	return all
}

// expired says which token among files is no good any more.
func expired(r *world.Run, of *corev1.ProjectedVolumeSource, files map[string]file) string {
	for i := range of.Sources {
		s := of.Sources[i].ServiceAccountToken
		if s == nil {
			continue
		}
		if t, is := r.W.TokenOf(files[s.Path].text); is && t.Ends <= r.W.Now() {
			return fmt.Sprintf("a token at %s that expired at %v", s.Path, time.Duration(t.Ends))
		}
	}
	return ""
}
