package sim

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/volnode/volnode/hal"
)

var (
	callToken = newCallSite("tokens.token", hal.ClassRPC, false)
	siteToken = newSite("tokens.age")
)

// Token is a token of a service account that somebody was given.
type Token struct {
	hal.TokenRequest
	Text        string
	Given, Ends hal.Instant
	Expires     string // Ends, as the wall clock has it
}

// Tokens are those that the agent was given in all its lives, oldest first. They are not to be changed.
func (w *World) Tokens() []Token { return w.tokens }

// TokenOf is the token of a text; false if nobody was given it.
func (w *World) TokenOf(text string) (Token, bool) {
	if at := slices.IndexFunc(w.tokens, func(t Token) bool { return t.Text == text }); at >= 0 {
		return w.tokens[at], true
	}
	return Token{}, false
}

type hostTokens struct{ *host }

// Token is as of a client that returns a token again until most of its lifetime is over.
func (h hostTokens) Token(c hal.Call, r hal.TokenRequest) (hal.Token, error) {
	k := h.enter(callToken, r.Namespace+"/"+r.ServiceAccount, c, &h.w.menus.read)
	errno, ok := k.acts()
	if !ok {
		return hal.Token{}, k.done(errno)
	}
	now, age := h.w.Now(), h.w.time(siteToken, r.PodUID, 0, r.Lifetime*3/5)
	t := Token{TokenRequest: r, Given: now, Ends: now.Add(r.Lifetime - age)}
	t.Expires = date(t.Ends)
	claims := fmt.Sprintf(`{"aud":%q,"exp":%q,"jti":%d,"sub":"system:serviceaccount:%s:%s"}`, r.Audience,
		t.Expires, len(h.w.tokens), r.Namespace, r.ServiceAccount)
	in := base64.RawURLEncoding.EncodeToString
	t.Text = in([]byte(`{"alg":"none"}`)) + "." + in([]byte(claims)) + "." +
		in(fmt.Appendf(nil, "%016x", hashString(claims)))
	h.w.tokens = append(h.w.tokens, t)
	return hal.NewToken(t.Text, t.Expires, r.Lifetime*4/5-age, r.Lifetime-age), k.done(0)
}
