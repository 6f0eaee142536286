package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/scenarios"
)

// chosen is the flags and arguments that name a case.
type chosen struct {
	seed, times uint64
	keep        string
	still       bool
}

func (o *chosen) flags(cmd *cobra.Command) {
	cmd.Flags().Uint64Var(&o.seed, "seed", 0, "the seed")
	cmd.Flags().StringVar(&o.keep, "keep", "", "make only these choices, as volsim shrink prints them; without --seed nothing else is drawn")
	cmd.Flags().Uint64Var(&o.times, "times", 0, "with --seed and --keep: the seed of the times of what is not kept")
	cmd.Flags().BoolVar(&o.still, "still", false, "with --seed and --keep: nothing else is drawn")
}

// read makes the case. It reports whether it is a whole seed, whose choices are drawn.
func (o *chosen) read(cmd *cobra.Command, args []string) (scenarios.Case, bool, error) {
	isSeed := cmd.Flags().Changed("seed")
	c := scenarios.Case{Seed: o.seed, Times: o.times, Still: o.still || !isSeed}
	var err error
	if len(args) > 0 {
		if isSeed {
			return c, false, errors.New("a scenario has no seed: name one or the other")
		}
		if c.Scenario, err = load(args[0]); err != nil {
			return c, false, err
		}
	}
	if o.keep != "" {
		if c.Keep, err = scenarios.ParseKeep(o.keep); err != nil {
			return c, false, err
		}
	}
	if c.Still && !isSeed && o.keep == "" && c.Scenario == nil {
		return c, false, errors.New("which run? Name a --seed, the choices to --keep, or a scenario")
	}
	for _, k := range c.Keep {
		if k.Drawn && c.Still {
			return c, false, fmt.Errorf("%s has no value: write one behind =, or name the --seed that draws it", k)
		}
	}
	return c, isSeed && o.keep == "" && !o.still && o.times == 0, nil
}

func shrinkCommand() *cobra.Command {
	var o chosen
	asJSON := false
	cmd := &cobra.Command{
		Use: "shrink [NAME|FILE]", Short: "Take choices away from a failing seed or scenario until none can go", Args: cobra.MaximumNArgs(1),
		Long: `Shrinks a failing seed, or a failing scenario, with what is kept of it: the fewest and mildest faults, the fewest objects, the shortest and
roundest times. What is left is told in a sentence and a timeline, with the command that replays it, and what becomes of it without each choice.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, isSeed, err := o.read(cmd, args)
			if err != nil {
				return err
			}
			h := scenarios.NewHunter()
			var s *scenarios.Shrunk
			if isSeed {
				s = scenarios.Shrink(h, c.Seed)
			} else {
				s = scenarios.ShrinkCase(h, c)
			}
			if s == nil {
				return tellNothing(cmd, c)
			}
			return tellFinding(cmd, scenarios.Explain(h, s), asJSON)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

func explainCommand() *cobra.Command {
	var o chosen
	asJSON := false
	cmd := &cobra.Command{
		Use: "explain [NAME|FILE]", Short: "Tell what a failing seed, case or scenario does, and which of its choices it needs", Args: cobra.MaximumNArgs(1),
		Long: `Tells a failing run as it is: in a sentence and a timeline, with what becomes of it without each choice that it keeps. It shrinks nothing,
but a whole seed.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, isSeed, err := o.read(cmd, args)
			if err != nil {
				return err
			}
			h := scenarios.NewHunter()
			var s *scenarios.Shrunk
			if isSeed {
				s = scenarios.Shrink(h, c.Seed)
			} else {
				s = scenarios.AsItIs(h, c)
			}
			if s == nil {
				return tellNothing(cmd, c)
			}
			return tellFinding(cmd, scenarios.Explain(h, s), asJSON)
		},
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

func tellNothing(cmd *cobra.Command, c scenarios.Case) error {
	name := fmt.Sprintf("seed %d", c.Seed)
	switch {
	case c.Scenario != nil:
		name = c.Scenario.Name
	case c.Still:
		name = "the case"
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s breaks no property\n", name)
	return err
}

func tellFinding(cmd *cobra.Command, f *scenarios.Finding, asJSON bool) error {
	if asJSON {
		if err := tellJSON(cmd, f); err != nil {
			return err
		}
		return errViolation
	}
	fmt.Fprint(cmd.OutOrStdout(), f.Text())
	return errViolation
}
