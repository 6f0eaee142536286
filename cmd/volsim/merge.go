package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/fleet"
	"github.com/volnode/volnode/scenarios/report"
)

// merged is the result of merge as JSON.
type merged struct {
	fleet.Tally
	Commit     string           `json:"commit"`
	Hunts      int              `json:"hunts"`
	Ended      int              `json:"ended"`
	Missing    []string         `json:"missingShards,omitempty"`
	Violations int              `json:"violations"`
	Signatures []signature      `json:"signatures,omitempty"`
	Failures   []report.Failure `json:"failures,omitempty"`
	Damaged    []string         `json:"damaged,omitempty"`
}

type signature struct {
	Signature string `json:"signature"`
	Seeds     int    `json:"seeds"` // how many broke it
	First     uint64 `json:"firstSeed"`
	Replay    string `json:"replay"`
}

func mergeCommand() *cobra.Command {
	asJSON, isPartial := false, false
	var out outputs
	cmd := &cobra.Command{
		Use: "merge FILE…", Short: "Add up what hunts wrote with --jsonl; - is standard input",
		Args: arguments(1, math.MaxInt, "files that volsim hunt --jsonl wrote"),
		Long: `Adds up the results of hunts over different seeds: of shards, of machines, of days. You may mix the
lines of several hunts in one file. merge refuses seeds that ran twice, and hunts of different versions. It reports
each line that it can't read by file and line, and adds up the others.

It also reports missing shards, and hunts without an end line. The sums then lack a part, and merge fails unless you
give --partial.

Exit status: 0 every property holds, 1 one is broken, 2 lines can't be read or don't fit together, or something is
missing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			m := &report.Merged{}
			for _, name := range args {
				if err := readInto(cmd, m, name); err != nil {
					return err
				}
			}
			return mergeAll(cmd, m, &out, asJSON, isPartial)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	cmd.Flags().BoolVar(&isPartial, "partial", false,
		"the sums of what there is will do: missing shards, and hunts without an end, fail nothing")
	out.flags(cmd, "report", "junit")
	return cmd
}

func readInto(cmd *cobra.Command, m *report.Merged, name string) error {
	if name == "-" {
		return m.Read("standard input", cmd.InOrStdin())
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return m.Read(name, f)
}

func mergeAll(cmd *cobra.Command, m *report.Merged, out *outputs, asJSON, isPartial bool) error {
	if err := m.Check(); err != nil {
		return errors.Join(append(m.Damaged, err)...)
	}
	result := merged{
		Tally: m.Tally(), Commit: m.Commit, Hunts: m.Hunts, Ended: m.Ended, Missing: m.Missing,
		Violations: len(m.Failures), Failures: m.Failures,
	}
	order, by := m.Signatures()
	for _, s := range order {
		first := by[s][0]
		replay := cases.Case{Seed: first.Seed}.Command("replay")
		if fleet.IsGuided(first.Seed) { // the seed alone need not be what was run
			replay = replayInShort(first)
		}
		result.Signatures = append(result.Signatures, signature{s, len(by[s]), first.Seed, replay})
	}
	for _, err := range m.Damaged {
		result.Damaged = append(result.Damaged, err.Error())
	}
	if err := out.write(m.Results()); err != nil {
		return err
	}
	if asJSON {
		if err := tellJSON(cmd, result); err != nil {
			return err
		}
	} else {
		tellMerged(cmd, result, by)
	}
	switch {
	case len(m.Failures) > 0:
		return errViolation
	case m.Sums.MissedCanaries() > 0:
		return missed(cmd, m.Sums)
	case len(m.Damaged) > 0:
		return errors.New("lines can't be read; the sums are without them")
	case m.Sums.Schedules == 0:
		return errors.New("there is no schedule in these hunts, which proves nothing")
	case len(m.Missing) > 0 && !isPartial:
		return fmt.Errorf("there is nothing of the shards %s: merge what they wrote too, or say --partial",
			strings.Join(m.Missing, ", "))
	case m.Ended < m.Hunts && !isPartial:
		return fmt.Errorf("%d of %d hunts did not tell their end: run them again in place of what they wrote, or "+
			"say --partial", m.Hunts-m.Ended, m.Hunts)
	}
	return nil
}

func replayInShort(f report.Failure) string {
	if f.Finding == nil && f.Case != nil {
		return inShort(*f.Case).Command("replay")
	}
	return f.Replay()
}

func tellMerged(cmd *cobra.Command, m merged, by map[string][]report.Failure) {
	out, errOut := cmd.OutOrStdout(), cmd.ErrOrStderr()
	for _, d := range m.Damaged {
		fmt.Fprintln(errOut, d)
	}
	if len(m.Missing) > 0 {
		fmt.Fprintf(errOut, "nothing of the shards %s\n", strings.Join(m.Missing, ", "))
	}
	if m.Ended < m.Hunts {
		fmt.Fprintf(errOut, "%d of %d hunts did not tell their end; their CPU time is not known\n",
			m.Hunts-m.Ended, m.Hunts)
	}
	for _, s := range m.Signatures {
		fmt.Fprintf(out, "FAIL %s\n  %s from %d on\n  replay: %s\n", by[s.Signature][0].Violation,
			report.Count(s.Seeds, "seed"), s.First, s.Replay)
	}
	fmt.Fprintf(out, "%s of version %s\n%s\n", report.Count(m.Hunts, "hunt"), versionOf(m.Commit),
		sumLine(m.Tally, m.Violations))
}

func versionOf(commit string) string {
	if commit == "" {
		return "unknown"
	}
	return commit
}
