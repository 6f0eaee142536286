package scrub

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text as somebody reads it who takes it for encoded in one way. from and to say which bytes of the text each
// of its bytes is.
type view struct {
	bytes    []byte
	from, to []int
}

func plain(text string) view {
	v := view{bytes: []byte(text), from: make([]int, len(text)), to: make([]int, len(text))}
	for i := range v.from {
		v.from[i], v.to[i] = i, i+1
	}
	return v
}

func (v *view) add(c byte, from, to int) {
	v.bytes, v.from, v.to = append(v.bytes, c), append(v.from, from), append(v.to, to)
}

// mark marks what the bytes i to j of the view are in the text.
func (v view) mark(marks []bool, i, j int) {
	for at := v.from[i]; at < v.to[j-1]; at++ {
		marks[at] = true
	}
}

// parts reports whether a word may begin or end before the byte i.
func (v view) parts(i int) bool {
	return i == 0 || i == len(v.bytes) || !isWordByte(v.bytes[i-1]) || !isWordByte(v.bytes[i])
}

// end parts what does not belong together.
func (v *view) end(at int) {
	if n := len(v.bytes); n > 0 && v.bytes[n-1] != 0 {
		v.add(0, at, at)
	}
}

// hex reads pairs of hexadecimal digits, with or without separators between them, and single digits after 0x, as Go
// prints them. The first digit of each run that is read is its skew-th one.
func (v view) hex(skew int) view {
	var out view
	high, start, digits := 0, 0, 0
	nibble := func(digit, i int) {
		if digits++; digits > skew && (digits-skew)%2 == 1 {
			high, start = digit, v.from[i]
		} else if digits > skew {
			out.add(byte(high<<4|digit), start, v.to[i])
		}
	}
	for i := 0; i < len(v.bytes); i++ {
		c := v.bytes[i]
		if (c == '0' || c == '\\') && v.at(i+1)|0x20 == 'x' {
			i++
			if hexDigit(v.at(i+1)) >= 0 && hexDigit(v.at(i+2)) < 0 {
				nibble(0, i)
			}
			continue
		}
		digit := hexDigit(c)
		switch {
		case strings.IndexByte(" :-,", c) >= 0:
		case digit < 0:
			out.end(v.from[i])
			digits = 0
		default:
			nibble(digit, i)
		}
	}
	return out
}

// at is the byte i, 0 after the last one.
func (v view) at(i int) byte {
	if i < len(v.bytes) {
		return v.bytes[i]
	}
	return 0
}

// hexDigit is the value of a hexadecimal digit, negative if c is none.
func hexDigit(c byte) int {
	if c < '0' {
		return -1
	}
	return strings.IndexByte("0123456789abcdef", c|0x20)
}

// numbers reads a list of bytes in decimal, as Go prints them.
func (v view) numbers() view {
	var out view
	for i := 0; i < len(v.bytes); {
		c := v.bytes[i]
		if c < '0' || c > '9' {
			if c != ' ' && c != ',' {
				out.end(v.from[i])
			}
			i++
			continue
		}
		j := i
		for j < len(v.bytes) && v.bytes[j] >= '0' && v.bytes[j] <= '9' {
			j++
		}
		if n, err := strconv.ParseUint(string(v.bytes[i:j]), 10, 8); err == nil {
			out.add(byte(n), v.from[i], v.to[j-1])
		} else {
			out.end(v.from[i])
		}
		i = j
	}
	return out
}

// unescaped reads escapes of URLs, of JSON, Go and C strings, and of HTML. changed says whether there was one.
func (v view) unescaped() (out view, changed bool) {
	if !bytes.ContainsAny(v.bytes, `%&\`) {
		return v, false
	}
	for i := 0; i < len(v.bytes); {
		n, char := escapeAt(v.bytes[i:])
		if n == 0 {
			out.add(v.bytes[i], v.from[i], v.to[i])
			i++
			continue
		}
		for _, c := range []byte(char) {
			out.add(c, v.from[i], v.to[i+n-1])
		}
		i, changed = i+n, true
	}
	return out, changed
}

// escapeAt is the escape that text begins with: how long it is, 0 if there is none, and what it means.
func escapeAt(text []byte) (n int, char string) {
	switch {
	case len(text) < 2:
		return 0, ""
	case text[0] == '%':
		return number(text, 1, 2, 16, false)
	case text[0] == '&':
		return entity(string(text[:min(len(text), 10)]))
	case text[0] != '\\':
		return 0, ""
	}
	switch c := text[1]; c {
	case 'x':
		return number(text, 2, 2, 16, false)
	case 'u':
		return number(text, 2, 4, 16, true)
	case 'U':
		return number(text, 2, 8, 16, true)
	case '0', '1', '2', '3':
		return number(text, 1, 3, 8, false)
	case '"', '\'', '\\', '/':
		return 2, string(rune(c))
	default:
		if at := strings.IndexByte("abfnrtv", c); at >= 0 {
			return 2, "\a\b\f\n\r\t\v"[at : at+1]
		}
	}
	return 0, ""
}

// number reads an escape of digits after the first skip bytes: of a character, or of one byte.
func number(text []byte, skip, digits, base int, isRune bool) (n int, char string) {
	if len(text) < skip+digits {
		return 0, ""
	}
	x, err := strconv.ParseUint(string(text[skip:skip+digits]), base, 32)
	switch {
	case err != nil || !isRune && x > 255:
		return 0, ""
	case isRune:
		return skip + digits, string(utf8.AppendRune(nil, rune(x)))
	}
	return skip + digits, string([]byte{byte(x)})
}

// entity reads an escape of HTML or XML.
func entity(text string) (n int, char string) {
	name, _, ok := strings.Cut(text[1:], ";")
	if !ok {
		return 0, ""
	}
	n = len(name) + 2
	switch name {
	case "amp":
		return n, "&"
	case "lt":
		return n, "<"
	case "gt":
		return n, ">"
	case "quot":
		return n, `"`
	case "apos":
		return n, "'"
	}
	base, digits := 10, strings.TrimPrefix(name, "#")
	if strings.HasPrefix(digits, "x") {
		base, digits = 16, digits[1:]
	}
	x, err := strconv.ParseUint(digits, base, 21)
	if err != nil || !strings.HasPrefix(name, "#") {
		return 0, ""
	}
	return n, string(utf8.AppendRune(nil, rune(x)))
}

// fold makes equal what differs in case, in the alphabet of base64, and in how a URL spells a space.
func fold(text []byte) []byte {
	folded := make([]byte, len(text))
	for i, c := range text {
		folded[i] = foldByte[c]
	}
	return folded
}

var foldByte = func() (folded [256]byte) {
	for c := range folded {
		switch c {
		case ' ', '+', '-':
			folded[c] = '+'
		case '/', '_':
			folded[c] = '/'
		default:
			folded[c] = byte(c) | 0x20
		}
	}
	return folded
}()

// isWordByte: a letter or a digit of ASCII. Beside any other character a word may end: that hides too much rather than
// too little.
func isWordByte(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
