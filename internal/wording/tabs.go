package wording

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"

	"go.yaml.in/yaml/v3"
)

var (
	// byTab is a line that a tab indents, byDash one in which it follows the sign of a list.
	byTab  = regexp.MustCompile(`^ *\t`)
	byDash = regexp.MustCompile(`^( *-)[ \t]*\t[ \t]*`)
)

// mostTabs bounds the lines that are looked at.
const mostTabs = 100

// Tab says in which line of a text that is no YAML a tab in the indentation is what is wrong with it. The parser names the line before it, at times, or
// speaks of a character that cannot start any token.
func Tab(text []byte) (string, bool) {
	at, tries := 0, 0
	for n := 1; at < len(text) && tries < mostTabs; n++ {
		end := at + bytes.IndexByte(append(text[at:len(text):len(text)], '\n'), '\n')
		line := text[at:end]
		isTab, isDash := byTab.Match(line), byDash.Match(line)
		if isTab || isDash {
			tries++
			mended := append(bytes.Clone(text[:at]), byDash.ReplaceAll(line, []byte("$1 "))...)
			if isYAML(text[:at]) && !isYAML(text[:end]) && (isTab || isYAML(mended)) {
				return fmt.Sprintf("line %d: a tab is in the indentation, and YAML allows spaces only; write spaces in place of it", n), true
			}
		}
		at = end + 1
	}
	return "", false
}

// isYAML reports whether a text, or the beginning of one, has no error.
func isYAML(text []byte) bool {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		if err := decoder.Decode(new(yaml.Node)); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}
