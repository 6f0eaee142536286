package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
)

const planHelp = `plan shows the next operations, in order, if all of them succeed. It changes nothing.

  ?  inspect    + setup    ~ refresh    - teardown`

func planCommand(c *client) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "plan", Short: "Show the next operations without running them", Long: planHelp,
		Args: wordsAre(0, ""),
	}
	cmd.Flags().StringVarP(&output, "output", "o", outTable, "json")
	patience := patienceFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if output != outTable {
			if err := oneOf("--output ", output, outJSON); err != nil {
				return err
			}
		}
		ctx, cancel := interruptible(*patience)
		defer cancel()
		var steps []planStep
		if err := c.askShort(ctx, "/v1/plan", nil, *patience, &steps); err != nil {
			return err
		}
		if output == outJSON {
			return printJSON(cmd.OutOrStdout(), steps)
		}
		var s engine.Status
		if err := c.askShort(ctx, "/v1/status", nil, *patience, &s); err != nil {
			return err
		}
		printPlan(cmd.OutOrStdout(), steps, waiting(s))
		printHolds(cmd.OutOrStdout(), s)
		return nil
	}
	return cmd
}

// waiting counts the volumes for which something else must happen first.
func waiting(s engine.Status) (n int) {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			switch v.State {
			case engine.Waiting, engine.Uncertain, engine.Blocked, engine.Stuck:
				n++
			default:
			}
		}
	}
	return n
}

func printPlan(w io.Writer, steps []planStep, waiting int) {
	switch {
	case len(steps) == 0 && waiting > 0:
		fmt.Fprintf(w, "no operation can run now: %s; see volnode status\n",
			plural(waiting, "volume")+plurally(waiting, " waits or is blocked", " wait or are blocked"))
		return
	case len(steps) == 0:
		fmt.Fprintln(w, "nothing to do")
		return
	}
	signs := map[string]string{"inspect": "?", "setup": "+", "refresh": "~", "teardown": "-"}
	t := newTable(w)
	for _, s := range steps {
		pod := s.Name
		if pod == "" {
			pod = string(s.Pod)
		}
		t.row(signs[s.Verb], s.Verb, string(s.Rung), pod)
	}
	t.end()
}

// printHolds says what keeps operations out of the plan that somebody may look for there.
func printHolds(w io.Writer, s engine.Status) {
	if !s.Synced {
		fmt.Fprintln(w, "held back: volnode tears down nothing until it has read all manifests")
	}
	for _, t := range s.Sources {
		what := "trouble"
		if t.Held || t.Accept {
			what = "held back"
		}
		fmt.Fprintf(w, "%s: %s: %s\n", what, printable(t.Where), printable(t.Why))
	}
}
