package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/volnode/volnode/hal/manifest"
)

// Bounds of a request.
const (
	requestTimeout = 10 * time.Second
	maxHeaderBytes = 16 << 10
	maxBodyBytes   = 1 << 10 // no request has a body
	maxWait        = 24 * time.Hour
	// waits have all connections to the control socket but one of so many; those are for the short ones.
	waitShare = 8
)

// newServer serves handler with bounds on all that a client sends or is slow at.
func newServer(ctx context.Context, handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           http.MaxBytesHandler(handler, maxBodyBytes),
		ReadHeaderTimeout: requestTimeout, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout,
		IdleTimeout:    requestTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
}

// publicHandler is what everybody on this machine may ask, if there is a metrics address.
func (d *daemon) publicHandler() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", d.healthz)
	mux.HandleFunc("GET /readyz", d.readyz)
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.metrics.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: requestTimeout,
	}))
	return mux
}

// controlHandler is what root may ask.
func (d *daemon) controlHandler() *http.ServeMux {
	mux := d.publicHandler()
	mux.HandleFunc("GET /v1/status", d.answer(func(r *http.Request) (any, error) {
		s, err := d.status(r.Context())
		notes := d.notes()
		if crashed := d.crashes.note(); crashed != "" {
			notes = append(notes, crashed)
		}
		return statusAnswer{s, d.sinks.states(), notes}, err
	}))
	mux.HandleFunc("GET /v1/plan", d.answer(func(r *http.Request) (any, error) { return d.plan(r.Context()) }))
	mux.HandleFunc("GET /v1/describe", d.answer(func(r *http.Request) (any, error) {
		return d.describe(r.Context(), r.FormValue("kind"), r.FormValue("name"))
	}))
	mux.HandleFunc("GET /v1/wait", d.serveWait)
	mux.HandleFunc("GET /v1/sources",
		d.answer(func(r *http.Request) (any, error) { return d.missing(r.Context(), false) }))
	mux.HandleFunc("POST /v1/sources/accept",
		d.answer(func(r *http.Request) (any, error) { return d.missing(r.Context(), true) }))
	return mux
}

// httpError is an error with its HTTP status.
type httpError struct {
	status int
	text   string
}

func (e *httpError) Error() string { return e.text }

// answer makes a handler of a question that is answered at once.
func (d *daemon) answer(question func(*http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := d.soon(r.Context())
		defer cancel()
		result, err := question(r.WithContext(ctx))
		d.reply(w, result, err)
	}
}

// soon bounds how long a question waits for the engine's owner.
func (d *daemon) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	why := fmt.Errorf("the engine did not answer within %s: it is busy, or hangs; try again; /healthz shows whether "+
		"it still works", requestTimeout/2)
	return context.WithTimeoutCause(ctx, requestTimeout/2, why)
}

// toldFirst bounds how long an answer waits for its own log.
const toldFirst = 50 * time.Millisecond

// reply answers. What has happened before is in the log and in the trace by then, unless they are stuck.
func (d *daemon) reply(w http.ResponseWriter, result any, err error) {
	d.sinks.flush(toldFirst)
	status := http.StatusOK
	if err != nil {
		status = http.StatusServiceUnavailable // the owner did not answer in time, or the daemon is stopping
		if e, ok := errors.AsType[*httpError](err); ok {
			status = e.status
		}
		result = failureAnswer{Error: err.Error()}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_ = json.NewEncoder(w).Encode(result)
}

// serveWait answers once the condition holds, or its time is over.
func (d *daemon) serveWait(w http.ResponseWriter, r *http.Request) {
	q, err := parseWait(r)
	if err != nil {
		d.reply(w, nil, err)
		return
	}
	select {
	case d.waits <- struct{}{}:
		defer func() { <-d.waits }()
	default:
		d.reply(w, nil, &httpError{
			http.StatusServiceUnavailable,
			fmt.Sprintf("too many waits: %d are open, which is the limit; try again later", cap(d.waits)),
		})
		return
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(q.timeout + requestTimeout)); err != nil {
		d.reply(w, nil, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), q.timeout)
	defer cancel()
	result, err := d.wait(ctx, q)
	d.reply(w, result, err)
}

// waitQuery is what a wait is for.
type waitQuery struct {
	pod     string // namespace/name; "" is everything
	on      string // forReady, forGone
	timeout time.Duration
}

func parseWait(r *http.Request) (waitQuery, error) {
	q := waitQuery{pod: r.FormValue("pod"), on: r.FormValue("for")}
	bad := func(format string, args ...any) (waitQuery, error) {
		return q, &httpError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
	}
	var err error
	timeout := r.FormValue("timeout")
	if q.timeout, err = time.ParseDuration(timeout); err != nil {
		if _, err := strconv.ParseFloat(timeout, 64); err == nil {
			return bad("timeout=%s has no unit; write %[1]ss", timeout)
		}
		return bad("timeout=%q: want a time like 30s or 2m", timeout)
	}
	if q.timeout < 0 || q.timeout > maxWait {
		return bad("timeout=%s is not between 0s and %s", timeout, maxWait)
	}
	switch {
	case q.on != forReady && q.on != forGone:
		return bad("for=%q: want ready or gone", q.on)
	case q.pod == "" && q.on != forGone:
		return bad("all: only for=gone is possible")
	case q.pod != "" && strings.Count(q.pod, "/") != 1:
		return bad("pod %q: want NAMESPACE/NAME", q.pod)
	case q.pod != "" && badPodName(q.pod) != "":
		return bad("%s", badPodName(q.pod))
	}
	return q, nil
}

// healthz says that the engine's owner gets on.
func (d *daemon) healthz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), stateTimeout)
	defer cancel()
	if err := answers(ctx, d.runtime); err != nil {
		http.Error(w, "the engine does not answer: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// readyz says whether the engine can bring pods up and take them down, with ?verbose why not.
func (d *daemon) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), stateTimeout)
	defer cancel()
	checks := d.checks(ctx)
	var b strings.Builder
	ok := true
	for _, c := range checks {
		if c.problem == "" {
			fmt.Fprintf(&b, "[+]%s ok\n", c.name)
			continue
		}
		if c.isBeside {
			fmt.Fprintf(&b, "[!]%s: %s; volumes are not affected\n", c.name, c.problem)
			continue
		}
		ok = false
		fmt.Fprintf(&b, "[-]%s failed: %s\n", c.name, c.problem)
	}
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	if _, verbose := r.URL.Query()["verbose"]; !verbose && ok {
		b.Reset()
		b.WriteString("ok\n")
	}
	fmt.Fprint(w, b.String())
}

// readyCheck is one line of readyz.
type readyCheck struct {
	name, problem string
	isBeside      bool // volumes come up and go without it
}

func (d *daemon) checks(ctx context.Context) []readyCheck {
	s, err := d.status(ctx)
	if err != nil {
		return []readyCheck{{name: "engine", problem: err.Error()}}
	}
	var problems []string
	if !s.Synced {
		problems = append(problems, "volnode has not read all manifests; it tears down nothing until it has")
	}
	for _, t := range s.Sources {
		if t.Source == manifest.Source || t.Hidden { // others keep no pod from coming or going
			problems = append(problems, t.Where+": "+t.Why)
		}
	}
	sources := readyCheck{name: "sources", problem: strings.Join(problems, "; ")}
	checks := []readyCheck{{name: "engine"}, {name: "journal", problem: s.Journal.Why}, sources}
	for _, sink := range d.sinks {
		checks = append(checks, readyCheck{name: sink.name, problem: sink.state().Problem, isBeside: true})
	}
	return checks
}
