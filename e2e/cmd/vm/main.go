// Command vm makes and boots a virtual machine of Debian packages, for tests that need another kernel than the host's.
// See package e2e/vm.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/e2e/vm"
	"github.com/volnode/volnode/e2e/vm/guest"
)

func main() {
	if os.Getpid() == 1 { // of the machine
		guest.Main()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	status, err := 0, error(nil)
	c := command(&status)
	err = c.ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 125
		if errors.Is(err, vm.ErrUnavailable) {
			status = 69 // EX_UNAVAILABLE of sysexits.h
		}
	}
	os.Exit(status)
}

func command(status *int) *cobra.Command {
	root := &cobra.Command{
		Use: "vm", Short: "boot a machine for tests that need another kernel", SilenceUsage: true, SilenceErrors: true,
	}
	cache := root.PersistentFlags().String("cache", vm.Cache, "directory that keeps the machine")
	kernel := root.PersistentFlags().String("kernel", vm.Kernels[0],
		"package that stands for the kernel: "+strings.Join(vm.Kernels, ", "))
	root.AddCommand(&cobra.Command{
		Use: "build", Short: "make the machine, unless it is there", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := vm.Build(*cache, *kernel, os.Stderr)
			return err
		},
	})
	j := vm.Job{Output: os.Stdout}
	run := &cobra.Command{
		Use: "run -- COMMAND…", Short: "run a command in the machine, as root, with a directory of this host at /w",
		Long: "run boots the machine, runs a command in it, and ends with the command's exit status:\n" +
			"127 if that is greater, 125 if the command did not run, 69 if this host can't have the machine.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			image, err := vm.Build(*cache, *kernel, os.Stderr)
			if err != nil {
				return err
			}
			if j.Share, err = filepath.Abs(j.Share); err != nil {
				return err
			}
			j.Args = args
			*status, err = image.Run(c.Context(), j)
			return err
		},
	}
	run.Flags().StringVar(&j.Share, "share", ".", "directory of this host: /w in the machine, where the command runs")
	run.Flags().IntVar(&j.Memory, "memory", 2048, "MiB of memory")
	run.Flags().DurationVar(&j.Timeout, "timeout", 10*time.Minute, "end the machine after this time")
	run.Flags().StringVar(&j.Log, "log", filepath.Join(os.TempDir(), "volnode-vm.log"), "file for what the kernel says")
	run.Flags().StringArrayVar(&j.Env, "env", nil, "NAME=VALUE for the command; may be given again")
	root.AddCommand(run)
	return root
}
