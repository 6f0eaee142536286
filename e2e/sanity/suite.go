package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/klog/v2"

	"github.com/volnode/volnode/e2e/csidriver"
)

const (
	volumeBytes   = 64 << 20
	expandedBytes = 128 << 20
	resultFile    = "result.json"
	startTimeout  = 10 * time.Second
	maxVolumes    = "3" // few, because csi-test creates one more than that to see the refusal

	// secret is sent with every call that takes secrets and must never turn up in the driver's files.
	secret = "sanity-secret-value"
)

// suite is one way to run the conformance suite.
type suite struct {
	accessType string // mount or block
	backend    string
	flags      []string // of the driver
}

var suites = map[string]suite{
	"mount":   {accessType: "mount", backend: "dir"},
	"loop":    {accessType: "mount", backend: "loop"},
	"block":   {accessType: "block", backend: "loop"},
	"nostage": {accessType: "mount", backend: "loop", flags: []string{"--no-staging"}},
}

// verdict is the testing.T that ginkgo wants.
type verdict struct{ failed bool }

// Fail implements ginkgo.GinkgoTestingT.
func (v *verdict) Fail() { v.failed = true }

// inside runs one suite in the child and leaves its result in dir.
func inside(driver, name, dir string) int {
	r := result{Suite: name}
	stop, err := startDriver(driver, dir, suites[name].flags)
	if err != nil {
		r.problem(err)
	} else {
		r.Specs = runSpecs(name, dir)
		r.problem(stop())
		r.problem(checkLeftovers(dir))
	}
	if !r.ok() {
		printDriverLog(dir)
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, resultFile), data, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func socketPath(dir string) string { return filepath.Join(dir, "csi.sock") }
func stateDir(dir string) string   { return filepath.Join(dir, "state") }
func callLog(dir string) string    { return filepath.Join(dir, "calls.jsonl") }
func driverLog(dir string) string  { return filepath.Join(dir, "driver.log") }

// startDriver returns when the driver answers, together with how to stop it.
func startDriver(driver, dir string, flags []string) (stop func() error, err error) {
	log, err := os.Create(driverLog(dir))
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"--endpoint", socketPath(dir), "--state-dir", stateDir(dir), "--call-log", callLog(dir),
		"--node-id", "sanity-node", "--max-volumes", maxVolumes,
	}, flags...)
	cmd := exec.Command(driver, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	exited := make(chan error, 1)
	go func() {
		exited <- cmd.Wait()
		cancel()
	}()
	stop = func() error {
		signalled := cmd.Process.Signal(unix.SIGTERM)
		return errors.Join(signalled, <-exited, log.Close())
	}
	if err := probe(ctx, socketPath(dir)); err != nil {
		return nil, errors.Join(fmt.Errorf("the driver does not answer: %w", err), stop())
	}
	return stop, nil
}

// probe waits until the driver answers. csi-test itself would wait a minute for it, in every spec.
func probe(ctx context.Context, socket string) error {
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	_, err = csi.NewIdentityClient(conn).Probe(ctx, &csi.ProbeRequest{}, grpc.WaitForReady(true))
	return errors.Join(err, conn.Close())
}

func runSpecs(name, dir string) []spec {
	klog.SetOutput(ginkgo.GinkgoWriter)
	klog.LogToStderr(false)
	s := suites[name]
	config := sanity.NewTestConfig()
	config.Address = socketPath(dir)
	config.TargetPath = filepath.Join(dir, "targets")
	config.StagingPath = filepath.Join(dir, "staging")
	config.TestVolumeSize = volumeBytes
	config.TestVolumeExpandSize = expandedBytes
	config.TestNodeVolumeAttachLimit = true
	config.TestVolumeAccessType = s.accessType
	config.TestVolumeParameters = map[string]string{"backend": s.backend}
	config.SecretsFile = filepath.Join(dir, "secrets.yaml")
	if err := writeSecrets(config.SecretsFile); err != nil {
		panic(err)
	}
	defer sanity.GinkgoTest(&config).Finalize()
	var specs []spec
	ginkgo.ReportAfterSuite("collect", func(report ginkgo.Report) { specs = specsOf(report) })
	gomega.RegisterFailHandler(ginkgo.Fail)
	suiteConfig, reporterConfig := ginkgo.GinkgoConfiguration()
	reporterConfig.NoColor = true
	ginkgo.RunSpecs(&verdict{}, "csi-test, "+name, suiteConfig, reporterConfig)
	return specs
}

func specsOf(report ginkgo.Report) []spec {
	var specs []spec
	for _, r := range report.SpecReports {
		s := spec{Text: r.FullText(), Reason: r.Failure.Message}
		switch {
		case r.Failed():
			s.Outcome = failed
		case r.LeafNodeType != types.NodeTypeIt:
			continue
		case r.State.Is(types.SpecStatePassed):
			s.Outcome = passed
		case r.State.Is(types.SpecStatePending):
			s.Outcome, s.Reason = skipped, pendingReason
		default:
			s.Outcome = skipped
		}
		specs = append(specs, s)
	}
	slices.SortFunc(specs, func(a, b spec) int { return strings.Compare(a.Text, b.Text) })
	return specs
}

// writeSecrets makes the file that gives every call a secret.
func writeSecrets(path string) error {
	var text bytes.Buffer
	for _, call := range []string{
		"CreateVolume", "DeleteVolume", "ControllerPublishVolume", "ControllerUnpublishVolume",
		"ControllerValidateVolumeCapabilities", "NodeStageVolume", "NodePublishVolume", "ControllerExpandVolume",
	} {
		fmt.Fprintf(&text, "%sSecret:\n  token: %s\n", call, secret)
	}
	return os.WriteFile(path, text.Bytes(), 0o600)
}

// checkLeftovers looks at what the suite cannot see: that nothing stays mounted, attached or recorded, and that no
// file of the driver holds a secret.
func checkLeftovers(dir string) error {
	var problems []error
	state, err := csidriver.ReadState(stateDir(dir))
	problems = append(problems, err)
	if n := len(state.Volumes) + len(state.Attached) + len(state.Staged) + len(state.Published); n > 0 {
		problems = append(problems, fmt.Errorf("the driver remembers %+v", state))
	}
	for path, needle := range map[string]string{
		"/proc/self/mountinfo": dir,
		callLog(dir):           secret,
		driverLog(dir):         secret,
	} {
		data, err := os.ReadFile(path)
		problems = append(problems, err)
		if bytes.Contains(data, []byte(needle)) {
			problems = append(problems, fmt.Errorf("%s is still in %s", needle, path))
		}
	}
	loops, err := csidriver.AttachedLoops(stateDir(dir))
	problems = append(problems, err)
	if len(loops) > 0 {
		problems = append(problems, fmt.Errorf("loop devices are left: %v", loops))
	}
	return errors.Join(problems...)
}

func printDriverLog(dir string) {
	data, err := os.ReadFile(driverLog(dir))
	fmt.Fprintf(os.Stderr, "--- log of the driver (%v)\n%s---\n", err, data)
}
