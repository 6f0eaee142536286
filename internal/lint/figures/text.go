package figures

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

const maxColumns = 120

// textFigures measures what people read: long lines, and words that plainer ones have replaced.
func textFigures(t *tree) []Figure {
	goLines, prose, words := 0, 0, 0
	var where []string
	for _, p := range t.paths {
		isTestdata := strings.Contains("/"+p, "/testdata/")
		switch text := t.texts[p]; {
		case path.Ext(p) == ".go" && !isTestdata:
			goLines += longLines(text)
		case path.Ext(p) == ".md":
			prose += longLines(proseOf(text))
		}
		for _, w := range RetiredWords(p, t.texts[p]) {
			words++
			where = append(where, fmt.Sprintf("%s:%d %s", p, w.Line, w.Word))
		}
	}
	return []Figure{
		number(fmt.Sprintf("lines over %d columns, Go", maxColumns), goLines),
		number(fmt.Sprintf("lines over %d columns, prose of *.md", maxColumns), prose),
		number("retired words", words, where...),
	}
}

// longLines counts lines. A tab is one column, as for the linter.
func longLines(text string) (n int) {
	for line := range strings.SplitSeq(text, "\n") {
		if utf8.RuneCountInString(line) > maxColumns {
			n++
		}
	}
	return n
}

// proseOf is a document without its tables and its blocks of code.
func proseOf(text string) string {
	var prose []string
	isCode := false
	for line := range strings.SplitSeq(text, "\n") {
		switch trimmed := strings.TrimSpace(line); {
		case strings.HasPrefix(trimmed, "```"):
			isCode = !isCode
		case !isCode && !strings.HasPrefix(trimmed, "|"):
			prose = append(prose, line)
		}
	}
	return strings.Join(prose, "\n")
}
