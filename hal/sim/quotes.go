package sim

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/volnode/volnode/hal"
)

// This file is what drivers say of secrets that they were given.

// givenMost bounds how many secrets a driver that quotes them remembers.
const givenMost = 8

var siteQuote = newSite("driver.quote")

// learns keeps the values of a request's secrets, for a driver that quotes them: those of the last request are the
// last.
func (d *driver) learns(r *rpc) {
	if !d.is.Quotes {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(r.secrets)) {
		value := r.secrets[name]
		d.given = slices.DeleteFunc(d.given, func(other string) bool { return other == value })
		d.given = append(d.given, value)
	}
	d.given = d.given[max(len(d.given)-givenMost, 0):]
}

// quotes are the ways in which drivers have been seen to quote what they were given.
var quotes = [...]func(value string) string{
	func(v string) string { return v },
	strings.TrimSpace,
	strings.ToUpper,
	strings.ToLower,
	strconv.Quote,
	func(v string) string { return strings.ReplaceAll(inURL(v, " "), " ", "+") },
	func(v string) string { return inURL(v, "&=+:@") },
	func(v string) string { return hex.EncodeToString([]byte(v)) },
	func(v string) string { return strings.ReplaceAll(fmt.Sprintf("% X", v), " ", ":") },
	func(v string) string { return fmt.Sprint([]byte(v)) },
	func(v string) string { return fmt.Sprintf("%#v", []byte(v)) },
	func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte(v)) },
	func(v string) string { return base64.StdEncoding.EncodeToString([]byte("root:" + v)) },
	func(v string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + v + "@")) },
	func(v string) string { return strconv.Quote(inURL(v, "")) },
}

// inURL is a value as a URL has it, with what is safe there.
func inURL(value, safe string) string {
	var b strings.Builder
	for _, c := range []byte(value) {
		if c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("-._~"+safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// cutLeast is the length from which a part of a value is quoted: a part of a password tells less than a guess.
const cutLeast = 16

// cuts are the parts of a value that drivers quote: all of it, its longest line, what it begins with, what is in the
// middle of it.
var cuts = [...]func(value string) string{
	func(v string) string { return v },
	func(v string) string {
		return slices.MaxFunc(strings.Split(v, "\n"), func(a, b string) int { return len(a) - len(b) })
	},
	func(v string) string { return v[:min(len(v), 10)] },
	func(v string) string { return v[len(v)/4:][:min(len(v)-len(v)/4, 9)] },
}

// manners are what is around it: what terminals obey, and more than anybody reads.
var manners = [...]string{
	"the back-end takes no key %s", "%s", "mount failed:\n\toutput: %s\n", "\x1b[2J\x1b]0;login\a key=%s\u202e;",
	strings.Repeat("the back-end is not well; ", 60) + "key %s",
	"key %s " + strings.Repeat("and much more ", 700),
}

// says is what an answer says: of a plain error its text, and what the driver quotes before or after it. One that says
// nothing quotes nothing.
func (r *rpc) says() string {
	words := ""
	if r.fault != Intercepted {
		words = r.words()
	}
	switch {
	case r.code != hal.CodeUnknown:
		return words
	case r.text == "" || words == "":
		return r.text
	case r.subject.nth&1 == 1:
		return strings.TrimSpace(words) + "; " + r.text
	}
	return r.text + "; " + words
}

// words are a driver's own words in an error. Each error of a call is in other words than the one before.
func (r *rpc) words() string {
	if !r.d.is.Quotes || len(r.d.given) == 0 {
		return ""
	}
	n := len(quotes) * len(cuts) * len(manners) * givenMost
	x := int(r.w.chooser.Between(r.subject.id(siteQuote), 0, int64(n-1)))
	turn := func(of int) int {
		i := x % of
		x /= of
		return i
	}
	way := quotes[(turn(len(quotes))+int(r.subject.nth))%len(quotes)]
	cut := cuts[turn(len(cuts))]
	manner := manners[turn(len(manners))]
	value := r.d.given[len(r.d.given)-1-turn(givenMost)%len(r.d.given)]
	if len(value) >= cutLeast {
		value = cut(value)
	}
	return fmt.Sprintf(manner, way(value))
}
