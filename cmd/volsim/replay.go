package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/report"
	"github.com/volnode/volnode/scenarios/verdict"
)

// replayed is a replay as JSON.
type replayed struct {
	Seed      uint64             `json:"seed"` // of a world of a hunt
	Scenario  string             `json:"scenario,omitempty"`
	Hash      string             `json:"hash"`
	Events    uint64             `json:"events"`
	HALCalls  uint64             `json:"halCalls"`
	Faults    uint64             `json:"faults"`
	Crashes   int                `json:"crashes"`
	Violation *verdict.Violation `json:"violation,omitempty"`
	Unmet     []string           `json:"unmet,omitempty"` // choices of the case that the run did not come to
	Trace     []string           `json:"trace,omitempty"`
	Log       []string           `json:"log,omitempty"`
}

func replayCommand() *cobra.Command {
	var o chosen
	var out outputs
	var asJSON, withLog, quiet bool
	cmd := &cobra.Command{
		Use: "replay [NAME|FILE]", Short: "Run one seed, case or scenario and show its whole trace", Args: oneRun,
		Long: `Runs one schedule again and writes its trace, which is the same every time, byte for byte. With --keep
it makes only the choices that volsim shrink has kept.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, isSeed, err := o.read(cmd, args)
			if err == nil {
				err = out.check()
			}
			if err != nil {
				return err
			}
			w := scenarios.Watch{Keep: !quiet}
			if isSeed {
				w.Chooser = sim.Seeded(c.Seed)
			}
			if err := out.trace(c, w.Chooser); err != nil {
				return err
			}
			return replay(cmd, c, w, asJSON, withLog)
		},
	}
	o.flags(cmd)
	out.flags(cmd, "perfetto")
	cmd.Flags().BoolVar(&withLog, "log", false, "also the engine's log, at the end")
	cmd.Flags().BoolVar(&quiet, "quiet", false, "only the result, not the trace")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}

func replay(cmd *cobra.Command, c cases.Case, s scenarios.Watch, asJSON, withLog bool) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush() //nolint:errcheck // standard output keeps its error
	var trace, log []string
	s.Done = func(w *sim.World) {
		if !asJSON {
			tellTrace(out, w)
			return
		}
		for i := range w.Trace().Records {
			trace = append(trace, string(w.Trace().Records[i].AppendText(nil)))
		}
	}
	if withLog {
		s.Log = func(l engine.Line) { log = append(log, logLine(l)) }
	}
	choices := c.Chooser()
	if s.Chooser == nil {
		s.Chooser = choices
	}
	res := scenarios.NewHunter().Rerun(c, s)
	unmet := choices.Unmet(c)
	if asJSON {
		r := replayed{
			Seed: c.Seed, Hash: fmt.Sprintf("%016x", res.Hash), Events: res.Events, HALCalls: res.Calls,
			Faults: res.Faults, Crashes: res.Crashes,
			Violation: res.Violation, Unmet: unmet, Trace: trace, Log: log,
		}
		if c.Scenario != nil {
			r.Scenario = c.Scenario.Name
		}
		if err := tellJSON(cmd, r); err != nil {
			return err
		}
	} else {
		for _, line := range log {
			fmt.Fprintln(out, line)
		}
		for _, choice := range unmet { // not in the trace, so that traces of one run are equal
			fmt.Fprintf(cmd.ErrOrStderr(), "no call comes to %s\n", choice)
		}
		fmt.Fprintf(out, "%s: %s, %s, %s, %s, hash %016x\n", nameOf(c), report.Count(res.Events, "event"),
			report.Count(res.Calls, "HAL call"),
			report.Count(res.Faults, "fault"), report.Count(res.Crashes, "crash"), res.Hash)
		if res.Violation != nil {
			fmt.Fprintf(out, "FAIL %s\n", res.Violation)
		}
	}
	if res.Violation != nil {
		return errViolation
	}
	return nil
}
