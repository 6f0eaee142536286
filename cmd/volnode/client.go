package main

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/spf13/pflag"
)

// client asks a daemon over its control socket.
type client struct{ socket string }

// ask gets path with a query and decodes the answer into result.
func (c client) ask(ctx context.Context, path string, query url.Values, timeout time.Duration, result any) error {
	return c.send(ctx, http.MethodGet, path, query, timeout, result)
}

// send is ask with a method: POST changes something.
func (c client) send(ctx context.Context, method, path string, query url.Values, timeout time.Duration, result any,
) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", c.socket)
		},
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://volnode"+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return c.unreachable(err)
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(response.Body)
	if response.StatusCode == http.StatusOK {
		if err := decoder.Decode(result); err != nil {
			return fail(exitUnreachable, "daemon at %s: its answer is incomplete: %w", c.socket, err)
		}
		return nil
	}
	var failure failureAnswer
	if err := decoder.Decode(&failure); err != nil || failure.Error == "" {
		failure.Error = response.Status
	}
	status := exitFailed
	switch response.StatusCode {
	case http.StatusBadRequest:
		status = exitUsage
	case http.StatusServiceUnavailable:
		status = exitTemporary
	}
	return fail(status, "%s", failure.Error)
}

func (c client) unreachable(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fail(exitPermission, "%s: permission denied; run this command as root", c.socket)
	case errors.Is(err, fs.ErrNotExist):
		return fail(exitUnreachable, "no volnode serves %s: there is no such socket; start volnode run with this "+
			"--socket, or give the right one", c.socket)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fail(exitUnreachable, "no volnode serves %s: the volnode that made this socket has ended; start "+
			"volnode run", c.socket)
	case errors.Is(err, context.DeadlineExceeded):
		return fail(exitUnreachable, "the daemon at %s does not answer", c.socket)
	case os.Geteuid() != 0:
		return fail(exitPermission, "the daemon at %s hung up: it answers only root; run this command as root",
			c.socket)
	}
	return fail(exitUnreachable, "no volnode serves %s: %w", c.socket, err)
}

// query makes a query of alternating names and values.
func query(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

const (
	// shortAsk bounds a question that is answered at once.
	shortAsk = 10 * time.Second
	// lateAnswer is how long after the end of a patience an answer may still come.
	lateAnswer = time.Second
	// askAgain is how soon a daemon that did not answer is asked again.
	askAgain = 100 * time.Millisecond
)

// askShort asks a question that is answered at once. It waits for a daemon until patience is over.
func (c client) askShort(ctx context.Context, path string, q url.Values, patience time.Duration, result any) error {
	return insist(ctx, patience, func(time.Duration) error { return c.ask(ctx, path, q, shortAsk, result) })
}

// insist asks until a daemon answers, or patience is over: then it returns why the last try failed. ask gets the time
// that is left.
func insist(ctx context.Context, patience time.Duration, ask func(left time.Duration) error) error {
	start := time.Now()
	for {
		err := ask(max(0, patience-time.Since(start)))
		if err == nil || !mayComeBack(err) {
			return err
		}
		if left := patience - time.Since(start); left <= 0 {
			return err
		}
		select {
		case <-time.After(min(askAgain, max(0, patience-time.Since(start)))): //nolint:forbidigo // waits for a daemon
		case <-ctx.Done():
			return err
		}
	}
}

// mayComeBack reports whether a daemon that starts, or starts again, would mend it.
func mayComeBack(err error) bool {
	e, ok := errors.AsType[*exitError](err)
	return ok && (e.status == exitUnreachable || e.status == exitTemporary)
}

// patienceFlag is for a command that by itself does not wait for the daemon.
func patienceFlag(set *pflag.FlagSet) *time.Duration {
	return set.Duration("timeout", 0, "how long to wait for a daemon that is just starting")
}
