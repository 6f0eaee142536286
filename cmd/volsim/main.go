// Command volsim runs the engine in simulated worlds: the stories of the catalogue, and worlds made of seeds. See docs/volsim.md.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/scenarios"
)

// Exit statuses.
const (
	exitViolation   = 1 // a property does not hold
	exitUsage       = 2
	exitInterrupted = 130 // a signal ended a hunt, and nothing was broken so far
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// errViolation ends a command that has told what it found.
var errViolation = errors.New("a property is broken")

// errInterrupted ends a hunt that a signal has ended.
var errInterrupted = errors.New("interrupted")

// execute runs one command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	switch err := root.ExecuteContext(context.Background()); {
	case err == nil:
		return 0
	case errors.Is(err, errViolation):
		return exitViolation
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	default:
		fmt.Fprintf(stderr, "volsim: %v\n", err)
		return exitUsage
	}
}

const rootHelp = `volsim runs volnode's engine in simulated worlds: stories of the catalogue (run), and worlds that are made of seeds, with
every fault that a node can meet (hunt). A seed, or a scenario, always gives the same run.

Exit status: 0 every property holds, 1 one is broken, 2 usage, 130 a signal ended a hunt.`

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "volsim", Short: "The engine of volnode in simulated worlds", Long: rootHelp, SilenceErrors: true, SilenceUsage: true,
		Version: version(),
		Args:    cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing: volsim --help lists them")
		},
	}
	root.SetVersionTemplate("{{.Version}}")
	root.AddCommand(huntCommand(), mergeCommand(), exhaustCommand(), coverageCommand(), replayCommand(), shrinkCommand(), explainCommand(),
		diffCommand(), mutantsCommand(), runCommand(), listCommand())
	return root
}

// version tells what the program was built from.
func version() string {
	number := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		number = info.Main.Version
	}
	return fmt.Sprintf("volsim %s\ncommit %s\nbuilt with %s\n", number, cmp.Or(scenarios.Commit(), "unknown"), runtime.Version())
}

// tellJSON writes v as one line.
func tellJSON(cmd *cobra.Command, v any) error { return json.NewEncoder(cmd.OutOrStdout()).Encode(v) }
