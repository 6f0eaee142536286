package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/minimise"
	"github.com/volnode/volnode/scenarios/regressions"
	"github.com/volnode/volnode/scenarios/report"
)

var storedName = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)

// store writes a shrunk case to a file of the source tree, or again if there is one of that name.
func store(cmd *cobra.Command, name string, f *minimise.Finding, s *minimise.Shrunk) error {
	if !s.Case.Still {
		return fmt.Errorf("--store: the case needs the times of seed %d, so it can't be stored by itself", s.Case.Seed)
	}
	if c := s.Case.Scenario; c != nil {
		if _, err := scenarios.Find(c.Name); err != nil {
			return fmt.Errorf("--store: a stored case of a scenario needs it in the catalogue: %w", err)
		}
	}
	file := regressions.Dir + name + ".json"
	if _, err := os.Stat(regressions.Dir); err != nil {
		return fmt.Errorf("--store: %w; run it at the root of the source tree", err)
	}
	var old *regressions.Regression
	switch text, err := os.ReadFile(file); {
	case err == nil:
		if old, err = regressions.Parse(file, text); err != nil {
			old = nil // of another schema, or one that does not read any more: it is replaced
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text, err := regressions.New(name, f, s.Case, old).Text()
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, text, 0o644); err != nil { //nolint:gosec // a source file
		return err
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "stored in %s\n", file)
	return err
}

// loadRegression finds a stored case: a file that ends in .json, or one of the tree by its name; nil if it is none of
// the two.
func loadRegression(arg string) (*regressions.Regression, error) {
	if strings.HasSuffix(arg, ".json") {
		text, err := os.ReadFile(arg)
		if err != nil {
			return nil, err
		}
		return regressions.Parse(arg, text)
	}
	all, err := regressions.All()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Name == arg {
			return r, nil
		}
	}
	return nil, nil
}

// loadCase finds a scenario or a stored case.
func loadCase(arg string) (cases.Case, error) {
	r, err := loadRegression(arg)
	switch {
	case err != nil:
		return cases.Case{}, err
	case r != nil:
		return r.Case()
	}
	s, err := load(arg)
	return cases.Case{Scenario: s, Still: true}, err
}

// runRegression runs a stored case and tells what it comes to.
func runRegression(cmd *cobra.Command, r *regressions.Regression, asJSON, trace bool,
) (regressions.Result, error) {
	h := scenarios.NewHunter()
	out := cmd.OutOrStdout()
	if !asJSON {
		fmt.Fprintf(out, "# %s: %s\n", r.Name, r.Story)
	}
	res, err := r.Run(h, scenarios.Watch{Keep: trace, Done: func(w *sim.World) {
		if trace {
			tellTrace(out, w)
		}
	}})
	if err != nil {
		return res, err
	}
	ok := res.Violation == nil && len(res.Stale) == 0
	if asJSON {
		return res, tellJSON(cmd, ran{
			r.Name, ok, res.Violation, res.Stale, res.Events, res.Calls,
			fmt.Sprintf("%016x", res.Hash), nil,
		})
	}
	for _, choice := range res.Stale {
		fmt.Fprintf(out, "STALE %s: no call comes to %s\n", r.Name, choice)
	}
	switch {
	case res.Violation != nil:
		c, err := r.Case()
		if err != nil {
			return res, err
		}
		fmt.Fprint(out, minimise.Tell(h, c).Text())
	case ok:
		fmt.Fprintf(out, "ok %s: %s, %s\n", r.Name, report.Count(res.Events, "event"),
			report.Count(res.Calls, "HAL call"))
	default:
		fmt.Fprintf(out, "the world has moved: find the defect again in an engine that has it, and volsim shrink "+
			"--store %s; or, if it is the sound\n"+
			"engine that does not come to these, list them under \"unreached\"\n", r.Name)
	}
	return res, nil
}
