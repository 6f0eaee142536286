package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
)

const statusHelp = `status shows every volume of every pod: its state, the reason, and what volnode does next.

States:
  Ready      up, as wanted
  Degraded   up, but something is missing
  Working    an operation is in flight
  Waiting    waits for a time, or for another rung
  Uncertain  a call may still act: the driver did not answer it, or its answer did not end it
  Blocked    waits until a person, a manifest or a driver changes what the reason names
  Stuck      a call is overdue, or the teardown was refused for good: a person has to act
  Gone       nothing is left`

// Output formats.
const (
	outTable = ""
	outWide  = "wide"
	outJSON  = "json"
)

func statusCommand(c *client) *cobra.Command {
	var output string
	var noHeaders bool
	cmd := &cobra.Command{Use: "status", Short: "Show all volumes", Long: statusHelp, Args: wordsAre(0, "")}
	cmd.Flags().StringVarP(&output, "output", "o", outTable, "json or wide (with paths, rungs and drivers)")
	cmd.Flags().BoolVar(&noHeaders, "no-headers", false, "rows only")
	patience := patienceFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output != outTable {
			if err := oneOf("--output ", output, outJSON, outWide); err != nil {
				return err
			}
		}
		ctx, cancel := interruptible(*patience)
		defer cancel()
		var s statusAnswer
		starting := fail(exitTemporary, "the daemon is starting")
		err := insist(ctx, *patience, func(time.Duration) error {
			s = statusAnswer{}
			if err := c.ask(ctx, "/v1/status", nil, shortAsk, &s); err != nil || !s.Starting {
				return err
			}
			return starting
		})
		if err != nil && !errors.Is(err, starting) {
			return err
		}
		out := cmd.OutOrStdout()
		if output == outJSON {
			return printJSON(out, s)
		}
		printStatus(out, s.Status, output == outWide, !noHeaders)
		if !noHeaders {
			printSinks(out, s.Sinks)
			printNotes(out, s.Notes)
		}
		return nil
	}
	return cmd
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printStatus shows a status: a line of its counts, the volumes, and what asks for somebody's attention.
func printStatus(w io.Writer, s engine.Status, wide, headers bool) {
	if headers {
		fmt.Fprintln(w, headline(s))
		fmt.Fprintln(w)
	}
	printVolumes(w, s, wide, headers)
	if wide {
		section(w, headers, func() { printRungs(w, s.Rungs, headers) })
		section(w, headers, func() { printDrivers(w, s.Drivers, headers) })
	}
	if headers {
		printTrouble(w, s)
	}
}

func section(w io.Writer, headers bool, show func()) {
	if headers {
		fmt.Fprintln(w)
	}
	show()
}

func headline(s engine.Status) string {
	if s.Starting {
		text := s.Node + "  starting: volnode has not read the node yet; the state of its volumes is not known"
		if s.Journal.Why != "" {
			text += "; " + printable(s.Journal.Why)
		}
		return text + troubleText(s)
	}
	text := fmt.Sprintf("%s  %s  %s  %s  %s in the journal", s.Node, plural(len(s.Pods), "pod"), count(s).summary(),
		driversText(s.Drivers),
		plural(s.Journal.Records, "record"))
	if n := len(podless(s)); n > 0 {
		text += "  " + plural(n, "stage") + " without a pod"
	}
	if !s.Synced {
		text += "  not synced: volnode tears down nothing"
	}
	return text + troubleText(s)
}

// driversText counts the drivers: those whose registration is in force, those that can be reached now, and endpoints
// that wait.
func driversText(drivers []engine.DriverStatus) string {
	registered, connected, waiting := 0, 0, 0
	for _, d := range drivers {
		if d.Registered {
			registered++
		}
		if d.Connected {
			connected++
		}
		if d.Waiting {
			waiting++
		}
	}
	text := fmt.Sprintf("%d/%s registered, %d connected", registered, plural(len(drivers)-waiting, "driver"), connected)
	if waiting > 0 {
		text += fmt.Sprintf(", %s waiting", plural(waiting, "second endpoint"))
	}
	return text
}

// printVolumes lists the volumes of pods, and the shared rungs on which no pod's volume depends.
func printVolumes(w io.Writer, s engine.Status, wide, headers bool) {
	heads := []string{"POD", "VOLUME", "STATE", "WHY"}
	if wide {
		heads = []string{"POD", "VOLUME", "STATE", "PATH", "WHY"}
	}
	if !headers {
		heads = nil
	}
	t := newTable(w, heads...)
	row := func(pod, volume string, state engine.Condition, path, why string) {
		if wide {
			t.row(pod, volume, string(state), path, why)
			return
		}
		t.row(pod, volume, string(state), why)
	}
	pods := slices.Clone(s.Pods)
	slices.SortFunc(pods, func(a, b engine.PodStatus) int { return strings.Compare(podText(a), podText(b)) })
	for _, p := range pods {
		for _, v := range p.Volumes {
			why := v.Why
			if why == "" && v.Usage != nil && v.Usage.Bytes != nil {
				why = v.Usage.Why // it is up, and holds too much
			}
			if why == "" && v.Health != nil {
				why = engine.HealthText(v.Health.Problems) // it is up, and not well
			}
			row(podText(p), volumeText(v), v.State, v.Path, why)
		}
		if len(p.Volumes) == 0 {
			why := ""
			if p.Wanted {
				why = "no container names a volume"
			}
			row(podText(p), "", p.State, "", why)
		}
	}
	for _, r := range podless(s) {
		row("", string(r.Key), r.State, "", rungWhy(r))
	}
	t.end()
}

// podless is the shared rungs on which no pod's volume depends.
func podless(s engine.Status) (all []engine.RungStatus) {
	stood := map[hal.Key]bool{}
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			for _, key := range v.Keys {
				stood[key] = true
			}
		}
	}
	for _, r := range s.Rungs {
		if !stood[r.Key] && r.Pod == "" {
			all = append(all, r)
		}
	}
	return all
}

// podText is a pod's name, or its uid if it has none any more.
func podText(p engine.PodStatus) string {
	if p.Name == "" {
		return string(p.UID)
	}
	return p.Namespace + "/" + p.Name
}

// volumeText is a volume's name in its pod and, in brackets, its PersistentVolume's, which stays known once no manifest
// names the pod. It has no blank.
func volumeText(v engine.VolumeStatus) string {
	switch v.PV {
	case "":
		return v.Name
	case v.Name:
		return "(" + v.PV + ")"
	}
	return v.Name + "(" + v.PV + ")"
}

// rungWhy is one line about a rung that is not as it should be.
func rungWhy(r engine.RungStatus) string {
	var parts []string
	for _, part := range []string{r.Step, r.Why, r.Next} {
		if part != "" && r.State != engine.Ready {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

func printRungs(w io.Writer, rungs []engine.RungStatus, headers bool) {
	var heads []string
	if headers {
		heads = []string{"RUNG", "STATE", "ACTUAL", "DESIRED", "STEP", "AGE", "FAILED", "WHY", "NEXT"}
	}
	t := newTable(w, heads...)
	for _, r := range rungs {
		t.row(string(r.Key), string(r.State), r.Actual, r.Desired, r.Step, age(r.Age), strconv.Itoa(r.Attempts),
			r.Why, r.Next)
	}
	t.end()
}

func printDrivers(w io.Writer, drivers []engine.DriverStatus, headers bool) {
	var heads []string
	if headers {
		heads = []string{"DRIVER", "REGISTERED", "CONNECTED", "SINCE", "LAST ANSWER", "NODE", "SOCKET", "WHY"}
	}
	t := newTable(w, heads...)
	for _, d := range drivers {
		registered, last := strconv.FormatBool(d.Registered), d.LastAnswer
		if d.Waiting {
			registered = "waits"
		}
		if last != "" {
			last += " " + age(d.LastAnswerAge) + " ago"
		}
		t.row(d.Name, registered, strconv.FormatBool(d.Connected), age(d.Since), last, d.NodeID, d.Socket,
			cmp.Or(d.Why, healthText(d.Storage)))
	}
	t.end()
}

// troublesOf counts what is wrong with the sources: what is bad, the pods that are kept for it, and the manifests that
// are missing.
func troublesOf(s engine.Status) (bad, held, missing int) {
	for _, t := range s.Sources {
		switch {
		case t.Held:
			held++
		case t.Accept:
			missing++
		default:
			bad++
		}
	}
	return bad, held, missing
}

func troubleText(s engine.Status) string {
	bad, held, missing := troublesOf(s)
	text := ""
	if bad > 0 {
		text += fmt.Sprintf("  %d in trouble", bad)
	}
	if held > 0 {
		text += "  teardown of " + plural(held, "pod") + " held back"
	}
	if missing > 0 {
		text += "  " + plural(missing, "missing manifest") + " not accepted"
	}
	if text != "" {
		text += " (volnode sources)"
	}
	return text
}

// printTrouble says what somebody should do something about.
func printTrouble(w io.Writer, s engine.Status) {
	if s.Journal.Why != "" {
		fmt.Fprintf(w, "journal: %s\n", printable(s.Journal.Why))
	}
	for _, damage := range s.Journal.Damage {
		fmt.Fprintf(w, "journal damage: %s\n", printable(damage))
	}
	for _, t := range s.Sources {
		fmt.Fprintf(w, "trouble: %s: %s\n", printable(t.Where), printable(t.Why))
	}
	for _, d := range s.Drivers {
		if d.ActsAfterReply {
			fmt.Fprintf(w, "driver %s acts after it returns an error: no error of it ends a call\n",
				printable(d.Name))
		}
		switch {
		case d.Why == "":
		case d.Socket == "": // what it says names the driver
			fmt.Fprintln(w, printable(d.Why))
		default:
			fmt.Fprintf(w, "driver socket %s: %s\n", d.Socket, printable(d.Why))
		}
	}
	for _, r := range s.Rungs {
		if r.State == engine.Stuck {
			fmt.Fprintf(w, "action: %s is stuck; run volnode describe rung '%s'\n", r.Key, r.Key)
		}
	}
}

// printNotes says what somebody may not have meant.
func printNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(w, "note: %s\n", printable(note))
	}
}

// printSinks says what the log and the trace have lost.
func printSinks(w io.Writer, sinks []sinkState) {
	for _, s := range sinks {
		text := fmt.Sprintf("%s: %s lost since the start", s.Name, plural(int(s.Lost), "line"))
		if s.Problem != "" {
			text += "; " + s.Problem + "; volumes are not affected"
		}
		fmt.Fprintln(w, printable(text))
	}
}
