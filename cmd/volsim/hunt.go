package main

import (
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/scenarios"
)

// summary is the last line of a hunt.
type summary struct {
	scenarios.Tally
	Violations int                  `json:"violations"`
	Seed       uint64               `json:"failedSeed,omitempty"`
	Violation  *scenarios.Violation `json:"violation,omitempty"`
	Replay     string               `json:"replay,omitempty"`
}

func huntCommand() *cobra.Command {
	f := scenarios.Fleet{Workers: runtime.GOMAXPROCS(0)}
	asJSON := false
	cmd := &cobra.Command{
		Use: "hunt", Short: "Run worlds made of seeds until one breaks a property", Args: cobra.NoArgs,
		Long: `Runs schedules, one for each seed from --seed on, until --runs are done or the budget is used up, or until one breaks a property:
then its replay command is shown. A schedule is 20 minutes of pods that come and go and of faults, then calm.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !asJSON {
				f.Progress = func(t scenarios.Tally) {
					fmt.Fprintf(cmd.ErrOrStderr(), "%6.0fs %9d schedules %7.0f/s %6.1f faults %5.2f crashes\n", t.Elapsed.Seconds(), t.Schedules,
						float64(t.Schedules)/t.Elapsed.Seconds(), t.Per(t.Faults), t.Per(t.Crashes))
				}
			}
			return hunt(cmd, f, asJSON)
		},
	}
	cmd.Flags().Uint64Var(&f.Runs, "runs", 100000, "how many schedules")
	cmd.Flags().DurationVar(&f.Budget, "budget", 0, "stop after this time (0 is no limit)")
	cmd.Flags().DurationVar(&f.CPU, "cpu", 0, "stop after this much CPU time (0 is no limit)")
	cmd.Flags().Uint64Var(&f.Seed, "seed", 1, "the first seed")
	cmd.Flags().IntVar(&f.Workers, "workers", f.Workers, "how many worlds run side by side")
	cmd.Flags().BoolVar(&asJSON, "json", false, "tell the summary as one JSON object")
	return cmd
}

func hunt(cmd *cobra.Command, f scenarios.Fleet, asJSON bool) error {
	tally, failed := f.Hunt()
	s := summary{Tally: tally}
	if failed != nil {
		s.Violations, s.Seed, s.Violation = 1, failed.Seed, failed.Violation
		s.Replay = fmt.Sprintf("volsim replay --seed %d", failed.Seed)
	}
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		if err := tellJSON(cmd, s); err != nil {
			return err
		}
	default:
		if failed != nil {
			fmt.Fprintf(out, "FAIL %s\n  seed %d, after %s in the world\n  replay: %s\n  shrink: volsim shrink --seed %d\n", failed.Violation, failed.Seed,
				failed.Lasted.Round(time.Millisecond), s.Replay, failed.Seed)
		}
		fmt.Fprintf(out, "%d schedules, %d events, %d HAL calls (%.0f per schedule), %.1f faults and %.2f crashes per schedule, %d violations, "+
			"%.0f schedules and %.2f M events per CPU-second, %.1f CPU-seconds\n", tally.Schedules, tally.Events, tally.Calls, tally.Per(tally.Calls),
			tally.Per(tally.Faults), tally.Per(tally.Crashes), s.Violations, tally.PerCPU(tally.Schedules), tally.PerCPU(tally.Events)/1e6,
			tally.CPU.Seconds())
	}
	if failed != nil {
		return errViolation
	}
	return nil
}
