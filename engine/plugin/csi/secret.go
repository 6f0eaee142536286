package csi

import (
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/op"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/hal"
)

// secret reads the secret that a parameter of the rung refers to, if any, at the moment it is used.
func (w work) secret(param string) (hal.Secret, core.Result, bool) {
	ref := w.param(param)
	if ref == "" {
		return hal.Secret{}, core.Result{}, true
	}
	namespace, name, _ := strings.Cut(ref, "/")
	s, err := w.h.Cluster.Secret(w.c, namespace, name)
	switch {
	case hal.Is(err, syscall.ENOENT):
		return hal.Secret{}, op.NotDone("there is no Secret " + ref + ", which the volume refers to"), false
	case err != nil:
		return hal.Secret{}, op.NotDone("Secret " + ref + " can't be read: " + err.Error()), false
	}
	if bad := plugin.BadCSIMap(plugin.Pairs(s.Reveal())); bad != "" {
		return hal.Secret{}, op.NotDone("Secret " + ref + " " + bad), false
	}
	return s, core.Result{}, true
}

// discreet takes secrets of the volume out of what the driver said: it may quote one that it was given before, in a call that carries none or
// another. One that can't be read any more can't be searched for: then the message goes.
func (w work) discreet(r core.Result, params ...string) core.Result {
	for _, param := range params {
		secret, _, ok := w.secret(param)
		if !ok {
			r.Reason = "the driver's message is withheld: it may quote Secret " + w.param(param) + ", which can't be read"
			return r
		}
		r = scrub(r, secret)
	}
	return r
}

// shortest is the length of a secret value below which its occurrences in a text can't be told from chance.
const shortest = 4

// scrub takes the values of secret out of what a driver said. A driver that quotes a value too short to search for loses the whole message.
func scrub(r core.Result, secret hal.Secret) core.Result {
	content := secret.Reveal()
	var values []string
	for _, name := range slices.Sorted(maps.Keys(content)) {
		values = append(values, content[name])
	}
	slices.SortStableFunc(values, func(a, b string) int { return len(b) - len(a) }) // a value may contain another
	for _, value := range values {
		switch {
		case value == "" || !strings.Contains(r.Reason, value):
		case len(value) < shortest:
			r.Reason = "the driver's message is withheld: it may quote a secret"
			return r
		default:
			r.Reason = strings.ReplaceAll(r.Reason, value, "***")
		}
	}
	return r
}
