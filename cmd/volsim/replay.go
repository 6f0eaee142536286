package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/report"
)

// replayed is a replay as JSON.
type replayed struct {
	Seed      uint64               `json:"seed"`
	Hash      string               `json:"hash"`
	Events    uint64               `json:"events"`
	HALCalls  uint64               `json:"halCalls"`
	Faults    uint64               `json:"faults"`
	Crashes   int                  `json:"crashes"`
	Violation *scenarios.Violation `json:"violation,omitempty"`
	Trace     []string             `json:"trace,omitempty"`
}

func replayCommand() *cobra.Command {
	var o chosen
	var out outputs
	var asJSON, withLog, quiet bool
	cmd := &cobra.Command{
		Use: "replay [NAME|FILE]", Short: "Run one seed, case or scenario and show its whole trace", Args: cobra.MaximumNArgs(1),
		Long: `Runs one schedule again and writes its trace: byte for byte the same every time. With --keep only those choices are made that
volsim shrink has kept.`,
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

func replay(cmd *cobra.Command, c scenarios.Case, s scenarios.Watch, asJSON, withLog bool) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	defer out.Flush() //nolint:errcheck // a broken pipe is the reader's wish
	var trace, log []string
	s.Done = func(w *sim.World) {
		var line []byte
		for i := range w.Trace().Records {
			line = w.Trace().Records[i].AppendText(line[:0])
			if asJSON {
				trace = append(trace, string(line))
				continue
			}
			_, _ = out.Write(append(line, '\n'))
		}
	}
	if withLog {
		s.Log = func(e engine.Entry) { log = append(log, logLine(e)) }
	}
	res := scenarios.NewHunter().Rerun(c, s)
	if asJSON {
		if err := tellJSON(cmd, replayed{
			Seed: c.Seed, Hash: fmt.Sprintf("%016x", res.Hash), Events: res.Events, HALCalls: res.Calls, Faults: res.Faults, Crashes: res.Crashes,
			Violation: res.Violation, Trace: trace,
		}); err != nil {
			return err
		}
	} else {
		for _, line := range log {
			fmt.Fprintln(out, line)
		}
		fmt.Fprintf(out, "seed %d: %s, %s, %s, %s, hash %016x\n", c.Seed, report.Count(res.Events, "event"), report.Count(res.Calls, "HAL call"),
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
