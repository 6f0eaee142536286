package core

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// The index of paths finds what a search of all rungs finds, whatever came and went, and in a clone that the original
// does not change.
func TestRungsAreFoundByPath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a-b", "b", ".", "ab"}
	random := func() string {
		path := ""
		for range 1 + r.IntN(4) {
			path += "/" + names[r.IntN(len(names))]
		}
		return path
	}
	c := New(Start{Now: 1})
	for step := range 3000 {
		key := hal.Key("kind/" + string(rune('a'+r.IntN(26))) + string(rune('a'+r.IntN(26))))
		if old := c.rungs[key]; old == nil {
			c.add(Rung{Key: key, Want: []Param{{Name: "path", Value: random()}}})
		} else if r.IntN(3) == 0 {
			spec := old.Rung
			spec.Want = []Param{{Name: "path", Value: random()}}
			c.respec(old, &spec)
		} else {
			c.remove(old)
		}
		if step%100 != 0 {
			continue
		}
		clone := c.Clone()
		for _, path := range []string{random(), "/", "/a"} {
			var want, found []hal.Key
			for _, o := range c.sorted() {
				if at := o.path(); at == path || strings.HasPrefix(at, strings.TrimSuffix(path, "/")+"/") {
					want = append(want, o.Key)
				}
			}
			for _, o := range c.concerned([]string{path}, false) {
				found = append(found, o.Key)
			}
			require.Equal(t, want, found, path)
			require.Equal(t, len(want) > 0, c.IsPlace(path))
			var cloned []*rung
			clone.within(path, func(o *rung) { cloned = append(cloned, o) })
			require.Len(t, cloned, len(want))
			require.False(t, slices.ContainsFunc(cloned, func(o *rung) bool { return o != clone.rungs[o.Key] }))
		}
	}
}

func TestRungsAboveAPathAreFound(t *testing.T) {
	c := New(Start{Now: 1})
	for _, path := range []string{"/a", "/a/b", "/a/b/c/d", "/ab", "/a-b"} {
		c.add(Rung{Key: hal.Key("kind" + path), Want: []Param{{Name: "path", Value: path}}})
	}
	var found []hal.Key
	for _, r := range c.concerned([]string{"/a/b/c"}, true) {
		found = append(found, r.Key)
	}
	require.Equal(t, []hal.Key{"kind/a", "kind/a/b", "kind/a/b/c/d"}, found)
	key, is := c.At("/a/b")
	require.True(t, is)
	require.Equal(t, hal.Key("kind/a/b"), key)
	_, is = c.At("/a/b/c")
	require.False(t, is)
}
