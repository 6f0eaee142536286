package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// takesNoWrites has the disk of the cache be full, or bad.
func (w *world) takesNoWrites(e syscall.Errno) {
	w.fail["write "+cache+"/"+next], w.fail["append "+cache+"/"+ledger] = errno("write", cache, e),
		errno("write", cache, e)
}

// What counts though the ledger can't list it is not taken for new by the next start.
func TestALedgerThatCannotBeWrittenIsNotBelieved(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.takesNoWrites(syscall.ENOSPC)
	w.put("b.yaml", pod("b")).pass(3 * second)
	require.Contains(t, w.changes(), "+b/")
	clear(w.fail)
	w.fail["read "+dir+"/b.yaml"] = errno("read", dir, syscall.EIO)
	require.NotContains(t, w.start().changes(), "synced")
	clear(w.fail)
	w.pass(2 * again)
	require.Contains(t, w.changes(), "synced")

	w.takesNoWrites(syscall.EIO)
	w.fail["remove "+cache+"/"+ledger] = errno("remove", cache, syscall.EIO)
	w.put("c.yaml", pod("c")).pass(2 * again)
	require.Empty(t, w.changes(), "nothing new counts that a start would not know of")
	clear(w.fail)
	w.pass(2 * again)
	require.Contains(t, w.changes(), "+c/")
}

// At the very first start of a node a bad manifest can't hold what was up before: nothing was. It holds what it may, as
// at any other time.
func TestABadManifestOfTheFirstStartHoldsWhatItMay(t *testing.T) {
	for _, isDirectory := range []bool{true, false} {
		for _, isBare := range []bool{true, false} {
			w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).put("x.yaml",
				"kind: Bad\nmetadata: {name: b}\n")
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

// What a reading could not write down at all is in the ledger once a later one can, also if nothing has changed since.
func TestALedgerIsLateUntilItTellsOfAllThatHasGone(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).put("c.yaml", pod("c")).start()
	w.changes()
	w.takesNoWrites(syscall.EIO)
	w.rm("a.yaml").rm("b.yaml").pass(3 * second)
	clear(w.fail)
	w.pass(15 * second)
	require.Equal(t, []string{"c.yaml"}, slices.Collect(maps.Keys(bookOf([]byte(w.data[cache+"/"+ledger])).lines.base)))
	require.NotContains(t, w.start().changes(), "+a/")
}

// On a full disk the ledger goes, as it can't tell of a new file. What was deleted meanwhile must not come back with
// it.
func TestALedgerThatGoesTakesTheCopiesOfDeletedFilesAlong(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("z.yaml", pod("z")).start()
	w.changes()
	w.takesNoWrites(syscall.ENOSPC)
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
	w.takesNoWrites(syscall.ENOSPC)
	w.put("b.yaml", pod("b")).pass(3 * second)
	w.changes()
	w.rm("a.yaml").pass(3 * second)
	require.Contains(t, w.changes(), "-a/")
	clear(w.fail)
	require.NotContains(t, w.start().pass(30*second).changes(), "+a/")
	require.Empty(t, w.troubles())

	w.takesNoWrites(syscall.ENOSPC)
	w.put("c.yaml", pod("c")).pass(3 * second)
	w.changes()
	w.fail["remove "+cache+"/z.yaml"] = errno("remove", cache, syscall.EIO)
	w.rm("z.yaml").pass(3 * second)
	require.Empty(t, w.changes(), "a removal does not count as long as a start would not know of it")
	clear(w.fail)
	w.pass(2 * again)
	require.Contains(t, w.changes(), "-z/")
}

// book reads the ledger.
func (w *world) book() book { return bookOf([]byte(w.data[cache+"/"+ledger])) }

// A change costs a line, and not the whole ledger; and the ledger does not grow for ever.
func TestAChangeIsALineOfTheLedger(t *testing.T) {
	w := newWorld(t).many(1000).start().put("a.yaml", pod("a")).pass(5 * second)
	before := len(w.data[cache+"/"+ledger])
	w.put("b.yaml", pod("b")).pass(5 * second)
	require.Less(t, len(w.data[cache+"/"+ledger])-before, 500)
	require.Contains(t, w.book().lines.base, "b.yaml")

	w = newWorld(t).put("a.yaml", pod("a")).start()
	longest := 0
	for i := range 100 {
		w.put("b.yaml", pod(fmt.Sprint("b", i))).pass(5 * second)
		longest = max(longest, len(w.data[cache+"/"+ledger]))
	}
	require.Less(t, longest, 2*moreLines)
	require.Len(t, w.book().lines.base, 2)
}

// Wherever the last line is torn, it never counted; all before it does. A damage anywhere else is one of the whole.
func TestATornLineOfTheLedger(t *testing.T) {
	first := `{"files":{"a.yaml":{},"b.yaml":{}}}`
	more := `{"blind":true,"files":{"c.yaml":{}},"gone":["a.yaml"]}` + "\n"
	names := func(text string) []string { return slices.Sorted(maps.Keys(bookOf([]byte(text)).lines.base)) }
	require.Equal(t, []string{"a.yaml", "b.yaml"}, names(first), "as an earlier version writes it")
	require.False(t, bookOf([]byte(first)).lostRecord)
	all := first + "\n" + more
	require.Equal(t, []string{"b.yaml", "c.yaml"}, names(all))
	require.True(t, bookOf([]byte(all)).lostRecord)
	for cut := range len(more) {
		require.Equal(t, []string{"a.yaml", "b.yaml"}, names(first+"\n"+more[:cut]), cut)
		zeros := strings.Repeat("\x00", cut)
		require.Equal(t, []string{"a.yaml", "b.yaml"},
			names(first+"\n"+zeros+strings.Repeat("\x00", len(more)-cut)), cut)
		if 0 < cut && cut < len(more)-1 {
			require.Equal(t, []string{"a.yaml", "b.yaml"}, names(first+"\n"+zeros+more[cut:]), cut)
			require.False(t, bookOf([]byte(first+"\n"+more[:cut]+"\n"+more)).isThere, cut)
		}
	}
	for cut := range len(first) {
		require.False(t, bookOf([]byte(first[:cut])).isThere, cut)
		require.False(t, bookOf([]byte(first[:cut]+"\n"+more)).isThere, cut)
	}
}

// A run does not add to a line that may be torn, nor to a ledger of an earlier version.
func TestTheFirstChangeOfARunWritesTheLedgerAgain(t *testing.T) {
	for how, spoil := range map[string]func(text string) string{
		"torn": func(text string) string { return text + `{"fi` },
		"old":  func(text string) string { return strings.TrimSuffix(text, "\n") },
	} {
		w := newWorld(t).put("a.yaml", pod("a")).start()
		w.data[cache+"/"+ledger] = spoil(w.data[cache+"/"+ledger])
		w.start().put("b.yaml", pod("b")).pass(5 * second)
		w.rm("a.yaml").pass(5 * second)
		require.Equal(t, []string{"b.yaml"}, slices.Sorted(maps.Keys(w.book().lines.base)), how)
		w.start()
		require.Equal(t, "+b/"+string(uidOf("node1", "Pod", "default", "b"))+"; synced", w.changes(), how)
	}
}

// Somebody removes the ledger while the agent runs: the next change has it written again.
func TestALedgerThatIsRemovedIsWrittenAgain(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start().put("b.yaml", pod("b")).pass(5 * second)
	delete(w.names, cache+"/"+ledger)
	w.put("c.yaml", pod("c")).pass(5 * second)
	require.Len(t, w.book().lines.base, 3)
	require.Empty(t, w.troubles())
}

// What has the name of an own file and is none keeps no pod from being served. It is told until it is moved away, and
// another filesystem over it is waited for.
func TestAnOwnFileThatIsNoFileIsLost(t *testing.T) {
	types := map[syscall.Errno]hal.FileType{
		syscall.EISDIR: hal.TypeDirectory, syscall.ELOOP: hal.TypeSymlink, syscall.ENXIO: hal.TypeSocket,
		syscall.EINVAL: hal.TypeFIFO,
	}
	for e, is := range types {
		for _, name := range []string{ledger, kept} {
			w := newWorld(t).put("a.yaml", pod("a")).start()
			at := cache + "/" + name
			w.names[at], w.fail["read "+at] = hal.Info{Type: is}, errno("read", at, e)
			w.put("b.yaml", pod("b")).start().pass(5 * second)
			told := slices.IndexFunc(w.raw, func(event hal.ClusterEvent) bool {
				trouble, _ := event.(hal.Trouble)
				return trouble.Where == at && strings.Contains(trouble.Problem, "a "+is.String()+" is in its place") &&
					strings.Contains(trouble.Problem, "move it away (ls -la "+cache+")")
			})
			require.GreaterOrEqual(t, told, 0, "%s: %v", at, w.raw)
			require.Contains(t, w.raw, hal.Synced{Source: Source}, at)
			require.Contains(t, w.changes(), "+b/", at)
			delete(w.fail, "read "+at)
			w.loses(name).pass(2 * again)
			require.Empty(t, w.troubles())
		}
	}
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.fail["read "+cache+"/"+ledger] = errno("read", cache+"/"+ledger, syscall.EXDEV)
	require.Empty(t, w.start().changes())
	require.Contains(t, w.troubles()[cache].Problem, "unmount it (findmnt -T "+cache+")")
}

// volnode reports an own file that is empty, or that somebody else has written, and writes it again.
func TestAnOwnFileThatIsDamagedIsTold(t *testing.T) {
	for name, texts := range map[string][]string{ledger: {"", "junk", "{\n"}, kept: {"", "junk", "{\n"}} {
		for _, text := range texts {
			w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
			w.put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
			w.data[cache+"/"+name] = text
			w.start()
			require.Contains(t, strings.Join(w.events, "\n"), cache+"/"+name+": cannot use", "%s %q", name, text)
			w.rm("bad.yaml").pass(2 * again)
			require.NotContains(t, w.troubles(), cache+"/"+name)
		}
	}
}

// What a bad manifest keeps is known by the ledger as well: if somebody has removed or emptied what tells of it, the
// pods that are up wait for a person.
func TestWhatWasKeptIsMissed(t *testing.T) {
	for _, spoils := range []func(w *world){
		func(w *world) { w.loses(kept) }, func(w *world) { w.data[cache+"/"+kept] = "" },
	} {
		w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", pod("b")).start()
		w.put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
		spoils(w)
		w.recalls("u1").pass(2 * again)
		require.NotContains(t, w.changes(), "synced")
		require.Contains(t, w.troubles()[podsOnNode].Problem, "u1")
	}
}

// What is kept goes from its file once the ledger no longer says that there is any: on a full disk a removal works, and
// a line of the ledger does not.
func TestWhatIsKeptGoesAfterItsLineInTheLedger(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", pod("b")).start()
	w.put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
	w.takesNoWrites(syscall.ENOSPC)
	w.rm("bad.yaml").pass(40 * second)
	require.Contains(t, w.changes(), "-a/u1")
	_, isThere := w.names[cache+"/"+kept]
	require.Equal(t, w.book().kept > 0, isThere)
	clear(w.fail)
	w.recalls("u1").pass(2 * again)
	require.Contains(t, w.changes(), "synced")
	require.Empty(t, w.troubles())
}

// What is kept and was changed serves nobody, in this start or a later one.
func TestWhatIsKeptAndWasChangedServesNobody(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", pod("b")).start()
	w.put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
	w.data[cache+"/"+kept] = strings.Replace(w.data[cache+"/"+kept], "u1", "u0", 1)
	for range 2 {
		w.start().pass(20 * second)
		require.NotContains(t, w.changes(), "u0")
	}
}

// Where a person accepts what is missing, what is behind a path that nobody could look at is no part of it, and it is
// known as soon as somebody could.
func TestAPathThatNobodyCouldLookAtIsNotAccepted(t *testing.T) {
	w := newWorld(t).put("b.yaml", pod("b"))
	left := []string{"/root/plugins/publish/pv"}
	h := hal.Host{Runtime: runtime{w}, Machine: &machine{}, Tree: tree{w: w}, Files: files{w}, Watches: watches{w}}
	c := New(h, Options{Dir: dir, CacheDir: cache, NodeName: "node1", LeftPods: func() []string { return left }})
	w.cloud = c
	c.Watch(w.take)
	w.pass(5 * second)
	require.Contains(t, w.troubles()["/root/plugins/publish/pv"].Problem, "make it readable")
	all, why := c.Accept()
	require.Empty(t, all)
	require.Contains(t, why, "volnode cannot look into /root/plugins/publish/pv")
	left = []string{"u9"}
	w.pass(2 * again)
	require.NotContains(t, w.changes(), "synced")
	require.Contains(t, w.troubles()[podsOnNode].Problem, "pod u9")
	all, _ = c.Accept()
	require.Equal(t, []Accepted{{Pods: []string{"u9"}}}, all)
	w.pass(2 * again)
	require.Contains(t, w.changes(), "synced")
	require.Empty(t, w.troubles())
}
