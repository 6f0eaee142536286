package mutants

import (
	"fmt"
	"go/scanner"
	"go/token"
)

// word is one token of a Go text, and where it is there.
type word struct {
	text     string
	from, to int
}

// wordsOf returns the tokens of a Go text. What only its layout has does not count: comments, the semicolons of line
// ends, and a comma in front of what closes a list.
func wordsOf(text []byte) []word {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, 0) // a part of a function need not be whole
	var words []word
	for {
		pos, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return words
		case kind == token.SEMICOLON && literal == "\n":
			continue
		case literal == "" || kind.IsOperator():
			literal = kind.String()
		}
		if kind == token.RPAREN || kind == token.RBRACK || kind == token.RBRACE {
			if last := len(words) - 1; last >= 0 && words[last].text == "," {
				words = words[:last]
			}
		}
		from := file.Offset(pos)
		words = append(words, word{literal, from, from + len(literal)})
	}
}

// find returns where the mutant's old text begins and ends in its function.
func (m Mutant) find(function []byte) (from, to int, err error) {
	all, old := wordsOf(function), wordsOf([]byte(m.Old))
	found := 0
	for i := 0; i+len(old) <= len(all) && len(old) > 0; i++ {
		if isSame(all[i:i+len(old)], old) {
			from, to = all[i].from, all[i+len(old)-1].to
			found++
		}
	}
	if found != 1 {
		return 0, 0, fmt.Errorf("mutant %q: its old text is %d times in %s, not once; bring scenarios/mutants up "+
			"to date", m.Name, found, m.In)
	}
	return from, to, nil
}

func isSame(a, b []word) bool {
	for i := range b {
		if a[i].text != b[i].text {
			return false
		}
	}
	return true
}
