package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/internal/wording"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/mutants"
	"github.com/volnode/volnode/scenarios/report"
)

// mutantsFlags are what mutants is asked for.
type mutantsFlags struct {
	lab     mutants.Lab
	only    []string
	workers int
	asJSON  bool
	list    bool // name them, and do nothing else
	out     outputs
	hasOnly bool // --only is given
	// candidates is of those that are not in the table.
	candidates bool
}

func mutantsCommand() *cobra.Command {
	var f mutantsFlags
	cmd := &cobra.Command{
		Use: "mutants", Short: "Build engines with a known defect each and try to kill them: none may survive",
		Args: noArguments,
		Long: `Builds the mutants of scenarios/mutants from the source tree around the working directory (go build
-overlay). It tries each mutant first with the scenarios and the schedule that are known to kill it, then with a few
schedules from --seed on, then with the whole catalogue, then in a hunt. --full runs the catalogue and a hunt for
each. Needs Go.

Fails if a mutant survives, if something kills a mutant that is listed as equivalent to the engine, or if a scenario
passes with a mutant that its head names behind "caught by:".`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.hasOnly = cmd.Flags().Changed("only")
			return f.run(cmd)
		},
	}
	cmd.Flags().DurationVar(&f.lab.CPU, "budget", time.Minute, "CPU time for the hunt of each mutant")
	cmd.Flags().Uint64Var(&f.lab.Seed, "seed", 1, "the first seed")
	cmd.Flags().IntVar(&f.workers, "workers", runtime.GOMAXPROCS(0), "how many mutants are tried side by side")
	cmd.Flags().BoolVar(&f.lab.Full, "full", false, "hunt each from scratch, also those that the catalogue kills")
	cmd.Flags().BoolVar(&f.lab.Shrink, "shrink", false, "also shrink what a hunt finds")
	cmd.Flags().BoolVar(&f.candidates, "candidates", false,
		"try the mutants without a known kill, in place of all others")
	cmd.Flags().StringSliceVar(&f.only, "only", nil, "only mutants whose names contain one of these")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "one JSON object for each mutant")
	cmd.Flags().BoolVar(&f.list, "list", false,
		"name the mutants, each with the law that it breaks and its file, and try none")
	f.out.flags(cmd, "report", "junit")
	return cmd
}

// chosen returns the mutants whose names contain one of the words, all if there is none.
func (f *mutantsFlags) chosen() ([]mutants.Mutant, error) {
	if f.hasOnly && (len(f.only) == 0 || slices.Contains(f.only, "")) {
		return nil, errors.New("--only: a word is empty, and every mutant's name contains that; write a part of a " +
			"name, or leave --only out for all")
	}
	all := mutants.Table
	if f.candidates {
		all = mutants.Candidates
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(m mutants.Mutant) bool {
		return len(f.only) > 0 && !slices.ContainsFunc(f.only,
			func(word string) bool { return strings.Contains(m.Name, word) })
	})
	if len(chosen) == 0 {
		var names []string
		for _, m := range all {
			names = append(names, m.Name)
		}
		meant := ""
		if near := wording.Nearest(strings.Join(f.only, ","), names); near != "" {
			meant = "; did you mean " + near + "?"
		}
		return nil, fmt.Errorf("--only %s: no mutant's name contains that%s; volsim mutants --list names them all",
			strings.Join(f.only, ","), meant)
	}
	return chosen, nil
}

// print names mutants, one to a line.
func (f *mutantsFlags) print(w io.Writer, all []mutants.Mutant) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	encoder := json.NewEncoder(w)
	fmt.Fprintln(t, "MUTANT\tLAW, ISSUE\tFUNCTION")
	for _, m := range all {
		if f.asJSON {
			if err := encoder.Encode(map[string]string{"name": m.Name, "law": m.Law, "function": m.In}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.Name, m.Law, m.In)
	}
	if f.asJSON {
		return nil
	}
	return t.Flush()
}

// prepare finds the sources and the catalogue, and what each scenario promises to catch.
func (f *mutantsFlags) prepare() (map[string][]string, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/volnode/volnode").Output()
	if err != nil {
		return nil, fmt.Errorf("the source tree is not found: go list -m: %w; run volsim mutants at the root of "+
			"volnode's source tree, with Go installed", err)
	}
	f.lab.Root = strings.TrimSpace(string(root))
	all, err := scenarios.Catalogue()
	if err != nil {
		return nil, err
	}
	promises := map[string][]string{}
	for _, s := range all {
		f.lab.Scenarios = append(f.lab.Scenarios, s.Name)
		for _, name := range s.CaughtBy() {
			promises[name] = append(promises[name], s.Name)
		}
	}
	f.lab.Promises = promises
	return promises, nil
}

func (f *mutantsFlags) run(cmd *cobra.Command) error {
	switch {
	case f.workers < 1:
		return noWorkers(f.workers)
	case f.lab.CPU <= 0:
		return fmt.Errorf("--budget %v: a mutant needs some CPU time to be hunted in, like 60s", f.lab.CPU)
	}
	chosen, err := f.chosen()
	if err != nil {
		return err
	}
	if f.list {
		return f.print(cmd.OutOrStdout(), chosen)
	}
	if err := f.out.check(); err != nil {
		return err
	}
	promises, err := f.prepare()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "volsim-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // what is left is in the temporary directory
	ctx, free := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer free()
	defer context.AfterFunc(ctx, func() {
		_ = os.RemoveAll(dir) // see above
		os.Exit(exitInterrupted)
	})()
	build, err := f.lab.Build(chosen, dir)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if !f.asJSON {
		fmt.Fprintln(out, mutants.Header())
	}
	var all []mutants.Outcome
	for tried := range f.tries(chosen) {
		if tried.err != nil {
			return tried.err
		}
		all = append(all, tried.outcome)
		if f.asJSON {
			err = tellJSON(cmd, tried.outcome)
		} else {
			_, err = fmt.Fprintln(out, tried.outcome.Row())
		}
		if err != nil {
			return err
		}
	}
	if err := f.out.write(report.Results{Title: "Mutants", Mutants: all}); err != nil {
		return err
	}
	unkept := mutants.Unkept(promises, all)
	if !f.asJSON {
		fmt.Fprintln(out, mutants.Summary(all, build))
	}
	for _, u := range unkept {
		fmt.Fprintln(cmd.ErrOrStderr(), u)
	}
	if len(unkept) > 0 || slices.ContainsFunc(all, mutants.Outcome.IsWrong) {
		return errViolation
	}
	return nil
}

// tried is one outcome, or why there is none.
type tried struct {
	outcome mutants.Outcome
	err     error
}

// tries tries mutants side by side and yields what comes of them in their order.
func (f *mutantsFlags) tries(chosen []mutants.Mutant) func(func(tried) bool) {
	results := make([]chan tried, len(chosen))
	next, stop := make(chan int), make(chan struct{})
	var wait sync.WaitGroup
	for range f.workers {
		wait.Go(func() {
			for i := range next {
				o, err := f.lab.Try(chosen[i], i+1)
				results[i] <- tried{o, err}
			}
		})
	}
	for i := range results {
		results[i] = make(chan tried, 1)
	}
	go func() {
		defer close(next)
		for i := range chosen {
			select {
			case next <- i:
			case <-stop:
				return
			}
		}
	}()
	return func(yield func(tried) bool) {
		defer wait.Wait()
		defer close(stop)
		for i := range chosen {
			if !yield(<-results[i]) {
				return
			}
		}
	}
}
