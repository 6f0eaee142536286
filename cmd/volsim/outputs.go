package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/lang"
	"github.com/volnode/volnode/scenarios/minimise"
	"github.com/volnode/volnode/scenarios/report"
)

// outputs is the files that a command is asked to write, beside what it prints; "" is none.
type outputs struct {
	report, junit, jsonl, perfetto string
	cmd                            *cobra.Command
}

// outputFlags are their flags.
var outputFlags = []struct {
	name, usage string
	path        func(*outputs) *string
}{
	{
		"report", "write a report for people to this file: one page of HTML",
		func(o *outputs) *string { return &o.report },
	},
	{"junit", "write the results as JUnit XML to this file", func(o *outputs) *string { return &o.junit }},
	{
		"jsonl", "write the results as lines of JSON to this file, for volsim merge; - is standard output",
		func(o *outputs) *string { return &o.jsonl },
	},
	{
		"perfetto", "write the trace of what failed, or of what was run, to this file, for ui.perfetto.dev",
		func(o *outputs) *string { return &o.perfetto },
	},
}

func isOutput(flag string) bool {
	for _, f := range outputFlags {
		if f.name == flag {
			return true
		}
	}
	return false
}

// flags adds the flags of those names.
func (o *outputs) flags(cmd *cobra.Command, names ...string) {
	o.cmd = cmd
	for _, f := range outputFlags {
		if slices.Contains(names, f.name) {
			cmd.Flags().StringVar(f.path(o), f.name, "", f.usage)
		}
	}
}

// check finds a file that can't be written before a long command has run. What is there stays until there is something
// to write.
func (o *outputs) check() error {
	taken := map[string]string{}
	for _, f := range outputFlags {
		path := *f.path(o)
		switch {
		case path == "":
			continue
		case path == "-":
			if f.name == "jsonl" {
				continue
			}
			return fmt.Errorf("--%s: only --jsonl can go to standard output; name a file", f.name)
		}
		if other, ok := taken[path]; ok {
			return fmt.Errorf("--%s and --%s name the same file", other, f.name)
		}
		taken[path] = f.name
		if err := writable(path); err != nil {
			return fmt.Errorf("--%s: %w", f.name, err)
		}
	}
	return nil
}

// writable tries whether a file can be written. One that was not there is not there afterwards: nothing may come to be
// written.
func writable(path string) error {
	_, missing := os.Lstat(path)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644) //nolint:gosec // a report is for everybody
	if err != nil {
		return err
	}
	err = file.Close()
	if errors.Is(missing, fs.ErrNotExist) {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// explains: what fails is shrunk and explained for a file that was asked for.
func (o *outputs) explains() bool { return o.report != "" || o.junit != "" || o.jsonl != "" }

// write writes the report and JUnit.
func (o *outputs) write(r report.Results) error {
	r.Command = commandLine(o.cmd)
	if r.Commit == "" {
		r.Commit = minimise.Commit()
	}
	if err := save(o.report, r.WritePage); err != nil {
		return err
	}
	return save(o.junit, r.WriteJUnit)
}

// save writes a file, if there is one to write.
func save(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		_ = f.Close() // the first error counts
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

// finding writes the files of a single finding, of that case.
func (o *outputs) finding(f *minimise.Finding, c cases.Case) error {
	r := report.Results{
		Title: "A finding", Failures: []report.Failure{{
			Seed: f.Seed, Scenario: f.Scenario, Violation: f.Violation,
			Finding: f,
		}},
	}
	if err := o.write(r); err != nil {
		return err
	}
	return o.trace(c, nil)
}

// trace runs a case once more and writes its trace for Perfetto.
func (o *outputs) trace(c cases.Case, choices sim.Chooser) error {
	if o.perfetto == "" {
		return nil
	}
	var tracer report.Tracer
	var err error
	scenarios.NewHunter().Rerun(c, scenarios.Watch{
		Keep: true, Chooser: choices, Effect: tracer.Effect,
		Done: func(w *sim.World) {
			err = save(o.perfetto, func(out io.Writer) error { return tracer.Write(out, w.Trace().Records) })
		},
	})
	return err
}

// explain shrinks and explains the first failure of each signature. A run that is not the same each time has no
// explanation: volsim shrink, which the hunt names, shows where two such runs differ.
func explain(failures []report.Failure) {
	known := map[string]bool{}
	for i := range failures {
		f := &failures[i]
		name := f.Scenario + " " + f.Signature()
		if known[name] || f.Finding != nil {
			continue
		}
		known[name] = true
		h := scenarios.NewHunter()
		var s *minimise.Shrunk
		if f.Case != nil {
			s, _ = minimise.ShrinkCase(h, *f.Case, minimise.ShrinkBudget)
		} else {
			s, _ = minimise.Shrink(h, f.Seed, minimise.ShrinkBudget)
		}
		if s != nil {
			f.Finding = minimise.Explain(h, s)
		}
	}
}

// commandLine is what was typed.
func commandLine(cmd *cobra.Command) string {
	words := []string{cmd.CommandPath()}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		list, isList := f.Value.(pflag.SliceValue)
		switch {
		case isList:
			words = append(words, "--"+f.Name, lang.Quoted(strings.Join(list.GetSlice(), ",")))
		case f.Value.String() == f.NoOptDefVal: // a bool that is true
			words = append(words, "--"+f.Name)
		case f.NoOptDefVal != "":
			words = append(words, "--"+f.Name+"="+f.Value.String())
		default:
			words = append(words, "--"+f.Name, lang.Quoted(f.Value.String()))
		}
	})
	for _, arg := range cmd.Flags().Args() {
		words = append(words, lang.Quoted(arg))
	}
	return strings.Join(words, " ")
}
