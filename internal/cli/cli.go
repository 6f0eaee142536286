// Package cli is what the command lines of our programs have in common: what they say of a command, a flag or a value
// that there is not.
package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/volnode/volnode/internal/wording"
)

// Prepare has a root command, whose commands are all there, and those below it say what is wrong with a command line,
// and what somebody may have meant.
func Prepare(root *cobra.Command) {
	root.SetFlagErrorFunc(flagError)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args, c.Run, c.RunE = helped, nil, help
		case "completion":
			c.Args, c.RunE = KnownCommand, func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// helped refuses the names of commands that there are not.
func helped(c *cobra.Command, args []string) error {
	if at, rest, err := c.Root().Find(args); err != nil || len(rest) > 0 {
		return unknown(at, rest[0])
	}
	return nil
}

// help shows the help of the command that is named.
func help(c *cobra.Command, args []string) error {
	at, _, err := c.Root().Find(args)
	if err != nil {
		return err
	}
	at.InitDefaultHelpFlag()
	return at.Help()
}

// KnownCommand is the [cobra.PositionalArgs] of a command that has commands: a word is one that there is not.
func KnownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return unknown(c, args[0])
}

func unknown(c *cobra.Command, word string) error {
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	if c.Version != "" && word == "version" {
		return fmt.Errorf("there is no command %q; did you mean %s --version?", word, c.CommandPath())
	}
	return fmt.Errorf("there is no command %q%s%s", word, wording.Meant(word, names),
		helpOf(c, wording.Nearest(word, names) != ""))
}

// helpOf says where all are listed; after a question, it is a sentence of its own.
func helpOf(c *cobra.Command, isAfterQuestion bool) string {
	sign := "; "
	if isAfterQuestion {
		sign = " "
	}
	return sign + "'" + c.CommandPath() + " --help' lists all"
}

// Required refuses a command line without one of these flags of a command.
func Required(c *cobra.Command, names ...string) {
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		for _, name := range names {
			if !c.Flags().Changed(name) {
				return fmt.Errorf("%s needs --%s: %s", c.CommandPath(), name, wantOf(c.Flags().Lookup(name)))
			}
		}
		return nil
	}
}

// flagError says of a flag that there is not which may be meant, and of a flag's value what it must be.
func flagError(c *cobra.Command, err error) error {
	if e, is := errors.AsType[*pflag.NotExistError](err); is {
		name, near := "--"+e.GetSpecifiedName(), wording.Nearest(e.GetSpecifiedName(), flagsOf(c))
		if short := e.GetSpecifiedShortnames(); short != "" {
			name, near = "-"+short, ""
		}
		meant := ""
		if near != "" {
			meant = "; did you mean --" + near + "?"
		}
		return fmt.Errorf("%s has no flag %s%s%s", c.CommandPath(), name, meant, helpOf(c, near != ""))
	}
	if e, is := errors.AsType[*pflag.ValueRequiredError](err); is {
		return fmt.Errorf("--%s needs a value: %s", e.GetFlag().Name, wantOf(e.GetFlag()))
	}
	if e, is := errors.AsType[*pflag.InvalidSyntaxError](err); is {
		return fmt.Errorf("%s is no flag: write --NAME or --NAME=VALUE%s", e.GetSpecifiedFlag(), helpOf(c, false))
	}
	e, is := errors.AsType[*pflag.InvalidValueError](err)
	if !is {
		return err
	}
	f, value := e.GetFlag(), e.GetValue()
	_, notNumber := strconv.ParseFloat(value, 64)
	switch {
	case value == "":
		return fmt.Errorf("--%s needs a value: %s", f.Name, wantOf(f))
	case f.Value.Type() == "duration" && notNumber == nil:
		return fmt.Errorf("--%s %s has no unit: write --%[1]s %[2]ss for seconds, or %[2]sm for minutes", f.Name, value)
	case wants[f.Value.Type()] != "":
		return fmt.Errorf("--%s %s: want %s", f.Name, value, wantOf(f))
	}
	return fmt.Errorf("--%s: %w", f.Name, e.Unwrap())
}

// wants says what values of flags must be, by the names that pflag has for their types.
var wants = map[string]string{
	"uint64": "a whole number, not below 0", "int": "a whole number", "int64": "a whole number",
	"duration": "a time like 90s or 10m", "bool": "true or false",
}

func wantOf(f *pflag.Flag) string {
	if want := wants[f.Value.Type()]; want != "" {
		return want
	}
	return f.Usage
}

// flagsOf names the flags of a command, those of the commands above it included.
func flagsOf(c *cobra.Command) (names []string) {
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	}
	c.Flags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	slices.Sort(names)
	return slices.Compact(names)
}
