package explore

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal/sim"
	"github.com/volnode/volnode/scenarios"
)

// TestNothingNewIsPruned tells combinations of two faults to their ends, and nothing in them is known: whatever follows
// calm in them, every call, effect and reply until all is taken down, follows it in one of those that are told when
// what is known is not told again.
func TestNothingNewIsPruned(t *testing.T) {
	s, err := scenarios.Find("host_path_is_not_of_the_type_that_is_asked_for")
	each := 7
	if testing.Short() {
		s, err = scenarios.Parse("small.txt", smallStory)
		each = 1
	}
	require.NoError(t, err)
	// tell tells a combination, and returns what comes after calm; "" if it does not come so far.
	tell := func(f *finder) string {
		p, future := f.play(), ""
		passes, calm, at := p.Passes, 0, time.Duration(0)
		p.Keep = true
		p.Passes = func(m scenarios.Moment) bool {
			goesOn := passes == nil || passes(m)
			if goesOn && m.IsCalm() && calm == 0 {
				calm, at = len(f.world.Trace().Records), m.At()
			}
			return goesOn
		}
		p.Done = func(w *sim.World) {
			f.rest()
			if calm > 0 {
				future = futureOf(w.Trace().Records[calm:], at)
			}
		}
		require.Nil(t, p.Run().Violation, f.subject.String())
		return future
	}
	root := rootNode()
	k, runs, ends := newKnown(2), uint64(0), map[string]bool{}
	for queue := []*node{root}; len(queue) > 0; queue = queue[1:] {
		runs++
		f := newFinder(s, queue[0], queue[0].deep == 2)
		f.known, f.run = k, runs
		ends[tell(f)] = true
		queue = append(queue, f.found...)
	}
	told := 0
	check := func(n *node) []*node {
		told++
		f := newFinder(s, n, n.deep == 2)
		require.True(t, ends[tell(f)], f.subject.String())
		return f.found
	}
	for i, n := range check(root) {
		if i%each != 0 {
			continue
		}
		for j, m := range check(n) {
			if j%11 == i%11 {
				check(m)
			}
		}
	}
	t.Logf("%d runs in place of all, with %d ends; %d of all told", runs, len(ends), told)
	require.Greater(t, told, 50)
}

// TestCleanRebootIsAPowerCutThatTakesNothing is why a reboot is not tried beside a power cut.
func TestCleanRebootIsAPowerCutThatTakesNothing(t *testing.T) {
	s, err := scenarios.Find("demo")
	require.NoError(t, err)
	play := func(n *node) (string, []*node) {
		f := newFinder(s, n, false)
		p, after := f.play(), ""
		p.Keep = true
		p.Done = func(w *sim.World) {
			f.rest()
			records := w.Trace().Records
			i := slices.IndexFunc(records, func(r sim.Record) bool { return r.What == "node.died" })
			if i >= 0 {
				after = futureOf(records[i+1:], records[i].At.Sub(0))
			}
		}
		require.Nil(t, p.Run().Violation, f.subject.String())
		return after, f.found
	}
	_, found := play(rootNode())
	compared := 0
	for i, n := range found {
		if n.added[len(n.added)-1].Fault != sim.PowerCut || i%4 != 0 {
			continue
		}
		cut, _ := play(n)
		n.added = slices.Clone(n.added)
		n.added[len(n.added)-1].Fault = sim.Reboot
		reboot, _ := play(n)
		require.NotEmpty(t, cut)
		require.Equal(t, cut, reboot)
		compared++
	}
	require.Greater(t, compared, 5)
}

// TestEngineDoesNotAskForSpace is why a call that has no effect without space is not tried beside one that fails
// otherwise.
func TestEngineDoesNotAskForSpace(t *testing.T) {
	require.NoError(t, filepath.WalkDir("../../engine", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		require.False(t, bytes.Contains(text, []byte("ENOSPC")), path)
		return err
	}))
}
