package main

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const runHelp = `run is the daemon. It reads the manifests, sets up the volumes of their pods, and follows every change.

Flags take precedence over the file of --config, whose keys docs/volnode.md lists.
SIGTERM and SIGINT stop it within 5 seconds. It leaves every mount in place, and the next run continues from there.`

func runCommand(c *client) *cobra.Command {
	var file, traceFile string
	flags := defaultConfiguration()
	cmd := &cobra.Command{Use: "run", Short: "Run the daemon", Long: runHelp, Args: wordsAre(0, "")}
	set := cmd.Flags()
	set.StringVar(&file, "config", "", "configuration file")
	set.StringVar(&flags.RootDir, "root-dir", flags.RootDir,
		"directory for all mounts; it must be on a shared mount")
	set.StringVar(&flags.ManifestDir, "manifest-dir", flags.ManifestDir, "directory of the manifests")
	set.StringVar(&flags.ImageDir, "image-dir", flags.ImageDir,
		"directory of the OCI images that pods may have volumes of")
	set.StringVar(&flags.FlexVolumeDir, "flex-volume-dir", "",
		"directory of the FlexVolume drivers (default: none are served)")
	set.StringVar(&flags.NodeName, "node-name", "", "name of this node at its first start (default: the host's name)")
	set.StringToStringVar(&flags.NodeLabels, "node-label", nil,
		"label of this node, like zone=a, for the node affinity of PersistentVolumes; more than one may be given")
	set.BoolVar(&flags.adopt, "adopt", false,
		"take over a root directory with volumes of another agent (start without it to see the plan)")
	set.BoolVar(&flags.acceptMachine, "accept-machine", false,
		"make this machine the owner of a root directory that another machine made")
	set.StringVar((*string)(&flags.MountNamespace), "mount-namespace", string(flags.MountNamespace),
		"host: require the mount namespace of process 1; own: accept any mount namespace")
	set.StringVar(&flags.Metrics.Address, "metrics-address", "",
		"loopback address to serve /metrics, /healthz and /readyz on, such as 127.0.0.1:9810")
	set.StringVar((*string)(&flags.Logging.Format), "log-format", string(flags.Logging.Format), "text or json")
	set.Var((*levelFlag)(&flags.Logging.Level), "log-level", "debug, info, warn or error")
	set.StringVar(&traceFile, "trace", "", "append one JSON line per host call to this file")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := requireRoot(); err != nil {
			return err
		}
		flags.Socket = c.socket
		config, err := configurationOf(file, flags, cmd.Flags())
		if err != nil {
			return err
		}
		return serve(config, traceFile)
	}
	return cmd
}

// configurationOf puts the flags that were given over the file, and the file over the defaults.
func configurationOf(file string, flags configuration, given *pflag.FlagSet) (configuration, error) {
	c := defaultConfiguration()
	if file != "" {
		var err error
		if c, err = loadConfiguration(file); err != nil {
			return c, &exitError{exitConfig, err}
		}
	}
	for name, take := range map[string]func(){
		"root-dir":        func() { c.RootDir = flags.RootDir },
		"manifest-dir":    func() { c.ManifestDir = flags.ManifestDir },
		"image-dir":       func() { c.ImageDir = flags.ImageDir },
		"flex-volume-dir": func() { c.FlexVolumeDir = flags.FlexVolumeDir },
		"node-name":       func() { c.NodeName = flags.NodeName },
		"node-label": func() {
			if c.NodeLabels == nil {
				c.NodeLabels = map[string]string{}
			}
			maps.Copy(c.NodeLabels, flags.NodeLabels)
		},
		"mount-namespace": func() { c.MountNamespace = flags.MountNamespace },
		"socket":          func() { c.Socket = flags.Socket },
		"metrics-address": func() { c.Metrics.Address = flags.Metrics.Address },
		"log-format":      func() { c.Logging.Format = flags.Logging.Format },
		"log-level":       func() { c.Logging.Level = flags.Logging.Level },
		"adopt":           func() { c.adopt = flags.adopt },
		"accept-machine":  func() { c.acceptMachine = flags.acceptMachine },
	} {
		if given.Changed(name) {
			take()
		}
	}
	// The file's values are right by themselves, so one that is not is a flag's, or the host's name.
	return c, byFlags(c.complete(), given)
}

// byFlags names the flags whose values can't be.
func byFlags(err error, given *pflag.FlagSet) error {
	if err == nil {
		return nil
	}
	status := exitConfig
	var all []error
	for _, one := range flat(err) {
		if e, ok := errors.AsType[*valueError](one); ok && given.Changed(flagOf(e.key)) {
			one, status = fmt.Errorf("--%s: %s", flagOf(e.key), e.text), exitUsage
		}
		all = append(all, one)
	}
	return &exitError{status, errors.Join(all...)}
}

// flagOf is the flag that sets what a key sets.
func flagOf(key string) string {
	switch key {
	case "logging.format":
		return "log-format"
	case "metrics.address":
		return "metrics-address"
	}
	var flag strings.Builder
	for _, r := range key {
		if unicode.IsUpper(r) {
			flag.WriteByte('-')
		}
		flag.WriteRune(unicode.ToLower(r))
	}
	return flag.String()
}
