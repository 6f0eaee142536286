package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/volnode/volnode/internal/wording"
	"github.com/volnode/volnode/scenarios/lang"
)

// catalogue is the scenarios, one in each file; a file's name is a sentence.
//
//go:embed catalogue/*.txt
var catalogue embed.FS

const catalogueDir = "scenarios/catalogue/"

// Catalogue returns the scenarios of the catalogue, by name.
func Catalogue() ([]*lang.Scenario, error) {
	entries, err := catalogue.ReadDir("catalogue")
	if err != nil {
		return nil, err
	}
	var all []*lang.Scenario
	for _, e := range entries {
		s, err := stored(e.Name())
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Parse reads a scenario. file is for its errors, and its base without suffix is the scenario's name.
func Parse(file, text string) (*lang.Scenario, error) { return language.Parse(file, text) }

// stored parses a file of the catalogue.
func stored(file string) (*lang.Scenario, error) {
	text, err := catalogue.ReadFile("catalogue/" + file)
	if err != nil {
		return nil, err
	}
	s, err := Parse(catalogueDir+file, string(text))
	if err != nil {
		return nil, err
	}
	s.Stored = true
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
func Find(name string) (*lang.Scenario, error) {
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
