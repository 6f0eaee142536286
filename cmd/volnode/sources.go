package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal/manifest"
)

const sourcesHelp = `sources shows manifests in trouble, and the pods that volnode keeps because of them.

A manifest counts as removed only if it is missing from the directory in which volnode saw it last. The directory at
that path may be another one: another filesystem is mounted there, the disk of the manifests is not mounted, or the
directory was replaced. Then a missing manifest still counts, and its pods stay up, until the manifest is back. With
--accept it counts as removed: volnode tears its pods down and deletes their emptyDirs. The output lists them.
volnode may have lost what it read before, or have taken over the root directory of another agent. Then it also keeps
each pod that has volumes on the node and that no manifest names.`

// sourcesAnswer is what is wrong with the sources.
type sourcesAnswer struct {
	Sources []engine.SourceTrouble `json:"sources"`
	// Accepted: these manifests count as removed from now on.
	Accepted []manifest.Accepted `json:"accepted,omitempty"`
	// Nothing says why there was nothing to accept.
	Nothing string `json:"nothing,omitempty"`
	// Released: these pods were kept for one of them, and go.
	Released []string `json:"released,omitempty"`
	Notes    []string `json:"notes,omitempty"`
}

func sourcesCommand(c *client) *cobra.Command {
	var output string
	var accept bool
	cmd := &cobra.Command{
		Use: "sources", Short: "Show manifests in trouble; accept missing ones as removed",
		Long: sourcesHelp, Args: wordsAre(0, ""),
	}
	cmd.Flags().StringVarP(&output, "output", "o", outTable, "json")
	cmd.Flags().BoolVar(&accept, "accept", false, "accept manifests that are missing in another directory as removed")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output != outTable {
			if err := oneOf("--output ", output, outJSON); err != nil {
				return err
			}
		}
		ctx, cancel := interruptible(0)
		defer cancel()
		method, path := http.MethodGet, "/v1/sources"
		if accept {
			method, path = http.MethodPost, "/v1/sources/accept"
		}
		var s sourcesAnswer
		if err := c.send(ctx, method, path, nil, shortAsk, &s); err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		if output == outJSON {
			return printJSON(out, s)
		}
		printSources(out, s, accept)
		printNotes(out, s.Notes)
		return nil
	}
	return cmd
}

// printSources shows what was accepted and what that does, then what is wrong all the same.
func printSources(w io.Writer, s sourcesAnswer, accept bool) {
	files, goes := 0, len(s.Released) > 0
	for _, a := range s.Accepted {
		what := "no pod in it has a volume that is up"
		goes = goes || len(a.Pods) > 0
		switch {
		case len(a.Pods) == 1:
			what = "pod " + a.Pods[0] + " goes, with its data in emptyDirs"
		case len(a.Pods) > 1:
			what = "pods " + strings.Join(a.Pods, ", ") + " go, with their data in emptyDirs"
		}
		if a.File == "" {
			fmt.Fprintf(w, "accepted: pods with volumes on the node that no manifest names; %s\n", what)
			continue
		}
		files++
		fmt.Fprintf(w, "accepted: %s: counts as removed; %s\n", printable(a.File), what)
	}
	for _, name := range s.Released {
		fmt.Fprintf(w, "accepted: %s: goes, with its data in emptyDirs; volnode had kept it for a missing manifest\n",
			printable(name))
	}
	switch {
	case files > 0:
		shown := ""
		if goes {
			shown = "; 'volnode status' shows what goes"
		}
		fmt.Fprintf(w, "accepted: %s%s\n", plural(files, "missing manifest"), shown)
	case len(s.Accepted) > 0:
		fmt.Fprintln(w, "accepted: 'volnode status' shows what goes")
	case accept:
		fmt.Fprintf(w, "accepted nothing: %s\n", s.Nothing)
	case len(s.Sources) == 0:
		fmt.Fprintln(w, "all manifests are in order")
	}
	for _, t := range s.Sources {
		sign := "trouble"
		switch {
		case t.Held:
			sign = "kept"
		case t.Accept:
			sign = "waits for --accept"
		}
		fmt.Fprintf(w, "%s: %s: %s\n", sign, printable(t.Where), printable(t.Why))
	}
}

// missing says what is wrong with the sources and, if a person accepts it, has the missing manifests removed.
func (d *daemon) missing(ctx context.Context, accept bool) (sourcesAnswer, error) {
	s, err := d.status(ctx)
	answer := sourcesAnswer{Sources: append([]engine.SourceTrouble{}, s.Sources...), Notes: d.notes()} // in JSON a list
	if err != nil || !accept {
		return answer, err
	}
	all, err := onOwner(ctx, d, func() (a sourcesAnswer) {
		a.Accepted, a.Nothing = d.manifests.Accept()
		return a
	})
	if err != nil {
		return answer, err
	}
	answer.Accepted, answer.Nothing = all.Accepted, all.Nothing
	for i, a := range answer.Accepted {
		d.log.Warn("missing manifest accepted as removed", "manifest", a.File, "pods", strings.Join(a.Pods, ", "))
		if a.File != "" {
			answer.Accepted[i].File = path.Join(d.config.ManifestDir, a.File)
		}
	}
	if len(answer.Accepted) > 0 { // what was said of them is true no more
		for _, t := range answer.Sources {
			if t.Accept && t.Held {
				answer.Released = append(answer.Released, t.Where)
			}
		}
		answer.Sources = slices.DeleteFunc(answer.Sources, func(t engine.SourceTrouble) bool { return t.Accept })
	}
	return answer, nil
}

// onOwner runs a question on the owner and waits for its answer. Once ctx is over, the owner may still write the
// answer, so nobody looks at it.
func onOwner[T any](ctx context.Context, d *daemon, question func() T) (T, error) {
	answer, none := new(T), *new(T)
	err := d.runtime.Await(ctx, func(done func()) {
		*answer = question()
		done()
	})
	if err != nil {
		return none, err
	}
	return *answer, nil
}

// passed gets the names in the manifest directory that are no manifest's, and logs those that are new.
// On the owner.
func (d *daemon) passed(names []string) {
	var last []string
	if told := d.passedOver.Swap(&names); told != nil {
		last = *told
	}
	again := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(last, name) })
	if len(again) > 0 {
		d.log.Info("names in the manifest directory ignored: a manifest's name ends with "+manifestNames,
			"directory", d.config.ManifestDir,
			"names", shortList(again))
	}
}

const manifestNames = ".yaml, .yml or .json"

// notes says what somebody may not have meant, and no volume waits for.
func (d *daemon) notes() (notes []string) {
	if why := d.late.Load(); why != nil && *why != "" {
		notes = append(notes, "volnode notices changes of files and directories late: "+*why+"; volnode "+lateNext)
	}
	names := d.passedOver.Load()
	if names == nil || len(*names) == 0 {
		return notes
	}
	return append(notes, fmt.Sprintf("%s: %s %s ignored: %s; a manifest is a file in this directory whose name ends "+
		"with %s", d.config.ManifestDir,
		plural(len(*names), "name"), plurally(len(*names), "is", "are"), shortList(*names), manifestNames))
}

// lateNext is what volnode does where changes can't be watched.
const lateNext = "checks once a minute until it can watch them again"

// unwatched takes in why changes are noticed late, "" for no more.
func (d *daemon) unwatched(why string) {
	d.late.Store(&why)
	if why == "" {
		d.log.Info("volnode watches all files again")
		return
	}
	d.log.Warn("cannot watch files; volnode notices changes late", "why", why, "next", "volnode "+lateNext)
}

// concerning returns the troubles that concern a pod, by namespace/name or uid; all, if the owner does not say in time
// which do.
func (d *daemon) concerning(ctx context.Context, pod string, s engine.Status) []engine.SourceTrouble {
	wheres, err := onOwner(ctx, d, func() []string { return d.manifests.Concerning(pod) })
	if err != nil {
		return s.Sources
	}
	return slices.DeleteFunc(slices.Clone(s.Sources), func(t engine.SourceTrouble) bool {
		if t.Source == manifest.Source {
			return !slices.Contains(wheres, t.Where)
		}
		return !t.Hidden && !slices.ContainsFunc(s.Pods, func(p engine.PodStatus) bool {
			// of the node: it is about one pod's directory
			return (string(p.UID) == pod || p.Namespace+"/"+p.Name == pod) && strings.Contains(t.Where, string(p.UID))
		})
	})
}
