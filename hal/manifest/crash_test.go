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

// edit is what people do to several files at once: by file, what it held, and what it holds then. "" is no file.
type edit map[string][2]string

var edits = map[string]edit{
	"two pods swap their names": {
		"a.yaml": {owned("a", "u1"), owned("b", "u1")},
		"b.yaml": {owned("b", "u2"), owned("a", "u2")},
	},
	"two pods swap their uids": {
		"a.yaml": {owned("a", "u1"), owned("a", "u2")},
		"b.yaml": {owned("b", "u2"), owned("b", "u1")},
	},
	"of two with one uid, the one that counts gets its own": {
		"a.yaml": {owned("a", "u2"), owned("a", "u1")},
		"b.yaml": {owned("b", "u2"), owned("b", "u2")},
	},
	"of two with one uid, the one that counts goes": {
		"a.yaml": {owned("a", "u2"), ""},
		"b.yaml": {owned("b", "u2"), owned("b", "u2")},
	},
	"of two with one name, the one that counts gets its own": {
		"a.yaml": {owned("a", "u1"), owned("c", "u1")},
		"b.yaml": {owned("a", "u2"), owned("a", "u2")},
	},
	"of two with one name, the one that counts changes": {
		"a.yaml": {owned("a", "u1"), owned("a", "u1") + "# again"}, "b.yaml": {owned("a", "u2"), owned("a", "u2")},
	},
	"two files swap their content": {
		"a.yaml": {owned("a", "u1"), owned("b", "u2")},
		"b.yaml": {owned("b", "u2"), owned("a", "u1")},
	},
	"three files pass theirs on": {
		"a.yaml": {owned("a", "u1"), owned("c", "u3")}, "b.yaml": {owned("b", "u2"), owned("a", "u1")},
		"c.yaml": {owned("c", "u3"), owned("b", "u2")},
	},
	"a file is merged into another": {
		"a.yaml": {owned("a", "u1"), ""}, "b.yaml": {owned("b", "u2"), owned("b", "u2") + "---\n" + owned("a", "u1")},
	},
	"a file is split": {
		"b.yaml": {owned("b", "u2") + "---\n" + owned("a", "u1"), owned("b", "u2")}, "a.yaml": {"", owned("a", "u1")},
	},
	"a file is renamed": {"b.yaml": {owned("b", "u2"), ""}, "a.yaml": {"", owned("b", "u2")}},
	"a pod moves beside a new file": {
		"b.yaml": {owned("b", "u2"), ""}, "c.yaml": {owned("c", "u3"), owned("b", "u2")},
		"n.yaml": {"", owned("n", "u4")},
	},
	"a pod is renamed into the place of another": {
		"a.yaml": {owned("a", "u1"), owned("b", "u1")}, "b.yaml": {owned("b", "u2"), owned("c", "u3")},
	},
}

// withOthers is edits alone, and beside so many other files that copies lie in packs: before, after or at both times.
func withOthers(edits map[string]edit) map[string]edit {
	all := maps.Clone(edits)
	for when, is := range map[string][2]string{
		"others stay": {"one", "one"}, "others come": {"", "one"}, "others change": {"one", "one\n# again"},
		"others go": {"one", ""},
	} {
		for title, e := range edits {
			this := maps.Clone(e)
			for i := range mostAlone {
				name := fmt.Sprint("other-", i)
				of := func(side int) string {
					return strings.Replace(is[side], "one", owned(name, name), 1)
				}
				this[name+".yaml"] = [2]string{of(0), of(1)}
			}
			all[title+", "+when] = this
		}
	}
	return all
}

// uids returns those of a side of an edit.
func (e edit) uids(side int) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if c, err := decode("node1", name, []byte(e[name][side])); err == nil {
			for _, o := range c.objects {
				all = append(all, o.id.UID)
			}
		}
	}
	return all
}

func (e edit) put(w *world, side int) {
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if text := e[name][side]; text != "" {
			w.put(name, text)
		} else {
			w.rm(name)
		}
	}
}

// Somebody edits several files, and the power is cut at any moment of what the agent writes down then: names that it
// has not synced are lost, or not. A file may be bad in any way when it starts again: no pod is missed that was wanted
// before and is wanted now, and at last all is served as if the power had stayed.
func TestWhoeverIsWantedOutlastsADeathAmidAnEdit(t *testing.T) {
	bad := map[string]func(w *world, name string){
		"good":       func(*world, string) {},
		"unreadable": func(w *world, name string) { w.fail["read "+dir+"/"+name] = errno("read", name, syscall.EIO) },
		"cut":        func(w *world, name string) { w.put(name, "kind: [") },
	}
	for title, e := range withOthers(edits) {
		settled := newWorld(t)
		e.put(settled, 0)
		settled.startBare()
		e.put(settled, 1)
		settled.pass(30 * second)
		for how, spoil := range bad {
			for _, name := range slices.Sorted(maps.Keys(e)) {
				if strings.HasPrefix(name, "other") {
					continue
				}
				// The copy of a file that alone was edited, and is not in the ledger yet, is as good as none: while its
				// manifest is bad too nobody is told of its pod, and nothing of it is torn down.
				isHidden := strings.HasPrefix(title, "of two with one") && how != "good"
				for dies, lost, isOver := 1, uint(0), false; !isOver; lost++ {
					at := fmt.Sprintf("%s, dies at write %d, loses names %b, then %s is %s", title, dies,
						lost, name, how)
					w := newWorld(t)
					e.put(w, 0)
					before := w.startBare().served()
					isAlive := !w.dying(dies, func() { e.put(w, 1); w.pass(5 * second) })
					isAll := lost+1 == 1<<len(w.loose)
					isOver = isAlive && isAll
					w.cutsPower(lost)
					if e[name][1] != "" {
						spoil(w, name)
					}
					w.start().pass(30 * second)
					w.requireWanted(before, e.uids(1), isHidden, at)
					require.Subset(t, slices.Concat(before, settled.served()), w.served(), at)
					clear(w.fail)
					e.put(w, 1)
					w.pass(30 * second)
					require.Contains(t, w.raw, hal.Synced{Source: Source}, at)
					require.Equal(t, settled.troubles(), w.troubles(), at)
					require.ElementsMatch(t, settled.served(), w.served(), at)
					if isAll {
						dies, lost = dies+1, ^uint(0)
					}
				}
			}
		}
	}
}

// dying runs f until the agent is about to make the given write, and reports whether it came to it.
func (w *world) dying(at int, f func()) (died bool) {
	w.deathIn = at
	defer func() {
		w.deathIn = 0
		died = recover() != nil
	}()
	f()
	return false
}

// requireWanted makes sure that nobody is told of an end of what was served before an edit and is wanted after it, nor
// that all is told without it. If it is hidden, it need not be served.
func (w *world) requireWanted(before, now []string, isHidden bool, at string) {
	w.t.Helper()
	require.NotEmpty(w.t, before)
	wanted := slices.DeleteFunc(slices.Clone(before), func(uid string) bool { return !slices.Contains(now, uid) })
	var served []string
	for _, event := range w.raw {
		if _, ok := event.(hal.Synced); ok {
			require.Subset(w.t, served, wanted, at)
		}
		if c, ok := event.(hal.Changed); ok {
			served = slices.DeleteFunc(served, func(uid string) bool {
				return slices.ContainsFunc(c.Removed, func(o any) bool { return hal.IdentityOf(o).UID == uid })
			})
			for _, o := range c.Applied {
				served = append(served, hal.IdentityOf(o).UID)
			}
		}
	}
	if !isHidden {
		require.Subset(w.t, served, wanted, at)
	}
}

// served returns the uids of what is served.
func (w *world) served() []string {
	var all []string
	for key := range w.cloud.(*Cluster).known {
		all = append(all, key.UID)
	}
	return all
}

// What is kept until all copies are renewed is kept no longer, also if another file can't be read meanwhile: who was
// deleted does not come back.
func TestWhatIsKeptForCopiesGoesWithThem(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).put("b.yaml", pod("b")).put("c.yaml", pod("c")).start()
	w.names[dir+"/d.yaml"] = hal.Info{Type: hal.TypeDirectory, Mode: 0o755}
	w.changed().pass(5 * second).changes()
	w.put("a.yaml", pod("a2")).rm("b.yaml").pass(5 * second)
	require.Contains(t, w.changes(), "-b/")
	w.put("c.yaml", "")
	require.NotContains(t, w.start().changes(), "+b/")
}

// Objects of each kind that a bad file keeps by their names outlast a restart, with uids of their own, too.
func TestWhatABadFileKeepsByItsNameOutlastsARestart(t *testing.T) {
	const uid = "metadata: {name: a, uid: u1}\n"
	for kind, text := range map[string]string{
		"Pod": owned("a", "u1"), "PersistentVolumeClaim": claim("u1"),
		"PersistentVolume": "apiVersion: v1\nkind: PersistentVolume\n" + uid +
			"spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], csi: {driver: d, volumeHandle: h}}\n",
		"CSIDriver": "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\n" + uid + "spec: {}\n",
	} {
		for _, goesWhileDown := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %v", kind, goesWhileDown), func(t *testing.T) {
				w := newWorld(t).put("a.yaml", text).put("bad.yaml", "speck: {names: [a, c]}\n").start()
				require.Len(t, w.served(), 1)
				w.rm("a.yaml")
				if !goesWhileDown {
					w.pass(3 * second)
				}
				for range 3 {
					w.start().pass(3 * second)
					require.Len(t, w.served(), 1)
				}
				w.rm("bad.yaml").pass(3 * second)
				require.Empty(t, w.served())
			})
		}
	}
}
