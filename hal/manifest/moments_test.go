package manifest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// This file is what happens while the directory of manifests is read.

// A notice comes while a reading is under way, of a file that was not there when the directory was listed: it is not
// lost.
func TestANoticeDuringAReadingIsNotLost(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).start()
	c := w.cloud.(*Cluster)
	isRead := false
	w.during["read "+dir+"/a.yaml"] = func() {
		if c.reading && !isRead {
			isRead = true
			w.names[dir+"/b.yaml"], w.data[dir+"/b.yaml"] = w.names[dir+"/a.yaml"], owned("bee", "u2")
			w.edited = append(w.edited, "b.yaml")
			c.read() // as the reading that the notice of it has planned
		}
	}
	w.changes()
	w.changed().pass(5 * second)
	require.True(t, isRead)
	require.Equal(t, "+bee/u2", w.changes())
}

// An empty directory is there each time the directory is listed, and the former one each time somebody looks which it
// is: nothing was removed.
func TestADirectoryThatIsReplacedWhileItIsRead(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).start()
	w.changes()
	there := w.names[dir+"/a.yaml"]
	w.during["stat "+dir] = func() { w.born, w.names[dir+"/a.yaml"] = 7, there }
	w.during["list "+dir] = func() {
		w.born = 8
		delete(w.names, dir+"/a.yaml")
		w.during["stat "+dir] = func() { // the second of the reading
			w.during["stat "+dir] = func() { w.born, w.names[dir+"/a.yaml"] = 7, there }
		}
	}
	for range 3 {
		w.changed().pass(second)
	}
	require.Empty(t, w.changes())
	require.Equal(t, hal.Trouble{
		Source: Source, Where: dir, Problem: "was replaced while volnode read it; volnode reads it again",
	}, w.troubles()[dir])
}
