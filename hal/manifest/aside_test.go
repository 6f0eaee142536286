package manifest

import (
	"maps"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Copies of another node serve nobody, whether they lie alone or in packs, and go aside with their ledger and with what
// that node kept. Those of this node serve, also once it is on another machine, or has lost its identity.
func TestCopiesAreOfOneNode(t *testing.T) {
	mine := Owner{Node: "node1", Machine: "m1", Created: "c1"}
	for _, c := range []struct {
		was, now Owner
		isMine   bool
	}{
		{mine, mine, true},
		{Owner{}, mine, true}, // by an earlier version
		{mine, Owner{"node1", "m2", "c1"}, true},
		{mine, Owner{"node1", "m1", "c2"}, true},
		{mine, Owner{"node1", "m2", "c2"}, false},
		{mine, Owner{"node2", "m1", "c1"}, false},
		{Owner{"node1", "", "c1"}, Owner{"node1", "", "c2"}, true}, // it has lost its identity
		{Owner{"node2", "", "c1"}, Owner{"node1", "", "c2"}, false},
	} {
		for _, n := range []int{1, 10} {
			w := newWorld(t)
			w.owner = c.was
			w.many(n).put("k.yaml", pod("k")).start()
			w.put("bad.yaml", "kind: [").rm("k.yaml").pass(3 * second)
			w.born, w.owner = 8, c.now // in another directory nothing tells that the manifests are gone
			for _, at := range slices.Sorted(maps.Keys(w.names)) {
				if path.Dir(at) == dir {
					w.rm(path.Base(at))
				}
			}
			w.start().pass(5 * second)
			is := w.changes()
			_, isAside := w.names[cache+aside+"1"]
			require.Equal(t, !c.isMine, isAside, "%v", c)
			if c.isMine {
				require.Contains(t, is, "+k/")
				require.Equal(t, c.now, w.book().owner)
				continue
			}
			require.NotContains(t, is, "+", "%v", c)
			require.Contains(t, w.troubles()[cache+aside+"1"].Problem, "of another node ("+c.was.Node+")")
			require.Contains(t, w.data[cache+aside+"1/"+kept], `"name":"k"`)
		}
	}
}
