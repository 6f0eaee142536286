package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/report"
	"github.com/volnode/volnode/scenarios/verdict"
)

// covered is what volsim coverage tells as JSON.
type covered struct {
	Schedules uint64             `json:"schedules"`
	Stories   int                `json:"scenarios"`
	Curve     []fleet.Growth     `json:"curve"`
	Coverage  *coverage.Coverage `json:"coverage"`
	Never     []coverage.Gap     `json:"never"`
	Refuted   []coverage.Gap     `json:"refuted"`
	Unmet     []string           `json:"unmetFaults"` // faults that are possible at a site and were not met there
}

func coverageCommand() *cobra.Command {
	f := fleet.Fleet{Workers: runtime.GOMAXPROCS(0), Cover: true}
	asJSON, stories := false, true
	cmd := &cobra.Command{
		Use: "coverage", Short: "Tell what a hunt and the catalogue reach: faults, checks, transitions, decisions, " +
			"rare things", Args: noArguments,
		Long: `Runs the catalogue and then schedules, one for each seed from --seed on. It prints what they have
reached: which faults at which sites, how often each property had something to judge, which event met a rung in which
state, for which reasons the engine decided, and which rare things have happened. It shows how the number of different
states in which faults met the engine has grown. It lists what no run has reached, each with the reason.

Fails if no run has reached something that has no reason in scenarios/coverage/gaps.go, or a run has reached something
in spite of its reason. A few thousand schedules reach all.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return tellCoverage(cmd, f, stories, asJSON) },
	}
	cmd.Flags().Uint64Var(&f.Runs, "runs", 5000, "how many schedules")
	cmd.Flags().Uint64Var(&f.Seed, "seed", 1, "the first seed")
	cmd.Flags().IntVar(&f.Workers, "workers", f.Workers, "how many worlds run side by side")
	cmd.Flags().BoolVar(&stories, "catalogue", true, "also run the catalogue")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

func tellCoverage(cmd *cobra.Command, f fleet.Fleet, stories, asJSON bool) error {
	switch {
	case f.Workers < 1:
		return noWorkers(f.Workers)
	case f.Runs == 0:
		return errors.New("--runs 0: write how many schedules are to be run, at least 1")
	case f.Seed >= cases.MaxSeed || f.Runs >= cases.MaxSeed-f.Seed:
		return fmt.Errorf("--seed %d with --runs %d: seeds end at %d", f.Seed, f.Runs, uint64(cases.MaxSeed))
	}
	tally, failed := f.Hunt()
	if failed != nil {
		c, _ := failed.ToCase()
		fmt.Fprintf(cmd.ErrOrStderr(), "FAIL %s\n  replay: %s\n", failed.Violation, c.Command("replay"))
		return errViolation
	}
	c := covered{Schedules: tally.Schedules, Curve: tally.Curve, Coverage: tally.Coverage}
	if stories {
		all, err := scenarios.Catalogue()
		if err != nil {
			return err
		}
		for _, s := range all {
			c.Coverage.Add(scenarios.Play{Scenario: s, Cover: true}.Run().Coverage)
		}
		c.Stories = len(all)
	}
	c.Never, c.Refuted, c.Unmet = c.Coverage.Gaps(), c.Coverage.Refuted(), unmet(c.Coverage)
	if asJSON {
		if err := tellJSON(cmd, c); err != nil {
			return err
		}
	} else {
		c.tell(cmd.OutOrStdout())
	}
	if len(c.Refuted) > 0 || slices.ContainsFunc(c.Never, func(g coverage.Gap) bool { return g.Why == "" }) {
		return errViolation
	}
	return nil
}

// unmet returns the faults that are possible at a site that was reached, and were not met there.
func unmet(c *coverage.Coverage) []string {
	reached := map[string]bool{}
	for at := range c.Faults {
		reached[at.Site] = true
	}
	all := []string{}
	for _, s := range sim.Sites() {
		for _, f := range s.Faults() {
			at := coverage.FaultAt{Site: s.Name, Fault: f}
			if reached[s.Name] && c.Faults[at] == 0 {
				all = append(all, at.String())
			}
		}
	}
	return all
}

func (c covered) tell(w io.Writer) {
	fmt.Fprintf(w, "%s and %s\n", report.Count(c.Schedules, "schedule"), report.Count(c.Stories, "scenario"))
	fmt.Fprintln(w, "\nfaults by site")
	for _, s := range sim.Sites() {
		var parts []string
		for _, f := range s.Faults() {
			if n := c.Coverage.Faults[coverage.FaultAt{Site: s.Name, Fault: f}]; n > 0 {
				parts = append(parts, fmt.Sprintf("%s %d", f, n))
			}
		}
		if len(parts) > 0 {
			fmt.Fprintf(w, "  %-26s %s\n", s.Name, strings.Join(parts, " · "))
		}
	}
	fmt.Fprintln(w, "\nproperties, and how often each had something to judge")
	for _, p := range verdict.Properties {
		fmt.Fprintf(w, "  %-6s %9d  %s\n", p.Code, c.Coverage.Checks[p.Code], p.Text)
	}
	section(w, "transitions: how a rung stood, and what happened", c.Coverage.Transitions)
	section(w, "decisions, by their reason", c.Coverage.Decisions)
	section(w, "rare things", c.Coverage.Probes)
	fmt.Fprintln(w, "\ngrowth: different tuples of site, fault and the state that it met")
	for _, g := range c.Curve {
		fmt.Fprintf(w, "  %8d schedules  %5d tuples  %3d transitions  %2d decisions  %2d rare things\n",
			g.Schedules, g.Tuples, g.Transitions, g.Decisions, g.Probes)
	}
	c.tellNever(w)
	if len(c.Unmet) > 0 {
		fmt.Fprintf(w, "\nfaults not met at sites that were reached (more schedules meet more)\n  %s\n",
			strings.Join(c.Unmet, " · "))
	}
	for _, g := range c.Refuted {
		fmt.Fprintf(w, "\nWRONG: %s was reached, and scenarios/coverage/gaps.go says why that can't be: %s\n", g.Item,
			g.Why)
	}
}

// tellNever lists what was never reached, by reason.
func (c covered) tellNever(w io.Writer) {
	byReason := map[string][]string{}
	for _, g := range c.Never {
		byReason[g.Why] = append(byReason[g.Why], g.Kind+" "+g.Name)
	}
	if bare := byReason[""]; len(bare) > 0 {
		fmt.Fprintf(w, "\nNEVER REACHED, without a reason: run more schedules, or make the worlds reach it\n  %s\n",
			strings.Join(bare, "\n  "))
		delete(byReason, "")
	}
	fmt.Fprintf(w, "\nnever reached, for a reason\n")
	for _, why := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Fprintf(w, "  %s\n    %s\n", why, strings.Join(byReason[why], " · "))
	}
}

// section lists counts, in the order of their names.
func section[K comparable](w io.Writer, title string, counts map[K]uint64) {
	fmt.Fprintf(w, "\n%s\n", title)
	byName := map[string]uint64{}
	for key, n := range counts {
		byName[fmt.Sprint(key)] = n
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		fmt.Fprintf(w, "  %9d  %s\n", byName[name], name)
	}
}
