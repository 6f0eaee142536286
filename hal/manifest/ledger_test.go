package manifest

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// What counts though the ledger can't list it is not taken for new by the next start.
func TestALedgerThatCannotBeWrittenIsNotBelieved(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.put("b.yaml", pod("b")).pass(3 * second)
	require.Contains(t, w.changes(), "+b/")
	clear(w.fail)
	w.fail["read "+dir+"/b.yaml"] = errno("read", dir, syscall.EIO)
	require.NotContains(t, w.start().changes(), "synced")
	clear(w.fail)
	w.pass(2 * again)
	require.Contains(t, w.changes(), "synced")

	w.fail["write "+cache+"/"+next], w.fail["remove "+cache+"/"+ledger] = errno("write", cache, syscall.EIO), errno("remove", cache, syscall.EIO)
	w.put("c.yaml", pod("c")).pass(2 * again)
	require.Empty(t, w.changes(), "nothing new counts that a start would not know of")
	clear(w.fail)
	w.pass(2 * again)
	require.Contains(t, w.changes(), "+c/")
}

// At the very first start of a node a bad manifest can't hold what was up before: nothing was. It holds what it may, as at any other time.
func TestABadManifestOfTheFirstStartHoldsWhatItMay(t *testing.T) {
	for _, isDirectory := range []bool{true, false} {
		for _, isBare := range []bool{true, false} {
			w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).put("x.yaml", "kind: Bad\nmetadata: {name: b}\n")
			if isDirectory {
				w.names[dir+"/x.yaml"] = hal.Info{Type: hal.TypeDirectory, Mode: 0o755}
			}
			w.isBare = isBare
			w.start().pass(5 * second)
			require.Equal(t, isBare, slices.Contains(w.events, "synced"))
			w.changes()
			w.rm("a.yaml").rm("b.yaml").pass(5 * second)
			is := w.changes()
			require.Equal(t, isBare, strings.Contains(is, "-a/"), is)
			require.Equal(t, isBare && isDirectory, strings.Contains(is, "-b/"), is)
			w.isBare = false
			require.Equal(t, isBare, strings.Contains(w.start().pass(5*second).changes(), "synced"))
		}
	}
}

// On a full disk the ledger goes, as it can't tell of a new file. What was deleted meanwhile must not come back with it.
func TestALedgerThatGoesTakesTheCopiesOfDeletedFilesAlong(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("z.yaml", pod("z")).start()
	w.changes()
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.rm("a.yaml").put("b.yaml", pod("b")).pass(3 * second)
	require.Contains(t, w.changes(), "-a/")
	clear(w.fail)
	events := w.start().pass(30 * second).changes()
	require.NotContains(t, events, "+a/")
	require.Contains(t, events, "+b/")
	require.Empty(t, w.troubles())
}

// The disk stays full, and the ledger is gone by now: what is deleted later does not come back either.
func TestWhatIsDeletedAfterTheLedgerWentStaysDeleted(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("z.yaml", pod("z")).start()
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.put("b.yaml", pod("b")).pass(3 * second)
	w.changes()
	w.rm("a.yaml").pass(3 * second)
	require.Contains(t, w.changes(), "-a/")
	clear(w.fail)
	require.NotContains(t, w.start().pass(30*second).changes(), "+a/")
	require.Empty(t, w.troubles())

	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.put("c.yaml", pod("c")).pass(3 * second)
	w.changes()
	w.fail["remove "+cache+"/z.yaml"] = errno("remove", cache, syscall.EIO)
	w.rm("z.yaml").pass(3 * second)
	require.Empty(t, w.changes(), "a removal does not count as long as a start would not know of it")
	clear(w.fail)
	w.pass(2 * again)
	require.Contains(t, w.changes(), "-z/")
}
