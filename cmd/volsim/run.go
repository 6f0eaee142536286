package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/minimise"
	"github.com/volnode/volnode/scenarios/regressions"
	"github.com/volnode/volnode/scenarios/report"
	"github.com/volnode/volnode/scenarios/verdict"
)

// ran is the result of a scenario or of a stored case as JSON.
type ran struct {
	Name      string             `json:"name"`
	OK        bool               `json:"ok"`
	Violation *verdict.Violation `json:"violation,omitempty"`
	Stale     []string           `json:"stale,omitempty"`
	Events    uint64             `json:"events"`
	HALCalls  uint64             `json:"halCalls"`
	Hash      string             `json:"hash"`
	Log       []string           `json:"log,omitempty"` // of a scenario
}

func runCommand() *cobra.Command {
	asJSON, trace := false, false
	var out outputs
	cmd := &cobra.Command{
		Use: "run FILE|NAME…", Short: "Run scenarios: of the catalogue by their names, or from files",
		Args: arguments(1, math.MaxInt, "scenarios or stored cases"),
		Long: `Runs scenarios and shows the engine's log of each, in the form that volnode writes, up to the end of
its timeline. Calm follows: everything must come up and then stay as it is, a restart must adopt it without a call,
and nothing may be left at the end.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out.perfetto != "" && len(args) > 1 {
				return errors.New("--perfetto: a trace is of one run; name one scenario")
			}
			if asJSON && trace {
				return errors.New("--trace is for people: leave --json out, or use volsim replay --json")
			}
			if err := out.check(); err != nil {
				return err
			}
			failed, results := false, report.Results{Title: "Scenarios"}
			for _, arg := range args {
				ok, err := runArgument(cmd, arg, asJSON, trace, &out, &results)
				if err != nil {
					return err
				}
				failed = failed || !ok
			}
			if out.explains() {
				explain(results.Failures)
			}
			if err := out.write(results); err != nil {
				return err
			}
			if failed {
				return errViolation
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object for each scenario")
	cmd.Flags().BoolVar(&trace, "trace", false, "also the trace")
	out.flags(cmd, "report", "junit", "perfetto")
	return cmd
}

// runArgument runs a stored case or a scenario, tells what it comes to, and adds it to results. It reports whether all
// is well.
func runArgument(cmd *cobra.Command, arg string, asJSON, trace bool, out *outputs, results *report.Results,
) (bool, error) {
	r, err := loadRegression(arg)
	if err != nil {
		return false, err
	}
	var c cases.Case
	var story report.Story
	var v *verdict.Violation
	if r != nil {
		if c, err = r.Case(); err != nil {
			return false, err
		}
		var res regressions.Result
		if res, err = runRegression(cmd, r, asJSON, trace); err == nil {
			story, v = report.Story{
				Name: r.Name, Title: r.Story, Stale: res.Stale, Events: res.Events,
				Calls: res.Calls,
			}, res.Violation
		}
	} else {
		if c.Scenario, err = load(arg); err != nil {
			return false, err
		}
		c.Still = true
		var res scenarios.StoryResult
		if res, err = runOne(cmd, c.Scenario, asJSON, trace); err == nil {
			story, v = report.Story{
				Name: res.Name, Title: c.Scenario.Title(), Stale: res.Stale, Events: res.Events,
				Calls: res.Calls,
			}, res.Violation
		}
	}
	if err != nil {
		return false, err
	}
	if v != nil {
		story.Broken = v.Signature()
		results.Failures = append(results.Failures, report.Failure{Scenario: story.Name, Violation: v, Case: &c})
	}
	results.Stories = append(results.Stories, story)
	return story.Verdict() == report.Passes, out.trace(c, nil)
}

// load finds a scenario: a file if there is one of that name, else in the catalogue.
func load(arg string) (*lang.Scenario, error) {
	text, err := os.ReadFile(arg)
	switch {
	case err == nil:
		return scenarios.Parse(arg, string(text))
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EISDIR)) && !strings.ContainsRune(arg, '/'):
		if _, no := strconv.ParseUint(arg, 10, 64); no == nil {
			return nil, fmt.Errorf("there is no scenario %q, and no file of that name; if it is a seed: volsim "+
				"replay --seed %s", arg, arg)
		}
		return scenarios.Find(arg)
	}
	return nil, err
}

// runOne runs a scenario and tells what it comes to.
func runOne(cmd *cobra.Command, s *lang.Scenario, asJSON, trace bool) (scenarios.StoryResult, error) {
	out := cmd.OutOrStdout()
	var log []string
	tell := func(l engine.Line) {
		if log = append(log, logLine(l)); !asJSON {
			fmt.Fprintln(out, logLine(l))
		}
	}
	if !asJSON {
		fmt.Fprintf(out, "# %s: %s\n", s.Name, s.Title())
	}
	res := scenarios.RunScenario(s, trace, tell, func(w *sim.World) {
		if trace {
			tellTrace(out, w)
		}
	})
	ok := res.Violation == nil && len(res.Stale) == 0
	if asJSON {
		return res, tellJSON(cmd, ran{
			res.Name, ok, res.Violation, res.Stale, res.Events, res.Calls,
			fmt.Sprintf("%016x", res.Hash), log,
		})
	}
	for _, stale := range res.Stale {
		fmt.Fprintf(out, "STALE %s: %s\n", s.Name, stale)
	}
	if res.Violation != nil {
		if f := minimise.Tell(scenarios.NewHunter(), cases.Case{Scenario: s, Still: true}); f != nil {
			fmt.Fprint(out, f.Text())
		} else { // it comes only where somebody reads the log
			fmt.Fprintf(out, "FAIL %s: %s\n", s.Name, res.Violation)
		}
	} else if ok {
		fmt.Fprintf(out, "ok %s: %s, %s, %s in the world\n", s.Name, report.Count(res.Events, "event"),
			report.Count(res.Calls, "HAL call"),
			res.Lasted.Round(time.Second))
	}
	return res, nil
}

// tellTrace writes a trace, a line for each record.
func tellTrace(out io.Writer, w *sim.World) {
	for i := range w.Trace().Records {
		fmt.Fprintf(out, "%s\n", w.Trace().Records[i].AppendText(nil))
	}
}

func listCommand() *cobra.Command {
	names, asJSON := false, false
	cmd := &cobra.Command{
		Use: "list", Short: "List the catalogue", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if names && asJSON {
				return errors.New("--names and --json are two forms of the list: leave one out")
			}
			all, err := scenarios.Catalogue()
			if err != nil {
				return err
			}
			width := 0
			for _, s := range all {
				width = max(width, len(s.Name))
			}
			for _, s := range all {
				switch {
				case asJSON:
					err = tellJSON(cmd, map[string]string{"name": s.Name, "title": s.Title()})
				case names:
					_, err = fmt.Fprintln(cmd.OutOrStdout(), s.Name)
				default:
					_, err = fmt.Fprintf(cmd.OutOrStdout(), "%-*s  %s\n", width, s.Name, s.Title())
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
