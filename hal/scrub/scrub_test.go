package scrub

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// pem is a value of several lines, as drivers get them.
const pem = "-----BEGIN RSA PRIVATE KEY-----\n" +
	"MIIEpAIBAAKCAQEA7vZkQ0x9w3bTLrB5m1n4hX2sJcYp8oUdGfKeRiWqVtNzMaLy\n" +
	"b3HgPxSuQwErTyUiOpAsDfGhJkLzXcVbNm1234567890qazwsxedcrfvtgbyhnuj\n" +
	"-----END RSA PRIVATE KEY-----\n"

func knows(values ...string) *Scrubber {
	s, data := New(), map[string]string{}
	for i, v := range values {
		data[strconv.Itoa(i)] = v
	}
	s.Learn("n/s", hal.NewSecret(data))
	return s
}

// encodings are the ways in which a driver may quote what it was given.
var encodings = map[string]func(string) string{
	"as it is":       func(v string) string { return v },
	"trimmed":        strings.TrimSpace,
	"lower case":     strings.ToLower,
	"upper case":     strings.ToUpper,
	"hex":            func(v string) string { return hex.EncodeToString([]byte(v)) },
	"HEX":            func(v string) string { return strings.ToUpper(hex.EncodeToString([]byte(v))) },
	"% x":            func(v string) string { return fmt.Sprintf("% x", v) },
	"%#x":            func(v string) string { return fmt.Sprintf("%#x", []byte(v)) },
	"%# x":           func(v string) string { return fmt.Sprintf("%# x", v) },
	"%#v of bytes":   func(v string) string { return fmt.Sprintf("%#v", []byte(v)) },
	"%v of bytes":    func(v string) string { return fmt.Sprint([]byte(v)) },
	"JSON of bytes":  func(v string) string { return strings.ReplaceAll(fmt.Sprint([]byte(v)), " ", ",") },
	"hex with :":     func(v string) string { return strings.ReplaceAll(fmt.Sprintf("% x", v), " ", ":") },
	"base64":         func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	"raw base64":     func(v string) string { return base64.RawStdEncoding.EncodeToString([]byte(v)) },
	"URL base64":     func(v string) string { return base64.URLEncoding.EncodeToString([]byte(v)) },
	"raw URL base64": func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte(v)) },
	"lower base64":   func(v string) string { return strings.ToLower(base64.StdEncoding.EncodeToString([]byte(v))) },
	"basic auth":     func(v string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + v)) },
	"basic auth 2":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte("use:" + v + "!")) },
	"basic auth 3":   func(v string) string { return base64.StdEncoding.EncodeToString([]byte("us:" + v + "??")) },
	"query":          url.QueryEscape,
	"path":           url.PathEscape,
	"every byte %":   func(v string) string { return everyByte("%%%02X", v) },
	"every byte \\x": func(v string) string { return everyByte(`\x%02x`, v) },
	"octal":          func(v string) string { return everyByte(`\%03o`, v) },
	"%q":             strconv.Quote,
	"%+q":            strconv.QuoteToASCII,
	"JSON":           inJSON,
	"JSON in JSON":   func(v string) string { return inJSON(inJSON(v)) },
	"query in JSON":  func(v string) string { return inJSON("q=" + url.QueryEscape(v)) },
	"HTML":           html.EscapeString,
}

func everyByte(format, v string) string {
	var b strings.Builder
	for i := range len(v) {
		fmt.Fprintf(&b, format, v[i])
	}
	return b.String()
}

func inJSON(v string) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// fragmentsOf are the runs of n bytes of text, in one case, without what Go adds.
func fragmentsOf(text string, n int) map[string]bool {
	all := map[string]bool{}
	text = strings.ToLower(text)
	for i := range len(text) - n + 1 {
		if !strings.Contains("[]byte{0x", text[i:i+n]) {
			all[text[i:i+n]] = true
		}
	}
	return all
}

func TestNoFragmentOfASecretComesOutInAnyEncoding(t *testing.T) {
	for _, value := range []string{
		"s3cr3t-do-not-show", "hunter2&<more>\"+/ é?ü", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", pem,
		" padded with space\n", "pa\\ss%41wo\"rd'!",
		`{"type":"account","private_key":"-----BEGIN\nMIIEvQIBADANBgkqhkiG9w0BAQ\n"}`,
	} {
		s := knows("another", value)
		for name, encode := range encodings {
			quoted := encode(value)
			before, after := "login of \x1b[1mroot failed: ", " is not known, exit status 32"
			said := s.Clean(before + quoted + after)
			require.Contains(t, said, `login of \x1b[1mroot failed:`, name)
			require.Contains(t, said, "is not known, exit status 32", name)
			left := fragmentsOf(said, fragment)
			for w := range fragmentsOf(quoted, fragment) {
				require.False(t, left[w] && !strings.Contains(before+after, w), "%s: %q of %q is left: %s", name, w,
					quoted, said)
			}
		}
	}
}

func TestFragments(t *testing.T) {
	s := knows(pem)
	line := strings.Split(pem, "\n")[1]
	require.Equal(t, "key *** …", s.Clean("key "+line+" …"))
	for from := range len(line) - fragment {
		for name, encode := range encodings {
			said := s.Clean("x: " + encode(line[from:from+fragment]) + " :y")
			require.NotContains(t, strings.ToLower(said), strings.ToLower(line[from:from+fragment]), name)
			if !strings.Contains(name, "base64") && !strings.Contains(name, "auth") &&
				!strings.Contains(name, "query in") {
				require.Contains(t, []string{
					"x: *** :y", `x: "***" :y`, "x: [***] :y", "x: []byte{0x***} :y", "x: 0x*** :y", `x: \x*** :y`,
					`x: "\"***\"" :y`,
				}, said, name)
			}
		}
	}
}

func TestAShortValueGoesWhereItIsAWord(t *testing.T) {
	s := knows("x\n", "hunter2", "admin", "12345678", "00000000", "kubernetes.io", "a")
	for text, want := range map[string]string{
		"pin x is wrong":               "pin *** is wrong",
		"prefix of exec":               "prefix of exec",
		"user=admin&password=hunter2;": "user=***&password=***;",
		"administration of hunter22":   "administration of hunter22",
		"HUNTER2":                      "***",
		"68756e74657232":               "***",
		"68:75:6e:74:65:72:32":         "***",
		"[104 117 110 116 101 114 50]": "[***]",
		"aHVudGVyMg==":                 "***==",
		"hunter%32":                    "***",
		"12345678 100000000":           "*** 100000000",
		"vol 00000000 of 1":            "vol *** of 1",
		"kubernetes.io/csi: é":         "***/csi: é",
	} {
		require.Equal(t, want, s.Clean(text))
	}
}

func TestWordsOfEveryErrorStay(t *testing.T) {
	s := knows("password=permission denied https://10.0.0.1", "0000000000000001")
	for _, text := range []string{"password=", "permission denied", "https://x", "0000000000000000"} {
		require.Equal(t, text, s.Clean(text))
	}
	require.Equal(t, "no ***!", s.Clean("no password=permission denied https://10.0.0.1!"))
	require.Equal(t, "no ***!", s.Clean("no 0000000000000001!"))
}

func TestATextIsOneBoundedLine(t *testing.T) {
	s := New()
	require.Equal(t, `a b\x1b]0;c\u202e \x00\xff`, s.Clean("\n a\r\nb\x1b]0;c\u202e\t\x00\xff\n"))
	require.Equal(t, strings.Repeat("é", 512)+"… (9998976 bytes cut)", s.Clean(strings.Repeat("é", 5_000_000)))
	long := knows("s3cr3t-do-not-show")
	require.NotContains(t, long.Clean(strings.Repeat("s3cr3t-do-not-show ", 1<<16)), "do-not-s")
	require.Equal(t, "", s.Clean(" \n"))
}

func TestOldSecretsAreForgottenLast(t *testing.T) {
	s := knows("the-very-first-secret")
	for i := range 40 {
		s.Learn("n/s", hal.NewSecret(map[string]string{"k": strings.Repeat(fmt.Sprintf("%x-of-many;", i*7919), 400)}))
		s.Learn("n/s", hal.NewSecret(map[string]string{"k": "the-newest-" + strconv.Itoa(i)}))
		require.Equal(t, "no ***", s.Clean("no the-newest-"+strconv.Itoa(i)))
	}
	require.LessOrEqual(t, len(s.secrets.fresh.windows), maxKnown)
	require.LessOrEqual(t, len(s.secrets.old.windows), maxKnown)
	s.Learn("n/s", hal.NewSecret(map[string]string{"k": strings.Repeat("z", maxSecret+1)})) // never sent to a driver
}

// What only pods are given pushes out nothing that drivers have, and what had to make room is expected again.
func TestASecretOfADriverIsKnownOrExpected(t *testing.T) {
	large := func(of string, i int) hal.Secret {
		text := ""
		for n := range 80 {
			sum := sha256.Sum256(fmt.Append(nil, of, i, n))
			text += base64.RawURLEncoding.EncodeToString(sum[:])
		}
		return hal.NewSecret(map[string]string{"k": text})
	}
	s, first := New(), hal.NewSecret(map[string]string{"k": "the-very-first-secret"})
	s.Expect("n/first")
	s.Complete()
	s.Learn("n/first", first)
	for i := range 300 {
		s.Learn("n/of-pods", large("pod", i))
	}
	require.Equal(t, "no ***", s.Clean("no the-very-first-secret"))
	require.Empty(t, s.Expected())
	isKnown := true
	for i := range 100 {
		name := "n/of-driver-" + strconv.Itoa(i)
		s.Expect(name)
		s.Learn(name, large("driver", i))
		isExpected := slices.Contains(s.Expected(), "n/first")
		isKnown = s.Clean("no the-very-first-secret") == "no ***"
		require.True(t, isKnown || isExpected)
	}
	require.False(t, isKnown, "too few for the test")
	require.Positive(t, s.Forgotten())
	require.True(t, s.IsComplete())
	s.Learn("n/first", first)
	require.Equal(t, "no ***", s.Clean("no the-very-first-secret"))
	require.NotContains(t, s.Expected(), "n/first")
}

// Tokens come again and again. They push out no secret, and each other only once there are many.
func TestTokensPushOutNoSecret(t *testing.T) {
	s := knows("the-very-first-secret")
	token := func(i int) string {
		text := ""
		for n := range 39 { // its base64 ends with a whole byte
			sum := sha256.Sum256(fmt.Append(nil, i, n))
			text += base64.RawURLEncoding.EncodeToString(sum[:16])
		}
		return text
	}
	for i := range 300 {
		s.LearnToken(token(i))
	}
	require.Equal(t, "no ***", s.Clean("no the-very-first-secret"))
	for _, i := range []int{200, 299} {
		require.Equal(t, "no ***", s.Clean("no "+token(i)))
		require.Equal(t, "no ***", s.Clean("no "+base64.RawStdEncoding.EncodeToString([]byte(token(i)))))
	}
}

func TestWhatIsExpectedIsNamedUntilItIsLearnt(t *testing.T) {
	s := New()
	for i := range 2 * maxExpected {
		s.Expect(fmt.Sprintf("n/%03d", i))
	}
	require.Len(t, s.Expected(), maxExpected)
	s.Learn("n/000", hal.NewSecret(map[string]string{"k": "s3cr3t-do-not-show"}))
	s.Learn("n/002", hal.Secret{}) // there is none
	s.Expect("n/000")
	require.Equal(t, []string{"n/001", "n/003"}, s.Expected()[:2])
	require.Equal(t, "no ***", s.Clean("no s3cr3t-do-not-show"))
}

func FuzzClean(f *testing.F) {
	f.Add("s3cr3t-do-not-show", "no key s3cr3t%2Ddo%2Dnot")
	f.Add("a\nb", "&#97; \\u0061 [97, 98]")
	f.Fuzz(func(t *testing.T, value, text string) {
		s := knows(value)
		said := s.Clean(text)
		require.LessOrEqual(t, len(said), maxText+64)
		for _, r := range said {
			require.True(t, strconv.IsPrint(r), "%q", said)
		}
		if !strings.Contains(text, "\\") && !strings.Contains(said, "\\") {
			for i := range max(len(value)-fragment+1, 0) {
				if w := value[i : i+fragment]; isTellingText(w) && !strings.Contains(w, "*") {
					require.NotContains(t, said, w)
				}
			}
		}
	})
}

func isTellingText(text string) bool {
	for _, w := range windowsOf([]byte(text)) {
		return isTelling(w)
	}
	return false
}

func BenchmarkClean(b *testing.B) {
	s := knows(pem, "s3cr3t-do-not-show")
	text := strings.Repeat("rpc error: mount /var/lib/volnode/plugins failed ", 4)
	for b.Loop() {
		s.Clean(text)
	}
}

func BenchmarkLearnKnown(b *testing.B) {
	s, secret := New(), hal.NewSecret(map[string]string{"key": pem})
	for b.Loop() {
		s.Learn("n/s", secret)
	}
}

func BenchmarkLearn(b *testing.B) {
	s := New()
	for i := 0; b.Loop(); i++ {
		s.Learn("n/s", hal.NewSecret(map[string]string{"key": pem + strconv.Itoa(i)}))
	}
}

// No name is dropped in silence: with more than there is room for, no text is known to be clean.
func TestTooManyExpectedSecrets(t *testing.T) {
	s := New()
	for i := range maxExpected {
		s.Expect("default/secret-" + strconv.Itoa(i))
	}
	s.Complete()
	s.Expect("default/secret-0")
	require.True(t, s.IsComplete())
	s.Expect("default/one-more")
	require.False(t, s.IsComplete())
	require.Len(t, s.Expected(), maxExpected)
}

// Names come and go with pods. Those whose secrets were learnt make room for others.
func TestNamesThatWereLearntMakeRoom(t *testing.T) {
	s := New()
	s.Complete()
	for i := range 3 * maxExpected {
		name := fmt.Sprintf("n/%d", i)
		s.Expect(name)
		s.Learn(name, hal.Secret{})
	}
	require.True(t, s.IsComplete())
	require.LessOrEqual(t, len(s.expected), maxExpected)
	for i := range maxExpected + 1 {
		s.Expect(fmt.Sprintf("open/%d", i))
	}
	require.False(t, s.IsComplete())
}
