package manifest

import (
	"path"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This file is who may have a name or a uid when the one who had it moves from one file to another, or is not known.

// moving has a pod leave its file, and come up in another one after a while, with two that wait for its name and uid.
func moving(t *testing.T, after time.Duration, to string) *world {
	w := newWorld(t).put("d.yaml", owned("b", "u1")).start()
	w.put("a.yaml", owned("b", "u2")).put("e.yaml", owned("a", "u1")).pass(second)
	require.Equal(t, "+b/u1; synced", w.changes())
	return w.put("d.yaml", owned("other", "u3")).pass(after).put("b.yaml", to).pass(5 * second)
}

func TestWhoWaitsTakesNothingFromAnObjectThatMoves(t *testing.T) {
	isGone, isMoved := 0, 0
	for after := time.Duration(0); after < second; after += 10 * time.Millisecond {
		switch is := moving(t, after, owned("b", "u1")).changes(); is {
		case "+other/u3":
			isMoved++
		case "-b/u1 +a/u1 +b/u2 +other/u3":
			isGone++
			require.GreaterOrEqual(t, after, 2*debounce, "its file was read in time")
		default:
			t.Fatal(after, is)
		}
	}
	require.NotZero(t, isMoved)
	require.NotZero(t, isGone)
}

func TestWhoWaitsTakesNothingFromAnObjectInABadFile(t *testing.T) {
	for _, text := range []string{owned("b", "u1") + "---\nspeck: {}\n", "kind: Pod\nmetadata: {", "x: u1\n"} {
		waitsForBad(t, text)
	}
}

func waitsForBad(t *testing.T, text string) {
	w := moving(t, 100*time.Millisecond, text)
	require.Equal(t, "+b/u2 +other/u3", w.changes())
	require.True(t, w.troubles()["Pod default/b"].Held)
	require.Contains(t, w.troubles()[dir+"/e.yaml: Pod default/a"].Problem, dir+"/b.yaml may hold, and that is bad")
	w.start()
	require.Equal(t, "+b/u1 +b/u2 +other/u3; synced", w.changes())
	require.True(t, w.troubles()["Pod default/b"].Held)
	w.rm("a.yaml").rm("e.yaml").put("b.yaml", owned("b", "u1")).pass(second)
	require.Equal(t, "-b/u2 +b/u1", w.changes())
	require.Empty(t, w.troubles())
}

// An object that is made again under its name has it as soon as its own file counts.
func TestAnObjectThatIsMadeAgainWaitsForNoBadFile(t *testing.T) {
	w := newWorld(t).put("d.yaml", owned("b", "u1")).put("x.yaml", pod("b")+"---\nspeck: {}\n").start()
	w.changes()
	w.put("d.yaml", owned("b", "u2")).pass(second)
	require.Equal(t, "-b/u1 +b/u2", w.changes())
}

// Somebody gives a the uid of b by mistake. What a was stays as well.
func TestWhoWaitsForAnObjectThatMovesStays(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", owned("b", "u2")).start()
	w.put("a.yaml", owned("a", "u2")).pass(second).changes()
	w.put("b.yaml", owned("c", "u3")).pass(300*time.Millisecond).put("other.yaml", owned("b", "u2")).pass(second)
	require.Equal(t, "+c/u3", w.changes())
}

func TestOfTwoNewcomersNeitherCountsWhileTheRecordIsLost(t *testing.T) {
	for other, text := range map[string]string{"its uid": owned("b", "u1"), "its name": owned("a", "u2")} {
		w := newWorld(t).put("a.yaml", owned("a", "u1")).start()
		w.put("0.yaml", text).put("z.yaml", owned("z", "u9")).pass(second).changes()
		w.loses(ledger, "a.yaml", "0.yaml", "z.yaml")
		for range 2 {
			w.start()
			require.Equal(t, "+z/u9", w.changes(), other)
			require.Contains(t, w.troubles()[dir+"/a.yaml: Pod default/a"].Problem, "so neither counts", other)
			require.Len(t, w.troubles(), 2, other)
		}
		w.rm("0.yaml").pass(second)
		require.Equal(t, "+a/u1; synced", w.changes(), other)
		require.Empty(t, w.troubles(), other)
	}
}

// The copy of a manifest is lost, or could not be written. Who was in it comes before who copied its name or its uid.
func TestWhoCountedWithoutACopyComesBeforeANewcomer(t *testing.T) {
	for other, text := range map[string]string{"its uid": owned("a", "u1"), "its name": owned("b", "u2")} {
		for _, isBad := range []bool{false, true} {
			for _, file := range []string{"a.yaml", "z.yaml"} {
				w := newWorld(t).put("d.yaml", owned("b", "u1")).startBare()
				delete(w.names, cache+"/d.yaml")
				w.put(file, text)
				if isBad {
					w.put("d.yaml", owned("b", "u1")+"---\nspeck: {}\n")
				}
				w.start().pass(5 * second)
				if isBad {
					require.Empty(t, w.changes(), other)
					require.Contains(t, w.troubles()[dir+"/d.yaml"].Problem, "tears down nothing", other)
					w.put("d.yaml", owned("b", "u1")).pass(5 * second)
				}
				require.Equal(t, "+b/u1; synced", w.changes(), "%s, bad %v, %s", other, isBad, file)
			}
		}
	}
}

// Of three newcomers one has the name of another and one its uid, and the record of who counted is lost: none counts.
func TestOfThreeNewcomersNoneCountsWhileTheRecordIsLost(t *testing.T) {
	for _, files := range [][3]string{{"a", "b", "c"}, {"a", "c", "b"}, {"b", "a", "c"}, {"c", "a", "b"}} {
		w := newWorld(t).put(files[0]+".yaml", owned("a", "u1")).startBare()
		w.put(files[1]+".yaml", owned("a", "u2")).put(files[2]+".yaml", owned("b", "u1"))
		w.loses(ledger, files[0]+".yaml").start()
		require.Empty(t, w.changes(), files)
		require.Len(t, w.troubles(), 3, files)
	}
}

// The record of who counted is lost. A pod that was on the node comes before a newcomer that has its name.
func TestWhoWasOnTheNodeComesBeforeANewcomer(t *testing.T) {
	w := newWorld(t).put("n.yaml", owned("a", "u1")).startBare()
	w.put("a.yaml", owned("a", "u2")).loses(ledger, "n.yaml")
	w.left = []string{"u1"}
	w.start().pass(5 * second)
	require.Equal(t, "+a/u1; synced", w.changes())
}

// The copy of a manifest is lost, and the manifest can't be read. A newcomer has its uid: it waits.
func TestNobodyTakesTheUIDOfAPodWhoseFileCannotBeRead(t *testing.T) {
	w := newWorld(t).put("n.yaml", owned("a", "u1")).startBare()
	w.put("z.yaml", owned("b", "u1")).loses("n.yaml")
	w.left, w.fail["read "+dir+"/n.yaml"] = []string{"u1"}, errno("read", "n.yaml", syscall.EIO)
	w.start().pass(5 * second)
	require.Empty(t, w.changes())
	clear(w.fail)
	w.changed().pass(30 * second)
	require.Equal(t, "+a/u1; synced", w.changes())
}

// A pod comes beside one whose file is bad, and has its name. Once that file is good again, a third pod does not get
// the uid of the first.
func TestWhoIsServedBesideAnotherKeepsItsUID(t *testing.T) {
	w := newWorld(t).put("n.yaml", owned("a", "u1")).start()
	w.fail["read "+dir+"/o.yaml"] = errno("read", "o.yaml", syscall.EIO)
	w.rm("n.yaml").put("o.yaml", owned("a", "u1")).put("z.yaml", owned("a", "u2")).pass(5 * second)
	require.Equal(t, "+a/u1; synced; +a/u2", w.changes())
	clear(w.fail)
	w.put("o.yaml", owned("a", "u1")).put("p.yaml", owned("b", "u1")).pass(30 * second)
	require.Empty(t, w.changes())
	require.True(t, w.troubles()["Pod default/a"].Held)
	w.rm("z.yaml").rm("p.yaml").pass(5 * second)
	require.Equal(t, "-a/u2", w.changes())
	require.Empty(t, w.troubles())
}

// A pod is kept because another manifest claims its name, and one of that name comes after it. Its uid is its own while
// it moves to another file.
func TestOfTwoPodsWithOneNameEachKeepsItsUIDAsItMoves(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u0")).startBare()
	w.put("z.yaml", owned("a", "u3")).pass(second)
	w.put("a.yaml", owned("a", "u1")).pass(second)
	w.put("b.yaml", owned("b", "u1")).pass(second)
	require.Equal(t, "+a/u0; synced; +a/u1", w.changes())
	w.rm("a.yaml").put("c.yaml", owned("a", "u1")).pass(200 * time.Millisecond)
	w.put("c.yaml", "kind: [\n").pass(5 * second)
	require.NotContains(t, w.changes(), "/u1")
}

// No copy could be written of two pods, and one gets the uid of the other by mistake. Whichever file comes first, and
// whenever the agent dies, the next start knows whose uid it is, and keeps the pod of the one that does not count.
func TestWhoWasServedComesBeforeWhoMayHaveBeen(t *testing.T) {
	for _, name := range []string{"a", "z"} {
		for at, died := 1, true; died; at++ {
			w := newWorld(t).startBare()
			w.left = []string{"u1", "u2"}
			w.fail["sync "+path.Dir(cache)] = errno("sync", path.Dir(cache), syscall.EIO)
			w.put(name+".yaml", owned(name, "u1")).put("b.yaml", owned("b", "u2")).pass(second)
			clear(w.fail)
			w.put("b.yaml", owned("b", "u1"))
			died = w.dying(at, func() { w.pass(3 * second) })
			changes := w.start().pass(10 * second).changes()
			isAll := strings.Contains(changes, "+b/u2") && strings.Contains(changes, "+"+name+"/u1")
			require.True(t, isAll || !strings.Contains(changes, "synced"), "%s, at %d: %s", name, at, changes)
			require.NotContains(t, changes, "+b/u1", "%s, at %d", name, at)
			require.Contains(t, w.troubles(), dir+"/b.yaml: Pod default/b", "%s, at %d", name, at)
		}
	}
}
