// Command volnode makes the volumes of the pods in a directory of manifests ready on this node, and takes them down
// again. See docs/volnode.md.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/internal/cli"
	"github.com/volnode/volnode/internal/wording"
)

func main() {
	if linux.IsHelper() {
		linux.HelperMain()
	}
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs one command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	began := false
	root := rootCommand(&began)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	status := exitStatus(err, began)
	text := ""
	if err != nil {
		text = fmt.Sprintf("volnode: %v\n", err)
	}
	if status == exitUsage && !strings.Contains(text, " --help'") {
		text += "Run 'volnode --help', or 'volnode COMMAND --help', for usage.\n"
	}
	if text != "" {
		say(stderr, text)
	}
	return status
}

// say writes a last word. A reader that does not take it keeps no program, least of all a daemon that is to be started
// again.
func say(w io.Writer, text string) {
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.WriteString(w, text)
	}()
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	select {
	case <-said:
	case <-timer.C:
	}
}

const rootHelp = `volnode is a node volume manager. It reads pods from a directory of manifests, sets up their volumes
on this node (csi, ephemeral and persistentVolumeClaim, local, iscsi, nfs, flexVolume, emptyDir, hostPath, image,
gitRepo, secret, configMap, downwardAPI, projected), and tears them down again, through errors, time-outs, crashes and
reboots.

Exit status: 0 ok, 1 failed, 2 usage, 3 not ready in time, 69 daemon unreachable, 75 temporary failure,
77 no permission, 78 configuration.`

// rootCommand sets *began when a command's own work begins: what goes wrong before that is a usage error.
func rootCommand(began *bool) *cobra.Command {
	root := &cobra.Command{
		Use: "volnode", Short: "A node volume manager", Long: rootHelp, Version: buildOf().version,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRun: func(*cobra.Command, []string) { *began = true },
		Args:             cli.KnownCommand,
		RunE:             func(*cobra.Command, []string) error { return fail(exitUsage, "no command given") },
	}
	root.SetVersionTemplate(buildOf().String())
	var c client
	root.PersistentFlags().StringVar(&c.socket, "socket", defaultSocket, "control socket of the daemon")
	root.AddCommand(runCommand(&c), statusCommand(&c), describeCommand(&c), planCommand(&c), waitCommand(&c),
		sourcesCommand(&c))
	cli.Prepare(root)
	return root
}

// oneOf refuses a word that is none of those that can be there.
func oneOf(what, word string, can ...string) error {
	if slices.Contains(can, word) {
		return nil
	}
	if len(can) == 1 {
		return fail(exitUsage, "%s%s: want %s", what, word, can[0])
	}
	meant := ""
	if near := wording.Nearest(word, can); near != "" {
		meant = "; did you mean " + near + "?"
	}
	last := len(can) - 1
	return fail(exitUsage, "%s%s: want %s or %s%s", what, word, strings.Join(can[:last], ", "), can[last], meant)
}

// wordsAre checks how many words come after a command.
func wordsAre(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > n:
			return fmt.Errorf("%s: unexpected argument %q", cmd.Name(), args[n])
		case len(args) < n:
			return fmt.Errorf("%s: want %s", cmd.Name(), what)
		}
		return nil
	}
}

// interruptible is the context of a command that asks the daemon. A patience bounds all that the command asks.
func interruptible(patience time.Duration) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	if patience <= 0 {
		return ctx, stop
	}
	ctx, cancel := context.WithTimeout(ctx, patience+lateAnswer)
	return ctx, func() { cancel(); stop() }
}
