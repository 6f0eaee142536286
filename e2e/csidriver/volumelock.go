package csidriver

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// volumeLocks lets one call at a time work on a volume.
type volumeLocks struct {
	wait bool // queue instead of refusing

	mu   sync.Mutex
	held map[string]chan struct{} // closed when the holder is done
}

// acquire takes the lock of volume id. A busy one is ABORTED, or is waited for until ctx ends.
func (l *volumeLocks) acquire(ctx context.Context, id string) (release func(), err error) {
	for {
		l.mu.Lock()
		busy, taken := l.held[id]
		if !taken {
			done := make(chan struct{})
			l.held[id] = done
			l.mu.Unlock()
			return func() { l.release(id, done) }, nil
		}
		l.mu.Unlock()
		if !l.wait {
			return nil, status.Errorf(codes.Aborted, "another call for volume %s is under way", id)
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

func (l *volumeLocks) release(id string, done chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, id)
	close(done)
}
