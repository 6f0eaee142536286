package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
)

const sourcesHelp = `sources shows which manifests are in trouble, and which pods are kept for that reason.

A manifest that is missing counts as removed in the directory in which volnode saw it last. Another directory at the same path says nothing: another
filesystem was mounted there, the disk of the manifests is not mounted, or the directory was replaced. Such a manifest still counts, and its pods stay
up, until it is there again. --accept has it removed: its pods go, with their data. It shows what goes.
If what was read before is lost, the same holds of a pod whose volumes are recorded and that no manifest names.`

// sourcesAnswer is what is wrong with the sources.
type sourcesAnswer struct {
	Sources []engine.SourceTrouble `json:"sources"`
	// Accepted: these manifests count as removed from now on.
	Accepted []string `json:"accepted,omitempty"`
}

func sourcesCommand(c *client) *cobra.Command {
	var output string
	var accept bool
	cmd := &cobra.Command{Use: "sources", Short: "Show manifests in trouble; accept that missing ones are gone", Long: sourcesHelp, Args: wordsAre(0, "")}
	cmd.Flags().StringVarP(&output, "output", "o", outTable, "json")
	cmd.Flags().BoolVar(&accept, "accept", false, "have the manifests removed that are missing in another directory")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output != outTable && output != outJSON {
			return fail(exitUsage, "output format %q: want json", output)
		}
		ctx, cancel := interruptible()
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
		if len(s.Sources) == 0 {
			fmt.Fprintln(out, "all manifests are in order")
		}
		for _, t := range s.Sources {
			sign := "trouble"
			switch {
			case t.Held:
				sign = "kept"
			case t.Accept && accept:
				sign = "goes"
			case t.Accept:
				sign = "waits for --accept"
			}
			fmt.Fprintf(out, "%s: %s: %s\n", sign, printable(t.Where), printable(t.Why))
		}
		if accept {
			fmt.Fprintf(out, "accepted: %s\n", plural(len(s.Accepted), "missing manifest"))
		}
		return nil
	}
	return cmd
}

// missing says what is wrong with the sources and, if a person accepts it, has the missing manifests removed.
func (d *daemon) missing(ctx context.Context, accept bool) (sourcesAnswer, error) {
	s, err := d.status(ctx)
	answer := sourcesAnswer{Sources: s.Sources}
	if err != nil || !accept {
		return answer, err
	}
	err = d.runtime.Await(ctx, func(done func()) {
		answer.Accepted = d.manifests.Accept()
		done()
	})
	for _, name := range answer.Accepted {
		d.log.Warn("a person accepts that a manifest is gone", "manifest", name)
	}
	return answer, err
}
