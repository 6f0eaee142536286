package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/grpclog"

	"github.com/volnode/volnode/engine"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/hal/manifest"
	"github.com/volnode/volnode/hal/trace"
)

// drainTime is how long operations in flight are waited for at the end. What is not over by then is left to the
// journal: its intents are there.
const drainTime = 4 * time.Second

// flushTime is how long the end waits for what is still to be written to the log, the trace and the service manager.
const flushTime = 300 * time.Millisecond

// daemon is one run of the agent.
type daemon struct {
	config    configuration
	log       *slog.Logger
	names     *podNames
	manifests *manifest.Cluster
	manager   *engine.VolumeManager
	metrics   *metrics
	notifier  *notifier
	sinks     sinks
	runtime   hal.Runtime
	crashes   *crashes

	passedOver atomic.Pointer[[]string] // the names in the manifest directory that are no manifest's
	late       atomic.Pointer[string]   // why changes are noticed late; "" or nil if they are not

	stopping context.Context // over once the daemon is asked to stop
	waits    chan struct{}   // one token for each wait under way
	changed  chan struct{}   // holds at most one token: the engine has logged something since the last status line
}

// serve runs the agent until SIGTERM or SIGINT. Mounts stay as they are.
func serve(c configuration, traceFile string) error {
	collectLater(startTime)
	n := newNotifier()
	// No core dump, and no debugger of another user: the agent handles secrets.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl PR_SET_DUMPABLE: %w", err)
	}
	unix.Umask(0o077)
	signal.Ignore(syscall.SIGPIPE) // a reader of the log that has gone is no reason to end
	if err := preflight(c); err != nil {
		return err
	}
	lock, err := lockRoot(c.RootDir)
	if err != nil {
		return err
	}
	defer lock.release()
	control, err := listenControl(c.Socket)
	if err != nil {
		return err
	}
	defer control.Close()
	stopping, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	log := newLogSink(c.Logging, os.Stderr)
	d := &daemon{
		config: c, log: newLogger(c.Logging, log), metrics: newMetrics(), notifier: n, sinks: sinks{log},
		stopping: stopping,
		waits:    make(chan struct{}, capOf(maxControl)-capOf(maxControl)/waitShare), changed: make(chan struct{}, 1),
	}
	if n.sink != nil {
		d.sinks = append(d.sinks, n.sink)
	}
	defer func() { d.sinks.flush(flushTime) }()
	for _, key := range c.former {
		d.log.Warn("the configuration uses a key of an earlier version", "key", key)
	}
	// gRPC would write to standard error itself, and wait for it. What it has to say comes with the errors of its
	// calls.
	grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard))
	host, err := d.assemble(traceFile)
	if err != nil {
		return err
	}
	d.crashes, err = beginRun(c.RootDir, d.runtime)
	d.crashes.tell(d.log, err)
	err = d.run(host, control)
	d.crashes.end(d.log) // not deferred: a panic ends the run, too
	return err
}

// assemble puts the node, the wrappers, the manifests and the engine together.
func (d *daemon) assemble(traceFile string) (*linux.Host, error) {
	c := d.config
	host, err := linux.New(linux.Options{
		RootDir: c.RootDir, MoreDirs: []string{c.ManifestDir}, ImageDir: c.ImageDir,
		FlexVolumeDir: c.FlexVolumeDir,
		LateWindow:    c.lateWindow(), Unwatched: d.unwatched,
	})
	if err != nil {
		return nil, &exitError{exitConfig, err}
	}
	h := d.metrics.wrap(host.HAL())
	if h, err = injectFaults(h); err != nil {
		return nil, &exitError{exitConfig, err}
	}
	if traceFile != "" {
		t, err := openCallTrace(traceFile)
		if err != nil {
			return nil, &exitError{exitConfig, err}
		}
		d.sinks = append(d.sinks, t.sink)
		h = trace.Wrap(h, t.record)
	}
	d.runtime = h.Runtime
	// The manifests are read through the wrappers: what is done for them is seen and goes wrong like everything else.
	d.manifests = manifest.New(h, manifest.Options{
		Dir: c.ManifestDir, CacheDir: filepath.Join(c.RootDir, "volnode", "manifests"),
		Owner: func() manifest.Owner {
			id := d.manager.Identity()
			return manifest.Owner{Node: id.Node, Machine: id.MachineID, Created: id.Created}
		},
		AcceptsAnyDirectory: c.MissingManifests == missingGone,
		LeftPods:            func() []string { return d.manager.LeftPods() },
		IsBare:              func() bool { return d.manager.IsBare() },
		Passed:              d.passed,
	})
	d.names = newPodNames(d.manifests)
	h.Cluster = d.names
	d.manager = engine.New(h, c.engineConfig(d.events))
	d.metrics.registry.MustRegister(stateCollector{d.status}, sinkCollector{d.sinks}, prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "volnode_waits", Help: "Commands that wait for pods."},
		func() float64 { return float64(len(d.waits)) }), prometheus.NewCounterFunc(
		prometheus.CounterOpts{Name: "volnode_crashes_total", Help: "Runs of this boot that ended without being stopped."},
		func() float64 { return float64(d.crashes.All) }))
	return host, nil
}

// events takes in what the engine says has happened. It runs on a task.
func (d *daemon) events(all []engine.Event) {
	for _, e := range all {
		logEvent(d.log, e)
		if e, ok := e.(engine.OperationEnded); ok {
			d.metrics.ended(&e)
		}
	}
	select {
	case d.changed <- struct{}{}:
	default: // the token that is there will do
	}
}

func (d *daemon) run(host *linux.Host, control net.Listener) error {
	// The owner outlives the manager, which posts to it until its end.
	owning, release := context.WithCancel(context.Background())
	defer release()
	go host.Run(owning)

	failed := make(chan error, 2)
	all := &servers{}
	defer all.close()
	serve := func(l net.Listener) { all.add(d.serveOn(limited(l, maxControl), d.controlHandler(), failed)) }
	serve(control)
	serving, leave := context.WithCancel(d.stopping)
	defer leave()
	go d.keepsControl(serving, control, serve)
	if address := d.config.Metrics.Address; address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("metrics.address: %w", err)
		}
		all.add(d.serveOn(limited(l, maxPublic), d.publicHandler(), failed))
	}

	draining, abandon := context.WithCancel(context.Background())
	defer abandon()
	ended := make(chan error, 1)
	go func() { ended <- d.manager.Run(draining) }()
	d.log.Info("serving", "node", d.config.NodeName, "root", d.config.RootDir, "manifests", d.config.ManifestDir,
		"socket", d.config.Socket,
		"pid", os.Getpid())
	d.notifier.tell("READY=1")
	go d.notifier.feed(d.runtime)
	if d.notifier.sink != nil {
		go d.tellStatus()
	}

	select {
	case <-d.stopping.Done():
	case err := <-failed:
		return err
	case err := <-ended:
		if refusal, is := errors.AsType[*engine.Refusal](err); is {
			return &exitError{exitConfig, refusal}
		}
		return fmt.Errorf("the engine ended: %w", err)
	}
	d.notifier.tell("STOPPING=1\nSTATUS=waiting for operations in flight")
	d.log.Info("stopping: volnode starts no operation; mounts stay")
	d.manager.Stop()
	timer := time.AfterFunc(drainTime, abandon)
	defer timer.Stop()
	if err := <-ended; err != nil {
		d.log.Warn("stopped with operations in flight: the next start resolves them from the journal")
	}
	d.log.Info("stopped")
	return nil
}

// serveOn serves a listener. It sends the error that ends it to failed.
func (d *daemon) serveOn(l *limitListener, handler http.Handler, failed chan<- error) *http.Server {
	s := newServer(d.stopping, handler, d.log)
	s.ConnState = l.note
	go func() {
		if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	return s
}

const (
	// statusAgain is when the status line is looked at again while a volume is not settled: not all that becomes of it
	// is logged.
	statusAgain = time.Second
	// statusShare bounds the part of the owner's time that goes into the status line: one in so many.
	statusShare = 20
)

// tellStatus keeps the line that the service manager shows up to date.
func (d *daemon) tellStatus() {
	again := time.NewTimer(statusAgain)
	defer again.Stop()
	for told := ""; ; {
		select {
		case <-d.changed:
			told = "" // a line of the log has its notice, whether or not the line changes
		case <-again.C:
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), stateTimeout)
		s, err := d.status(ctx)
		cancel()
		if d.stopping.Err() != nil {
			return
		}
		if err == nil {
			c := count(s)
			if text := c.summary(); text != told {
				told = text
				d.notifier.tell("STATUS=" + text)
			}
			if !c.areSettled() {
				again.Reset(statusAgain)
			}
		}
		select {
		case <-time.After(statusShare * time.Since(start)): //nolint:forbidigo // a share of the time
		case <-d.stopping.Done():
			return
		}
	}
}
