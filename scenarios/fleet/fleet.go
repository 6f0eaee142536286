// Package fleet hunts over many seeds at once: on several workers, in shards, and guided by what was reached before.
package fleet

import (
	"cmp"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
	"github.com/volnode/volnode/scenarios/coverage"
	"github.com/volnode/volnode/scenarios/verdict"
)

// Fleet is a hunt over many seeds at once.
type Fleet struct {
	Runs    uint64 // schedules, from Seed on, of all shards together; the last seed is below MaxSeed
	Seed    uint64
	Shard   Shard // which of the seeds are run here
	Workers int
	Budget  time.Duration // of the clock on the wall; 0 is none
	CPU     time.Duration // of the process's CPU time; 0 is none
	// KeepGoing: a schedule that fails does not end the hunt.
	KeepGoing bool
	// Guided: the schedules of IsGuided vary others that have reached something new. What they are hangs on all seeds
	// of the hunt before.
	Guided bool
	// Canaries: the schedules of IsCanary have a defect in their judge, so that they fail. They are counted apart.
	Canaries bool
	Cover    bool            // tell what the schedules have reached; they take longer
	Sample   uint64          // with Cover: of one in so many schedules; 0 is all
	Stop     <-chan struct{} // once it is closed, no further schedule is begun; nil is never
	// Progress is told how things stand, about once a second; nil for nobody. One call at a time.
	Progress func(Tally)
	// Batch is told of each batch as it ends; nil for nobody. One call at a time.
	Batch func(Batch)
}

// Sums is what was counted in schedules.
type Sums struct {
	Schedules uint64 `json:"schedules"`
	Events    uint64 `json:"events"`
	Calls     uint64 `json:"halCalls"`
	Faults    uint64 `json:"faults"`
	Crashes   uint64 `json:"crashes"`
	// Canaries are those of the schedules that must fail, and Caught those of them that did. One that breaks a real
	// property is none.
	Canaries uint64 `json:"canaries,omitempty"`
	Caught   uint64 `json:"canariesCaught,omitempty"`
}

// Tally is how far a hunt has got.
type Tally struct {
	Sums
	CPU     time.Duration `json:"cpuNanoseconds"`
	Elapsed time.Duration `json:"elapsedNanoseconds"`
	Next    uint64        `json:"nextSeed"` // every seed below it that is the hunt's has been run
	// Found is what failed, each signature once, lowest seed first. A hunt that does not keep going has at most what
	// its workers were at.
	Found []Found `json:"found,omitempty"`
	// Coverage is what the schedules have reached, and Curve how it grew, if Fleet.Cover asks.
	Coverage *coverage.Coverage `json:"coverage,omitempty"`
	Curve    []Growth           `json:"curve,omitempty"`
}

// Found is the schedules that failed in one way.
type Found struct {
	Signature string             `json:"signature"`
	Seed      uint64             `json:"seed"` // the lowest
	Schedules uint64             `json:"schedules"`
	Violation *verdict.Violation `json:"violation"` // of that seed
	Case      *cases.Case        `json:"-"`         // of it, if it was guided
}

// Batch is all seeds from From up to but not including To. They are of one block, and each was run.
type Batch struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
	Sums
	Failed []scenarios.Result `json:"-"` // those that broke a property, lowest seed first

	running int
}

// Per divides a sum by the number of schedules.
func (t Sums) Per(sum uint64) float64 { return float64(sum) / float64(max(t.Schedules, 1)) }

// PerCPU divides a sum by the CPU-seconds used.
func (t Tally) PerCPU(sum uint64) float64 {
	return float64(sum) / max(t.CPU.Seconds(), 1e-9)
}

// campaign is a hunt that is under way.
type campaign struct {
	fleet    Fleet
	began    time.Time
	beganCPU time.Duration
	halt     atomic.Bool // a schedule has failed

	mu     sync.Mutex
	next   uint64 // the seed that is run next
	told   time.Time
	tally  Tally
	failed *scenarios.Result
	found  []Found
	open   []*Batch // that have not ended, lowest seeds first
	growth *growing // nil if nobody asks
	guide  *guide
}

// Hunt runs schedules until they are used up, the budget is, or one fails. It returns the failure of the lowest seed.
func (f Fleet) Hunt() (Tally, *scenarios.Result) {
	defer debug.SetGCPercent(debug.SetGCPercent(scenarios.GCPercent))
	c := &campaign{fleet: f, began: time.Now(), beganCPU: scenarios.CPUTime(), next: f.Seed, guide: newGuide()}
	if f.Cover {
		c.growth = newGrowing()
	}
	c.told = c.began
	var wait sync.WaitGroup
	for range max(f.Workers, 1) {
		wait.Go(c.work)
	}
	wait.Wait()
	for _, b := range c.open {
		c.end(b)
	}
	return c.now(), c.failed
}

// covers: what a schedule reaches is told. The samples are spread over the families of schedules.
func (f Fleet) covers(seed uint64) bool {
	return f.Cover && (f.Sample < 2 || seed*0x9e3779b97f4a7c15>>32%f.Sample == 0)
}

func (f Fleet) isCanary(seed uint64) bool { return f.Canaries && scenarios.IsCanary(seed) }

func (f Fleet) isGuided(seed uint64) bool { return f.Guided && IsGuided(seed) && !f.isCanary(seed) }

func (c *campaign) work() {
	h := scenarios.NewHunter()
	h.KeepCoroutines()
	defer h.Close()
	for !c.isOver() {
		seed, ticket, batch, ok := c.claim()
		if !ok {
			return
		}
		var res scenarios.Result
		if c.fleet.isGuided(seed) {
			res = c.guide.run(h, seed, ticket)
		} else {
			res = h.Run(scenarios.Schedule{Seed: seed, Cover: c.fleet.covers(seed), Canary: c.fleet.isCanary(seed)})
		}
		c.add(res, batch)
	}
}

func (c *campaign) isOver() bool {
	select {
	case <-c.fleet.Stop:
		return true
	default:
	}
	return c.halt.Load() || c.fleet.Budget > 0 && time.Since(c.began) >= c.fleet.Budget ||
		c.fleet.CPU > 0 && scenarios.CPUTime()-c.beganCPU >= c.fleet.CPU
}

// claim returns the next seed, its ticket if it is guided, and the batch that it is of; not ok if there is none left.
func (c *campaign) claim() (seed, ticket uint64, batch *Batch, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seed = c.fleet.Shard.from(c.next)
	if seed-c.fleet.Seed >= c.fleet.Runs {
		c.next = c.fleet.Seed + c.fleet.Runs
		return 0, 0, nil, false
	}
	c.next = seed + 1
	if c.fleet.isGuided(seed) {
		ticket = c.guide.ticket()
	}
	if c.fleet.covers(seed) {
		c.growth.awaits(seed)
	}
	if n := len(c.open); n > 0 && c.open[n-1].From/BlockSeeds == seed/BlockSeeds {
		batch = c.open[n-1]
	} else {
		batch = &Batch{From: seed}
		c.open = append(c.open, batch)
	}
	batch.To = seed + 1
	batch.running++
	return seed, ticket, batch, true
}

func (c *campaign) add(res scenarios.Result, batch *Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally.add(res)
	if c.fleet.covers(res.Seed) {
		c.growth.add(res.Seed, res.Coverage)
	}
	batch.add(res)
	if res.Violation != nil && !res.IsCaught() {
		batch.Failed = append(batch.Failed, res)
		if c.failed == nil || res.Seed < c.failed.Seed {
			c.failed = &res
		}
		c.note(res)
		c.halt.Store(!c.fleet.KeepGoing)
	}
	if batch.running--; batch.running == 0 && batch.To%BlockSeeds == 0 {
		c.open = slices.DeleteFunc(c.open, func(b *Batch) bool { return b == batch })
		c.end(batch)
	}
	if c.fleet.Progress != nil && time.Since(c.told) >= time.Second {
		c.told = time.Now()
		c.fleet.Progress(c.now())
	}
}

// note keeps the lowest seed of each signature.
func (c *campaign) note(res scenarios.Result) {
	f := Found{
		Signature: res.Violation.Signature(), Seed: res.Seed, Schedules: 1, Violation: res.Violation,
		Case: res.Case,
	}
	i := slices.IndexFunc(c.found, func(o Found) bool { return o.Signature == f.Signature })
	if i < 0 {
		c.found = append(c.found, f)
		return
	}
	f.Schedules += c.found[i].Schedules
	if c.found[i].Seed < f.Seed {
		f.Seed, f.Violation, f.Case = c.found[i].Seed, c.found[i].Violation, c.found[i].Case
	}
	c.found[i] = f
}

// end tells of a batch that is complete.
func (c *campaign) end(b *Batch) {
	if c.fleet.Batch != nil {
		slices.SortFunc(b.Failed, func(x, y scenarios.Result) int { return cmp.Compare(x.Seed, y.Seed) })
		c.fleet.Batch(*b)
	}
}

func (c *campaign) now() Tally {
	t := c.tally
	t.Found = slices.Clone(c.found)
	slices.SortFunc(t.Found, func(a, b Found) int { return cmp.Compare(a.Seed, b.Seed) })
	t.Elapsed, t.CPU, t.Next = time.Since(c.began), scenarios.CPUTime()-c.beganCPU, c.next
	if c.growth != nil {
		t.Coverage, t.Curve = c.growth.all, c.growth.told()
	}
	return t
}

func (t *Sums) add(r scenarios.Result) {
	t.Schedules++
	t.Events += r.Events
	t.Calls += r.Calls
	t.Faults += r.Faults
	t.Crashes += uint64(r.Crashes)
	switch {
	case r.IsCaught():
		t.Canaries++
		t.Caught++
	case r.Canary && r.Violation == nil:
		t.Canaries++
	}
}

// Add adds other schedules.
func (t *Sums) Add(other Sums) {
	t.Schedules += other.Schedules
	t.Events += other.Events
	t.Calls += other.Calls
	t.Faults += other.Faults
	t.Crashes += other.Crashes
	t.Canaries += other.Canaries
	t.Caught += other.Caught
}

// MissedCanaries is how many canaries broke nothing: a hunt that has some would not tell of a real defect either.
func (t Sums) MissedCanaries() uint64 { return t.Canaries - min(t.Caught, t.Canaries) }
