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
	w.names[dir+"/"+name] = hal.Info{Type: hal.TypeFile, Mode: 0o644, Inode: 7, Size: int64(len(text)), Changed: 1 + tick}
	return w.changed()
}

// Within a tick of its filesystem's clock a file changes without a sign. It is read all the same, and not again once nothing can be hidden.
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
	allocations := func(r reader) float64 {
		return testing.AllocsPerRun(20, func() {
			f := finding{state: state{seen: map[string]sum{}, files: map[string]file{}, readings: map[string]reading{}}}
			r.file(&f, "a.yaml", map[string][]byte{})
		})
	}
	second := first
	second.before = first.read().state
	require.Less(t, 5*allocations(first), allocations(second))
}
