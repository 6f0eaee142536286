// Command csidriver is a CSI driver for tests and demonstrations: see package csidriver.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/volnode/volnode/e2e/csidriver"
	"github.com/volnode/volnode/internal/cli"
)

// Exit statuses.
const (
	exitFailed = 1
	exitUsage  = 2
)

const long = `csidriver serves the CSI Identity, Controller and Node services on one unix socket.

Volumes are directories (backend dir) or image files behind loop devices (backend loop). They come from CreateVolume,
with the parameter "backend", or from --volume, which needs no provisioner.

  csidriver --endpoint /run/demo/csi.sock --state-dir /var/lib/demo --volume demo=dir
  csidriver --endpoint /run/demo/csi.sock --state-dir /var/lib/demo --volume disk=loop:64Mi:ext4 \
            --registration-dir /var/lib/kubelet/plugins_registry --call-log /run/demo/calls.jsonl

SIGTERM stops it and leaves the mounts; a new start goes on from the state directory.

--faults names a JSON file, a list of rules that make the driver slow, wrong or dead. It is read on every call, so an
edit counts at once; write to another name and rename. A file that is not there is no rule. With a bad one each call
answers INTERNAL and says what is wrong.

  [{"method": "NodeStageVolume", "volume": "demo", "delayBefore": "3s", "failAfter": "Unavailable", "times": 1}]

The first rule that matches a call, and is not used up, is the only one that acts on it:

  method       RPC without its service, like NodeStageVolume; "*" is any
  volume       ID of the volume, of CreateVolume also its name; left out: any
  skip         let so many calls that match pass first
  times        act on so many calls, then never again; left out: on all. What is used up is kept in FILE.used, over
               restarts; writing FILE resets it
  delayBefore  wait that long before the effect, like 1.5s
  delayAfter   wait that long after the effect
  failBefore   answer with this gRPC status, without the effect
  failAfter    answer with this gRPC status, after the effect
  message      of the error; left out: it says that it was injected
  crash        the process ends "before" or "after" the effect
  reply        after the effect, answer "empty", "wrong-type", "garbage", "huge" or "unknown-enum"`

// errNotRoot is a usage error in spirit, but not one that the usage text helps with.
var errNotRoot = errors.New("run it as root (uid 0): it mounts filesystems and attaches loop devices")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	// Everything that goes wrong before a command's own work starts is a usage error.
	var started bool
	root := serveCommand(&started)
	root.AddCommand(stateCommand(&started), cleanupCommand(&started))
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.CompletionOptions.DisableDefaultCmd = true
	cli.Prepare(root)
	root.SilenceErrors, root.SilenceUsage = true, true
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case started && !errors.Is(err, csidriver.ErrConfig):
		fmt.Fprintf(stderr, "csidriver: %v\n", err)
		return exitFailed
	default:
		fmt.Fprintf(stderr, "csidriver: %v\nRun 'csidriver --help' for usage.\n", err)
		return exitUsage
	}
}

// flags are the flag values that a Config cannot hold as they are.
type flags struct {
	backend  string
	capacity string
	volumes  []string
}

func serveCommand(started *bool) *cobra.Command {
	var c csidriver.Config
	var f flags
	cmd := &cobra.Command{
		Use:   "csidriver --endpoint SOCKET --state-dir DIR",
		Short: "A CSI driver for tests, with directories and loop devices behind it",
		Long:  long,
		Args:  cli.KnownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*started = true
			return serve(cmd.Context(), c, f)
		},
	}
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "node"
	}
	set := cmd.Flags()
	set.StringVar(&c.Name, "name", csidriver.DefaultName, "name of the driver")
	set.StringVar(&c.Endpoint, "endpoint", "", "CSI socket, a path with or without unix://")
	set.StringVar(&c.NodeID, "node-id", hostname, "ID of this node")
	set.StringVar(&c.StateDir, "state-dir", "", "directory for state and volumes")
	set.StringVar(&c.RegistrationDir, "registration-dir", "", "kubelet's plugin registration directory; empty: none")
	set.StringVar(&c.CallLog, "call-log", "", "append one JSON line to this file when a call starts and when it ends")
	set.StringVar(&c.Faults, "faults", "",
		"JSON file with rules that make the driver slow, wrong or dead; its format is above")
	set.StringVar(&f.backend, "backend", string(csidriver.BackendDir), "backend of volumes that name none: dir or loop")
	set.StringVar(&f.capacity, "capacity", "1Ti", "bytes that all volumes together may have")
	set.StringArrayVar(&f.volumes, "volume", nil,
		"create this volume if missing: NAME=dir[:SIZE] or NAME=loop:SIZE[:FSTYPE] (repeatable)")
	set.Int64Var(&c.MaxVolumes, "max-volumes", 0, "volumes that may be attached to the node; 0: no limit")
	set.BoolVar(&c.NoStaging, "no-staging", false, "do not offer NodeStageVolume")
	set.BoolVar(&c.Parallel, "parallel", false, "a call for a busy volume waits instead of failing with ABORTED")
	set.BoolVar(&c.RequireAttach, "require-attach", false, "refuse to stage a volume that is not attached to the node")
	cli.Required(cmd, "endpoint", "state-dir")
	return cmd
}

func serve(ctx context.Context, c csidriver.Config, f flags) error {
	if os.Geteuid() != 0 {
		return errNotRoot
	}
	c.Backend = csidriver.Backend(f.backend)
	var err error
	if c.Capacity, err = csidriver.ParseSize(f.capacity); err != nil {
		return err
	}
	for _, text := range f.volumes {
		v, err := csidriver.ParseStaticVolume(text)
		if err != nil {
			return err
		}
		c.Volumes = append(c.Volumes, v)
	}
	d, err := csidriver.New(c)
	if err != nil {
		return err
	}
	return d.Run(ctx)
}

func stateCommand(started *bool) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "state --state-dir DIR",
		Short: "Print what a driver remembers as JSON: volumes, attached, staged, published",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*started = true
			state, err := csidriver.ReadState(dir)
			if err != nil {
				return err
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(state)
		},
	}
	requireStateDir(cmd, &dir)
	return cmd
}

func cleanupCommand(started *bool) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "cleanup --state-dir DIR",
		Short: "Unmount and detach what a stopped driver left; volumes and their data stay",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*started = true
			if os.Geteuid() != 0 {
				return errNotRoot
			}
			return csidriver.Cleanup(dir)
		},
	}
	requireStateDir(cmd, &dir)
	return cmd
}

func requireStateDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "state-dir", "", "state directory of the driver")
	cli.Required(cmd, "state-dir")
}
