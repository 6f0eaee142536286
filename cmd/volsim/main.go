// Command volsim runs the engine in simulated worlds: the scenarios of the catalogue, and worlds made of seeds. See
// docs/volsim.md.
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
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/volnode/volnode/internal/cli"
	"github.com/volnode/volnode/scenarios/minimise"
)

// Exit statuses.
const (
	exitViolation   = 1   // a property does not hold
	exitUsage       = 2   // or a file can't be read or written
	exitInterrupted = 130 // a signal ended a hunt, and nothing was broken so far
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

// errViolation ends a command that has printed what it found.
var errViolation = errors.New("a property is broken")

// errInterrupted ends a hunt that a signal has ended.
var errInterrupted = errors.New("interrupted")

// execute runs one command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	out := &output{Writer: stdout}
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(context.Background())
	if out.err != nil { // the results have not been printed
		err = fmt.Errorf("standard output: %w", out.err)
	}
	switch {
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

// output is standard output. It keeps the first error, so that volsim reports a full disk, though most
// writers do not check.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

const rootHelp = `volsim runs volnode's engine in simulated worlds: scenarios of the catalogue (run), and worlds that
seeds make, with every fault that a node can meet (hunt). A seed, or a scenario, always gives the same run.

Exit status: 0 every property holds, 1 one is broken, 2 usage, a file that volsim can't read or write, or nothing to
try, 130 a signal ended a hunt, or the trial of mutants.`

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "volsim", Short: "The engine of volnode in simulated worlds", Long: rootHelp, SilenceErrors: true,
		SilenceUsage:      true,
		Version:           version(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return noEmptyText(cmd) },
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing: volsim --help lists them")
		},
		Args: cli.KnownCommand,
	}
	root.SetVersionTemplate("{{.Version}}")
	root.AddCommand(huntCommand(), mergeCommand(), exhaustCommand(), coverageCommand(), replayCommand(),
		shrinkCommand(), explainCommand(),
		diffCommand(), mutantsCommand(), runCommand(), listCommand())
	cli.Prepare(root)
	return root
}

// noEmptyText refuses flags whose text is empty: it comes of a variable that is not set, and would mean that the flag
// is not there.
func noEmptyText(cmd *cobra.Command) error {
	var err error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && f.Value.String() == "" {
			err = fmt.Errorf("--%s: the text is empty; write one, or leave the flag out", f.Name)
		}
	})
	return err
}

// noArguments refuses arguments of a command that takes none.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, and %q is one", cmd.CommandPath(), args[0])
	}
	return nil
}

// arguments refuses fewer than least and more than most arguments; those that a command takes are what.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s: name %s", cmd.CommandPath(), what)
		case len(args) > most:
			return fmt.Errorf("%s takes %s; these are %d: %s", cmd.CommandPath(), what, len(args),
				strings.Join(args, " "))
		}
		return nil
	}
}

// version tells what the program was built from.
func version() string {
	number := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		number = info.Main.Version
	}
	return fmt.Sprintf("volsim %s\ncommit %s\nbuilt with %s\n", number, cmp.Or(minimise.Commit(), "unknown"),
		runtime.Version())
}

// tellJSON writes v as one line.
func tellJSON(cmd *cobra.Command, v any) error { return json.NewEncoder(cmd.OutOrStdout()).Encode(v) }
