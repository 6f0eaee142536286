// Command demo tells the story of one pod on this host: its volumes come up, outlive a killed agent without being
// touched, and go. Then it tells the same story in the simulator and compares. Exit status: 0 told, 1 a step failed, 77
// only the simulated half was told, for want of root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	exitFailed   = 1
	exitNotRoot  = 77
	storyTimeout = 55 * time.Second
)

// placeEnv holds the temporary directory in the copy of this process that has a mount namespace of its own.
const placeEnv = "VOLNODE_DEMO_PLACE"

// settings say where things are.
type settings struct {
	bin      string // directory of volnode, volsim and csidriver
	examples string // directory of the manifests
	scenario string // what volsim runs
	half     string // both, real, simulated
}

func main() {
	// Children die with the thread that started them, so this is the one.
	runtime.LockOSThread()
	var s settings
	flag.StringVar(&s.bin, "bin", "bin", "directory of the programs")
	flag.StringVar(&s.examples, "examples", "examples", "directory of the manifests")
	flag.StringVar(&s.scenario, "scenario", "demo", "the scenario that is the same story")
	flag.StringVar(&s.half, "half", "both", "both, real or simulated")
	flag.Parse()
	os.Exit(tell(s))
}

func tell(s settings) int {
	if place := os.Getenv(placeEnv); place != "" {
		return tellInside(s, place)
	}
	if os.Geteuid() != 0 {
		fmt.Println("The demo mounts filesystems, and that needs root: this tells the simulated half only. As root: " +
			"make demo")
		if err := tellSimulated(s, nil); err != nil {
			return report(err)
		}
		return exitNotRoot
	}
	if s.half == "simulated" {
		return report(tellSimulated(s, nil))
	}
	return tellOutside()
}

// tellOutside runs this program again in a private mount namespace: whatever happens there, no mount outlives it.
func tellOutside() int {
	place, err := os.MkdirTemp("", "volnode-demo-")
	if err != nil {
		return report(err)
	}
	defer func() { _ = os.RemoveAll(place) }()
	if place, err = filepath.EvalSymlinks(place); err != nil {
		return report(err)
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), placeEnv+"="+place)
	// Unshareflags also makes the mounts below / private.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	if err := cmd.Start(); err != nil {
		return report(err)
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), exitFailed)
	}
	return report(err)
}

func tellInside(s settings, place string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, storyTimeout)
	defer cancel()
	start := time.Now()
	ops, err := tellReal(ctx, s, place)
	if err == nil && s.half == "both" {
		err = tellSimulated(s, ops)
	}
	if err == nil {
		fmt.Printf("\nThe story is told, in %.1f s.\n", time.Since(start).Seconds())
	}
	return report(err)
}

func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "\ndemo failed: %v\n", err)
	return exitFailed
}
