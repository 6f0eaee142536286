package plugin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of names and of what goes into a CSI message (CSI spec, "Size Limits").
const (
	MaxDriverName = 63 // CSI spec, GetPluginInfoResponse.name
	MaxName       = 253
	MaxCSIString  = 128  // bytes
	MaxCSIMap     = 4096 // bytes of all keys and values together
)

// BadDriverName says what is wrong with the name of a CSI driver, "" if nothing: 1 to 63 of [A-Za-z0-9.-], alphanumeric
// at both ends.
func BadDriverName(name string) string {
	if len(name) > MaxDriverName {
		return fmt.Sprintf("is longer than %d characters", MaxDriverName)
	}
	if name == volumeDevices || name == oldStage {
		return "is a name that the layout of directories uses for itself"
	}
	return badDotted(name)
}

// BadPodUID says what is wrong with a pod's uid as a part of a path, "" if nothing: up to 253 of [A-Za-z0-9.-],
// alphanumeric at both ends.
func BadPodUID(uid string) string { return badDotted(uid) }

// BadObjectName says what is wrong with the name of an object (of a PersistentVolume, a secret) as a part of a path, ""
// if nothing.
func BadObjectName(name string) string { return badDotted(name) }

// BadVolumeName says what is wrong with a volume's name in a pod, "" if nothing: a DNS label (RFC 1123), up to 63 of
// [a-z0-9-].
func BadVolumeName(name string) string {
	if len(name) > 63 {
		return "is longer than 63 characters"
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r == '.' || r >= 'A' && r <= 'Z' }) {
		return "has characters outside a-z, 0-9 and -"
	}
	return badDotted(name)
}

// badDotted is the rule that every name of ours in a path obeys. It has no room for ".", "..", "/", NUL, control
// characters or a leading "-".
func badDotted(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > MaxName:
		return fmt.Sprintf("is longer than %d characters", MaxName)
	case strings.ContainsFunc(name, func(r rune) bool { return !alphanumeric(r) && r != '.' && r != '-' }):
		return "has characters outside A-Z, a-z, 0-9, . and -"
	case !alphanumeric(rune(name[0])) || !alphanumeric(rune(name[len(name)-1])):
		return "does not start and end with a letter or digit"
	case strings.Contains(name, ".."):
		return `contains ".."`
	}
	return ""
}

// Says joins a name and what one of the functions above says is wrong with it. An empty name is not shown.
func Says(name, bad string) string {
	if name == "" {
		return bad
	}
	return fmt.Sprintf("%q %s", name, bad)
}

func alphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// BadCSIString says what is wrong with a value of a CSI message, "" if nothing.
func BadCSIString(s string) string {
	switch {
	case len(s) > MaxCSIString:
		return fmt.Sprintf("is longer than the %d bytes that CSI allows", MaxCSIString)
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case strings.ContainsRune(s, 0):
		return "contains a NUL character"
	}
	return ""
}

// Pair is a key of a CSI message's map, and its value.
type Pair struct{ Key, Value string }

// Pairs are the pairs of a map, sorted by key.
func Pairs(m map[string]string) []Pair {
	if len(m) == 0 {
		return nil
	}
	pairs := make([]Pair, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, Pair{key, m[key]})
	}
	return pairs
}

// BadCSIMap says what is wrong with a map of a CSI message, "" if nothing. It quotes no value.
func BadCSIMap(pairs []Pair) string {
	size, bad := 0, false
	for _, p := range pairs {
		size += len(p.Key) + len(p.Value)
		bad = bad || !utf8.ValidString(p.Key) || !utf8.ValidString(p.Value)
	}
	switch {
	case size > MaxCSIMap:
		return fmt.Sprintf("has %d bytes of keys and values, CSI allows %d", size, MaxCSIMap)
	case bad:
		return "is not UTF-8"
	}
	return ""
}

// Escape makes any string a segment of a key: what is not a printable ASCII character, and "/", "^", "%" and the space,
// become %XX. It is injective.
func Escape(s string) string {
	const digits = "0123456789ABCDEF"
	special := func(c byte) bool { return c <= ' ' || c > '~' || c == '/' || c == '^' || c == '%' }
	if !strings.ContainsFunc(s, func(r rune) bool { return r > '~' || special(byte(r)) }) {
		return s
	}
	b := make([]byte, 0, 3*len(s))
	for i := range len(s) {
		if c := s[i]; special(c) {
			b = append(b, '%', digits[c>>4], digits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}
