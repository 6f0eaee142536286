package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// operation is one line of an agent's log about an operation that has ended.
type operation struct {
	verb, kind, outcome string
}

func (o operation) String() string { return fmt.Sprintf("%-8s %-12s %s", o.verb, o.kind, o.outcome) }

// operationField finds the fields of a text line: verb=setup rung="csi.stage/…".
var operationField = regexp.MustCompile(`\b(verb|rung|outcome)=("[^"]*"|\S+)`)

// operationOf reads a line of a log, JSON or text; ok is false if it is about something else.
func operationOf(line string) (operation, bool) {
	fields := map[string]string{}
	var object map[string]any
	if json.Unmarshal([]byte(line), &object) == nil {
		if object["msg"] != "operation" {
			return operation{}, false
		}
		for _, name := range []string{"verb", "rung", "outcome"} {
			fields[name], _ = object[name].(string)
		}
	} else if strings.Contains(line, "msg=operation ") {
		for _, m := range operationField.FindAllStringSubmatch(line, -1) {
			fields[m[1]] = strings.Trim(m[2], `"`)
		}
	}
	kind, _, _ := strings.Cut(fields["rung"], "/")
	o := operation{fields["verb"], kind, fields["outcome"]}
	return o, o.verb != "" && o.kind != "" && o.outcome != ""
}

func operationsOf(lines []string) []operation {
	var ops []operation
	for _, line := range lines {
		if o, ok := operationOf(line); ok {
			ops = append(ops, o)
		}
	}
	return ops
}

// byKind puts together what happened to each rung, in order. Rungs go by their kind: the story has one of each. Those
// of different rungs run side by side, so their order says nothing.
func byKind(ops []operation) map[string][]string {
	lines := map[string][]string{}
	for _, o := range ops {
		lines[o.kind] = append(lines[o.kind], o.String())
	}
	return lines
}

// tellSimulated runs the same story in the simulator. onHost is what the real one did; nil is nothing to compare with.
func tellSimulated(s settings, onHost []operation) error {
	fmt.Println("\n== The same story in the simulator")
	volsim := filepath.Join(s.bin, "volsim")
	if _, err := os.Stat(volsim); err != nil {
		return fmt.Errorf("the simulated half: %w (make build)", err)
	}
	fmt.Printf("   $ volsim run %s\n", s.scenario)
	cmd := exec.Command(volsim, "run", s.scenario)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		fmt.Print(string(out))
		return fmt.Errorf("the simulated half: volsim run %s: %w", s.scenario, err)
	}
	var lines []string
	for scanner := bufio.NewScanner(strings.NewReader(string(out))); scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	simulated := operationsOf(lines)
	if len(simulated) == 0 {
		fmt.Print(string(out))
		return fmt.Errorf("the simulated half: volsim run %s shows no operation", s.scenario)
	}
	for _, o := range simulated {
		fmt.Printf("   %v\n", o)
	}
	if onHost == nil {
		return nil
	}
	return compare(byKind(onHost), byKind(simulated))
}

// compare fails if something happened to a rung in one world that did not in the other.
func compare(onHost, simulated map[string][]string) error {
	kinds := slices.Sorted(maps.Keys(onHost))
	for _, kind := range slices.Sorted(maps.Keys(simulated)) {
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds {
		if !slices.Equal(onHost[kind], simulated[kind]) {
			return fmt.Errorf("the worlds differ in %s:\non this host:\n  %s\nsimulated:\n  %s", kind,
				strings.Join(onHost[kind], "\n  "), strings.Join(simulated[kind], "\n  "))
		}
	}
	fmt.Println("   The operations of this host and of the simulator are the same, rung by rung.")
	return nil
}
