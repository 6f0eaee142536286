// Package mutants tests the tests: engines with one known defect each, every one of which the simulator must tell from the true one.
//
// A mutant is a text of one source file and what replaces it; it is built by go build -overlay, so the sources have no hooks. A mutant whose old text
// is not in its file exactly once is an error: it must be brought up to date.
package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Mutant is one faulty engine.
type Mutant struct {
	Name string // what is wrong with it
	Law  string // the property or clause that it breaks
	File string // from the module's root
	Old  string
	New  string
}

// Outcome is what a hunt came to.
type Outcome struct {
	Mutant   Mutant        `json:"-"`
	Name     string        `json:"name"`
	Law      string        `json:"law"`
	Killed   bool          `json:"killed"`
	Seeds    uint64        `json:"seeds"` // until it was killed, or all
	CPU      time.Duration `json:"cpuNanoseconds"`
	Property string        `json:"property,omitempty"` // that was broken
	Site     string        `json:"site,omitempty"`
	Choices  int           `json:"choices,omitempty"` // of the shrunk case; 0 is not shrunk
	Lines    int           `json:"lines,omitempty"`   // in which it is told
}

// Lab builds and hunts mutants.
type Lab struct {
	Root    string // the module's
	Dir     string // for what is built; it exists
	CPU     time.Duration
	Seed    uint64
	Workers int
	Shrink  bool // also shrink what a mutant was killed by
}

// Mutate returns the content of the mutant's file.
func (m Mutant) Mutate(root string) ([]byte, error) {
	source, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return nil, err
	}
	if n := strings.Count(string(source), m.Old); n != 1 {
		return nil, fmt.Errorf("mutant %q: its old text is %d times in %s, not once; bring scenarios/mutants/table.go up to date", m.Name, n, m.File)
	}
	return []byte(strings.Replace(string(source), m.Old, m.New, 1)), nil
}

// build makes a volsim with the mutant in it.
func (l Lab) build(m Mutant, n int) (string, error) {
	text, err := m.Mutate(l.Root)
	if err != nil {
		return "", err
	}
	base := filepath.Join(l.Dir, strconv.Itoa(n))
	source, overlay, program := base+".go", base+".json", base+".volsim"
	if err := os.WriteFile(source, text, 0o600); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(l.Root, m.File): source}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-overlay", overlay, "-o", program, "./cmd/volsim")
	cmd.Dir = l.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mutant %q does not build: %w\n%s", m.Name, err, out)
	}
	return program, nil
}

// Hunt builds a mutant and hunts it. The mutant's program is removed again.
func (l Lab) Hunt(m Mutant, n int) (Outcome, error) {
	o := Outcome{Mutant: m, Name: m.Name, Law: m.Law}
	program, err := l.build(m, n)
	if err != nil {
		return o, err
	}
	defer os.Remove(program) //nolint:errcheck // the whole directory goes later
	out, err := l.limited(program, "hunt", "--json", "--runs", "100000000", "--seed", strconv.FormatUint(l.Seed, 10),
		"--cpu", l.CPU.String(), "--workers", strconv.Itoa(l.Workers)).Output()
	if isKilled(err) {
		o.Killed, o.CPU, o.Property, o.Site = true, l.most(), "hang", "a schedule that does not end"
		return o, nil
	}
	if status, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || status.ExitCode() != 1) {
		return o, fmt.Errorf("mutant %q: its hunt failed: %w", m.Name, err)
	}
	var found struct {
		Schedules  uint64        `json:"schedules"`
		CPU        time.Duration `json:"cpuNanoseconds"`
		Violations int           `json:"violations"`
		FailedSeed uint64        `json:"failedSeed"`
		Violation  *struct{ Property, Site string }
	}
	if err := json.Unmarshal(out, &found); err != nil {
		return o, fmt.Errorf("mutant %q: its hunt said %.200q", m.Name, out)
	}
	o.Killed, o.Seeds, o.CPU = found.Violations > 0, found.Schedules, found.CPU
	if !o.Killed {
		return o, nil
	}
	o.Property, o.Site = found.Violation.Property, found.Violation.Site
	if l.Shrink {
		o.Choices, o.Lines = shrunk(program, found.FailedSeed)
	}
	return o, nil
}

// most is the CPU time after which a hunt is taken to hang: it looks at its own budget between two schedules alone.
func (l Lab) most() time.Duration { return 2*l.CPU + time.Minute }

// limited is a command that is killed once it has used that much CPU time. Verdicts of a hunt itself never hang on a clock.
func (l Lab) limited(program string, args ...string) *exec.Cmd {
	limit := fmt.Sprintf("ulimit -t %d; exec \"$0\" \"$@\"", int(l.most().Seconds()))
	return exec.Command("sh", append([]string{"-c", limit, program}, args...)...)
}

func isKilled(err error) bool {
	status, ok := errors.AsType[*exec.ExitError](err)
	return ok && status.ExitCode() == -1
}

// shrunk is the number of choices that are left of a failing seed, and of the lines that tell it; 0 if that is not known.
func shrunk(program string, seed uint64) (choices, lines int) {
	out, _ := exec.Command(program, "shrink", "--json", "--seed", strconv.FormatUint(seed, 10)).Output() // it exits with 1
	var s struct{ Choices, Lines []struct{} }
	if json.Unmarshal(out, &s) != nil {
		return 0, 0
	}
	return len(s.Choices), len(s.Lines)
}

// Row is one line of the table of outcomes.
func (o Outcome) Row() string {
	verdict, by := "SURVIVED", ""
	if o.Killed {
		verdict, by = "killed", o.Property+" at "+o.Site
		if o.Choices > 0 {
			by += fmt.Sprintf(", %d choices in %d lines", o.Choices, o.Lines)
		}
	}
	return fmt.Sprintf("%-8s %-54s %-16s %8d seeds %6.1f CPU-s  %s", verdict, o.Name, o.Law, o.Seeds, o.CPU.Seconds(), by)
}
