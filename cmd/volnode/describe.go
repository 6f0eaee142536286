package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/engine/deletions"
	"github.com/volnode/volnode/hal"
)

const describeHelp = `describe shows one pod, volume, rung or driver: its desired and actual state, the operation in
flight, the reason, and what volnode does next.
For a pod it also shows the last events of each of its volumes, as a cluster would (FailedMount and others, since
volnode started), trouble with its manifests, and which content counts meanwhile. It shows which data of the pod
was deleted, when and why, also after the pod is gone. It lists the last 5 deletions; earlier pods of that name count.

  volnode describe pod NAMESPACE/NAME        or its uid
  volnode describe volume DRIVER^HANDLE
  volnode describe rung KEY                  as in volnode status -o wide
  volnode describe driver NAME               each socket that registers it`

func describeCommand(c *client) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "describe pod|volume|rung|driver NAME", Short: "Show one pod, volume, rung or driver in full",
		Long: describeHelp,
		Args: describedArgs,
	}
	cmd.Flags().StringVarP(&output, "output", "o", outTable, "json")
	patience := patienceFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output != outTable {
			if err := oneOf("--output ", output, outJSON); err != nil {
				return err
			}
		}
		ctx, cancel := interruptible(*patience)
		defer cancel()
		var a describeAnswer
		if err := c.askShort(ctx, "/v1/describe", query("kind", args[0], "name", args[1]), *patience, &a); err != nil {
			if bad := badObject(args[0], args[1]); bad != "" && mayComeBack(err) { // no daemon need say so
				return fail(exitUsage, "%s", bad)
			}
			return err
		}
		if output == outJSON {
			return printJSON(cmd.OutOrStdout(), a)
		}
		printDescription(cmd.OutOrStdout(), a)
		return nil
	}
	return cmd
}

// describedArgs refuses what is no kind and name. Who writes pod/NAMESPACE/NAME, as for wait, hears how it is written
// here.
func describedArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		for _, kind := range describedKinds {
			if name, is := strings.CutPrefix(args[0], kind+"/"); is && name != "" {
				return fmt.Errorf("describe: want a kind and a name; did you mean describe %s %s?", kind, name)
			}
		}
		if strings.Count(args[0], "/") == 1 && badPodName(args[0]) == "" {
			return fmt.Errorf("describe: want a kind and a name; did you mean describe pod %s?", args[0])
		}
	}
	if err := wordsAre(2, "pod, volume, rung or driver, and its name")(cmd, args); err != nil {
		return err
	}
	return oneOf("describe ", args[0], describedKinds...)
}

var describedKinds = []string{"pod", "volume", "rung", "driver"}

// printDescription shows drivers, pods with the ladders of their volumes and the troubles with their manifests, then
// the rungs that are in none of them.
func printDescription(w io.Writer, a describeAnswer) {
	for _, d := range a.Drivers {
		printDriver(w, d)
	}
	shown := map[hal.Key]bool{}
	for _, p := range a.Pods {
		fmt.Fprintf(w, "pod %s\n", podText(p))
		fields(w, "  ", "uid", string(p.UID), "state", string(p.State), "wanted", yesNo(p.Wanted), "groups",
			strings.Trim(fmt.Sprint(p.Groups), "[]"))
		for _, v := range p.Volumes {
			fmt.Fprintf(w, "\n  volume %s\n", volumeText(v))
			fields(w, "    ", "state", string(v.State), "claim", v.Claim, "path", v.Path, "usage", usageText(v.Usage),
				"health", healthText(v.Health), "why", v.Why)
			for _, key := range v.Keys {
				if i := slices.IndexFunc(a.Rungs, func(r engine.RungStatus) bool { return r.Key == key }); i >= 0 {
					printRung(w, "    ", a.Rungs[i])
					shown[key] = true
				}
			}
		}
		printEvents(w, p.Events)
	}
	for _, t := range a.Sources {
		fmt.Fprintf(w, "\ntrouble: %s: %s\n", printable(t.Where), printable(t.Why))
	}
	for _, r := range a.Rungs {
		if !shown[r.Key] {
			printRung(w, "", r)
		}
	}
	printDeletions(w, a.Deletions)
}

// printEvents shows what has happened to the volumes of a pod, the latest at the end.
func printEvents(w io.Writer, all []engine.PodEventStatus) {
	if len(all) > 0 {
		fmt.Fprintf(w, "\n  events\n")
	}
	for _, e := range all {
		when := age(e.Last) + " ago"
		if e.Count > 1 {
			when += fmt.Sprintf(", %d times since %s ago", e.Count, age(e.First))
		}
		fmt.Fprintf(w, "    %s %s of volume %s (%s): %s\n", e.Type, e.Reason, printable(e.Volume), when,
			printable(e.Message))
	}
}

// healthText is what a driver says is wrong with a volume, or its storage, "" if it says that nothing is.
func healthText(h *engine.Health) string {
	if h == nil {
		return ""
	}
	return engine.HealthText(h.Problems) + h.Why
}

// usageText is how full a volume is: "1.5 GiB of 10 GiB (15 %), 11 of 65536 inodes".
func usageText(u *engine.Usage) string {
	if u == nil {
		return ""
	}
	var parts []string
	if b := u.Bytes; b != nil {
		part := bytesText(b.Used) + " of " + bytesText(b.Total)
		if b.Total > 0 {
			part += fmt.Sprintf(" (%.0f %%)", 100*float64(b.Used)/float64(b.Total))
		}
		parts = append(parts, part)
	}
	if n := u.Inodes; n != nil && n.Total > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d inodes", n.Used, n.Total))
	}
	if len(parts) == 0 {
		parts = []string{"not known"}
	}
	if u.Why != "" {
		parts = append(parts, u.Why)
	}
	return strings.Join(parts, ", ")
}

func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	f, i := float64(n), 0
	for ; f >= 1024 && i < len(units)-1; i++ {
		f /= 1024
	}
	digits := 0
	if f < 10 && i > 0 {
		digits = 1
	}
	return strconv.FormatFloat(f, 'f', digits, 64) + " " + units[i]
}

// mostDeletions bounds the deletions that describe shows of one pod.
const mostDeletions = 5

// printDeletions shows the last of the deletions of a pod's data. Pods of manifests that have one name have one uid, so
// nothing tells those of the pod that is there from those of earlier ones.
func printDeletions(w io.Writer, all []deletions.Entry) {
	if len(all) == 0 {
		return
	}
	count := plural(len(all), "deletion")
	if more := len(all) - mostDeletions; more > 0 {
		all = all[more:]
		count += fmt.Sprintf(", the last %d are below; -o json has all", mostDeletions)
	}
	fmt.Fprintf(w, "\ndeleted data of this pod, or of earlier pods of its name (%s):\n", count)
	for _, e := range all {
		fmt.Fprintf(w, "\ndeleted %s\n", printable(e.Path))
		pod := ""
		if e.Name != "" {
			pod = e.Namespace + "/" + e.Name
		}
		fields(w, "  ", "at", e.Time, "pod", pod, "uid", e.UID, "volume", e.Volume, "cause", e.Cause)
	}
}

func printDriver(w io.Writer, d engine.DriverStatus) {
	fmt.Fprintf(w, "driver %s\n", d.Name)
	last := d.LastAnswer
	if last != "" {
		last += ", " + age(d.LastAnswerAge) + " ago"
	}
	fields(w, "  ", "registered", yesNo(d.Registered), "connected", yesNo(d.Connected), "waits", yesNo(d.Waiting),
		"for", age(d.Since),
		"answered", last, "node", d.NodeID, "socket", d.Socket, "endpoint", d.Endpoint, "storage",
		healthText(d.Storage), "why", d.Why)
}

func printRung(w io.Writer, indent string, r engine.RungStatus) {
	fmt.Fprintf(w, "%srung %s\n", indent, r.Key)
	failed := ""
	if r.Attempts > 0 {
		failed = plural(r.Attempts, "attempt") + " in a row"
	}
	below := ""
	for _, key := range r.Below {
		below += " " + string(key)
	}
	fields(w, indent+"  ", "state", string(r.State), "desired", r.Desired, "actual", r.Actual, "there", r.Fingerprint,
		"pod", string(r.Pod),
		"volume", r.Volume, "depends on", strings.TrimSpace(below), "doing", r.Step, "for", age(r.Age),
		"failed", failed,
		"why", r.Why, "next", r.Next)
}

// fields prints the names and values that are not empty, one pair to a line.
func fields(w io.Writer, indent string, pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s%-10s %s\n", indent, pairs[i], printable(pairs[i+1]))
		}
	}
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
