// Command sanity runs the CSI community's conformance suite, csi-test, against csidriver.
//
//	go build -o bin/csidriver ./e2e/cmd/csidriver && go run ./e2e/sanity --driver bin/csidriver
//
// A ginkgo suite runs once per process, so every suite is a child process. Each has a mount namespace of its own,
// which the kernel takes away together with all its mounts when the child and its driver end, however they end. What
// is left to do by hand is to detach loop devices and to remove one temporary directory.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/e2e/csidriver"
)

// insideEnv marks the child; its value is the directory that the child may use.
const insideEnv = "VOLNODE_SANITY_DIR"

func main() {
	// Children die with the thread that started them (Pdeathsig), so that thread must live as long as the process.
	runtime.LockOSThread()
	driver := flag.String("driver", "bin/csidriver", "the driver's executable")
	names := flag.String("suites", "mount,loop,block,nostage", "what to run, separated by commas")
	flag.Parse()
	if os.Geteuid() != 0 {
		fmt.Println("sanity: skipped: the driver mounts filesystems, which needs root")
		return
	}
	if dir := os.Getenv(insideEnv); dir != "" {
		os.Exit(inside(*driver, *names, dir))
	}
	os.Exit(outside(*driver, strings.Split(*names, ",")))
}

// outside runs each suite in a child and prints all results at the end.
func outside(driver string, names []string) int {
	// A signal reaches the children too; this process stays to clean up after them.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	status := 0
	var results []result
	for _, name := range names {
		if ctx.Err() != nil {
			status = 1
			break
		}
		r, err := runChild(driver, name)
		if err != nil {
			fmt.Fprintf(os.Stderr, "sanity %s: %v\n", name, err)
			status = 1
		}
		results = append(results, r)
	}
	for _, r := range results {
		r.printSkipped(os.Stdout)
	}
	for _, r := range results {
		fmt.Println(r.summary())
		if !r.ok() {
			status = 1
		}
	}
	return status
}

func runChild(driver, name string) (r result, err error) {
	r = result{Suite: name, Problems: []string{"the suite did not end"}}
	if _, known := suites[name]; !known {
		return r, errors.New("no such suite: want mount, loop, block or nostage")
	}
	driver, err = filepath.Abs(driver)
	if err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp("", "volnode-sanity-")
	if err != nil {
		return r, err
	}
	defer func() {
		err = errors.Join(err, csidriver.DetachLoops(dir), os.RemoveAll(dir))
	}()
	cmd := exec.Command("/proc/self/exe", "--driver", driver, "--suites", name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), insideEnv+"="+dir)
	// Unshareflags also makes the mounts below / private.
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	failed := cmd.Run()
	data, err := os.ReadFile(filepath.Join(dir, resultFile))
	if err != nil {
		return r, errors.Join(failed, err)
	}
	return r, json.Unmarshal(data, &r)
}
