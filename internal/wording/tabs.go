package wording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

var (
	// byTab is a line that a tab indents, byDash one in which it follows the sign of a list.
	byTab  = regexp.MustCompile(`^ *\t`)
	byDash = regexp.MustCompile(`^( *-)[ \t]*\t[ \t]*`)

	// byLine is where a parser names a line.
	byLine = regexp.MustCompile(`line (\d+)`)
)

// near is how far from the line that the parser names a tab may be that it means.
const near = 1

// Tab says in which line of a text that is no YAML a tab in the indentation is what is wrong with it. The parser names
// the line before it, at times, or speaks of a character that cannot start any token.
func Tab(text []byte) (string, bool) {
	is := 1 // of which the parser says nothing
	if named := byLine.FindStringSubmatch(fmt.Sprint(errorOf(text))); named != nil {
		is, _ = strconv.Atoi(named[1]) // it is digits
	}
	at := 0
	for n := 1; at < len(text) && n <= is+near; n++ {
		end := at + bytes.IndexByte(append(text[at:len(text):len(text)], '\n'), '\n')
		line := text[at:end]
		isTab, isDash := byTab.Match(line), byDash.Match(line)
		if n >= is-near && (isTab || isDash) {
			mended := append(bytes.Clone(text[:at]), byDash.ReplaceAll(line, []byte("$1 "))...)
			if isYAML(text[:at]) && !isYAML(text[:end]) && (isTab || isYAML(mended)) {
				return fmt.Sprintf("line %d: a tab is in the indentation, and YAML allows spaces only; write spaces "+
					"in place of it", n), true
			}
		}
		at = end + 1
	}
	return "", false
}

// isYAML reports whether a text, or the beginning of one, has no error.
func isYAML(text []byte) bool { return errorOf(text) == nil }

// errorOf is the first error of a text.
func errorOf(text []byte) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		if err := decoder.Decode(new(yaml.Node)); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
