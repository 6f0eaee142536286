package manifest

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// Somebody moves a pod to a file that is bad while volnode is away, which has lost its copy, or has written none. It is
// not gone, and nothing else that it held is.
func TestWhatIsMovedToABadFileIsNotGoneThoughItsCopyIs(t *testing.T) {
	for _, again := range []bool{false, true} {
		w := newWorld(t).put("a.yaml", pod("a")).put("c.yaml", pod("c")).start()
		delete(w.names, cache+"/a.yaml")
		w.rm("a.yaml").put("b.yaml", "kind: [\n"+pod("a")).start().pass(5 * second)
		if again {
			w.start().pass(5 * second)
		}
		require.NotContains(t, w.raw, hal.Synced{Source: Source})
		require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem, "is gone, and volnode does not know all that it held")
		w.put("b.yaml", pod("a")).pass(5 * second)
		require.Contains(t, w.raw, hal.Synced{Source: Source})
		require.Contains(t, w.changes(), "+a/")
		require.Empty(t, w.troubles())
		w.start()
		require.NotContains(t, strings.Join(w.events, "\n"), "removed")
		require.Empty(t, w.troubles())
	}
}

// A file of which volnode has no copy is gone, and no manifest is bad: its pod goes.
func TestWhatIsGoneWithoutACopyGoes(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("c.yaml", pod("c")).start()
	delete(w.names, cache+"/a.yaml")
	w.rm("a.yaml").start()
	require.Contains(t, w.raw, hal.Synced{Source: Source})
	require.Empty(t, w.troubles())
	require.NotContains(t, bookOf([]byte(w.data[cache+"/"+ledger])).lines.base, "a.yaml")
}

// Objects come again with other uids, and their copies can't be written, but what is kept can: a start serves what
// counted last, and not what the older copies have.
func TestAnOlderCopyTakesNoNameFromWhatCountedLast(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).put("b.yaml", claim("u2")).start()
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.put("a.yaml", owned("ant", "u3")).put("b.yaml", claim("u4")).pass(5 * second)
	require.Contains(t, w.changes(), "+ant/u3")
	w.fail, w.crashAt = map[string]error{}, cache+"/"+ledger
	require.Panics(t, func() { w.pass(30 * second) })
	w.crashAt = ""
	is := w.start().pass(30 * second).changes()
	require.NotContains(t, strings.Join(w.events, "\n"), "removed")
	require.Contains(t, is, "+ant/u3")
	require.Contains(t, is, "+c/u4")
	require.NotContains(t, is, "/u1")
	require.NotContains(t, is, "/u2")
}

// The copy of a manifest whose uid another has, too, is lost, and that manifest is bad: the other one still does not
// count, and says for whose sake, until the bad one is corrected, or is gone.
func TestWhoDidNotCountWaitsForTheOneThatIsLost(t *testing.T) {
	for _, isGone := range []bool{false, true} {
		w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", owned("b", "u1")).startBare()
		require.Equal(t, "+a/u1; synced", w.changes())
		delete(w.names, cache+"/a.yaml")
		w.put("a.yaml", "kind: [").start().pass(5 * second)
		require.Empty(t, w.changes())
		require.Equal(t, dir+"/b.yaml: document 1, line 1 did not count in the last run, and what counted then may be in "+
			dir+"/a.yaml, which is bad: correct or remove that file", w.troubles()[dir+"/b.yaml: Pod default/b"].Problem)
		if isGone {
			w.rm("a.yaml").pass(5 * second)
			require.Equal(t, "+b/u1; synced", w.changes())
			require.Empty(t, w.troubles())
		} else {
			w.put("a.yaml", owned("a", "u1")).pass(5 * second)
			require.Equal(t, "+a/u1; synced", w.changes())
			require.Contains(t, w.troubles()[dir+"/b.yaml: Pod default/b"].Problem, "give each its own uid")
		}
	}
}

// A manifest does not count, and changes, and the copy of that can't be written: what its older copy has takes nothing
// from a manifest that counts, and did not change.
func TestAnOlderCopyTakesNothingFromWhatDidNotChange(t *testing.T) {
	w := newWorld(t).put("c.yaml", owned("a", "u2")).start().put("a.yaml", owned("b", "u2")).pass(5 * second)
	require.Contains(t, w.troubles()[dir+"/a.yaml: Pod default/b"].Problem, "give each its own uid")
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.put("a.yaml", owned("a", "u1")).pass(5 * second)
	w.fail = map[string]error{}
	require.Equal(t, "+a/u2; synced", w.start().pass(5*second).changes())
	require.Contains(t, w.troubles()[dir+"/a.yaml: Pod default/a"].Problem, "which counts; remove one of them")
}

// A person accepts that a file is removed, and with it a pod whose copy is lost. volnode does not ask once more about
// the pod of the file by its uid.
func TestWhoAcceptsAMissingFileIsAskedOnce(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", pod("b")).put("c.yaml", owned("c", "u3")).startBare()
	w.left = []string{"u1", "u3"}
	w.rm("a.yaml").rm("c.yaml").loses(ledger, "c.yaml").start().pass(5 * second)
	require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem, "volnode has lost the record of the directory")
	require.Equal(t, []Accepted{{File: "a.yaml", Pods: []string{"default/a"}}, {Pods: []string{"u3"}}}, w.accepts())
	w.pass(5 * second)
	require.Contains(t, w.raw, hal.Synced{Source: Source})
	require.Contains(t, w.changes(), "-a/u1")
	require.Empty(t, w.troubles())
}

// The copy of a manifest is lost, and while no volnode runs its pod moves to a bad file: it is not gone, though each
// file that held it counts again, also after one more start.
func TestAPodWhoseCopyIsLostMayBeInABadFile(t *testing.T) {
	for why, text := range map[string]string{
		"unreadable": "", "cut": "kind: [\n", "mistake": pod("a") + "---\nspeck: {}\n",
	} {
		was := pod("a")
		w := newWorld(t).put("a.yaml", was).put("n.yaml", owned("n", "u2")).startBare()
		uid := w.served()
		w.put("a.yaml", owned("n", "u2")).put("n.yaml", was).loses("a.yaml")
		w.left = uid
		if text == "" {
			w.fail["read "+dir+"/n.yaml"] = errno("read", "n.yaml", syscall.EIO)
		} else {
			w.put("n.yaml", text)
		}
		for range 2 {
			w.start().pass(30 * second)
			require.NotContains(t, w.raw, hal.Synced{Source: Source}, why)
			require.Contains(t, w.troubles()[podsOnNode].Problem, "no manifest names pod ", why)
		}
		clear(w.fail)
		w.put("n.yaml", was).pass(60 * second)
		require.ElementsMatch(t, uid, w.served(), why)
		require.Contains(t, w.raw, hal.Synced{Source: Source}, why)
		require.Empty(t, w.troubles(), why)
	}
}

// A pod that was kept for a bad file is in a good one again. The agent dies before it has a copy of that, and the next
// one starts before another directory, which says nothing of what is in the one before: whatever else is in either.
func TestWhatWasKeptIsNotGoneInAnotherDirectory(t *testing.T) {
	for _, at := range []string{"", cache + "/" + kept, cache + "/" + next, cache + "/" + ledger, cache + "/a.yaml"} {
		for _, others := range []string{"is in none", "is in the one before", "is in both"} {
			t.Run(at+" another manifest "+others, func(t *testing.T) {
				w := newWorld(t).put("a.yaml", pod("a"))
				if others != "is in none" {
					w.put("z.yaml", pod("z"))
				}
				w.start().put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
				require.NotContains(t, w.changes(), "-a/")
				w.rm("bad.yaml").put("a.yaml", pod("a"))
				w.crashAt = at
				func() {
					defer func() { _ = recover() }()
					w.start()
				}()
				w.crashAt, w.born = "", 8
				if w.rm("a.yaml"); others == "is in the one before" {
					w.rm("z.yaml")
				}
				w.changes()
				w.start().pass(30 * second)
				require.Contains(t, w.changes(), "+a/")
				w.start().pass(30 * second)
				is := w.changes()
				require.Contains(t, is, "+a/", "and the one after that")
				require.NotContains(t, is, "-a/")
				require.NotEmpty(t, w.accepts())
				w.pass(30 * second)
				require.Contains(t, w.changes(), "-a/")
				require.Empty(t, w.troubles())
				require.NotContains(t, w.start().pass(30*second).changes(), "+a/")
			})
		}
	}
}

// A pod is kept for a file that does not count yet, and another directory comes in the place of the manifests.
func TestWhatIsKeptIsNotGoneAsItsDirectoryIsCovered(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("bad.yaml", "kind: [").start()
	w.rm("a.yaml").pass(3 * second)
	require.True(t, w.troubles()["Pod default/a"].Held)
	w.changes()
	w.put("bad.yaml", pod("a"))
	w.pass(second / 4)
	w.born = 8
	w.rm("bad.yaml").pass(30 * second)
	require.NotContains(t, w.changes(), "-a/")
}
