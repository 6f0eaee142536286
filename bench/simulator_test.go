package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/linux"
	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
	"github.com/volnode/volnode/scenarios/cases"
)

// Goals are of the large world, for each CPU-second.
const (
	goalEvents, floorEvents       = 2e6, 0.5e6
	goalSchedules, floorSchedules = 5000, 100
	goalNodeHours                 = 3000
)

const firstSeed = 40001

// figures is what a benchmark has measured.
type figures struct {
	name      string
	schedules int
	events    uint64
	simulated time.Duration
	cpu       time.Duration
	mallocs   uint64
	allocated uint64 // bytes
	live      uint64 // bytes of one world at its end
}

func (f *figures) perSchedule(sum uint64) float64 { return float64(sum) / float64(f.schedules) }

func (f *figures) perCPU(sum float64) float64 { return sum / f.cpu.Seconds() }

// measured is what the benchmarks have left for the table.
var measured []*figures

func TestMain(m *testing.M) {
	if at := os.Getenv(driverEnv); at != "" {
		serveDriver(at)
		return
	}
	if linux.IsHelper() {
		linux.HelperMain()
	}
	debug.SetGCPercent(scenarios.GCPercent)
	os.Exit(haltest.InPrivateMounts(func() int {
		status := m.Run()
		goalTable(os.Stdout)
		table(measured)
		return status
	}))
}

// BenchmarkHunt runs the schedules of a default hunt.
func BenchmarkHunt(b *testing.B) {
	noteEvents(benchmark(b, "hunt", func(seed uint64) scenarios.Schedule { return scenarios.Schedule{Seed: seed} }))
}

// BenchmarkLarge runs schedules with 20 volumes.
func BenchmarkLarge(b *testing.B) {
	noteEvents(benchmark(b, "large", func(seed uint64) scenarios.Schedule {
		setup := cases.Large(seed)
		return scenarios.Schedule{Seed: seed, Setup: &setup}
	}))
}

func noteEvents(f *figures) {
	note("G19", f.name+", events with all checks", "a CPU-second", f.perCPU(float64(f.events)))
}

// BenchmarkShort runs the shortest schedules that are whole: one pod, and no restart in calm. Each is a world with a
// start and a calm of its own. Some run twice, and must do the same.
func BenchmarkShort(b *testing.B) {
	short := func(seed uint64) scenarios.Schedule {
		setup := cases.Large(seed)
		setup.Pods, setup.Volumes, setup.NoRestart, setup.Chaos = 1, 4, true, setup.Chaos/3
		return scenarios.Schedule{Seed: seed, Setup: &setup}
	}
	f := benchmark(b, "short", short)
	note("G20", "short, schedules", "a CPU-minute", 60*f.perCPU(float64(f.schedules)))
	note("G20", "short, events of each", "", f.perSchedule(f.events))
	differ := 0
	for seed := uint64(firstSeed); seed < firstSeed+100; seed++ {
		if scenarios.NewHunter().Run(short(seed)).Hash != scenarios.NewHunter().Run(short(seed)).Hash {
			differ++
		}
	}
	note("G20", "of 100, those that a second run does not repeat", "", float64(differ))
}

func benchmark(b *testing.B, name string, schedule func(seed uint64) scenarios.Schedule) *figures {
	f := &figures{name: name, live: live(schedule)}
	h := scenarios.NewHunter()
	h.KeepCoroutines()
	defer h.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := cpuTime(b)
	for b.Loop() {
		r := h.Run(schedule(firstSeed + uint64(f.schedules)))
		if r.Violation != nil {
			b.Errorf("seed %d: %v", r.Seed, r.Violation)
		}
		f.schedules++
		f.events += r.Events
		f.simulated += r.Lasted
	}
	f.cpu = cpuTime(b) - begin
	runtime.ReadMemStats(&after)
	f.mallocs, f.allocated = after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	b.ReportMetric(f.perCPU(float64(f.schedules)), "schedules/cpu-s")
	b.ReportMetric(f.perCPU(float64(f.events)), "events/cpu-s")
	b.ReportMetric(f.perCPU(f.simulated.Hours()), "node-hours/cpu-s")
	b.ReportMetric(f.perSchedule(f.events), "events/op")
	b.ReportMetric(f.perSchedule(f.mallocs), "allocs/op")
	b.ReportMetric(f.perSchedule(f.allocated), "B/op")
	measured = append(measured, f)
	return f
}

// live is what a world holds at its end, on average over some.
func live(schedule func(seed uint64) scenarios.Schedule) uint64 {
	const worlds = 5
	h := scenarios.NewHunter()
	sum := uint64(0)
	for seed := uint64(firstSeed); seed < firstSeed+worlds; seed++ {
		h.Run(schedule(seed)) // the objects that worlds share are made
		before, with := heap(), uint64(0)
		s := schedule(seed)
		s.Done = func(w *sim.World) {
			with = heap()
			runtime.KeepAlive(w)
		}
		h.Run(s)
		sum += max(with, before) - before
	}
	return sum / worlds
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpuTime is the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// table prints what was measured; the goals are the large world's.
func table(all []*figures) {
	if len(all) == 0 {
		return
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for _, c := range cells {
			fmt.Fprint(out, c, "\t")
		}
		fmt.Fprintln(out)
	}
	line("\nworld", "per CPU-second", "measured", "goal", "of the goal", "floor")
	for _, f := range all {
		against := func(what string, value, goal, floor float64) {
			if f.name != "large" {
				line(f.name, what, fmt.Sprintf("%.0f", value))
				return
			}
			least := ""
			if floor > 0 {
				least = fmt.Sprintf("%.0f %s", floor, map[bool]string{true: "met", false: "MISSED"}[value >= floor])
			}
			line(f.name, what, fmt.Sprintf("%.0f", value), fmt.Sprintf("%.0f", goal),
				fmt.Sprintf("%.0f %%", 100*value/goal), least)
		}
		against("events", f.perCPU(float64(f.events)), goalEvents, floorEvents)
		against("schedules", f.perCPU(float64(f.schedules)), goalSchedules, floorSchedules)
		against("node-hours", f.perCPU(f.simulated.Hours()), goalNodeHours, 0)
	}
	line("\nworld", "schedules", "events each", "minutes each", "allocations each", "KiB allocated each",
		"KiB live at its end")
	for _, f := range all {
		line(f.name, fmt.Sprint(f.schedules), fmt.Sprintf("%.0f", f.perSchedule(f.events)),
			fmt.Sprintf("%.1f", f.simulated.Minutes()/float64(f.schedules)),
			fmt.Sprintf("%.0f", f.perSchedule(f.mallocs)),
			fmt.Sprintf("%.0f", f.perSchedule(f.allocated)/1024), fmt.Sprintf("%.0f", float64(f.live)/1024))
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
