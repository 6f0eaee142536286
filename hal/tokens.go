package hal

import (
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Tokens makes tokens of service accounts, each bound to a pod (TokenRequest of authentication.k8s.io/v1).
type Tokens interface {
	// Token returns a token that is good. It may be one that was returned before. ENOENT if there is no such service
	// account or pod. From a task.
	Token(c Call, r TokenRequest) (Token, error)
}

// TokenRequest says whose token it is, and for whom.
type TokenRequest struct {
	Namespace, ServiceAccount string
	Pod, PodUID               string        // with which it becomes invalid
	Audience                  string        // "" is that of the API server
	Lifetime                  time.Duration // that is asked for; the server may give another one
}

func (r TokenRequest) String() string {
	return fmt.Sprintf("%s/%s for %q", r.Namespace, r.ServiceAccount, r.Audience)
}

// Token is a token. It prints as ***, in every format.
type Token struct {
	text    string
	expires string
	renewIn time.Duration
	goodFor time.Duration
}

// NewToken makes a token that expires at a time of the server's clock, as RFC 3339 text, which is in goodFor. After
// renewIn another one should be asked for: once four fifths of its lifetime are over, or a day, as with the kubelet
// (pkg/kubelet/token).
func NewToken(text, expires string, renewIn, goodFor time.Duration) Token {
	return Token{text, expires, renewIn, goodFor}
}

// Reveal returns the token, for who is to have it. The caller does not keep or print it.
func (t Token) Reveal() string { return t.text }

// Expires is a time of the server's clock as RFC 3339 text, to be passed on: nothing is decided by it.
func (t Token) Expires() string { return t.expires }

// RenewIn is how long after the call that returned it another one should be asked for.
func (t Token) RenewIn() time.Duration { return t.renewIn }

// GoodFor is how long after the call that returned it the token expires.
func (t Token) GoodFor() time.Duration { return t.goodFor }

// Format keeps the token out of texts, whatever the verb.
func (Token) Format(f fmt.State, _ rune)   { _, _ = io.WriteString(f, "***") }
func (Token) MarshalJSON() ([]byte, error) { return []byte(`"***"`), nil }

// LogValue keeps the token out of logs.
func (Token) LogValue() slog.Value { return slog.StringValue("***") }
