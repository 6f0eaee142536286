package main

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/report"
)

// outputs is the files that a command is asked to write, beside what it prints; "" is none.
type outputs struct {
	jsonl string
}

var outputUsage = map[string]string{
	"jsonl": "write the results as lines of JSON to this file, - for standard output, for volsim merge",
}

func isOutput(flag string) bool { return outputUsage[flag] != "" }

// flags adds the flags of that names.
func (o *outputs) flags(set *pflag.FlagSet, names ...string) {
	for name, to := range map[string]*string{"jsonl": &o.jsonl} {
		if slices.Contains(names, name) {
			set.StringVar(to, name, "", outputUsage[name])
		}
	}
}

// written is the files while a hunt runs. They are opened before it begins, so that a path that can't be written is found at once.
type written struct {
	lines    *report.Lines
	isStdout bool // the lines go there, and nothing else does
	failures []report.Failure
	open     []*os.File
}

func (o *outputs) open(cmd *cobra.Command) (*written, error) {
	w := &written{isStdout: o.jsonl == "-"}
	if w.isStdout {
		w.lines = report.NewLines(cmd.OutOrStdout())
		return w, nil
	}
	if o.jsonl != "" {
		out, err := w.create("jsonl", o.jsonl)
		if err != nil {
			return nil, err
		}
		w.lines = report.NewLines(out)
	}
	return w, nil
}

func (w *written) create(flag, path string) (io.Writer, error) {
	f, err := os.Create(path)
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	w.open = append(w.open, f)
	return f, nil
}

// Close closes what is still open.
func (w *written) Close() {
	for _, f := range w.open {
		_ = f.Close() // closed already, unless the command fails anyway
	}
}

// begin has the hunt tell what it does.
func (w *written) begin(f *scenarios.Fleet) {
	if w.lines != nil {
		w.lines.Head(report.NewHead(*f))
	}
	f.Batch = func(b scenarios.Batch) {
		if w.lines != nil {
			w.lines.Batch(b)
		}
		for _, res := range b.Failed {
			failure := report.Failure{Seed: res.Seed, Violation: res.Violation}
			w.failures = append(w.failures, failure)
			if w.lines != nil {
				w.lines.Failure(failure)
			}
		}
	}
}

// end writes what is known only once the hunt has ended, and closes the files.
func (w *written) end(f scenarios.Fleet, t scenarios.Tally, isInterrupted bool) error {
	if w.lines != nil {
		err := w.lines.End(report.End{Shard: f.Shard.String(), Tally: t, Violations: len(w.failures), Interrupted: isInterrupted})
		if err != nil {
			return fmt.Errorf("--jsonl: %w", err)
		}
	}
	for _, file := range w.open {
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
