// Package secrets finds what is in secrets in other texts.
package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Finder finds secrets in texts: every run of eight or more of a value's bytes, as it is and encoded. It knows the
// values from the world's truth, and shares nothing with what the engine searches by.
type Finder struct {
	windows windows
	// a bit for the hash of each block in a window: a window that ends at another block there is not
	blocks [1 << 10]uint64
	words  []string // values that are shorter: told where they are words of their own
}

// telling is how many bytes of a secret are too many, and blockLength how many of them are looked at first.
const telling, blockLength = 8, 4

// windows is a set of texts of telling bytes, each as a number: a table with open addressing, at most half full. A
// map takes three times as long to fill, and a run has many tokens.
type windows struct {
	slots []uint64 // 0 is free
	used  int
	zero  bool // 0 is in the set
}

func windowOf(text string) uint64 {
	_ = text[telling-1]
	return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 | uint64(text[4])<<32 |
		uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
}

// at is where w is, or where it goes.
func (s *windows) at(w uint64) *uint64 {
	mask := uint64(len(s.slots) - 1)
	for i := w * 0x9e3779b97f4a7c15 >> 20; ; i++ {
		if is := &s.slots[i&mask]; *is == w || *is == 0 {
			return is
		}
	}
}

func (s *windows) has(w uint64) bool {
	if w == 0 || s.used == 0 {
		return w == 0 && s.zero
	}
	return *s.at(w) == w
}

func (s *windows) add(w uint64) {
	if w == 0 {
		s.zero = true
		return
	}
	if 2*s.used >= len(s.slots) {
		former := s.slots
		s.slots, s.used = make([]uint64, max(2*len(former), 1<<10)), 0
		for _, w := range former {
			if w != 0 {
				s.add(w)
			}
		}
	}
	if is := s.at(w); *is == 0 {
		*is = w
		s.used++
	}
}

// Of knows the values of secrets.
func Of(secrets ...map[string]string) *Finder {
	l := &Finder{}
	for _, data := range secrets {
		for _, key := range slices.Sorted(maps.Keys(data)) {
			l.Add(data[key])
		}
	}
	return l
}

// formsOfSecret are the texts by which a value is known again.
func formsOfSecret(value string) []string {
	forms := []string{
		value, strings.ToUpper(value), strings.ToLower(value), strconv.Quote(value), url.QueryEscape(value),
		url.PathEscape(value),
		hex.EncodeToString([]byte(value)), fmt.Sprintf("%X", value),
		strings.ReplaceAll(fmt.Sprintf("% x", value), " ", ":"),
		strings.ReplaceAll(fmt.Sprintf("% X", value), " ", ":"), strings.Trim(fmt.Sprint([]byte(value)), "[]"),
	}
	for skew := range 3 {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			text := encoding.WithPadding(base64.NoPadding).EncodeToString([]byte("___"[:skew] + value))
			forms = append(forms, text[min(len(text), 2*skew):max(min(len(text), 2*skew), len(text)-1)])
		}
	}
	return forms
}

// Add makes one more value known.
func (l *Finder) Add(value string) {
	if word := strings.TrimSpace(value); len(word) < telling {
		l.words = append(l.words, word, hex.EncodeToString([]byte(word)))
		return
	}
	for _, form := range formsOfSecret(value) {
		for i := range max(len(form)-telling+1, 0) {
			l.windows.add(windowOf(form[i:]))
		}
		for at := range max(len(form)-blockLength+1, 0) {
			h := bitOf(form[at : at+blockLength])
			l.blocks[h>>6] |= 1 << (h & 63)
		}
	}
}

func bitOf(b string) uint32 {
	return (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24) * 0x9e3779b9 >> 16
}

// In is what of a secret is in a text, "" for nothing.
func (l *Finder) In(text string) string { return l.InBut(text, &Finder{}) }

// InBut is In without what other has, too.
func (l *Finder) InBut(text string, other *Finder) string {
	for end := telling; end <= len(text); {
		switch h := bitOf(text[end-blockLength : end]); {
		case l.blocks[h>>6]>>(h&63)&1 == 0:
			end += telling - blockLength + 1 // no window has this block
		case l.windows.has(windowOf(text[end-telling:])) && !other.windows.has(windowOf(text[end-telling:])) &&
			!isFraction(text, end-telling, end):
			return text[end-telling : end]
		default:
			end++
		}
	}
	for _, word := range l.words {
		if rest, found := text, true; word != "" && strings.Contains(text, word) {
			for found {
				var before string
				if before, rest, found = strings.Cut(rest, word); found && !endsInLetter(before) &&
					!beginsWithLetter(rest) {
					return word
				}
			}
		}
	}
	return ""
}

// isFraction reports whether a part of a text is digits of the fraction of a duration, as 942756238 in 31.942756238s:
// those can be any, also those of a secret in hexadecimal.
func isFraction(text string, from, to int) bool {
	for from > 0 && isDigit(text[from-1]) {
		from--
	}
	for to < len(text) && isDigit(text[to]) {
		to++
	}
	isNumber := strings.TrimLeft(text[from:to], "0123456789") == "" && to-from <= 9
	isPart := from > 1 && text[from-1] == '.' && isDigit(text[from-2])
	unit, _, _ := strings.Cut(text[to:], "s")
	return isNumber && isPart && to+len(unit) < len(text) && slices.Contains([]string{"", "m", "µ", "n"}, unit)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80
}

func endsInLetter(s string) bool { return s != "" && isLetter(s[len(s)-1]) }

func beginsWithLetter(s string) bool { return s != "" && isLetter(s[0]) }
