package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/explore"
	"github.com/volnode/volnode/scenarios/report"
)

// exhausted is one scenario's result as JSON.
type exhausted struct {
	explore.Exhausted
	Replay string `json:"replay,omitempty"`
}

func exhaustCommand() *cobra.Command {
	e := explore.Exhaust{}
	asJSON, prune := false, false
	cmd := &cobra.Command{
		Use: "exhaust [NAME|FILE…]", Short: "Run scenarios with every combination of few faults on top of their own",
		Long: `Runs each scenario, by default all of the catalogue, as it is. Then it adds every single fault, every
two faults and so on up to --depth, at every effect, RPC and fsync, and with the death of the agent or the node after
each. The calls of an operation that only look share one point. volsim runs a fault (with --depth 2 and more, each
further fault) once in like circumstances; docs/volsim.md says what those are.

With an added fault, volsim waits for a scenario's own expectations, and does not judge them. It judges all
properties, and calm. It stops at the first combination that breaks a property, and shows the command that replays it.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if e.Depth < 1 {
				return errors.New("--depth is from 1: how many faults at most are made at the same time")
			}
			if e.Workers < 1 {
				return noWorkers(e.Workers)
			}
			if e.Budget < 0 {
				return errors.New("--budget is a time like 10m; 0 is as long as it takes")
			}
			if e.Exact && !prune {
				return errors.New("--exact leaves out what is known for certain, and --prune=false leaves out " +
					"nothing: leave one out")
			}
			e.All = !prune
			return exhaust(cmd, e, args, asJSON)
		},
	}
	cmd.Flags().IntVar(&e.Depth, "depth", 1, "how many faults at most on top of a scenario's own")
	cmd.Flags().IntVar(&e.Workers, "workers", runtime.GOMAXPROCS(0), "how many scenarios run side by side")
	cmd.Flags().DurationVar(&e.Budget, "budget", 0,
		"how long it may take, shared out among the scenarios; 0 is as long as it takes")
	cmd.Flags().BoolVar(&prune, "prune", true, "leave out what is known; false tells every combination to its end")
	cmd.Flags().BoolVar(&e.Exact, "exact", false,
		"leave out only what is known for certain; with --depth 2 and more: hours")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each scenario and one for the sum")
	return cmd
}

func exhaust(cmd *cobra.Command, e explore.Exhaust, args []string, asJSON bool) error {
	var err error
	if len(args) == 0 {
		if e.Scenarios, err = scenarios.Catalogue(); err != nil {
			return err
		}
	}
	for _, arg := range args {
		s, err := load(arg)
		if err != nil {
			return err
		}
		e.Scenarios = append(e.Scenarios, s)
	}
	out, begin := cmd.OutOrStdout(), scenarios.CPUTime()
	e.Progress = func(x explore.Exhausted) {
		r := exhausted{Exhausted: x}
		if x.Violation != nil {
			r.Replay = x.Case.Command("replay")
		}
		if asJSON {
			err = errors.Join(err, tellJSON(cmd, r))
			return
		}
		fmt.Fprintf(out, "%-64s %s\n", x.Name, counts(x))
		for _, stale := range x.Stale {
			fmt.Fprintf(out, "STALE %s: %s\n", x.Name, stale)
		}
		if x.Violation != nil {
			fmt.Fprintf(out, "FAIL %s\n  replay: %s\n", x.Violation, r.Replay)
		}
	}
	ctx, free := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer free()
	e.Stop = ctx.Done()
	e.Merged = func(x explore.Exhausted) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s, each first fault has run: %s\n",
			report.Count(len(e.Scenarios), "scenario"), counts(x))
	}
	all := e.Run()
	sum := explore.Total(all)
	if asJSON {
		err = errors.Join(err, tellJSON(cmd, sum))
	} else {
		fmt.Fprintf(out, "%-64s %s, %d events, %.1f CPU-seconds\n",
			fmt.Sprintf("%s, depth %d", report.Count(len(all), "scenario"), e.Depth), counts(sum), sum.Events,
			(scenarios.CPUTime() - begin).Seconds())
	}
	switch {
	case err != nil:
		return err
	case len(all) > 0 && all[len(all)-1].Failed():
		return errViolation
	case ctx.Err() != nil:
		fmt.Fprintln(cmd.ErrOrStderr(), "interrupted: what is left did not run, and may lead to more")
		return errInterrupted
	case sum.Left > 0 && sum.Run <= 2*uint64(len(all)):
		return fmt.Errorf("no fault was tried: --budget %v is over before; give it more time, or name fewer scenarios",
			e.Budget)
	case sum.Left > 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "the budget is over: what is left did not run, and may lead to more")
	}
	return nil
}

// counts is how many combinations there were.
func counts(x explore.Exhausted) string {
	text := fmt.Sprintf("%8d generated %8d pruned %8d run %8d cut short", x.Generated, x.Pruned, x.Run, x.Cut)
	if x.Left > 0 {
		text += fmt.Sprintf(" %8d left", x.Left)
	}
	return text
}
