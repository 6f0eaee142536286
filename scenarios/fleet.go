package scenarios

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Fleet is a hunt over many seeds at once.
type Fleet struct {
	Runs    uint64 // schedules, from Seed on
	Seed    uint64
	Workers int
	Budget  time.Duration // of the clock on the wall; 0 is none
	CPU     time.Duration // of the process's CPU time; 0 is none
	// Progress is told how things stand, about once a second; nil for nobody.
	Progress func(Tally)
}

// Tally is how far a hunt has got.
type Tally struct {
	Schedules uint64        `json:"schedules"`
	Events    uint64        `json:"events"`
	Calls     uint64        `json:"halCalls"`
	Faults    uint64        `json:"faults"`
	Crashes   uint64        `json:"crashes"`
	CPU       time.Duration `json:"cpuNanoseconds"`
	Elapsed   time.Duration `json:"elapsedNanoseconds"`
}

// Per divides a sum by the number of schedules.
func (t Tally) Per(sum uint64) float64 { return float64(sum) / float64(max(t.Schedules, 1)) }

// PerCPU divides a sum by the CPU-seconds used.
func (t Tally) PerCPU(sum uint64) float64 {
	return float64(sum) / max(t.CPU.Seconds(), 1e-9)
}

// gcPercent lets the heap grow to many times what lives before it is collected: worlds are small and short.
const gcPercent = 4000

// Hunt runs schedules until they are used up, the budget is, or one fails. It returns the failure of the lowest seed.
func (f Fleet) Hunt() (Tally, *Result) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	var (
		next   atomic.Uint64
		halt   atomic.Bool
		mu     sync.Mutex
		tally  Tally
		failed *Result
		wait   sync.WaitGroup
	)
	begin, beginCPU := time.Now(), cpuTime()
	now := func() Tally {
		t := tally
		t.Elapsed, t.CPU = time.Since(begin), cpuTime()-beginCPU
		return t
	}
	over := func() bool {
		return halt.Load() || f.Budget > 0 && time.Since(begin) >= f.Budget || f.CPU > 0 && cpuTime()-beginCPU >= f.CPU
	}
	told := begin
	for range max(f.Workers, 1) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			h := NewHunter()
			for !over() {
				n := next.Add(1) - 1
				if n >= f.Runs {
					return
				}
				res := h.Run(Schedule{Seed: f.Seed + n})
				mu.Lock()
				tally.add(res)
				if res.Violation != nil && (failed == nil || res.Seed < failed.Seed) {
					failed = &res
					halt.Store(true)
				}
				if f.Progress != nil && time.Since(told) >= time.Second {
					told = time.Now()
					f.Progress(now())
				}
				mu.Unlock()
			}
		}()
	}
	wait.Wait()
	return now(), failed
}

func (t *Tally) add(r Result) {
	t.Schedules++
	t.Events += r.Events
	t.Calls += r.Calls
	t.Faults += r.Faults
	t.Crashes += uint64(r.Crashes)
}

// cpuTime is the CPU time that the process has used, in user and system mode.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
