package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/scenarios/secrets"
)

// TestFractionOfADurationIsNoSecret: a secret in hexadecimal can have eight decimal digits in a row, and so can a
// duration. Elsewhere they are the secret's.
func TestFractionOfADurationIsNoSecret(t *testing.T) {
	l := secrets.Of(map[string]string{"password": "\x99\x42\x75\x62\x38 and more"})
	for text, isLeak := range map[string]bool{
		"LastAnswerAge:31.942756238s Why:": false, "it took 1m8.942756238s": false, "it took 3.942756238ms": false,
		"in 3.94275623µs": false,
		"token 942756238": true, "token 31.942756238": true, "token .942756238s": true, "31.942756238 s": true,
		"31.942756238t":   true,
		"31.99427562380s": true, "942756238s": true, "x.942756238s": true, "age 31.942756238s, token 942756238": true,
	} {
		require.Equal(t, isLeak, l.In(text) != "", text)
	}
}
