package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
)

// shrunk is a shrunk failure as JSON.
type shrunk struct {
	Seed      uint64               `json:"seed"`
	Choices   int                  `json:"choices"`
	Lines     int                  `json:"lines"`
	Of        int                  `json:"of"`
	Kept      []string             `json:"kept"`
	Runs      int                  `json:"runs"`
	Equal     int                  `json:"replaysEqual"`
	Violation *scenarios.Violation `json:"violation"`
	Timeline  []scenarios.Line     `json:"timeline"`
	Replay    string               `json:"replay"`
}

func shrinkCommand() *cobra.Command {
	var seed uint64
	asJSON := false
	cmd := &cobra.Command{
		Use: "shrink", Short: "Take choices away from a failing seed until none can go", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return shrink(cmd, seed, asJSON) },
	}
	cmd.Flags().Uint64Var(&seed, "seed", 0, "the seed")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	if err := cmd.MarkFlagRequired("seed"); err != nil {
		panic(err)
	}
	return cmd
}

func shrink(cmd *cobra.Command, seed uint64, asJSON bool) error {
	h := scenarios.NewHunter()
	s := scenarios.Shrink(h, seed)
	if s == nil {
		fmt.Fprintf(cmd.OutOrStdout(), "seed %d breaks no property\n", seed)
		return nil
	}
	command := s.Case.Command("replay")
	var lines []scenarios.Line
	h.Rerun(s.Case, scenarios.Watch{Keep: true, Done: func(w *sim.World) {
		lines = scenarios.Timeline(w.Trace().Records, s.Violation.Object)
	}})
	report := scenarios.Report(s.Violation, seed, s, lines, command)
	if asJSON {
		kept := make([]string, len(s.Case.Keep))
		for i, k := range s.Case.Keep {
			kept[i] = k.ID.String()
		}
		err := tellJSON(cmd, shrunk{seed, len(s.Case.Choices()), strings.Count(report, "\n"), s.Choices, kept, s.Runs, s.Equal, s.Violation, lines, command})
		if err != nil {
			return err
		}
		return errViolation
	}
	fmt.Fprint(cmd.OutOrStdout(), report)
	return errViolation
}
