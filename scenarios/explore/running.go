package explore

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volnode/volnode/scenarios"
)

// running is an Exhaust under way.
type running struct {
	*Exhaust
	tellings []*telling
	failed   atomic.Int64 // the first scenario that failed

	mu       sync.Mutex
	isDone   []bool // which scenarios are through with a pass
	merged   int    // of them, those from the first on that are merged
	allKnown map[uint64]bool
}

func (e *Exhaust) running() *running {
	r := &running{Exhaust: e, isDone: make([]bool, len(e.Scenarios)), allKnown: map[uint64]bool{}}
	for _, s := range e.Scenarios {
		r.tellings = append(r.tellings, e.telling(s))
	}
	r.failed.Store(int64(len(r.tellings)))
	return r
}

// hasFailed reports whether a scenario has, of the first ones up to i.
func (r *running) hasFailed(i int) bool { return r.failed.Load() <= int64(i) }

func (r *running) isStopped() bool {
	select {
	case <-r.Stop:
		return true
	default:
		return false
	}
}

// pass tells the combinations of up to depth faults of all scenarios that were not told yet, within a budget; 0 is as
// long as it takes. done is told of each scenario that is through, in no certain order, by one goroutine at a time.
func (r *running) pass(depth int, budget time.Duration, done func(i int)) {
	var (
		next atomic.Int64
		wait sync.WaitGroup
		end  = time.Now().Add(budget)
		all  = len(r.tellings)
	)
	for range max(r.Workers, 1) {
		wait.Go(func() {
			buffers := &scenarios.Buffers{}
			buffers.KeepCoroutines()
			defer buffers.Close()
			for i := int(next.Add(1) - 1); i < all && !r.hasFailed(i) && !r.isStopped(); i = int(next.Add(1) - 1) {
				share := time.Until(end) / time.Duration(all-i) * time.Duration(min(max(r.Workers, 1), all-i))
				until := time.Now().Add(share)
				t := r.tellings[i]
				t.through(depth, buffers, func() bool {
					return r.hasFailed(i-1) || budget > 0 && time.Now().After(until) || r.isStopped()
				})
				r.mu.Lock()
				if t.out.Failed() {
					r.failed.Store(min(r.failed.Load(), int64(i)))
				}
				done(i)
				r.mu.Unlock()
			}
		})
	}
	wait.Wait()
}

// outcome is what became of the scenarios up to the first that failed.
func (r *running) outcome() []Exhausted {
	var all []Exhausted
	for _, t := range r.tellings[:min(r.failed.Load()+1, int64(len(r.tellings)))] {
		all = append(all, t.out)
	}
	return all
}

// tellProgress tells that a scenario is through.
func (r *running) tellProgress(i int) {
	if r.Progress != nil && !r.hasFailed(i-1) {
		r.Progress(r.tellings[i].out)
	}
}

// merge notes that what is told of a scenario in all circumstances is told. What faults it has left is settled in the
// order of scenarios: those in circumstances in which an earlier one has some are not told again.
func (r *running) merge(i int) {
	r.isDone[i] = true
	for ; r.merged < len(r.tellings) && r.isDone[r.merged]; r.merged++ {
		t := r.tellings[r.merged]
		isKnown := func(key uint64) bool { return r.allKnown[key] }
		left := slices.DeleteFunc(t.level, func(n *node) bool {
			return n.deep > r.whole() && !slices.ContainsFunc(n.met, func(key uint64) bool { return !isKnown(key) })
		})
		t.out.Pruned += uint64(len(t.level) - len(left))
		t.level, t.out.Left = left, uint64(len(left))
		for _, n := range left {
			n.met = nil
		}
		for key := range t.alike.mine {
			r.allKnown[key] = true
		}
		t.alike.mine, t.alike.others = map[uint64]bool{}, r.allKnown
	}
}
