package manifest

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// This file is what people do to manifests.

func owned(name, uid string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {name: %s, uid: %s}\n"+spec, name, uid)
}

func claim(uid string) string {
	return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c, uid: " + uid + "}\n" +
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}\n"
}

// changes returns what was delivered since it was asked last, but for troubles.
func (w *world) changes() string {
	var all []string
	for _, e := range w.raw {
		if changed, ok := e.(hal.Changed); ok {
			var parts []string
			for _, o := range changed.Removed {
				parts = append(parts, "-"+hal.IdentityOf(o).Name+"/"+hal.IdentityOf(o).UID)
			}
			for _, o := range changed.Applied {
				parts = append(parts, "+"+hal.IdentityOf(o).Name+"/"+hal.IdentityOf(o).UID)
			}
			all = append(all, strings.Join(parts, " "))
		}
		if _, ok := e.(hal.Synced); ok {
			all = append(all, "synced")
		}
	}
	w.raw, w.events = nil, nil
	return strings.Join(all, "; ")
}

// troubles returns what is wrong at present, by where.
func (w *world) troubles() map[string]hal.Trouble { return w.cloud.(*Cluster).troubles }

func TestARenameIsOneDifference(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("old", "u")+"---\n"+claim("c1")).start()
	require.Equal(t, "+c/c1 +old/u; synced", w.changes())
	w.put("a.yaml", owned("new", "u")+"---\n"+claim("c2")).pass(second)
	require.Equal(t, "-old/u -c/c1 +c/c2 +new/u", w.changes())
	w.rm("a.yaml").put("z.yaml", owned("third", "u")+"---\n"+claim("c2")).pass(second)
	require.Equal(t, "-new/u +third/u", w.changes())
}

func TestOneWhoWasThereKeepsNameAndUID(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", owned("b", "u2")).start()
		require.Equal(t, "+a/u1 +b/u2; synced", w.changes())
		w.put("a.yaml", owned("a", "u2")).pass(second)
		require.Empty(t, w.changes())
		if restart {
			w.start()
			require.Equal(t, "+a/u1 +b/u2; synced", w.changes())
		}
		require.True(t, w.troubles()["Pod default/a"].Held)
		require.Contains(t, w.troubles()[dir+"/a.yaml: Pod default/a"].Problem, "give each its own uid")
		w.put("0.yaml", owned("b", "u3")).pass(second) // a name that is taken
		require.Empty(t, w.changes())
		w.put("b.yaml", owned("b", "u1")).rm("0.yaml").pass(second)
		require.Equal(t, "-b/u2 -a/u1 +a/u2 +b/u1", w.changes())
		require.Empty(t, w.troubles())
	}
}

func TestABadFileKeepsWhatItMayHoldAndNoMore(t *testing.T) {
	bad := func(pods string) string { return pods + "---\nspeck: {}\n" }
	for name, c := range map[string]struct {
		text  string // of the file that turns bad, or comes bad
		holds string // which pods it keeps
	}{
		"it names nobody":                 {bad(pod("other")), ""},
		"a part of a longer name":         {bad(pod("ant-1") + "---\n" + pod("web.ant")), ""},
		"somebody was moved there":        {bad(pod("ant")), "ant"},
		"by uid under another name":       {bad(owned("new", "uid-bee")), "bee"},
		"it is cut short":                 {"apiVersion: v1\nkind: Pod\nmetadata: {name", "ant bee cow"},
		"it is empty":                     {"", "ant bee cow"},
		"zeros, as a crash leaves them":   {strings.Repeat("\x00", 100) + "\n", "ant bee cow"},
		"a letter is spelt by its number": {bad("metadata: {name: \"\\x61\"}\n"), "ant bee cow"},
		"a backslash that spells none":    {bad("args: ['\\n']\n"), ""},
		"JSON that is whole":              {"{\"kind\": \"Pod\", \"metadata\": {\"name\": \"cow\"}}", "cow"},
	} {
		for _, kind := range []string{"new", "edited", "at a start"} {
			t.Run(name+", "+kind, func(t *testing.T) {
				w := newWorld(t).put("a.yaml", pod("ant")).put("b.yaml", owned("bee", "uid-bee")).put("c.yaml", pod("cow"))
				if kind == "edited" {
					w.put("x.yaml", pod("x"))
				}
				w.start().changes()
				w.put("x.yaml", c.text)
				if kind != "at a start" {
					w.pass(second)
				}
				w.rm("a.yaml").rm("b.yaml").rm("c.yaml")
				if kind == "at a start" {
					w.start()
				}
				w.pass(3 * second)
				events := w.changes()
				if kind == "at a start" {
					require.Contains(t, events, "synced", "a bad file does not stop the node")
				}
				held := ""
				for _, pod := range []string{"ant", "bee", "cow"} {
					if w.troubles()["Pod default/"+pod].Held {
						held += " " + pod
					}
				}
				require.Equal(t, c.holds, strings.TrimSpace(held))
				w.rm("x.yaml").pass(second)
				require.Empty(t, w.troubles())
				events += w.changes()
				for _, pod := range strings.Fields(c.holds) {
					require.Contains(t, events, "-"+pod+"/")
				}
			})
		}
	}
}

func TestWhatIsNoFileIsTrouble(t *testing.T) {
	for name, info := range map[string]hal.Info{
		"directory": {Type: hal.TypeDirectory, Mode: 0o755}, "fifo": {Type: hal.TypeFIFO, Mode: 0o644},
		"link": {Type: hal.TypeSymlink}, "socket": {Type: hal.TypeSocket}, "mount": {MountPoint: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
			w.changes()
			w.names[dir+"/a.yaml"] = info
			w.changed().pass(second)
			require.Empty(t, w.changes())
			require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem, "until it is corrected, its last good content counts")
			require.Contains(t, w.start().changes(), "synced", "also after a start")
			require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem, "until it is corrected, its last good content counts")
			w.names[dir+"/new.yaml"] = info // nobody was ever there
			w.rings("new.yaml").rm("b.yaml").pass(second)
			require.Contains(t, w.troubles(), dir+"/new.yaml")
			isRemoved := strings.Contains(w.changes(), "-b/")
			isAbsent := name == "directory" || name == "fifo" || name == "socket"
			require.Equal(t, isAbsent, isRemoved, "a link may lead to a manifest")
		})
	}
}

// The text names both directories, also after restarts: a person looks for the former one.
func TestWhatIsMissingIsToldWithTheDirectoryItWasIn(t *testing.T) {
	w := newWorld(t)
	w.device = hal.Device{Major: 8, Minor: 1}
	w.put("a.yaml", pod("a")).start()
	w.mount, w.device, w.born = 4, hal.Device{Minor: 45}, 8
	w.rm("a.yaml").pass(3 * second)
	for range 3 {
		require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem,
			"is not there, but the directory is another one (inode 2 of device 0:45) than the one in "+
				"which it was seen last (inode 2 of device 8:1), so it still counts: default/a stays up; "+
				"mount or restore that directory (findmnt -T "+dir)
		w.start().pass(3 * second)
	}
	w.device = hal.Device{Major: 8, Minor: 2}
	w.pass(60 * second).changed().pass(3 * second)
	require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem,
		"(inode 2 of device 8:2) than the one in which it was seen last (inode 2 of device 8:1)")
}

func TestAnotherDirectorySaysNothingOfWhatIsMissing(t *testing.T) {
	for name, replace := range map[string]func(w *world){
		"another filesystem over it":    func(w *world) { w.mount, w.device, w.born = 4, hal.Device{Minor: 9}, 8 },
		"a directory renamed there":     func(w *world) { w.born = 8 },
		"its disk mounted another time": func(w *world) { w.mount = 4 },
		"a boot without its disk":       func(w *world) { w.boot, w.born = "next", 8 },
		"a boot with no times of birth": func(w *world) { w.boot, w.born = "next", 0 },
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", name, restart), func(t *testing.T) {
				w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
				w.changes()
				former := *w
				replace(w)
				if restart && w.mount == 4 && w.born == 7 {
					t.Skip("the next run may have another mount namespace")
				}
				w.rm("a.yaml").rm("b.yaml").put("c.yaml", pod("c"))
				if restart {
					w.start()
				}
				w.pass(3 * second)
				events := w.changes()
				require.NotContains(t, events, "-a/")
				require.Contains(t, events, "+c/", "what comes counts at once")
				require.True(t, w.troubles()[dir+"/a.yaml"].Accept)
				require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem, ": default/a stays up; mount or restore")

				w.rm("c.yaml").pass(second)
				require.Contains(t, w.changes(), "-c/", "it was seen in this directory")

				if name == "a directory renamed there" { // and back again
					w.born = former.born
					w.put("a.yaml", pod("a")).put("b.yaml", pod("b")).pass(second)
					require.Empty(t, w.changes())
					require.Empty(t, w.troubles())
					w.rm("b.yaml").pass(second)
					require.Contains(t, w.changes(), "-b/")
					return
				}
				w.start().pass(second)
				require.NotContains(t, w.changes(), "-a/", "a restart accepts nothing")
				require.Equal(t, []Accepted{{"a.yaml", []string{"default/a"}}, {"b.yaml", []string{"default/b"}}}, w.accepts())
				w.pass(second)
				require.Regexp(t, `^-b/\S+ -a/\S+$`, w.changes())
				require.Empty(t, w.troubles())
			})
		}
	}
}

func TestAPolicyAcceptsAnyDirectory(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.changes()
	w.cloud.(*Cluster).o.AcceptsAnyDirectory = true
	w.born = 8
	w.rm("a.yaml").pass(second)
	require.Contains(t, w.changes(), "-a/")
}

func TestAStartComparesWithTheLastRun(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
	w.changes()
	w.rm("b.yaml").put("c.yaml", pod("c")).start().pass(second)
	require.NotContains(t, w.changes(), "b/", "what was removed meanwhile does not come up to go again")
	require.NotContains(t, w.names, cache+"/b.yaml")

	delete(w.names, cache+"/"+ledger) // a version without one, or somebody's hand
	w.rm("c.yaml").put("bad.yaml", "kind: [\n").start().pass(second)
	require.NotContains(t, w.changes(), "synced", "what the last run knew is not known")
	require.True(t, w.troubles()[dir+"/c.yaml"].Accept)
	w.rm("bad.yaml").pass(second)
	require.Equal(t, "synced", w.changes())

	delete(w.names, cache+"/a.yaml") // of a file that is bad now the last good copy is lost
	w.put("a.yaml", "kind: [\n").start().pass(second)
	require.NotContains(t, w.changes(), "synced")
	w.put("a.yaml", pod("a")).pass(second)
	require.Contains(t, w.changes(), "synced")
}

func TestAFileThatIsNeverTheSameHoldsUpNobody(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.changes()
	for i := range 60 {
		w.put("log.yaml", fmt.Sprintf("line: %d\n", i)).pass(150 * time.Millisecond)
		if i == 5 {
			w.rm("a.yaml")
		}
	}
	require.Contains(t, w.changes(), "-a/")
	require.Contains(t, w.troubles()[dir+"/log.yaml"].Problem, "changes at each reading")
}

func TestCopiesThatCannotBeReadAreNotTakenForNone(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.fail["list "+cache] = errno("list", cache, syscall.EIO)
	w.rm("a.yaml").start()
	require.Empty(t, w.changes())
	require.Contains(t, w.troubles()[cache].Problem, "no manifest counts until then")
	clear(w.fail)
	w.pass(2 * again)
	require.Equal(t, "synced", w.changes())
}

// A pod that is kept for a bad file is kept after a restart, too: its manifest is gone, and with it the copy of it.
func TestWhatABadFileKeepsOutlastsARestart(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
	w.changes()
	w.put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
	require.True(t, w.troubles()["Pod default/a"].Held)
	require.Empty(t, w.changes())
	for range 2 {
		require.Contains(t, w.start().changes(), "+a/")
		w.pass(3 * second)
		require.Empty(t, w.changes())
		require.True(t, w.troubles()["Pod default/a"].Held)
	}
	w.rm("bad.yaml").pass(second)
	require.Contains(t, w.changes(), "-a/")
	require.Empty(t, w.troubles())
}

// The name of a pod that a bad file keeps has another pod by now: a start forgets neither.
func TestWhatABadFileKeepsOutlastsARestartWithoutItsName(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", owned("b", "u2")).start()
	w.put("b.yaml", "").rm("a.yaml").put("c.yaml", owned("a", "u3")).pass(second)
	require.Equal(t, "+a/u1 +b/u2; synced; +a/u3", w.changes())
	for range 2 {
		w.start()
		require.Equal(t, "+a/u1 +a/u3 +b/u2; synced", w.changes())
		require.True(t, w.troubles()["Pod default/a"].Held)
	}
	w.put("b.yaml", owned("b", "u2")).pass(second)
	require.Equal(t, "-a/u1", w.changes())
}

// Two pods get one uid before it is known whose it is: the one that counts may be the wrong one; its name is not gone.
func TestADisputeOfTwoNewcomersKeepsWhomTheyReplace(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u1")).start()
	w.put("a.yaml", owned("a", "u2")).put("b.yaml", owned("b", "u2")).pass(second)
	require.Equal(t, "+a/u1; synced; +a/u2", w.changes())
	require.Contains(t, w.troubles()["Pod default/a"].Problem, "remove one of the two")
	w.start()
	require.Equal(t, "+a/u1 +a/u2; synced", w.changes())
	w.put("b.yaml", owned("b", "u1")).pass(second) // a swap, which has ended
	require.Equal(t, "-a/u1 +b/u1", w.changes())
	require.Empty(t, w.troubles())
}

// A file that holds a refused object has a copy: if it turns bad, or goes with its directory, it stops nobody else.
func TestARefusedObjectLeavesItsFileACopy(t *testing.T) {
	for name, turns := range map[string]func(w *world){
		"bad":  func(w *world) { w.put("b.yaml", owned("c", "u3")+"---\n"+owned("a", "u2")+"---\nspeck: {}\n") },
		"gone": func(w *world) { w.born = 8; w.rm("b.yaml") },
	} {
		w := newWorld(t).put("b.yaml", owned("b", "u9")).put("d.yaml", owned("d", "u4")).start()
		w.put("0.yaml", owned("a", "u1")).pass(second)
		w.put("b.yaml", owned("c", "u3")+"---\n"+owned("a", "u2")).pass(second)
		require.Equal(t, "+b/u9 +d/u4; synced; +a/u1; -b/u9 +c/u3", w.changes(), name)
		turns(w)
		w.start()
		require.Equal(t, "+a/u1 +c/u3 +d/u4; synced", w.changes(), name)
		w.rm("d.yaml").pass(second)
		require.Equal(t, "-d/u4", w.changes(), name)
	}
}

// If what was kept can't be read back in full, nothing goes while a manifest is bad.
func TestWhatWasKeptIsDamaged(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
	w.put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
	w.data[cache+"/"+kept] = "{\n"
	require.NotContains(t, w.start().changes(), "synced")
	w.rm("bad.yaml").pass(second)
	require.Contains(t, w.changes(), "synced")
}

// As long as what is kept can't be written down, the copies of manifests tell of it.
func TestWhatIsKeptCannotBeWrittenDown(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.put("bad.yaml", "kind: [").rm("a.yaml").pass(3 * second)
	require.Contains(t, w.troubles()[cache].Problem, "such changes may not count")
	clear(w.fail)
	require.Contains(t, w.start().changes(), "+a/")
	require.True(t, w.troubles()["Pod default/a"].Held)
}

// What a bad file may hold is kept as well when the file is missing in another directory: that says nothing of it.
func TestAnotherDirectorySaysNothingOfABadFile(t *testing.T) {
	for _, restart := range []bool{false, true} {
		for _, former := range []string{"", pod("x")} { // of the file that turns bad
			t.Run(fmt.Sprintf("restart %v, former %v", restart, former != ""), func(t *testing.T) {
				w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b"))
				if former != "" {
					w.put("bad.yaml", former)
				}
				w.start().put("bad.yaml", former+"---\nspeck: {}\n---\n"+pod("a")).rm("a.yaml").pass(3 * second)
				require.True(t, w.troubles()["Pod default/a"].Held)
				w.changes()
				w.born = 8
				w.rm("bad.yaml")
				if restart {
					require.Contains(t, w.start().changes(), "+a/")
				}
				w.pass(3 * second)
				require.NotContains(t, w.changes(), "-a/")
				require.True(t, w.troubles()[dir+"/bad.yaml"].Accept)
				w.start().pass(3 * second)
				require.NotContains(t, w.changes(), "-a/", "a restart accepts nothing")
				all := w.accepts()
				require.Len(t, all, 2)
				require.Equal(t, "bad.yaml", all[0].File)
				w.pass(3 * second)
				require.Contains(t, w.changes(), "-a/")
				require.Empty(t, w.troubles())
			})
		}
	}
}

// After a restart a bad file still stops the teardown of nobody else.
func TestABadFileStopsNobodyElseAfterARestart(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).start()
	w.put("bad.yaml", "speck: {}\n---\n"+pod("c")).pass(3 * second)
	w.start().changes()
	w.rm("b.yaml").pass(3 * second)
	require.Contains(t, w.changes(), "-b/")
	w.rm("bad.yaml").pass(3 * second)
	require.Empty(t, w.troubles())
}

// A pod that was kept for a bad file is in a good one again. Whenever the agent dies, the next start knows it.
func TestWhatWasKeptIsKnownAtEachMomentUntilItsFileHasACopy(t *testing.T) {
	for _, at := range []string{cache + "/" + kept, cache + "/" + next, cache + "/" + ledger, cache + "/bad.yaml"} {
		w := newWorld(t).put("a.yaml", pod("a")).put("z.yaml", pod("z")).start()
		w.put("bad.yaml", "kind: [").pass(3 * second)
		w.rm("a.yaml").pass(3 * second)
		w.changes()
		w.crashAt = at
		w.put("bad.yaml", pod("a"))
		func() {
			defer func() { _ = recover() }()
			w.pass(3 * second)
		}()
		w.crashAt = ""
		w.put("bad.yaml", "")
		require.Contains(t, w.start().pass(30*second).changes(), "+a/", at)
	}
}

// As many manifests as are allowed are read again by the next start.
func TestALedgerOfManyFilesIsRead(t *testing.T) {
	w := newWorld(t)
	w.boot, w.born = "5ebcf7a4-6a4f-4b1b-9a5e-0d0c4b6f2f11", 1732312345678901234
	for i := range maxFiles {
		w.put(fmt.Sprintf("web-frontend-%05d.yaml", i), pod(fmt.Sprintf("p%d", i)))
	}
	w.start()
	require.Greater(t, len(w.data[cache+"/"+ledger]), maxFile)
	require.Contains(t, w.start().changes(), "synced")
	require.Empty(t, w.troubles())
}

// Nobody has understood a new file, nor failed to, when it goes with its directory.
func TestAFileThatWasSeenOnceIsNotMissed(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.put("n.yaml", pod("n")).pass(250 * time.Millisecond)
	w.born = 8
	w.rm("n.yaml").pass(5 * second)
	require.NotContains(t, w.troubles(), dir+"/n.yaml")
}

// A pod gets the name of another node, as from an export of it. It is not gone: its data stays.
func TestAPodForAnotherNodeIsNotGone(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("a", "u1")).put("b.yaml", owned("b", "u2")).start()
	w.changes()
	w.put("a.yaml", strings.Replace(owned("a", "u1"), "spec: {", "spec: {nodeName: elsewhere, ", 1)).pass(second)
	require.Empty(t, w.changes())
	require.True(t, w.troubles()["Pod default/a"].Held)
	require.Equal(t, "+a/u1 +b/u2; synced", w.start().changes())
	w.rm("a.yaml").pass(second)
	require.Equal(t, "-a/u1", w.changes())
}

// A bad file is gone once two readings agree, like any file: until then it keeps what it kept, and nothing is reported.
func TestABadFileIsGoneOnceTwoReadingsAgree(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.put("bad.yaml", pod("a")+"speck: {}\n").pass(second)
	w.changes()
	w.rm("a.yaml").pass(second)
	require.Empty(t, w.changes(), "it may have been moved there")

	w.rm("bad.yaml").pass(debounce + time.Millisecond) // as an editor does that writes it again
	require.Empty(t, w.events)
	require.Empty(t, w.changes())
	w.put("bad.yaml", pod("a")).pass(second)
	require.NotContains(t, w.changes(), "-a/")
	require.Empty(t, w.troubles())

	w.put("bad.yaml", "kind: Pod\n").pass(second)
	w.events = nil
	w.rm("bad.yaml").pass(second)
	require.Len(t, w.events, 2, "%q", w.events)
	require.Contains(t, w.events[0], "removed Pod default/a")
	require.Equal(t, "trouble "+dir+"/bad.yaml: over", w.events[1])
}

// While no volnode runs somebody renames the file of a pod that counts, and another pod has its name or its uid.
func TestWhoWasThereKeepsNameAndUIDWhereItsFileIsRenamed(t *testing.T) {
	for _, other := range []string{owned("other", "u"), owned("one", "v")} {
		for _, name := range []string{"a.yaml", "z.yaml"} {
			w := newWorld(t).put("m.yaml", owned("one", "u")).start().put("b.yaml", other).pass(second)
			require.Equal(t, "+one/u; synced", w.changes())
			w.rm("m.yaml").put(name, owned("one", "u")).start()
			require.Equal(t, "+one/u; synced", w.changes())
			w.pass(second)
			require.Empty(t, w.changes(), name)
		}
	}
}
