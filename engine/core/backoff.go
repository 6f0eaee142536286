package core

import (
	"hash/fnv"
	"time"

	"github.com/volnode/volnode/hal"
)

const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 2*time.Minute + 2*time.Second // K:C40: the incumbent's 2 min 2 s
)

// backoff is the wait between failed attempts in one direction.
type backoff struct {
	attempts int
	until    hal.Instant
}

// fail starts the next wait: 500 ms doubled with each failure up to 2 min 2 s, less up to a tenth by a hash of key, direction and attempt, so that
// rungs that failed together do not retry together.
func (b *backoff) fail(now hal.Instant, key hal.Key, v Verb) {
	d := backoffMax
	if b.attempts < 8 {
		d = min(d, backoffFirst<<b.attempts)
	}
	b.attempts++
	b.until = now.Add(d - jitter(d, key, v, b.attempts))
}

// hold starts the longest wait: repeating will not help until something changes.
func (b *backoff) hold(now hal.Instant, key hal.Key, v Verb) {
	b.attempts++
	b.until = now.Add(backoffMax - jitter(backoffMax, key, v, b.attempts))
}

func jitter(d time.Duration, key hal.Key, v Verb, attempt int) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash never fails
	_, _ = h.Write([]byte{byte(v), byte(attempt)})
	return d / 10 * time.Duration(h.Sum32()%1024) / 1024
}

// backoff returns the wait that stands before a verb.
func (r *rung) backoff(v Verb) *backoff {
	if v == Descend {
		return &r.down
	}
	return &r.up
}

// resetBackoff lets both directions try at once.
func (r *rung) resetBackoff() { r.up, r.down, r.blocked, r.denier = backoff{}, backoff{}, false, false }
