package linux

import (
	"container/heap"
	"context"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volnode/volnode/hal"
)

// owner is hal.Runtime with goroutines as tasks and one loop, run, as the owner.
type owner struct {
	boot  hal.BootID
	base  hal.Instant // what the clock showed at begun, or a little less
	begun time.Time
	wake  chan struct{} // holds at most one token: queue or timers have changed
	ended chan struct{} // closed when run has returned

	mu     sync.Mutex
	queue  []func()
	timers timerHeap
	serial uint64
}

type timer struct {
	at     hal.Instant
	serial uint64 // timers of one instant run in the order of their At
	f      func()
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].serial < h[j].serial
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = timer{}
	*h = (*h)[:last]
	return t
}

func newOwner() (*owner, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	r := &owner{
		boot: hal.BootID(strings.TrimSpace(string(id))), wake: make(chan struct{}, 1),
		ended: make(chan struct{}),
	}
	r.readClock()
	return r, nil
}

// Now is the time of CLOCK_MONOTONIC: it does not count suspend and is the same clock for every process of one boot
// (clock_gettime(2)). It is the clock of Go's monotonic times, too, which are read without a system call; the engine
// asks more than ten times for each volume.
func (r *owner) Now() hal.Instant { return r.base.Add(time.Since(r.begun)) }

// clockGap is how far Now is to be behind the clock at most. It is never ahead: what waits for an instant never acts
// before it.
const clockGap = 50 * time.Microsecond

// readClock finds out what the clock shows at an instant of Go's. The system may take this process off its CPU in
// between, or a debugger may make each call slow: then the best of some readings is taken.
func (r *owner) readClock() {
	least := time.Duration(math.MaxInt64)
	for try := 0; try < 100 && least > clockGap; try++ {
		begun := time.Now()
		now := clock()
		if gap := time.Since(begun); gap < least {
			least, r.begun, r.base = gap, begun, now.Add(-gap)
		}
	}
}

func clock() hal.Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic("clock_gettime CLOCK_MONOTONIC: " + err.Error()) // possible only with a bad address or clock
	}
	return hal.Instant(ts.Nano())
}

func (r *owner) BootID() hal.BootID { return r.boot }

func (r *owner) Post(f func()) {
	r.mu.Lock()
	r.queue = append(r.queue, f)
	r.mu.Unlock()
	r.signal()
}

func (r *owner) At(t hal.Instant, f func()) {
	r.mu.Lock()
	r.serial++
	heap.Push(&r.timers, timer{t, r.serial, f})
	r.mu.Unlock()
	r.signal()
}

func (r *owner) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // the token that is there will do
	}
}

func (r *owner) Go(task func()) { go task() }

func (r *owner) Await(ctx context.Context, register func(done func())) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	over := make(chan struct{})
	var once sync.Once
	r.Post(func() { register(func() { once.Do(func() { close(over) }) }) })
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ended:
	}
	select {
	case <-over: // it was the last that the owner did
		return nil
	default:
		return hal.ErrEnded
	}
}

// run is the owner, once. What was posted before ctx was over and has not begun stays undone.
func (r *owner) run(ctx context.Context) {
	defer close(r.ended)
	sleep := time.NewTimer(time.Hour)
	defer sleep.Stop()
	for ctx.Err() == nil {
		batch, next := r.take()
		for _, f := range batch {
			if ctx.Err() != nil {
				return
			}
			f()
		}
		if len(batch) > 0 {
			continue
		}
		sleep.Reset(next)
		select {
		case <-r.wake:
		case <-sleep.C:
		case <-ctx.Done():
		}
	}
}

// take returns what is to run, in order, or how long there will be nothing to do.
func (r *owner) take() ([]func(), time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.queue
	r.queue = nil
	now := r.Now()
	for len(r.timers) > 0 && r.timers[0].at <= now {
		batch = append(batch, heap.Pop(&r.timers).(timer).f)
	}
	if len(r.timers) == 0 {
		return batch, time.Hour
	}
	return batch, r.timers[0].at.Sub(now)
}
