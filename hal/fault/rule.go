// Package fault makes calls of a Host go wrong on purpose, by rules that print and parse.
//
//	umount#2 before kill                  the agent dies just before its second umount
//	fsync#1@journal before EIO            the first fsync of a path that contains "journal" fails and is not made
//	NodeStageVolume after DEADLINE_EXCEEDED   every NodeStageVolume is made, and its reply is lost
//	call#17 after kill                    the agent dies just after the 17th call of any kind
//	mounts-at#2=/a/b for - before kill    the second look at /a/b itself that no operation makes
//
// Behind @ is a part of the object, behind = all of it. In both, and in the rung that "for" names, what would end a
// word or a rule is written %XX.
package fault

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// When says on which side of the call a rule acts.
type When uint8

const (
	// Before: in place of the call, which is not made.
	Before When = iota
	// After: the call is made first.
	After
)

func (w When) String() string {
	if w == After {
		return "after"
	}
	return "before"
}

// AnyCall is the site that stands for every call.
const AnyCall = "call"

// NoRung is the rung of calls that no operation makes: the journal's, a start's, the cluster's.
const NoRung = "-"

// Rule is one fault.
type Rule struct {
	Site   string // name of the call, with - for each space in it ("remove-tree"), or AnyCall
	Nth    int    // which of the calls that match, from 1; 0 is each
	Object string // what the call's object must contain; "" is anything
	Exact  bool   // the object must be Object, and no more
	Rung   string // key of the rung that the call is made for; "" is any, NoRung a call of no operation
	When   When

	Kill  bool          // the process ends by SIGKILL
	Errno syscall.Errno // or the call fails with this errno
	Code  hal.Code      // or with this status
}

// ErrRule is the root of every error of Parse.
var ErrRule = errors.New(
	`a fault rule is "SITE[#N][@PART|=OBJECT] [for RUNG] before|after kill|ERRNO|CODE", like "umount#2 before kill"`)

// String is the text that Parse reads.
func (r Rule) String() string {
	var b strings.Builder
	b.WriteString(r.Site)
	if r.Nth > 0 {
		fmt.Fprintf(&b, "#%d", r.Nth)
	}
	switch {
	case r.Exact:
		b.WriteString("=" + escape(r.Object))
	case r.Object != "":
		b.WriteString("@" + escape(r.Object))
	}
	if r.Rung != "" {
		b.WriteString(" for " + escape(r.Rung))
	}
	b.WriteString(" " + r.When.String() + " ")
	switch {
	case r.Kill:
		b.WriteString("kill")
	case r.Errno != 0:
		b.WriteString(unix.ErrnoName(r.Errno))
	default:
		b.WriteString(r.Code.String())
	}
	return b.String()
}

// Parse reads one rule. Parse(r.String()) is r.
func Parse(text string) (Rule, error) {
	fail := func(why string) (Rule, error) { return Rule{}, fmt.Errorf("%q: %s: %w", text, why, ErrRule) }
	var r Rule
	words := strings.Fields(text)
	if len(words) == 5 && words[1] == "for" {
		rung, ok := unescape(words[2])
		if !ok {
			return fail("behind % are two hexadecimal digits")
		}
		r.Rung = rung
		words = append(words[:1], words[3:]...)
	}
	if len(words) != 3 {
		return fail("three words are needed, or five with the rung")
	}
	if why := r.call(words[0]); why != "" {
		return fail(why)
	}
	switch words[1] {
	case "before":
	case "after":
		r.When = After
	default:
		return fail("the word before the last is before or after")
	}
	if !r.action(words[2]) {
		return fail(fmt.Sprintf("%q is neither kill nor an errno nor a gRPC code", words[2]))
	}
	return r, nil
}

// call reads SITE[#N][@PART|=OBJECT] and says what is wrong with it.
func (r *Rule) call(word string) string {
	site := word
	if at := strings.IndexAny(word, "@="); at >= 0 {
		object, ok := unescape(word[at+1:])
		if !ok {
			return "behind % are two hexadecimal digits"
		}
		site, r.Object, r.Exact = word[:at], object, word[at] == '='
	}
	name, nth, counted := strings.Cut(site, "#")
	if r.Site = name; name == "" {
		return "the call is missing"
	}
	if !counted {
		return ""
	}
	n, err := strconv.Atoi(nth)
	if err != nil || n < 1 || nth != strconv.Itoa(n) {
		return "the number behind # is from 1"
	}
	r.Nth = n
	return ""
}

// escape writes text as part of a word of a rule.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f || c == '%' || c == ';' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescape(word string) (string, bool) {
	text, err := url.PathUnescape(word)
	return text, err == nil
}

// ParseAll reads rules that are separated by semicolons.
func ParseAll(text string) ([]Rule, error) {
	var rules []Rule
	for _, part := range strings.Split(text, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		r, err := Parse(part)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func (r *Rule) action(word string) bool {
	if word == "kill" {
		r.Kill = true
		return true
	}
	if errno := errnoOf(word); errno != 0 {
		r.Errno = errno
		return true
	}
	for code := hal.CodeCanceled; code <= hal.CodeUnauthenticated; code++ {
		if code.String() == word {
			r.Code = code
			return true
		}
	}
	return false
}

// errnoOf is the errno of a name like EIO, 0 if there is none.
func errnoOf(name string) syscall.Errno {
	for errno := syscall.Errno(1); errno < 134; errno++ {
		if unix.ErrnoName(errno) == name {
			return errno
		}
	}
	return 0
}
