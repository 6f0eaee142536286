package figures

import (
	"regexp"
	"slices"
	"strings"
)

var (
	retired = regexp.MustCompile(`(?i)\b(climb(s|ed|ing)?|descents?|descend(s|ed|ing)?|negat(e|es|ed|ing|ion)|` +
		`anew|husks?)\b`)
	past = regexp.MustCompile(`^\s*"(found|fixedIn)":`)
	told = []string{"CHANGELOG.md", "docs/track-record.md", "tidy_test.go", "internal/lint/figures/words.go"}
)

// RetiredWord is a word that a plainer one has replaced.
type RetiredWord struct {
	Line int // from 1, and 0 for the name of the file
	Word string
}

// RetiredWords finds the words in the name and the text of a file. What tells of the past keeps them.
func RetiredWords(path, text string) []RetiredWord {
	if slices.Contains(told, path) {
		return nil
	}
	var all []RetiredWord
	for i, line := range strings.Split(path+"\n"+text, "\n") {
		if word := retired.FindString(strings.ReplaceAll(line, "_", " ")); word != "" && !past.MatchString(line) {
			all = append(all, RetiredWord{Line: i, Word: word})
		}
	}
	return all
}
