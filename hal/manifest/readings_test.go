package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// edit writes a manifest in place, at an instant of a clock that ticks once in two seconds.
func (w *world) edit(name, text string) *world {
	w.put(name, text)
	tick := int64(w.now) / int64(2*second) * int64(2*second)
	w.names[dir+"/"+name] = hal.Info{
		Type: hal.TypeFile, Mode: 0o644, Inode: 7, Size: int64(len(text)),
		Changed: 1 + tick,
	}
	return w.changed()
}

// Within a tick of its filesystem's clock a file changes without a sign. It is read all the same, and not again once
// nothing can be hidden.
func TestAFileThatChangesWithinATickIsRead(t *testing.T) {
	reads := 0
	count := func(w *world) {
		w.during["read "+dir+"/a.yaml"] = func() { reads++ }
	}
	for pause := 100 * time.Millisecond; pause < 2*second; pause += 100 * time.Millisecond {
		w := newWorld(t).start()
		w.pass(2*second - time.Duration(w.now)%(2*second)) // a tick begins
		w.edit("a.yaml", pod("ant")).pass(pause)
		w.edit("a.yaml", strings.ReplaceAll(pod("ant"), "ant", "bee")).pass(3 * second)
		require.Contains(t, w.changes(), "+bee/", pause)
	}
	w := newWorld(t).edit("a.yaml", pod("ant")).start().pass(10 * second)
	for range 3 {
		w.changed().pass(3 * second)
	}
	reads = 0
	for range 3 {
		count(w)
		w.changed().pass(3 * second)
	}
	require.Zero(t, reads, "it has not changed")
}

// A file that is new is understood once, when it counts: the reading before has only its text.
func TestANewFileIsDecodedOnce(t *testing.T) {
	w := newWorld(t).start()
	c := w.cloud.(*Cluster)
	w.put("a.yaml", pod("ant"))
	first := reader{h: c.h, o: c.o, before: c.state}
	first.changed = func() ([]string, bool) { return nil, true }
	first.ours = first.changed
	allocations := func(r reader) float64 {
		return testing.AllocsPerRun(20, func() {
			f := finding{state: r.before.begin()}
			r.file(&f, "a.yaml", map[string][]byte{})
		})
	}
	atFirst, second := allocations(first), first
	second.before = first.read().state.merge()
	require.Less(t, 5*atFirst, allocations(second))
}

// What a change costs does not grow with the files beside it: neither the files that are looked at, nor what is
// written, nor the memory that is used.
func TestAChangeCostsTheSameBesideManyFiles(t *testing.T) {
	cost := func(n int) (calls, bytes int, allocations float64) {
		w := newWorld(t).many(n).start().put("x.yaml", pod("x")).pass(5 * second)
		step := func() {
			w.put("x.yaml", pod("other")).pass(5 * second)
			w.put("x.yaml", pod("x")).pass(5 * second)
			w.put("y.yaml", pod("y")).pass(5 * second)
			w.rm("y.yaml").pass(5 * second)
		}
		step()
		w.calls, w.bytes = 0, 0
		step()
		return w.calls, w.bytes, testing.AllocsPerRun(5, step)
	}
	calls, bytes, allocations := cost(20)
	manyCalls, manyBytes, manyAllocations := cost(2000)
	require.LessOrEqual(t, manyCalls, calls+calls/10) // who has a short ledger writes all of it more often
	require.LessOrEqual(t, manyBytes, bytes+bytes/10)
	require.LessOrEqual(t, manyAllocations, allocations*1.1)
}

// What a reading of everything has found is confirmed by another such reading: nobody may tell the names of what has
// changed meanwhile.
func TestWhatIsFoundAmongEverythingIsConfirmedByEverything(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).put("z.yaml", owned("bee", "u2")).start()
	w.changes()
	former := w.names[dir+"/z.yaml"]
	delete(w.names, dir+"/z.yaml")
	w.changed().pass(300 * time.Millisecond)
	w.names[dir+"/b.yaml"], w.data[dir+"/b.yaml"] = former, owned("bee", "u2") // nobody tells
	require.Empty(t, w.pass(5*second).changes())
}

// Who moves an object from one file to another, is seen to have written the other before the first one is taken to lack
// it, however late the notice comes.
func TestAMoveIsSeenAsAWhole(t *testing.T) {
	for late := 10 * time.Millisecond; late < 500*time.Millisecond; late += 10 * time.Millisecond {
		w := newWorld(t).put("a.yaml", owned("ant", "u1")).put("z.yaml", owned("bee", "u2")).start()
		w.changes()
		w.put("z.yaml", owned("bee", "u2")+"# edited\n").pass(late)
		w.notice = nil // the next one comes late
		w.put("b.yaml", owned("bee", "u2")).put("z.yaml", owned("cow", "u3"))
		require.NotContains(t, w.pass(5*second).changes(), "-", late)
	}
}
