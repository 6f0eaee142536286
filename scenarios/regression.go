package scenarios

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// RegressionSchema is the version of a stored case.
const RegressionSchema = 1

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

//go:embed regressions/*.json
var regressions embed.FS

// RegressionDir is where stored cases are, from the root of the source tree.
const RegressionDir = "scenarios/regressions/"

// Regressions returns the stored cases, by name.
func Regressions() ([]*Regression, error) {
	entries, err := regressions.ReadDir("regressions")
	if err != nil {
		return nil, err
	}
	var all []*Regression
	for _, e := range entries {
		text, err := regressions.ReadFile("regressions/" + e.Name())
		if err != nil {
			return nil, err
		}
		r, err := ParseRegression(RegressionDir+e.Name(), text)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// ParseRegression reads a stored case. file is for its errors.
func ParseRegression(file string, text []byte) (*Regression, error) {
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
	case r.Schema != RegressionSchema:
		return nil, fmt.Errorf("%s: schema %d, and this volsim reads %d; make the case again with volsim shrink "+
			"--store %s", file, r.Schema,
			RegressionSchema, base)
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

// NewRegression stores a finding. An older case of that name keeps its story and where it comes from.
func NewRegression(name string, f *Finding, c Case, old *Regression) *Regression {
	r := &Regression{
		Schema: RegressionSchema, Name: name, Story: f.Sentence, Signature: f.Signature,
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
func (r *Regression) Case() (Case, error) {
	c := Case{Still: true}
	for _, text := range r.Choices {
		k, err := ParseKept(text)
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
	c.Scenario, err = Find(r.Scenario)
	return c, err
}

// RegressionResult is what became of a stored case.
type RegressionResult struct {
	Result
	Stale []string // choices that the run does not come to
}

// Run runs a stored case, with its own chooser in place of w's. The world has moved under one that is stale: it tests
// nothing any more.
func (r *Regression) Run(h *Hunter, w Watch) (RegressionResult, error) {
	c, err := r.Case()
	if err != nil {
		return RegressionResult{}, err
	}
	choices := c.Chooser()
	w.Chooser = choices
	res := RegressionResult{Result: h.Rerun(c, w)}
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
