package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/report"
)

// summary is the last line of a hunt.
type summary struct {
	scenarios.Tally
	FirstSeed   uint64               `json:"firstSeed"`
	Violations  int                  `json:"violations"`
	Seed        uint64               `json:"failedSeed,omitempty"`
	Violation   *scenarios.Violation `json:"violation,omitempty"`
	Replay      string               `json:"replay,omitempty"`
	Interrupted bool                 `json:"interrupted,omitempty"`
}

// hunting is one hunt of the command line.
type hunting struct {
	cmd      *cobra.Command
	fleet    scenarios.Fleet
	shard    string
	seedFrom string
	asJSON   bool
	out      outputs
}

func huntCommand() *cobra.Command {
	h := &hunting{}
	h.cmd = &cobra.Command{
		Use: "hunt", Short: "Run worlds made of seeds until one breaks a property", Args: cobra.NoArgs,
		Long: `Runs schedules, one for each seed from --seed on, until --runs are done or the budget is used up, or until one breaks a property:
then its replay command is shown. A schedule is 20 minutes of pods that come and go and of faults, then calm.

SIGINT (Ctrl-C) and SIGTERM end a hunt early: it tells what it has done and the command that goes on, and exits with 130.`,
		RunE: func(*cobra.Command, []string) error { return h.run() },
	}
	flags := h.cmd.Flags()
	flags.Uint64Var(&h.fleet.Runs, "runs", 100000, "how many schedules, of all shards together")
	flags.DurationVar(&h.fleet.Budget, "budget", 0, "stop after this time (0 is no limit)")
	flags.DurationVar(&h.fleet.CPU, "cpu", 0, "stop after this much CPU time (0 is no limit)")
	flags.Uint64Var(&h.fleet.Seed, "seed", 1, "the first seed")
	flags.StringVar(&h.seedFrom, "seed-from", "", "make the first seed of this text, like the hash of a commit")
	flags.StringVar(&h.shard, "shard", "0/1", "i/n: run only the i-th of n parts of the seeds, i from 0 to n-1")
	flags.BoolVar(&h.fleet.KeepGoing, "keep-going", false, "go on after a failure, and tell at the end the lowest seed of each property and site that broke")
	flags.IntVar(&h.fleet.Workers, "workers", runtime.GOMAXPROCS(0), "how many worlds run side by side")
	flags.BoolVar(&h.asJSON, "json", false, "tell the summary as one JSON object")
	h.out.flags(flags, "jsonl")
	return h.cmd
}

// prepare checks what the flags say.
func (h *hunting) prepare() error {
	var err error
	if h.fleet.Shard, err = scenarios.ParseShard(h.shard); err != nil {
		return fmt.Errorf("--shard: %w", err)
	}
	if h.cmd.Flags().Changed("seed-from") {
		switch {
		case h.cmd.Flags().Changed("seed"):
			return errors.New("--seed and --seed-from both give the first seed: leave one out")
		case h.seedFrom == "":
			return errors.New("--seed-from: the text is empty; was the hash of a commit not found?")
		}
		h.fleet.Seed = scenarios.SeedFrom(h.seedFrom)
	}
	if h.fleet.Seed >= scenarios.MaxSeed || h.fleet.Runs >= scenarios.MaxSeed-h.fleet.Seed {
		return fmt.Errorf("--seed %d with --runs %d: seeds end at %d", h.fleet.Seed, h.fleet.Runs, uint64(scenarios.MaxSeed))
	}
	return nil
}

func (h *hunting) run() error {
	if err := h.prepare(); err != nil {
		return err
	}
	files, err := h.out.open(h.cmd)
	if err != nil {
		return err
	}
	defer files.Close()
	ctx, free := signal.NotifyContext(h.cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer free()
	h.fleet.Stop = ctx.Done()
	isQuiet := h.asJSON || files.isStdout
	if h.seedFrom != "" && !isQuiet {
		fmt.Fprintf(h.cmd.ErrOrStderr(), "seed %d, made of %q\n", h.fleet.Seed, h.seedFrom)
	}
	progress := report.Progress{Out: h.cmd.ErrOrStderr(), Width: widthOf(h.cmd.ErrOrStderr()), Fleet: h.fleet}
	if !isQuiet {
		h.fleet.Progress = progress.Tell
	}
	files.begin(&h.fleet)
	tally, failed := h.fleet.Hunt()
	progress.Close()
	isInterrupted := ctx.Err() != nil && failed == nil && tally.Next < h.fleet.Seed+h.fleet.Runs
	free() // a second signal ends what follows
	if err := files.end(h.fleet, tally, isInterrupted); err != nil {
		return err
	}
	if !files.isStdout {
		if err := h.tell(tally, failed, isInterrupted); err != nil {
			return err
		}
	}
	switch {
	case failed != nil:
		return errViolation
	case isInterrupted:
		return errInterrupted
	}
	return nil
}

func (h *hunting) tell(tally scenarios.Tally, failed *scenarios.Result, isInterrupted bool) error {
	s := summary{Tally: tally, FirstSeed: h.fleet.Seed, Interrupted: isInterrupted}
	if failed != nil {
		s.Violations, s.Seed, s.Violation = 1, failed.Seed, failed.Violation
		if h.fleet.KeepGoing {
			s.Violations = len(tally.Found)
		}
		s.Replay = fmt.Sprintf("volsim replay --seed %d", failed.Seed)
	}
	if h.asJSON {
		return tellJSON(h.cmd, s)
	}
	out := h.cmd.OutOrStdout()
	for _, f := range tally.Found {
		if h.fleet.KeepGoing {
			fmt.Fprintf(out, "FAIL %s\n  %d schedules, the first is seed %d\n  shrink: volsim shrink --seed %d\n", f.Violation, f.Schedules, f.Seed, f.Seed)
		}
	}
	if failed != nil && !h.fleet.KeepGoing {
		fmt.Fprintf(out, "FAIL %s\n  seed %d, after %s in the world\n  replay: %s\n  shrink: volsim shrink --seed %d\n", failed.Violation, failed.Seed,
			failed.Lasted.Round(time.Millisecond), s.Replay, failed.Seed)
	}
	if isInterrupted {
		fmt.Fprintf(out, "interrupted; go on with: %s\n", h.goOn(tally))
	}
	fmt.Fprintln(out, sumLine(tally, s.Violations))
	return nil
}

// sumLine is the last line of a hunt, for people.
func sumLine(t scenarios.Tally, violations int) string {
	return fmt.Sprintf("%d schedules, %d events, %d HAL calls (%.0f per schedule), %.1f faults and %.2f crashes per schedule, %d violations, "+
		"%.0f schedules and %.2f M events per CPU-second, %.1f CPU-seconds", t.Schedules, t.Events, t.Calls, t.Per(t.Calls), t.Per(t.Faults),
		t.Per(t.Crashes), violations, t.PerCPU(t.Schedules), t.PerCPU(t.Events)/1e6, t.CPU.Seconds())
}

// goOn is the command that runs what is left. Files are not named: they hold what was done so far.
func (h *hunting) goOn(t scenarios.Tally) string {
	words := []string{"volsim hunt --seed", strconv.FormatUint(t.Next, 10), "--runs", strconv.FormatUint(h.fleet.Runs-(t.Next-h.fleet.Seed), 10)}
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
	case size.Col < 20: // not told
		return 80
	}
	return int(size.Col)
}
