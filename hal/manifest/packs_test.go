package manifest

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// many puts so many manifests, of the pods pod-0, pod-1 and so on.
func (w *world) many(n int) *world {
	for i := range n {
		w.put(fmt.Sprintf("pod-%d.yaml", i), pod(fmt.Sprint("pod-", i)))
	}
	return w
}

// kept returns the names of the copies, and of the packs.
func (w *world) kept() (copies, packs []string) {
	for at := range w.names {
		name, isKept := strings.CutPrefix(at, cache+"/")
		if isKept && manifest(name) {
			copies = append(copies, name)
		} else if isKept && strings.HasPrefix(name, packed) {
			packs = append(packs, name)
		}
	}
	slices.Sort(copies)
	return copies, packs
}

// What it costs to keep many new manifests, and to read them again at a start, does not grow with each of them.
func TestManyCopiesAreWrittenAndReadTogether(t *testing.T) {
	w := newWorld(t).many(1000).start()
	copies, packs := w.kept()
	require.Empty(t, copies)
	require.Len(t, packs, 4)
	require.LessOrEqual(t, w.written, 2*4+3*2, "packs and three ledgers, each written and renamed")
	reads := 0
	for at := range w.names {
		if strings.HasPrefix(at, cache) {
			w.during["read "+at] = func() { reads++ }
		}
	}
	require.Contains(t, w.start().changes(), "+pod-999/")
	require.Equal(t, 4+1, reads, "packs and the ledger")
}

// The ledger is lost: who is there is served by the copy in its pack, and nobody comes back who was deleted, though a
// bad file may hold anybody.
func TestAPackServesWithoutALedger(t *testing.T) {
	w := newWorld(t).many(10).start()
	w.put("pod-7.yaml", pod("new")).put("pod-8.yaml", pod("newer")).put("pod-9.yaml", pod("newest")).put("pod-6.yaml",
		pod("other")).pass(5 * second)
	w.rm("pod-2.yaml").pass(5 * second)
	delete(w.names, cache+"/"+ledger)
	w.put("pod-5.yaml", "speck: {}\n").put("pod-7.yaml", "speck: {}\n").put("x.yaml",
		"kind: [\n").start().pass(30 * second)
	is := w.changes()
	require.Contains(t, is, "+pod-5/")
	require.Contains(t, is, "+new/")
	require.NotContains(t, is, "+pod-7/", "it is the newest copy that serves")
	require.NotContains(t, is, "+pod-2/")
}

// A batch that begins with the same manifest as an earlier one takes nothing from that one's pack.
func TestPacksOfOneNameAreTwo(t *testing.T) {
	w := newWorld(t).many(10).start()
	for i := range 4 {
		w.put(fmt.Sprintf("pod-%d.yaml", i), pod(fmt.Sprint("new-", i)))
	}
	w.pass(5*second).put("pod-5.yaml", "speck: {}\n").put("pod-1.yaml", "speck: {}\n").start().pass(30 * second)
	is := w.changes()
	require.Contains(t, is, "+pod-5/")
	require.Contains(t, is, "+new-1/")
}

// What has the name of a pack and is none is passed over.
func TestAPackThatIsNoFile(t *testing.T) {
	w := newWorld(t).many(10).start()
	_, packs := w.kept()
	w.names[cache+"/"+packs[0]] = hal.Info{Type: hal.TypeDirectory, Mode: 0o755}
	w.fail["read "+cache+"/"+packs[0]] = errno("read", packs[0], syscall.EISDIR)
	w.put("n.yaml", pod("n")).start().pass(5 * second)
	require.Contains(t, w.raw, hal.Synced{Source: Source})
	require.Contains(t, w.changes(), "+n/")
}

// Somebody removes copies, packs, the ledger, or all of them, under a living agent: they are written again, and a bad
// manifest is served after a restart.
func TestCopiesThatSomebodyRemovesAreWrittenAgain(t *testing.T) {
	for _, what := range []string{"alone.yaml", packed, ledger, ""} {
		w := newWorld(t).many(8).start()
		w.put("alone.yaml", pod("alone")).put("junk.yaml", "kind: [").pass(5 * second)
		w.rm("pod-3.yaml").pass(5 * second) // it is kept, as the junk may hold it
		require.Contains(t, w.names, cache+"/"+kept)
		before := w.ours(what)
		require.NotEmpty(t, before)
		w.loses(before...).pass(2 * second)
		require.NotEmpty(t, w.ours(what), what)
		w.put("alone.yaml", "kind: [").put("pod-1.yaml", "kind: [").changes()
		is := w.start().pass(30 * second).changes()
		for _, name := range []string{"alone", "pod-1", "pod-3"} {
			require.Contains(t, is, "+"+name+"/", what)
		}
		require.Contains(t, is, "synced", what)
	}
}

// What somebody changes in place, and leaves as long as it was, is written again as well: a copy, a pack, the ledger
// and what is kept.
func TestCopiesThatSomebodyChangesAreWrittenAgain(t *testing.T) {
	w := newWorld(t).many(5).start().put("a.yaml", pod("a")).pass(5 * second)
	w.put("junk.yaml", "kind: [").pass(5 * second).rm("pod-3.yaml").pass(5 * second) // it is kept
	for _, name := range append([]string{"a.yaml", ledger, kept}, w.ours(packed)...) {
		at := cache + "/" + name
		was, info := w.data[at], w.names[at]
		w.ticks++
		info.Changed = w.ticks
		w.names[at], w.data[at] = info, strings.Repeat("x", len(was))
		w.tells(name)
		w.pass(5 * second)
		require.NotContains(t, w.data[at], "xxx", name)
	}
}

// What somebody changed in a pack while volnode was away does not stay: the copies that are good move out, also that of
// a bad manifest.
func TestAPackIsChangedWhileNobodyLooks(t *testing.T) {
	for _, many := range []int{5, 40} {
		w := newWorld(t).many(many).start()
		_, packs := w.kept()
		at := cache + "/" + packs[0]
		name := base64.StdEncoding.EncodeToString([]byte(pod("pod-3")))
		require.Contains(t, w.data[at], name)
		w.data[at] = strings.Replace(w.data[at], name, strings.ToLower(name), 1)
		w.put("pod-1.yaml", "kind: [").start().pass(5 * second)
		w.changes()
		for _, name := range w.ours(packed) {
			require.Equal(t, packName(sha256.Sum256([]byte(w.data[cache+"/"+name]))), name)
		}
		before := w.written
		w.put("new.yaml", pod("new")).pass(5 * second)
		require.LessOrEqual(t, w.written, before+2*2, "the new one and the ledger, each written and renamed")
		require.Contains(t, w.start().pass(5*second).changes(), "+pod-1/")
		require.Len(t, w.troubles(), 1)
	}
}

// A copy that somebody changed while volnode was away is none, though it is good YAML: what it lacks may count.
func TestACopyIsChangedWhileNobodyLooks(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")+"---\n"+owned("bee", "u2")).start()
	w.data[cache+"/a.yaml"] = owned("ant", "u1")
	w.put("a.yaml", "kind: [").start().pass(5 * second)
	require.NotContains(t, w.raw, hal.Synced{Source: Source})
	w.put("a.yaml", owned("ant", "u1")+"---\n"+owned("bee", "u2")).pass(5 * second)
	require.Contains(t, w.raw, hal.Synced{Source: Source})
	require.Empty(t, w.troubles())
}

// The last good copy of a manifest that is bad just then, or missing in another directory, can't be written again: that
// is told.
func TestACopyOfABadManifestThatSomebodyRemovesIsTold(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
	w.put("a.yaml", "kind: [").pass(5 * second)
	require.NotContains(t, w.troubles()[dir+"/a.yaml"].Problem, "was removed")
	w.loses("a.yaml", "b.yaml").pass(2 * second)
	require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem,
		"until it is corrected, its last good content counts, and it would not survive a restart")
	require.NotContains(t, w.troubles(), dir+"/b.yaml")
	w.put("a.yaml", pod("a")).pass(5 * second)
	require.Empty(t, w.troubles())
	require.Contains(t, w.ours(""), "a.yaml")
}

// ours returns the names among the copies that begin so.
func (w *world) ours(prefix string) (names []string) {
	for at := range w.names {
		if name, is := strings.CutPrefix(at, cache+"/"); is && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Copies that are as they were move out of a pack of which most is of the past, and what nobody needs goes.
func TestAPackGoesWithMostOfItsCopies(t *testing.T) {
	w := newWorld(t).many(8).start()
	_, first := w.kept()
	for i := range 4 {
		w.put(fmt.Sprintf("pod-%d.yaml", i), pod(fmt.Sprint("new-", i))).pass(5 * second)
	}
	_, packs := w.kept()
	require.Equal(t, first, packs)
	w.rm("pod-4.yaml").pass(5 * second)
	copies, packs := w.kept()
	require.Empty(t, packs)
	require.Len(t, copies, 7)
	w.changes()
	events := w.start().changes()
	for _, name := range []string{"new-0", "new-3", "pod-5", "pod-7"} {
		require.Contains(t, events, "+"+name+"/")
	}
	require.NotContains(t, events, "+pod-4/")
	require.Empty(t, w.troubles())
}

// A manifest that is deleted and comes again with other content does not come back as what it was, which a pack still
// has.
func TestWhatAPackHasOfTheTimeBeforeADeletionIsForgotten(t *testing.T) {
	for dies, isOver := 1, false; !isOver; dies++ {
		w := newWorld(t).many(8).start()
		w.rm("pod-1.yaml").pass(5 * second)
		_, packs := w.kept()
		require.Contains(t, w.data[cache+"/"+packs[0]], `"pod-1.yaml"`)
		isOver = !w.dying(dies, func() { w.put("pod-1.yaml", pod("other")).pass(5 * second) })
		events := w.start().pass(5 * second).changes()
		require.NotContains(t, events, "pod-1/", dies)
		require.Contains(t, events, "+other/", dies)
		require.Empty(t, w.troubles())
	}
}

// What was in a pack that is lost is not known: nothing is torn down before each manifest is good again.
func TestALostPackIsNotAnEmptyOne(t *testing.T) {
	for how, spoil := range map[string]func(w *world, at string){
		"gone":    func(w *world, at string) { delete(w.names, at) },
		"damaged": func(w *world, at string) { w.data[at] = w.data[at][:7] },
	} {
		w := newWorld(t).many(8).start()
		_, packs := w.kept()
		spoil(w, cache+"/"+packs[0])
		w.put("pod-1.yaml", "kind: [")
		w.start().pass(10 * second)
		require.NotContains(t, w.raw, hal.Synced{Source: Source}, how)
		require.Contains(t, w.troubles()[dir+"/pod-1.yaml"].Problem, "its former content is not known", how)
		w.put("pod-1.yaml", pod("pod-1")).pass(10 * second)
		require.Contains(t, w.raw, hal.Synced{Source: Source}, how)
		require.Empty(t, w.troubles(), how)
		_, after := w.kept()
		require.Len(t, after, 1, how)
	}
}

// The last good content of a bad manifest serves if its copy lies in a pack. A Secret lies in none, so it goes with its
// manifest.
func TestACopyInAPackServes(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: b}\n"
	w := newWorld(t).many(8).put("s.yaml", secret).start()
	copies, packs := w.kept()
	require.Equal(t, []string{"s.yaml"}, copies)
	require.Len(t, packs, 1)
	w.put("s.yaml", "kind: [").put("pod-1.yaml", "kind: [")
	events := w.start().pass(5 * second).changes()
	require.Contains(t, events, "+pod-1/")
	require.Contains(t, events, "synced")
	s, err := w.cloud.(*Cluster).Secret(hal.Call{}, "default", "s")
	require.NoError(t, err)
	require.Equal(t, hal.NewSecret(map[string]string{"a": "b"}), s)
	w.rm("s.yaml").pass(5 * second)
	copies, _ = w.kept()
	require.Empty(t, copies)
}
