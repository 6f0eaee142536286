package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/minimise"
)

// oneRun lets a command have the name or the file of a scenario or stored case, or none.
var oneRun = arguments(0, 1, "one scenario or stored case")

// chosen is the flags and arguments that name a case.
type chosen struct {
	seed, times uint64
	keep        string
	still       bool
}

func (o *chosen) flags(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&o.seed, "seed", 0, "the seed")
	cmd.Flags().StringVar(&o.keep, "keep", "",
		"make only these choices, as volsim shrink prints them; without --seed nothing else is drawn")
	cmd.Flags().Uint64Var(&o.times, "times", 0, "with --seed and --keep: the seed of the times of what is not kept")
	cmd.Flags().BoolVar(&o.still, "still", false, "with --seed and --keep: nothing else is drawn")
}

// read makes the case. It reports whether it is a whole seed, whose choices are drawn.
func (o *chosen) read(cmd *cobra.Command, args []string) (cases.Case, bool, error) {
	isSeed := cmd.Flags().Changed("seed")
	for _, name := range []string{"times", "still"} {
		if cmd.Flags().Changed(name) && (!isSeed || o.keep == "") {
			return cases.Case{}, false, fmt.Errorf("--%s goes with --seed and --keep", name)
		}
	}
	c := cases.Case{Seed: o.seed, Times: o.times, Still: o.still || !isSeed}
	if len(args) > 0 {
		if isSeed {
			return c, false, errors.New("a scenario has no seed: name one or the other")
		}
		found, err := loadCase(args[0])
		if err != nil {
			return c, false, err
		}
		c.Scenario, c.Keep = found.Scenario, found.Keep
	}
	if o.keep != "" {
		kept, err := cases.ParseKeep(o.keep)
		if err != nil {
			return c, false, err
		}
		c.Keep = append(c.Keep, kept...)
	}
	if c.Still && !isSeed && len(c.Keep) == 0 && c.Scenario == nil {
		return c, false, errors.New("which run? Name a --seed, the choices to --keep, or a scenario")
	}
	for _, k := range c.Keep {
		if k.Drawn && c.Still {
			return c, false, fmt.Errorf("%s has no value: write one behind =, or name the --seed that draws it", k)
		}
	}
	return c, isSeed && o.keep == "", nil
}

func shrinkCommand() *cobra.Command {
	var o chosen
	var out outputs
	asJSON, name, budget := false, "", time.Duration(0)
	cmd := &cobra.Command{
		Use: "shrink [NAME|FILE]", Short: "Take choices away from a failing seed or scenario until none can go",
		Args: oneRun,
		Long: `Shrinks a failing seed or scenario to the fewest and mildest faults, the fewest objects, and the
shortest and roundest times. It prints the case as a sentence and a timeline, the command that replays it, and how the
run ends without each choice. --store writes the case to a file of scenarios/regressions, which volsim run and the
tests run from then on.

When --budget ends, shrink prints the smallest case so far. It can't shrink a run that is not the same each time: it
shows where two runs differ.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if name != "" && !storedName.MatchString(name) {
				return fmt.Errorf("--store %q: a name is words of a-z and 0-9 with _ between them", name)
			}
			if err := out.check(); err != nil {
				return err
			}
			if budget < 0 {
				return errors.New("--budget is a time like 10m; 0 is no limit")
			}
			s, f, err := o.finds(cmd, args, asJSON, budget,
				func(h *scenarios.Hunter, c cases.Case) (*minimise.Shrunk, *minimise.Difference) {
					return minimise.ShrinkCase(h, c, budget)
				})
			if f == nil {
				return err
			}
			if name != "" {
				if err := store(cmd, name, f, s); err != nil {
					return err
				}
			}
			if err := out.finding(f, s.Case); err != nil {
				return err
			}
			return tellFinding(cmd, f, asJSON)
		},
	}
	o.flags(cmd)
	out.flags(cmd, "report", "perfetto")
	cmd.Flags().DurationVar(&budget, "budget", minimise.ShrinkBudget,
		"stop after this time, with the smallest case so far (0 is no limit)")
	cmd.Flags().StringVar(&name, "store", "",
		"store the case under this name; a case of that name is made again, and keeps its story")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object; {} if nothing fails")
	return cmd
}

// howTo makes a case ready to be explained.
type howTo func(*scenarios.Hunter, cases.Case) (*minimise.Shrunk, *minimise.Difference)

// finds reads the case, shrinks it, a whole seed in full and all else in the way that is given, and explains it.
// Without a finding, it has printed why there is none.
func (o *chosen) finds(cmd *cobra.Command, args []string, asJSON bool, budget time.Duration, how howTo) (
	*minimise.Shrunk, *minimise.Finding, error,
) {
	c, isSeed, err := o.read(cmd, args)
	if err != nil {
		return nil, nil, err
	}
	h := scenarios.NewHunter()
	var s *minimise.Shrunk
	var parts *minimise.Difference
	if isSeed {
		s, parts = minimise.Shrink(h, c.Seed, budget)
	} else {
		s, parts = how(h, c)
	}
	if s != nil {
		if f := minimise.Explain(h, s); f != nil {
			return s, f, nil
		}
		parts = s.Difference
	}
	return nil, nil, tellNothing(cmd, c, asJSON, s != nil, parts)
}

func explainCommand() *cobra.Command {
	var o chosen
	var out outputs
	asJSON := false
	cmd := &cobra.Command{
		Use: "explain [NAME|FILE]", Short: "Tell what a failing seed, case or scenario does, and which of its " +
			"choices it needs",
		Args: oneRun,
		Long: `Prints a failing run as it is: a sentence, a timeline, and how the run ends without each choice that it
keeps. It only shrinks a whole seed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			s, f, err := o.finds(cmd, args, asJSON, minimise.ShrinkBudget, minimise.AsItIs)
			if f == nil {
				return err
			}
			if err := out.finding(f, s.Case); err != nil {
				return err
			}
			return tellFinding(cmd, f, asJSON)
		},
	}
	o.flags(cmd)
	out.flags(cmd, "report", "perfetto")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object; {} if nothing fails")
	return cmd
}

// tellNothing tells that nothing fails, or that runs of the case are not the same, and where they part.
func tellNothing(cmd *cobra.Command, c cases.Case, asJSON, failed bool, parts *minimise.Difference) error {
	isSteady := parts == nil && !failed
	switch {
	case isSteady && asJSON:
		return tellJSON(cmd, struct{}{})
	case isSteady:
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s breaks no property; all runs of it are equal\n", nameOf(c))
		return err
	case asJSON:
		if err := tellJSON(cmd, struct {
			Difference *minimise.Difference `json:"difference"`
		}{parts}); err != nil {
			return err
		}
		return errViolation
	}
	where := "it fails in some of its runs, and in others it does not\n"
	if parts != nil {
		where = parts.Text()
	}
	fmt.Fprintf(cmd.OutOrStdout(),
		"%s is not deterministic, so it can't be shrunk: its runs differ, and each should be the same as the first.\n"+
			"Look for what is not a function of the seed: the order of a map, the clock of the host, what a run has "+
			"left to the next.\n%s", nameOf(c), where)
	return errViolation
}

// nameOf is what a case is called.
func nameOf(c cases.Case) string {
	switch {
	case c.Scenario != nil:
		return c.Scenario.Name
	case c.Still:
		return "the case"
	}
	return fmt.Sprintf("seed %d", c.Seed)
}

func tellFinding(cmd *cobra.Command, f *minimise.Finding, asJSON bool) error {
	if asJSON {
		if err := tellJSON(cmd, f); err != nil {
			return err
		}
		return errViolation
	}
	fmt.Fprint(cmd.OutOrStdout(), f.Text())
	return errViolation
}
