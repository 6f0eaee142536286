package lang

import "strings"

// caughtBy begins the line of a scenario's head that names what catches its bug.
const caughtBy = "caught by: "

// CaughtBy returns what catches the bug that the scenario tells of: names of mutants that fail it, and codes of
// properties; none if its head does not say.
func (s *Scenario) CaughtBy() []string {
	var all []string
	for _, line := range s.Head {
		if what, ok := strings.CutPrefix(line, caughtBy); ok {
			all = append(all, what)
		}
	}
	return all
}

// Argument is what names the scenario in a command line of volsim: its name if it is of the catalogue, else its file,
// quoted if a shell needs that.
func (s *Scenario) Argument() string {
	if s.Stored {
		return s.Name
	}
	return Quoted(s.File)
}

// Quoted is a word as a shell reads it.
func Quoted(word string) string {
	isPlain := func(c rune) bool {
		return c > 127 || c == '_' || strings.ContainsRune("./-+,:@%=", c) || isAlphanumeric(c)
	}
	if word != "" && strings.IndexFunc(word, func(c rune) bool { return !isPlain(c) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
