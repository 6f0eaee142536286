package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/minimise"
	"github.com/volnode/volnode/scenarios/report"
	"github.com/volnode/volnode/scenarios/verdict"
)

// summary is the last line of a hunt.
type summary struct {
	fleet.Tally
	FirstSeed   uint64             `json:"firstSeed"`
	Violations  int                `json:"violations"`
	Seed        uint64             `json:"failedSeed,omitempty"`
	Violation   *verdict.Violation `json:"violation,omitempty"`
	Replay      string             `json:"replay,omitempty"`
	Interrupted bool               `json:"interrupted,omitempty"`
}

// hunting is one hunt of the command line.
type hunting struct {
	cmd      *cobra.Command
	fleet    fleet.Fleet
	shard    string
	seedFrom string
	asJSON   bool
	out      outputs
	lines    *report.Lines // nil for nobody
	results  report.Results
}

func huntCommand() *cobra.Command {
	h := &hunting{}
	h.cmd = &cobra.Command{
		Use: "hunt", Short: "Run worlds made of seeds until one breaks a property", Args: noArguments,
		Long: `Runs schedules, one for each seed from --seed on, until it has run --runs of them, the budget ends, or
one breaks a property: then it shows the command that replays that schedule. A schedule is up to 20 minutes of faults,
and of pods that come and go, and then calm.

SIGINT (Ctrl-C) and SIGTERM end a hunt early: it prints what it did and the command that continues, and exits with
130.`,
		RunE: func(*cobra.Command, []string) error { return h.run() },
	}
	flags := h.cmd.Flags()
	flags.Uint64Var(&h.fleet.Runs, "runs", 100000,
		"how many schedules, of all shards together; with --budget or --cpu alone there is no limit")
	flags.DurationVar(&h.fleet.Budget, "budget", 0, "stop after this time (0 is no limit)")
	flags.DurationVar(&h.fleet.CPU, "cpu", 0, "stop after this much CPU time (0 is no limit)")
	flags.Uint64Var(&h.fleet.Seed, "seed", 1, "the first seed")
	flags.StringVar(&h.seedFrom, "seed-from", "", "make the first seed of this text, like the hash of a commit")
	flags.StringVar(&h.shard, "shard", "0/1", "i/n: run only the i-th of n parts of the seeds, i from 0 to n-1")
	flags.BoolVar(&h.fleet.KeepGoing, "keep-going", false,
		"go on after a failure, and tell at the end the lowest seed of each property and site that broke")
	flags.BoolVar(&h.fleet.Guided, "guided", true,
		"vary, with the last 24 of each 360 seeds, schedules that have reached something new, in place of running "+
			"those seeds")
	flags.BoolVar(&h.fleet.Canaries, "canary", false,
		"let each hundredth seed fail by a defect that is planted in its judge; they are counted apart, and all "+
			"must be found")
	flags.IntVar(&h.fleet.Workers, "workers", runtime.GOMAXPROCS(0), "how many worlds run side by side")
	flags.BoolVar(&h.asJSON, "json", false, "tell the summary as one JSON object")
	h.out.flags(h.cmd, "report", "junit", "jsonl", "perfetto")
	return h.cmd
}

func noWorkers(n int) error { return fmt.Errorf("--workers %d: at least one must work", n) }

// prepare checks what the flags say.
func (h *hunting) prepare() error {
	var err error
	switch {
	case h.fleet.Runs == 0:
		return errors.New("--runs 0: write how many schedules are to be run, at least 1")
	case h.fleet.Workers < 1:
		return noWorkers(h.fleet.Workers)
	case h.asJSON && h.out.jsonl == "-":
		return errors.New("--json and --jsonl=- both write to standard output: leave one out")
	case h.fleet.Budget < 0 || h.fleet.CPU < 0:
		return errors.New("--budget and --cpu are times like 10m; 0 is no limit")
	}
	if h.fleet.Shard, err = fleet.ParseShard(h.shard); err != nil {
		return fmt.Errorf("--shard: %w", err)
	}
	if h.cmd.Flags().Changed("seed-from") {
		if h.cmd.Flags().Changed("seed") {
			return errors.New("--seed and --seed-from both give the first seed: leave one out")
		}
		h.fleet.Seed = fleet.SeedFrom(h.seedFrom)
	}
	if h.isEndless() && h.fleet.Seed < cases.MaxSeed {
		h.fleet.Runs = cases.MaxSeed - h.fleet.Seed - 1
	}
	if h.fleet.Seed >= cases.MaxSeed || h.fleet.Runs >= cases.MaxSeed-h.fleet.Seed {
		return fmt.Errorf("--seed %d with --runs %d: seeds end at %d", h.fleet.Seed, h.fleet.Runs,
			uint64(cases.MaxSeed))
	}
	return nil
}

// isEndless: only a budget ends the hunt.
func (h *hunting) isEndless() bool {
	return (h.fleet.Budget > 0 || h.fleet.CPU > 0) && !h.cmd.Flags().Changed("runs")
}

func (h *hunting) run() error {
	if err := h.prepare(); err != nil {
		return err
	}
	if err := h.out.check(); err != nil {
		return err
	}
	if h.out.jsonl == "-" {
		return h.hunt(h.cmd.OutOrStdout())
	}
	if h.out.jsonl == "" {
		return h.hunt(nil)
	}
	return save(h.out.jsonl, h.hunt)
}

// hunt hunts and tells. lines is where lines of JSON go; nil is nowhere.
func (h *hunting) hunt(lines io.Writer) error {
	ctx, free := signal.NotifyContext(h.cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer free()
	h.fleet.Stop = ctx.Done()
	isQuiet := h.asJSON || h.out.jsonl == "-"
	if h.seedFrom != "" && !isQuiet {
		fmt.Fprintf(h.cmd.ErrOrStderr(), "seed %d, made of %q\n", h.fleet.Seed, h.seedFrom)
	}
	progress := report.Progress{Out: h.cmd.ErrOrStderr(), Width: widthOf(h.cmd.ErrOrStderr()), Fleet: h.fleet}
	if !isQuiet {
		h.fleet.Progress = progress.Tell
	}
	if lines != nil {
		h.lines = report.NewLines(lines)
		h.lines.Head(report.NewHead(h.fleet))
	}
	// A sample shows the growth, and costs next to nothing.
	h.fleet.Cover, h.fleet.Sample = !isQuiet || h.out.report != "", 16
	h.results.Families = map[string]uint64{}
	h.fleet.Batch = h.batch
	tally, failed := h.fleet.Hunt()
	h.results.Curve, tally.Curve, tally.Coverage = tally.Curve, nil, nil
	progress.Close()
	h.results.Interrupted = ctx.Err() != nil && (failed == nil || h.fleet.KeepGoing) &&
		tally.Next < h.fleet.Seed+h.fleet.Runs
	free() // a second signal ends what follows
	if err := h.write(tally, failed); err != nil {
		return err
	}
	if h.out.jsonl != "-" {
		if err := h.tell(tally, failed); err != nil {
			return err
		}
	}
	switch {
	case failed != nil:
		return errViolation
	case tally.MissedCanaries() > 0:
		return missed(h.cmd, tally.Sums)
	case h.results.Interrupted:
		return errInterrupted
	case tally.Schedules == 0 && tally.Next < h.fleet.Seed+h.fleet.Runs:
		return errors.New("no schedule was run, which proves nothing: --budget or --cpu was used up before the first")
	case tally.Schedules == 0 && !isQuiet:
		fmt.Fprintf(h.cmd.ErrOrStderr(), "shard %s has none of these seeds: the other shards have them all\n",
			h.fleet.Shard)
	}
	return nil
}

func (h *hunting) batch(b fleet.Batch) {
	for seed := b.From; seed < b.To; seed++ {
		h.results.Families[fleet.FamilyOf(seed)]++
	}
	for _, res := range b.Failed {
		h.results.Failures = append(h.results.Failures,
			report.Failure{Seed: res.Seed, Violation: res.Violation, Case: res.Case})
	}
	if h.lines != nil {
		h.lines.Batch(b)
	}
}

// write writes the files that were asked for.
func (h *hunting) write(tally fleet.Tally, failed *scenarios.Result) error {
	r := &h.results
	slices.SortFunc(r.Failures, func(a, b report.Failure) int { return cmp.Compare(a.Seed, b.Seed) })
	if h.out.explains() {
		explain(r.Failures)
	}
	if h.lines != nil {
		for _, f := range r.Failures {
			h.lines.Failure(f)
		}
		if err := h.lines.End(report.End{
			Shard: h.fleet.Shard.String(), Tally: tally, Violations: len(r.Failures), Interrupted: r.Interrupted,
		}); err != nil {
			return fmt.Errorf("--jsonl: %w", err)
		}
	}
	r.Title, r.Tally = "Hunt", &tally
	if err := h.out.write(*r); err != nil {
		return err
	}
	if failed == nil {
		return h.out.trace(cases.Case{Seed: h.fleet.Seed}, sim.Seeded(h.fleet.Seed))
	}
	return h.out.trace(failed.ToCase())
}

func (h *hunting) tell(tally fleet.Tally, failed *scenarios.Result) error {
	shrink := ""
	s := summary{Tally: tally, FirstSeed: h.fleet.Seed, Interrupted: h.results.Interrupted}
	if failed != nil {
		s.Violations, s.Seed, s.Violation = 1, failed.Seed, failed.Violation
		if h.fleet.KeepGoing {
			s.Violations = len(tally.Found)
		}
		c, _ := failed.ToCase()
		c = inShort(c)
		s.Replay, shrink = c.Command("replay"), c.Command("shrink")
	}
	if h.asJSON {
		return tellJSON(h.cmd, s)
	}
	out := h.cmd.OutOrStdout()
	for _, f := range tally.Found {
		if h.fleet.KeepGoing {
			c, _ := scenarios.Result{Seed: f.Seed, Case: f.Case}.ToCase()
			fmt.Fprintf(out, "FAIL %s\n  %s, the first is %s\n  shrink: %s\n", f.Violation,
				report.Count(f.Schedules, "schedule"), origin(f.Seed, f.Case),
				inShort(c).Command("shrink"))
		}
	}
	if failed != nil && !h.fleet.KeepGoing {
		fmt.Fprintf(out, "FAIL %s\n  %s, after %s in the world\n  replay: %s\n  shrink: %s\n", failed.Violation,
			origin(failed.Seed, failed.Case),
			failed.Lasted.Round(time.Millisecond), s.Replay, shrink)
	}
	if h.results.Interrupted {
		fmt.Fprintf(out, "interrupted; go on with: %s\n", h.goOn(tally))
	}
	fmt.Fprintln(out, sumLine(tally, s.Violations))
	return nil
}

// origin names a schedule of a hunt: the seed alone tells nothing of one that is guided.
func origin(seed uint64, guided *cases.Case) string {
	if guided != nil {
		return fmt.Sprintf("guided schedule %d, which is no run of that seed", seed)
	}
	return fmt.Sprintf("seed %d", seed)
}

// longestKeep is how long the choices of a case may be for volsim to print them as they are: an argument of a command
// has 128 KiB at most (MAX_ARG_STRLEN of execve(2)), and a line that people copy has less.
const longestKeep = 4 << 10

// inShort is a case that can be copied into a command line: one with more choices than that, as those are that a guided
// hunt varies, is shrunk.
func inShort(c cases.Case) cases.Case {
	if len(c.String()) <= longestKeep {
		return c
	}
	if s, _ := minimise.ShrinkCase(scenarios.NewHunter(), c, minimise.ShrinkBudget); s != nil {
		return s.Case
	}
	return c // another version of the engine has found it
}

// sumLine is the last line of a hunt, for people.
func sumLine(t fleet.Tally, violations int) string {
	canaries := ""
	if t.Canaries > 0 {
		canaries = fmt.Sprintf("%d of %d canaries found, ", t.Caught, t.Canaries)
	}
	return fmt.Sprintf("%s, %s, %s (%.0f per schedule), %.1f faults and %.2f crashes per schedule, %s, "+
		"%s%.0f schedules and %.2f M events per CPU-second, %.1f CPU-seconds", report.Count(t.Schedules, "schedule"),
		report.Count(t.Events, "event"),
		report.Count(t.Calls, "HAL call"), t.Per(t.Calls), t.Per(t.Faults), t.Per(t.Crashes),
		report.Count(violations, "violation"), canaries,
		t.PerCPU(t.Schedules), t.PerCPU(t.Events)/1e6, t.CPU.Seconds())
}

// missed tells that canaries broke nothing: what their hunt says of real defects is worth nothing.
func missed(cmd *cobra.Command, t fleet.Sums) error {
	fmt.Fprintf(cmd.ErrOrStderr(),
		"%d of %d canaries passed, and each must fail: this hunt would not tell of a real defect either\n",
		t.MissedCanaries(), t.Canaries)
	return errViolation
}

// goOn is the command that runs what is left. Files are not named: they hold what was done so far.
func (h *hunting) goOn(t fleet.Tally) string {
	words := []string{"volsim hunt --seed", strconv.FormatUint(t.Next, 10)}
	if !h.isEndless() {
		words = append(words, "--runs", strconv.FormatUint(h.fleet.Runs-(t.Next-h.fleet.Seed), 10))
	}
	h.cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Name != "seed" && f.Name != "seed-from" && f.Name != "runs" && !isOutput(f.Name) {
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return strings.Join(words, " ")
}

// widthOf is the columns of a terminal; 0 of all else.
func widthOf(out io.Writer) int {
	f, ok := out.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	switch {
	case err != nil:
		return 0
	case size.Col < 20: // not known
		return 80
	}
	return int(size.Col)
}
