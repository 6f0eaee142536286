package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/minimise"
)

func diffCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "diff A B", Short: "Show the first record in which two runs differ", Args: arguments(2, 2, "two runs"),
		Long: `Compares two traces, record by record, and shows the first record that differs, with what came before
it. A run is a seed, the choices of a case (its --keep), a stored case or a scenario, or a file that volsim replay has
written.

Exit status: 0 the traces are equal, 1 they differ, 2 usage.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var traces [2][]string
			for i, arg := range args {
				var err error
				if traces[i], err = traceOf(arg); err != nil {
					return err
				}
			}
			d := minimise.Diff(traces[0], traces[1])
			if d == nil {
				if asJSON {
					return tellJSON(cmd, struct{}{})
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "equal: %d lines\n", len(traces[0]))
				return err
			}
			d.NameA, d.NameB = args[0], args[1]
			if asJSON {
				if err := tellJSON(cmd, d); err != nil {
					return err
				}
			} else {
				fmt.Fprint(cmd.OutOrStdout(), d.Text())
			}
			return errViolation
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

// traceOf reads or makes the trace that an argument of diff names.
func traceOf(arg string) ([]string, error) {
	h := scenarios.NewHunter()
	if seed, err := strconv.ParseUint(arg, 10, 64); err == nil {
		return minimise.TraceOf(h, cases.Case{Seed: seed}, sim.Seeded(seed)), nil
	}
	if strings.Contains(arg, "=") {
		kept, err := cases.ParseKeep(arg)
		if err != nil {
			return nil, err
		}
		return minimise.TraceOf(h, cases.Case{Still: true, Keep: kept}, nil), nil
	}
	if trace, ok, err := readTrace(arg); ok || err != nil {
		return trace, err
	}
	c, err := loadCase(arg)
	if err != nil {
		return nil, err
	}
	return minimise.TraceOf(h, c, nil), nil
}

// readTrace reads a file that begins like a record, with its number; false if there is no such file. It reads only
// once, as a pipe must be.
func readTrace(file string) (trace []string, ok bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, false, nil
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if begin, err := in.Peek(2); err != nil || string(begin) != "1 " {
		return nil, false, nil
	}
	trace, err = minimise.ReadTrace(in)
	return trace, true, err
}
