package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// servers are those that run, for the end of the daemon.
type servers struct {
	mu  sync.Mutex
	all []*http.Server
}

func (s *servers) add(server *http.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, server)
}

// close ends all connections. A client that still waits for an answer gets an error.
func (s *servers) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.all {
		_ = server.Close()
	}
}

// socketRetry is when a control socket that could not be made again is tried once more.
const socketRetry = time.Second

// keepsControl makes the control socket again whenever somebody has removed it or its directory: without it nobody can
// ask the daemon. Connections that there are go on. It ends with ctx, which is over before the daemon removes the
// socket itself.
func (d *daemon) keepsControl(ctx context.Context, control net.Listener, serve func(net.Listener)) {
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		d.log.Warn("cannot watch the control socket: if someone removes it, restart volnode", "socket",
			d.config.Socket, "error", err.Error())
		return
	}
	defer notify.Close()
	dir, retry := filepath.Dir(d.config.Socket), time.NewTimer(0)
	defer retry.Stop()
	made, _ := os.Lstat(d.config.Socket)
	for isTold := false; ; {
		select {
		case <-notify.Events:
		case <-notify.Errors: //nolint:errcheck // whichever it is: anything may have happened
		case <-retry.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
		_ = notify.Add(dir) // it may be another one by now
		if is, err := os.Lstat(d.config.Socket); err == nil && os.SameFile(is, made) {
			continue
		}
		if l, is := control.(rootListener); is {
			l.SetUnlinkOnClose(false) // what has its name is not its own
		}
		again, err := listenControl(d.config.Socket)
		if err != nil {
			if !isTold {
				d.log.Warn("someone removed the control socket, and volnode cannot make it; it tries again", "socket",
					d.config.Socket, "error", err.Error())
				isTold = true
			}
			retry.Reset(socketRetry)
			continue
		}
		d.log.Warn("someone removed the control socket; volnode has made it again", "socket", d.config.Socket)
		made, _ = os.Lstat(d.config.Socket)
		control, isTold = again, false
		serve(again)
		retry.Reset(0) // its directory may be a new one, which is not watched yet
	}
}
