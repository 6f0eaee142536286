// Package mutants tests the tests: engines with one known defect each, every one of which the simulator must tell from
// the true one.
//
// A mutant names a function, some tokens in it and what replaces them; it is built by go build -overlay, so the sources
// have no hooks. Comments, line ends and the file of the function do not count. A mutant whose tokens are not in its
// function exactly once is an error: it must be brought up to date. A mutant is killed by the catalogue, one of whose
// scenarios fails with it, or by a hunt.
package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Mutant is one faulty engine.
type Mutant struct {
	Name string // what is wrong with it
	Law  string // the property or law that it breaks (docs/laws.md), and the issues that it models, "kubernetes#82190"
	In   string // the function: its package's directory, a dot, and its name, "engine/core.Core.nextUp"
	Old  string // what it has exactly once, as tokens
	New  string
}

// Lab builds mutants and tries to kill them: [Lab.Build] once, then [Lab.Try] for each, side by side if need be.
type Lab struct {
	Root      string              // the module's
	Scenarios []string            // the names of the catalogue
	Promises  map[string][]string // those that say that they catch a mutant, by its name
	CPU       time.Duration       // for the hunt of one mutant
	Seed      uint64              // the first of a hunt
	Full      bool                // play all and hunt all, and make nothing of what is known to kill
	Shrink    bool                // also shrink what a hunt has found

	program string // with all mutants in it
}

// Try tries to kill the mutant with that number of the table that was built, from 1 on.
func (l Lab) Try(m Mutant, number int) (Outcome, error) {
	o := Outcome{Name: m.Name, Law: m.Law, Proof: equivalent[m.Name], number: number}
	known := killers[m.Name]
	if !l.Full {
		first := slices.Clone(l.Promises[m.Name])
		if known.Scenario != "" && !slices.Contains(first, known.Scenario) &&
			slices.Contains(l.Scenarios, known.Scenario) {
			first = append(first, known.Scenario)
		}
		if err := l.play(first, &o); err != nil || o.Killed {
			return o, err
		}
		if known.Keep != "" {
			if err := l.replay(known.Keep, &o); err != nil || o.Killed {
				return o, err
			}
		}
		seed, runs := l.Seed, uint64(64) // most are killed by one of the first
		if known.Seed != 0 {
			seed, runs = known.Seed, 1
		}
		if err := l.hunt(seed, runs, &o); err != nil || o.Killed {
			return o, err
		}
	}
	if err := l.play(l.Scenarios, &o); err != nil || !l.Full && (o.Killed || o.Proof != "") {
		return o, err
	}
	return o, l.hunt(l.Seed, 100_000_000, &o)
}

// play runs scenarios of the catalogue with a mutant.
func (l Lab) play(scenarios []string, o *Outcome) error {
	if len(scenarios) == 0 {
		return nil
	}
	cmd := l.limited(o.number, append([]string{"run", "--json"}, scenarios...)...)
	out, err := cmd.Output()
	o.CPU += used(cmd)
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var ran struct {
			Name      string
			Violation *struct{ Property, Site string }
		}
		if err := decoder.Decode(&ran); err != nil {
			return fmt.Errorf("mutant %q: its catalogue said %.200q", o.Name, out)
		}
		if ran.Violation != nil {
			o.Scenarios = append(o.Scenarios, ran.Name)
			o.kill(ran.Violation.Property, ran.Violation.Site)
		}
	}
	if isKilled(cmd) {
		o.kill("hang", "a scenario that does not end")
		return nil
	}
	if status := cmd.ProcessState; status == nil || status.ExitCode() > 1 {
		return fmt.Errorf("mutant %q: its catalogue failed: %w", o.Name, err)
	}
	return nil
}

// replay makes the choices of a schedule with a mutant.
func (l Lab) replay(kept string, o *Outcome) error {
	cmd := l.limited(o.number, "replay", "--json", "--quiet", "--keep", kept)
	out, err := cmd.Output()
	o.CPU += used(cmd)
	if isKilled(cmd) {
		o.kill("hang", "a schedule that does not end")
		return nil
	}
	if status := cmd.ProcessState; status == nil || status.ExitCode() > 1 {
		return fmt.Errorf("mutant %q: its replay failed: %w", o.Name, err)
	}
	var ran struct {
		Violation *struct{ Property, Site string }
	}
	if err := json.Unmarshal(out, &ran); err != nil {
		return fmt.Errorf("mutant %q: its replay said %.200q", o.Name, out)
	}
	if ran.Violation != nil {
		o.kill(ran.Violation.Property, ran.Violation.Site)
	}
	return nil
}

// hunt runs seeds with a mutant until one kills it.
func (l Lab) hunt(seed, runs uint64, o *Outcome) error {
	cmd := l.limited(o.number, "hunt", "--json", "--runs", strconv.FormatUint(runs, 10), "--seed",
		strconv.FormatUint(seed, 10),
		"--cpu", l.CPU.String(), "--workers", "1")
	out, err := cmd.Output()
	o.CPU += used(cmd)
	o.Hunt += used(cmd)
	if isKilled(cmd) {
		o.Found = true
		o.kill("hang", "a schedule that does not end")
		return nil
	}
	if status := cmd.ProcessState; status == nil || status.ExitCode() > 1 {
		return fmt.Errorf("mutant %q: its hunt failed: %w", o.Name, err)
	}
	var found struct {
		Schedules  uint64
		FailedSeed uint64
		Replay     string
		Violation  *struct{ Property, Site string }
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return fmt.Errorf("mutant %q: its hunt said %.200q", o.Name, out)
	}
	o.Seeds += found.Schedules
	if found.Violation == nil {
		return nil
	}
	o.Found, o.Property = true, "" // rather than what a scenario has said
	o.kill(found.Violation.Property, found.Violation.Site)
	which := caseOf(found.Replay)
	if which[0] == "--seed" {
		o.Seed = found.FailedSeed
	}
	if l.Shrink {
		o.Choices, o.Lines = l.shrunk(o.number, which...)
	}
	return nil
}

// caseOf is the flag that names a case, and its value, of the command that replays it: a schedule that a hunt has
// varied is no seed's.
func caseOf(replay string) []string {
	flag, value, _ := strings.Cut(strings.TrimPrefix(replay, "volsim replay "), " ")
	return []string{flag, strings.Trim(value, "'")}
}

// most is the CPU time after which a program is taken to hang: a hunt looks at its own budget between two schedules
// alone.
func (l Lab) most() time.Duration { return 2*l.CPU + time.Minute }

// limited is a command of the program as the mutant with that number. It is killed once it has used that much CPU time.
// Verdicts of a hunt itself never hang on a clock.
func (l Lab) limited(number int, args ...string) *exec.Cmd {
	limit := fmt.Sprintf("ulimit -t %d; exec \"$0\" \"$@\"", int(l.most().Seconds()))
	cmd := exec.Command("sh", append([]string{"-c", limit, l.program}, args...)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", variable, number))
	return cmd
}

// isKilled reports whether a command that has run was ended by a signal.
func isKilled(cmd *exec.Cmd) bool {
	return cmd.ProcessState != nil && cmd.ProcessState.ExitCode() == -1
}

// used is the CPU time of a command that has run.
func used(cmd *exec.Cmd) time.Duration {
	if cmd.ProcessState == nil {
		return 0
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// shrunk is the number of choices that are left of a failing seed, or of a failing scenario, and of the lines that tell
// it; 0 if that is not known.
func (l Lab) shrunk(number int, which ...string) (choices, lines int) {
	out, _ := l.limited(number, append([]string{"shrink", "--json"}, which...)...).Output() // it exits with 1
	var s struct{ Choices, Lines []struct{} }
	if json.Unmarshal(out, &s) != nil {
		return 0, 0
	}
	return len(s.Choices), len(s.Lines)
}
