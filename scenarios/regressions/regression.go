// Package regressions is the stored cases: each broke a property once, and is run ever after.
package regressions

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/minimise"
)

// Schema is the version of a stored case.
const Schema = 1

// Regression is a case that broke a property once, stored so that it is run ever after. It has all its choices, and
// needs no seed.
type Regression struct {
	Schema  int    `json:"schema"`
	Name    string `json:"name"`
	Story   string `json:"story"`             // one sentence
	Found   string `json:"found"`             // by what, and in which engine
	FixedIn string `json:"fixedIn,omitempty"` // the commit, or what says so
	// Signature is what it broke: property and site.
	Signature string   `json:"signature"`
	Scenario  string   `json:"scenario,omitempty"` // of the catalogue, in place of a world of a hunt
	Choices   []string `json:"choices"`            // as --keep has them, in the order in which the run comes to them
	// Unreached are those of the choices that an engine without the defect does not come to: that they are not met is
	// not stale.
	Unreached []string `json:"unreached,omitempty"`
}

//go:embed *.json
var files embed.FS

// Dir is where stored cases are, from the root of the source tree.
const Dir = "scenarios/regressions/"

// All returns the stored cases, by name.
func All() ([]*Regression, error) {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var all []*Regression
	for _, e := range entries {
		text, err := files.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		r, err := Parse(Dir+e.Name(), text)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Parse reads a stored case. file is for its errors.
func Parse(file string, text []byte) (*Regression, error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	r := &Regression{}
	if err := in.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if in.More() {
		return nil, fmt.Errorf("%s: something follows the stored case; there is one in a file", file)
	}
	base := strings.TrimSuffix(file[strings.LastIndexByte(file, '/')+1:], ".json")
	switch {
	case r.Schema != Schema:
		return nil, fmt.Errorf("%s: schema %d, and this volsim reads %d; make the case again with volsim shrink "+
			"--store %s", file, r.Schema,
			Schema, base)
	case r.Name != base:
		return nil, fmt.Errorf("%s: its name is %q; a stored case is called like its file", file, r.Name)
	case len(r.Choices) == 0 && r.Scenario == "":
		return nil, fmt.Errorf("%s: it has no choices", file)
	}
	if _, err := r.Case(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// New stores a finding. An older case of that name keeps its story and where it comes from.
func New(name string, f *minimise.Finding, c cases.Case, old *Regression) *Regression {
	r := &Regression{
		Schema: Schema, Name: name, Story: f.Sentence, Signature: f.Signature,
		Found: "volsim shrink",
	}
	if r.Scenario = f.Scenario; f.Scenario == "" && f.Seed != 0 {
		r.Found += fmt.Sprintf(" --seed %d", f.Seed)
	}
	if f.Commit != "" {
		r.Found += ", commit " + f.Commit
	}
	for _, k := range c.Keep {
		r.Choices = append(r.Choices, k.String())
	}
	if old != nil {
		r.Story, r.Found, r.FixedIn = old.Story, old.Found, old.FixedIn
	}
	return r
}

// Case is the stored case as one that runs.
func (r *Regression) Case() (cases.Case, error) {
	c := cases.Case{Still: true}
	for _, text := range r.Choices {
		k, err := cases.ParseKept(text)
		if err == nil && k.Drawn {
			err = fmt.Errorf("%q has no value: a stored case does not hang on a seed", text)
		}
		if err != nil {
			return c, err
		}
		c.Keep = append(c.Keep, k)
	}
	if r.Scenario == "" {
		return c, nil
	}
	var err error
	c.Scenario, err = scenarios.Find(r.Scenario)
	return c, err
}

// Result is what became of a stored case.
type Result struct {
	scenarios.Result
	Stale []string // choices that the run does not come to
}

// Run runs a stored case, with its own chooser in place of w's. The world has moved under one that is stale: it tests
// nothing any more.
func (r *Regression) Run(h *scenarios.Hunter, w scenarios.Watch) (Result, error) {
	c, err := r.Case()
	if err != nil {
		return Result{}, err
	}
	choices := c.Chooser()
	w.Chooser = choices
	res := Result{Result: h.Rerun(c, w)}
	for _, text := range choices.Unmet(c) {
		if !slices.Contains(r.Unreached, text) {
			res.Stale = append(res.Stale, text)
		}
	}
	return res, nil
}

// Text is the stored case as a file.
func (r *Regression) Text() ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	err := out.Encode(r)
	return b.Bytes(), err
}
