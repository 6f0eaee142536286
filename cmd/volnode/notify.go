package main

import (
	"context"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/volnode/volnode/hal"
)

// notifier tells systemd how the service is (sd_notify(3)). Without systemd it tells nobody.
type notifier struct {
	*sink                  // nil without systemd
	watchdog time.Duration // 0: nobody waits for a sign of life
}

// newNotifier takes what it needs from the environment and removes it there: children have nothing to tell.
func newNotifier() *notifier {
	n := &notifier{}
	socket, usec, pid := os.Getenv("NOTIFY_SOCKET"), os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID")
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name)
	}
	if socket == "" {
		return n
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		return n
	}
	n.sink = newSink("service manager", conn, nil)
	if micros, err := strconv.ParseInt(usec, 10, 64); err == nil && micros > 0 &&
		(pid == "" || pid == strconv.Itoa(os.Getpid())) {
		n.watchdog = time.Duration(micros) * time.Microsecond
	}
	return n
}

// tell sends one message. A service manager that does not listen is no reason to stop.
func (n *notifier) tell(message string) {
	if n.sink != nil {
		_, _ = n.Write([]byte(message)) // a sink takes everything
	}
}

// feed gives the watchdog a sign of life twice in its time. The owner is asked for each, so an owner that does not get
// on gives none.
func (n *notifier) feed(r hal.Runtime) {
	if n.watchdog == 0 {
		return
	}
	for range time.Tick(n.watchdog / 2) { //nolint:forbidigo // the service manager asks for a pace
		if answers(context.Background(), r) == nil {
			n.tell("WATCHDOG=1")
		}
	}
}

// answers returns nil once the engine's owner has run what is asked of it, or the end of ctx.
func answers(ctx context.Context, r hal.Runtime) error {
	return r.Await(ctx, func(done func()) { done() })
}
