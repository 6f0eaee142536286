package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
)

// ran is one scenario's result as JSON.
type ran struct {
	Name      string               `json:"name"`
	OK        bool                 `json:"ok"`
	Violation *scenarios.Violation `json:"violation,omitempty"`
	Stale     []string             `json:"stale,omitempty"`
	Events    uint64               `json:"events"`
	HALCalls  uint64               `json:"halCalls"`
	Hash      string               `json:"hash"`
	Log       []string             `json:"log,omitempty"`
}

func runCommand() *cobra.Command {
	asJSON, trace := false, false
	cmd := &cobra.Command{
		Use: "run FILE|NAME…", Short: "Run scenarios: of the catalogue by their names, or from files", Args: cobra.MinimumNArgs(1),
		Long: `Runs scenarios and shows the engine's log of each, in the form that volnode writes, up to the end of its timeline. What follows is calm:
everything must come up, then stay as it is, be adopted by a restart without a call, and leave nothing behind.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			failed := false
			for _, arg := range args {
				ok, err := runArgument(cmd, arg, asJSON, trace)
				if err != nil {
					return err
				}
				failed = failed || !ok
			}
			if failed {
				return errViolation
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each scenario")
	cmd.Flags().BoolVar(&trace, "trace", false, "also the trace")
	return cmd
}

// runArgument runs a stored case or a scenario.
func runArgument(cmd *cobra.Command, arg string, asJSON, trace bool) (bool, error) {
	r, err := loadRegression(arg)
	switch {
	case err != nil:
		return false, err
	case r != nil:
		return runRegression(cmd, r, asJSON)
	}
	s, err := load(arg)
	if err != nil {
		return false, err
	}
	return runOne(cmd, s, asJSON, trace)
}

// load finds a scenario: a file if there is one of that name, else in the catalogue.
func load(arg string) (*scenarios.Scenario, error) {
	text, err := os.ReadFile(arg)
	switch {
	case err == nil:
		return scenarios.Parse(arg, string(text))
	case strings.ContainsRune(arg, '/'):
		return nil, err
	}
	return scenarios.Find(arg)
}

func runOne(cmd *cobra.Command, s *scenarios.Scenario, asJSON, trace bool) (bool, error) {
	out := cmd.OutOrStdout()
	var log []string
	var records []sim.Record
	tell := func(e engine.Entry) {
		if log = append(log, logLine(e)); !asJSON {
			fmt.Fprintln(out, logLine(e))
		}
	}
	if !asJSON {
		fmt.Fprintf(out, "# %s: %s\n", s.Name, s.Title())
	}
	res := scenarios.RunScenario(s, true, tell, func(w *sim.World) { records = w.Trace().Records })
	ok := res.Violation == nil && len(res.Stale) == 0
	if asJSON {
		return ok, tellJSON(cmd, ran{res.Name, ok, res.Violation, res.Stale, res.Events, res.Calls, fmt.Sprintf("%016x", res.Hash), log})
	}
	if trace {
		for i := range records {
			fmt.Fprintln(out, string(records[i].AppendText(nil)))
		}
	}
	for _, stale := range res.Stale {
		fmt.Fprintf(out, "STALE %s: %s\n", s.Name, stale)
	}
	if res.Violation != nil {
		fmt.Fprint(out, scenarios.Tell(scenarios.NewHunter(), scenarios.Case{Scenario: s, Still: true}).Text())
		return false, nil
	}
	if ok {
		fmt.Fprintf(out, "ok %s: %d events, %d HAL calls, %s in the world\n", s.Name, res.Events, res.Calls, res.Lasted.Round(time.Second))
	}
	return ok, nil
}

func listCommand() *cobra.Command {
	names, asJSON := false, false
	cmd := &cobra.Command{
		Use: "list", Short: "List the catalogue", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := scenarios.Catalogue()
			if err != nil {
				return err
			}
			for _, s := range all {
				switch {
				case asJSON:
					err = tellJSON(cmd, map[string]string{"name": s.Name, "title": s.Title()})
				case names:
					_, err = fmt.Fprintln(cmd.OutOrStdout(), s.Name)
				default:
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%-56s %s\n", s.Name, s.Title())
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&names, "names", false, "names only")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each scenario")
	return cmd
}
