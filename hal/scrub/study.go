package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"iter"
	"strings"
)

// maxWord bounds the words, in bytes.
const maxWord = 63

// leastLine is the length from which a short line of a value counts as a word, and a word is searched for in its
// encodings.
const leastLine = 4

// study is what a value may be found by.
func (s *Scrubber) study(value string) finding {
	k := finding{windows: make([]window, 0, 6*len(value))}
	trimmed := strings.TrimSpace(value)
	if !s.windows(&k, []byte(trimmed)) {
		k.word(trimmed)
	}
	for _, form := range formsOf(value) {
		s.windows(&k, form)
		for skew := range 3 {
			s.windows(&k, inBase64(form, skew))
		}
	}
	lines := strings.Split(trimmed, "\n")
	for _, line := range lines {
		if line = strings.TrimSpace(line); len(lines) > 1 && len(line) >= leastLine && len(line) < fragment {
			k.word(line)
		}
	}
	return k
}

// formsOf is a value, and what a driver that can read it may make of it: its text without escapes, what it decodes to.
func formsOf(value string) [][]byte {
	forms := [][]byte{[]byte(value)}
	if v, changed := plain(value).unescaped(); changed {
		forms = append(forms, v.bytes)
	}
	bare := strings.TrimRight(strings.TrimSpace(value), "=")
	for _, decode := range [...]func(string) ([]byte, error){
		base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString, hex.DecodeString,
	} {
		if decoded, err := decode(bare); err == nil && len(decoded) >= fragment {
			forms = append(forms, decoded)
		}
	}
	return forms
}

// inBase64 is what base64 of a larger text shows of data, if data begins skew bytes after a multiple of three in it.
// The characters at the ends, which hold bits of what is around it, are left out.
func inBase64(data []byte, skew int) []byte {
	text := base64.RawStdEncoding.EncodeToString(append(make([]byte, skew), data...))
	from := (8*skew + 5) / 6
	to := (8 * (skew + len(data))) / 6
	return []byte(text[min(from, to):to])
}

// windows takes in every run of fragment bytes of form, and reports whether one says something by itself.
func (s *Scrubber) windows(k *finding, form []byte) bool {
	isAny := false
	for _, w := range windowsOf(form) {
		strong := isTelling(w)
		k.windows = append(k.windows, window{s.digest(w), strong})
		isAny = isAny || strong
	}
	return isAny
}

// digest is a window as it is kept.
func (s *Scrubber) digest(window uint64) uint64 {
	h := (window ^ s.key) * 0x9e3779b97f4a7c15
	return (h ^ h>>32) * (s.key | 1)
}

// windowsOf yields every run of fragment bytes of text, folded, with its place.
func windowsOf(text []byte) iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		var w uint64
		for i, c := range text {
			w = w<<8 | uint64(foldByte[c])
			if i >= fragment-1 && !yield(i-fragment+1, w) {
				return
			}
		}
	}
}

func (k *finding) word(word string) {
	forms := []string{word}
	if len(word) >= leastLine {
		forms = append(forms, hex.EncodeToString([]byte(word)), base64.RawStdEncoding.EncodeToString([]byte(word)))
	}
	for _, form := range forms {
		isBare := !strings.ContainsFunc(form, func(r rune) bool { return r > 0x7e || isWordByte(byte(r)) })
		if form == "" || len(form) > maxWord || isBare && len(form) < leastLine {
			continue
		}
		k.words = append(k.words, string(fold([]byte(form))))
	}
}

// isTelling: a window is not a part of the words that errors are made of, and not a run of a few bytes.
func isTelling(window uint64) bool {
	var seen [4]uint64 // a bit for each byte
	different := 0
	for w := window; w != 0; w >>= 8 {
		if bit := uint64(1) << (w & 63); seen[w&255>>6]&bit == 0 {
			seen[w&255>>6] |= bit
			different++
		}
	}
	return different > 3 && !common[window]
}

// common is the windows of the words that texts of drivers are made of.
var common = func() map[uint64]bool {
	all := map[uint64]bool{}
	for _, word := range []string{
		"password=", "password:", "username=", "username:", "user name", "passphrase", "credentials", "administrator",
		"authentication", "authorization",
		"permission denied", "connection refused", "context deadline exceeded", "context canceled", "timed out",
		"access denied", "no such file or directory",
		"device or resource busy", "invalid argument", "input/output error", "operation not permitted", "mount failed",
		"filesystem", "certificate",
		"private key", "public key", "secret key", "access key", "kubernetes.io", "namespace", "localhost",
		"cluster.local", "default", "https://", "http://",
	} {
		for _, w := range windowsOf([]byte(word)) {
			all[w] = true
		}
	}
	return all
}()
