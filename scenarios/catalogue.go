package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/volnode/volnode/internal/wording"
)

// catalogue is the stories, one in each file; a file's name is a sentence.
//
//go:embed catalogue/*.txt
var catalogue embed.FS

const catalogueDir = "scenarios/catalogue/"

// Argument is what names the scenario in a command line of volsim: its name if it is of the catalogue, else its file,
// quoted if a shell needs that.
func (s *Scenario) Argument() string {
	if s.stored {
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

// Catalogue returns the scenarios of the catalogue, by name.
func Catalogue() ([]*Scenario, error) {
	entries, err := catalogue.ReadDir("catalogue")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, e := range entries {
		s, err := stored(e.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// stored parses a file of the catalogue.
func stored(file string) (*Scenario, error) {
	text, err := catalogue.ReadFile("catalogue/" + file)
	if err != nil {
		return nil, err
	}
	s, err := Parse(catalogueDir+file, string(text))
	if err != nil {
		return nil, err
	}
	s.stored = true
	return s, nil
}

// catalogueNames are the names of the scenarios, without reading any.
func catalogueNames() (names []string) {
	entries, _ := catalogue.ReadDir("catalogue") // it is a part of the program
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names
}

// Find returns the scenario of the catalogue with that name. It reads no other: a process may run many.
func Find(name string) (*Scenario, error) {
	s, err := stored(strings.TrimSuffix(name, ".txt") + ".txt")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		meant := ""
		if near := wording.Nearest(strings.TrimSuffix(name, ".txt"), catalogueNames()); near != "" {
			meant = "; did you mean " + near + "?"
		}
		return nil, fmt.Errorf("there is no scenario %q, and no file of that name%s; volsim list --names lists the "+
			"scenarios", name, meant)
	}
	return s, err
}
