package core

import (
	"hash/fnv"
	"time"

	"github.com/volnode/volnode/hal"
)

const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 2*time.Minute + 2*time.Second // K:C38: the incumbent's 2 min 2 s

	// answeredMax is the longest wait after an answer, and answeredFor how long after the first failure in a row that
	// holds. An answer is cheap, and what it complains of, as a busy mount, mostly ends within minutes: then a person,
	// or another node, waits for the volume. That is at most 15 calls a minute for a rung, and 150 in all before the
	// waits are those of the incumbent.
	answeredMax = 4 * time.Second
	answeredFor = 10 * time.Minute

	// unwrittenPause is the first wait after a write that failed. It doubles up to unwrittenMax, until a write
	// succeeds: see [Written].
	unwrittenPause = 2 * time.Second
	unwrittenMax   = 64 * time.Second
)

// backoff is the wait between failed attempts in one direction.
type backoff struct {
	attempts int         // that failed in a row
	since    hal.Instant // of the first of them
	pauses   uint8       // writes that failed in a row since the last attempt: until is not an attempt's
	until    hal.Instant // no attempt before; 0 is none
	why      string      // the last of them failed; for people
}

// fail starts the next wait: 500 ms doubled with each failure up to 2 min 2 s, after an answer for some time up to 4 s,
// less up to a tenth by a hash of key, direction and attempt, so that rungs that failed together do not retry together.
func (b *backoff) fail(now hal.Instant, key hal.Key, v Verb, isAnswered bool) {
	d := backoffMax
	if b.attempts < 8 {
		d = min(d, backoffFirst<<b.attempts)
	}
	if b.attempts == 0 {
		b.since = now
	}
	if isAnswered && now.Sub(b.since) < answeredFor {
		d = min(d, answeredMax)
	}
	b.attempts++
	b.pauses = 0
	b.until = now.Add(d - jitter(d, key, v, b.attempts))
}

// hold starts the longest wait: repeating will not help until something changes.
func (b *backoff) hold(now hal.Instant, key hal.Key, v Verb) {
	b.attempts++
	b.pauses = 0
	b.until = now.Add(backoffMax - jitter(backoffMax, key, v, b.attempts))
}

// pause starts the wait after a write that failed, which is no attempt's.
func (b *backoff) pause(now hal.Instant, key hal.Key, v Verb) {
	d := min(unwrittenPause<<min(b.pauses, 5), unwrittenMax)
	b.pauses = min(b.pauses, 254) + 1
	b.until = now.Add(d - jitter(d, key, v, b.attempts+int(b.pauses)-1))
}

// written shortens the waits that writes which failed have begun: one write that succeeds does not say that the next
// will, so none is shorter than the first of them.
func (c *Core) written() {
	for _, r := range c.sorted() {
		for _, v := range [2]Verb{SetUp, TearDown} {
			soon := c.now.Add(unwrittenPause - jitter(unwrittenPause, r.Key, v, 0))
			if w := r.wait(v); w.pauses > 0 && w.until > soon {
				r.own().wait(v).until = soon
				c.mark(r)
			}
		}
	}
}

func jitter(d time.Duration, key hal.Key, v Verb, attempt int) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash never fails
	_, _ = h.Write([]byte{byte(v), byte(attempt)})
	return d / 10 * time.Duration(h.Sum32()%1024) / 1024
}

// renewal is when the setup of a rung that has just come up is repeated, 0 for never: up to a tenth later than it asks,
// so that rungs that came up together are not renewed together.
func (r *rung) renewal(now hal.Instant) hal.Instant {
	if r.Renew == 0 {
		return 0
	}
	after := time.Duration(r.Renew) * time.Second
	return now.Add(after + jitter(after, r.Key, Refresh, 0))
}

// wait is the wait before the next attempt of a verb.
func (p *plight) wait(v Verb) *backoff {
	if v == TearDown {
		return &p.down
	}
	return &p.up
}

// paceOf is the verb with whose wait v begins. The inspection before a teardown has that of the teardown, so that
// setups that have failed do not keep it waiting.
func (c *Core) paceOf(r *rung, v Verb, w why) Verb {
	if v == Inspect && w != whyAnswered && c.desire(r) != wanted {
		return TearDown
	}
	return v
}

// clearBackoff ends the wait before a verb.
func (r *rung) clearBackoff(v Verb) {
	if *r.wait(v) != (backoff{}) {
		*r.own().wait(v) = backoff{}
	}
}

// resetBackoff lets both directions try at once.
func (r *rung) resetBackoff() {
	r.clearBackoff(SetUp)
	r.clearBackoff(TearDown)
	if r.falls != (backoff{}) {
		r.own().falls = backoff{}
	}
	r.blocked = false
}
