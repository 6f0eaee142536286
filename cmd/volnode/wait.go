package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/internal/wording"
)

const waitHelp = `wait returns once all volumes of a pod are ready, or once all of them are gone.

  volnode wait pod/NAMESPACE/NAME --for=ready       also waits for a pod that is not known yet
  volnode wait pod/NAMESPACE/NAME --for=gone        also if it was never there
  volnode wait all --for=gone                       every volume of every pod is gone

wait also waits for a daemon that is not running yet, or that restarts. At the time-out, wait prints what is missing
and exits with status 3, or with 69 if no daemon answers.`

func waitCommand(c *client) *cobra.Command {
	var on string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "wait pod/NAMESPACE/NAME|all --for=ready|gone", Short: "Wait for a pod's volumes", Long: waitHelp,
		Args: wordsAre(1, "pod/NAMESPACE/NAME or all"),
	}
	cmd.Flags().StringVar(&on, "for", forReady, "ready or gone")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long to wait")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		pod, err := waitTarget(args[0], on)
		if err != nil {
			return err
		}
		if timeout < 0 || timeout > maxWait {
			return fail(exitUsage, "--timeout %s is not between 0s and %s", timeout, maxWait)
		}
		ctx, cancel := interruptible(timeout)
		defer cancel()
		var a waitAnswer
		err = insist(ctx, timeout, func(left time.Duration) error {
			a = waitAnswer{}
			return c.ask(ctx, "/v1/wait", query("pod", pod, "for", on, "timeout", left.String()), left+shortAsk, &a)
		})
		if e, ok := errors.AsType[*exitError](err); ok && mayComeBack(err) {
			return fail(e.status, "%s: no daemon answered within %s whether it is %s: %w", args[0], timeout, on, err)
		}
		if err != nil {
			return err
		}
		if a.IsMet {
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", args[0], on)
			return nil
		}
		if a.Left != nil {
			printLeft(cmd.ErrOrStderr(), *a.Left)
		}
		when := "after " + timeout.String()
		if timeout == 0 {
			when = "now"
		}
		return fail(exitNotReady, "%s is not %s %s: %s", args[0], on, when, a.Message)
	}
	return cmd
}

// waitTarget reads what is waited for: a pod's namespace/name, or "" for everything.
func waitTarget(target, on string) (string, error) {
	if err := oneOf("--for=", on, forReady, forGone); err != nil {
		return "", err
	}
	if target == "all" {
		if on != forGone {
			return "", fail(exitUsage, "all: only --for=gone is possible")
		}
		return "", nil
	}
	parts := strings.Split(target, "/")
	if len(parts) != 3 || parts[0] != "pod" || parts[1] == "" || parts[2] == "" {
		return "", fail(exitUsage, "wait %s: want pod/NAMESPACE/NAME or all%s", target, meantTarget(parts))
	}
	pod := parts[1] + "/" + parts[2]
	if bad := badPodName(pod); bad != "" {
		return "", fail(exitUsage, "%q: %s", target, bad)
	}
	return pod, nil
}

// meantTarget says what somebody may mean by what is neither a pod nor all.
func meantTarget(parts []string) string {
	name, is := strings.Join(parts, "/"), len(parts) == 2
	if len(parts) == 3 && wording.Nearest(parts[0], []string{"pod"}) != "" {
		name, is = parts[1]+"/"+parts[2], true
	}
	switch {
	case len(parts) == 1 && wording.Nearest(name, []string{"all"}) != "":
		return "; did you mean all?"
	case len(parts) == 1 && badPodName("default/"+name) == "":
		return "; did you mean pod/default/" + name + "?"
	case len(parts) == 2 && parts[0] == "pod" && badPodName("default/"+parts[1]) == "":
		return "; did you mean pod/default/" + parts[1] + "?"
	case is && badPodName(name) == "":
		return "; did you mean pod/" + name + "?"
	}
	return ""
}

// printLeft says of each volume, and of each rung that is not as it should be, its state, why, and what next.
func printLeft(w io.Writer, s engine.Status) {
	for _, p := range s.Pods {
		for _, v := range p.Volumes {
			fmt.Fprintf(w, "%s: volume %s is %s", podText(p), volumeText(v), v.State)
			if v.Why != "" {
				fmt.Fprintf(w, ": %s", printable(v.Why))
			}
			fmt.Fprintln(w)
		}
	}
	for _, r := range s.Rungs {
		if r.State == engine.Ready {
			continue
		}
		fmt.Fprintf(w, "  %s is %s, %s and %s", r.Key, r.State, r.Actual, r.Desired)
		if why := rungWhy(r); why != "" {
			fmt.Fprintf(w, ": %s", printable(why))
		}
		fmt.Fprintln(w)
	}
	for _, t := range s.Sources {
		fmt.Fprintf(w, "trouble: %s: %s\n", printable(t.Where), printable(t.Why))
	}
}
