package manifest

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

const second = time.Second

func pod(name string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {containers: [{name: c, image: i}]}\n"
}

func secretOf(name, value string) string {
	return "apiVersion: v1\nkind: Secret\nmetadata: {name: " + name + "}\nstringData: {password: " + value + "}\n"
}

func TestObjectsComeOnceAndThenSynced(t *testing.T) {
	w := newWorld(t)
	w.put("b.yaml", pod("b")+"---\n"+pod("c"))
	w.put("a.json", `{"apiVersion":"v1","kind":"List","items":[
	{"apiVersion":"storage.k8s.io/v1","kind":"CSIDriver","metadata":{"name":"d.example"},"spec":{"attachRequired":false}},
	{"apiVersion":"v1","kind":"PersistentVolume","metadata":{"name":"pv"},
		"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":1},"csi":{"driver":"d","volumeHandle":"h"}}},
	{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"claim","namespace":"ns"},
		"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":1}}}},
	{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}]}`)
	w.put(".hidden.yaml", "{").put("old.yaml~", "{").put("README.md", "{")
	w.start().expect("applied ConfigMap default/x", "applied CSIDriver d.example", "applied PersistentVolume pv",
		"applied PersistentVolumeClaim ns/claim",
		"applied Pod default/b", "applied Pod default/c", "synced")
	w.changed().pass(second).expect()
	w.put("b.yaml", pod("b")+"---\n"+strings.Replace(pod("d"), "image: i", "image: j", 1)).pass(second).
		expect("removed Pod default/c", "applied Pod default/d")
	w.rm("b.yaml").pass(second).expect("removed Pod default/d", "removed Pod default/b")
}

func TestUIDsAreStable(t *testing.T) {
	w := newWorld(t).put("a.yaml",
		pod("a")+"---\napiVersion: v1\nkind: Pod\nmetadata: {name: b, uid: 1-2-3}\n"+spec).start()
	p := w.raw[0].(hal.Changed).Applied[0].(*corev1.Pod)
	require.Equal(t, uidOf("node1", "Pod", "default", "a"), p.UID)
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, string(p.UID))
	require.Equal(t, "node1", p.Spec.NodeName)
	require.EqualValues(t, "1-2-3", w.raw[0].(hal.Changed).Applied[1].(*corev1.Pod).UID)
}

// A writer that is not done yet must not be believed: two readings have to agree.
func TestAFileThatIsBeingWrittenDoesNotCount(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")+"---\n"+pod("b")).start()
	w.expect("applied Pod default/a", "applied Pod default/b", "synced")
	w.put("a.yaml", pod("a")).pass(250 * time.Millisecond).expect() // read once
	w.put("a.yaml", pod("a")+"---\n"+pod("b")).pass(second).expect()
	w.rm("a.yaml").pass(250 * time.Millisecond).expect()
	w.put("a.yaml", pod("a")+"---\n"+pod("b")).pass(second).expect()
}

func TestABadFileIsServedByItsLastGoodCopy(t *testing.T) {
	for name, torn := range map[string]string{
		"torn":          "apiVersion: v1\nkind: Pod\nmetadata: {name",
		"empty":         "",
		"comment":       "# nothing\n",
		"zeros":         strings.Repeat("\x00", 100),
		"unknown field": pod("a") + "speck: {}\n",
		"doubled field": pod("a") + "kind: Pod\n",
		"unknown kind":  "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
		"too long":      strings.Repeat("#", maxFile+1),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).put("a.yaml", pod("a")).start().expect("applied Pod default/a", "synced")
			w.put("a.yaml", torn).pass(second)
			require.Len(t, w.events, 1)
			require.Contains(t, w.events[0], "trouble /etc/manifests/a.yaml: ")
			require.Contains(t, w.events[0], "; until it is corrected, its last good content counts")

			w.start()
			require.Len(t, w.events, 3, "%v", w.events)
			require.Equal(t, []string{"applied Pod default/a", "synced"}, w.events[:2])
			require.Contains(t, w.events[2], "; until it is corrected, its last good content counts")
			w.expect(w.events...)

			w.put("a.yaml", pod("a")).pass(second).expect("trouble /etc/manifests/a.yaml: over")
			w.put("a.yaml", torn).pass(second)
			w.events = nil
			w.rm("a.yaml").pass(second).expect("removed Pod default/a", "trouble /etc/manifests/a.yaml: over")
			require.NotContains(t, w.names, cache+"/a.yaml")
		})
	}
}

func TestADirectoryThatCannotBeReadIsNotAnEmptyOne(t *testing.T) {
	for name, damage := range map[string]func(w *world){
		"missing":        func(w *world) { delete(w.names, dir) },
		"a file":         func(w *world) { w.names[dir] = hal.Info{Type: hal.TypeFile} },
		"group writable": func(w *world) { w.names[dir] = hal.Info{Type: hal.TypeDirectory, Mode: 0o775} },
		"not root's":     func(w *world) { w.names[dir] = hal.Info{Type: hal.TypeDirectory, Mode: 0o755, UID: 1000} },
		"I/O error":      func(w *world) { w.fail["list "+dir] = errno("list", dir, syscall.EIO) },
		"too many": func(w *world) {
			for i := range maxFiles {
				w.names[fmt.Sprintf("%s/%d.yaml", dir, i)] = hal.Info{Type: hal.TypeFile}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).put("a.yaml", pod("a"))
			damage(w)
			w.start()
			require.Len(t, w.events, 1)
			require.Contains(t, w.events[0], "trouble /etc/manifests: ")

			w = newWorld(t).put("a.yaml", pod("a")).start().expect("applied Pod default/a", "synced")
			damage(w)
			w.changed().pass(second)
			require.Len(t, w.events, 1)
			require.Contains(t, w.events[0], "trouble /etc/manifests: ")
			w.events = nil
			w.names[dir] = hal.Info{Type: hal.TypeDirectory, Mode: 0o755}
			clear(w.fail)
			for i := range maxFiles {
				delete(w.names, fmt.Sprintf("%s/%d.yaml", dir, i))
			}
			w.pass(2 * again).expect("trouble /etc/manifests: over") // without a notice
		})
	}
}

// A tmpfs that somebody has mounted over the manifests can be written by all: what it covers is what to tell first.
func TestAnInsecureDirectoryThatIsAnotherIsToldAsOne(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a")).start()
	w.events, w.mount, w.device, w.born = nil, 4, hal.Device{Minor: 9}, 8
	w.names[dir] = hal.Info{Type: hal.TypeDirectory, Mode: 0o777}
	w.changed().pass(second)
	require.Len(t, w.events, 1)
	require.Contains(t, w.events[0], "trouble /etc/manifests: is another directory than before: another filesystem "+
		"may be mounted over it, see 'findmnt -T /etc/manifests'; volnode reads no manifest in it, and volumes stay up")
	require.Contains(t, w.events[0], "run chmod go-w /etc/manifests")
}

func TestFilesThatOthersMayWriteAreRefused(t *testing.T) {
	for name, info := range map[string]hal.Info{
		"group writable": {Type: hal.TypeFile, Mode: 0o664},
		"world writable": {Type: hal.TypeFile, Mode: 0o646},
		"not root's":     {Type: hal.TypeFile, Mode: 0o644, UID: 1},
		"link":           {Type: hal.TypeSymlink},
		"socket":         {Type: hal.TypeSocket},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).put("a.yaml", pod("a"))
			w.names[dir+"/a.yaml"] = info
			w.start()
			require.Len(t, w.events, 1)
			require.Contains(t, w.events[0], "trouble /etc/manifests/a.yaml: ")
		})
	}
}

func TestOfTwoTheFirstCounts(t *testing.T) {
	uid := "apiVersion: v1\nkind: Pod\nmetadata: {name: %s, uid: u}\n" + spec
	w := newWorld(t).put("a.yaml", pod("a")+"---\n"+fmt.Sprintf(uid, "x")).put("b.yaml",
		pod("a")+"---\n"+fmt.Sprintf(uid, "y")).
		put("c.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: z}\nspec: {nodeName: other, containers: [{name: "+
			"c, image: i}]}\n").startBare()
	w.expect("applied Pod default/a", "applied Pod default/x", "synced",
		"trouble /etc/manifests/b.yaml: Pod default/a: /etc/manifests/b.yaml: document 1, line 1 is also in "+
			"/etc/manifests/a.yaml: document 1, line 1, "+
			"which counts; remove one of them",
		"trouble /etc/manifests/b.yaml: Pod default/y: /etc/manifests/b.yaml: document 2, line 6 has the uid u of "+
			"the object in "+
			"/etc/manifests/a.yaml: document 2, line 6, which counts; give each its own uid",
		"trouble /etc/manifests/c.yaml: Pod default/z: /etc/manifests/c.yaml: document 1, line 1 is a pod for node "+
			"\"other\", and this is \"node1\"; "+
			"remove spec.nodeName, or the pod")
	w.put("b.yaml", pod("b")).pass(second)
	require.Contains(t, w.events, "applied Pod default/b")
	require.NotContains(t, strings.Join(w.events, "\n"), "removed")
}

// Somebody copies a manifest and edits the copy: whatever it is called, the one counts that did.
func TestACopyTakesNothingOver(t *testing.T) {
	other := strings.Replace(pod("a"), "image: i", "image: other", 1)
	require.NotEqual(t, pod("a"), other)
	for _, name := range []string{"a.yaml", "z.yaml"} {
		w := newWorld(t).put("m.yaml", pod("a")).start()
		w.changes()
		w.put(name, other).pass(5 * second)
		require.NotContains(t, w.changes(), "+a/")
		require.Contains(t, w.troubles()[dir+"/"+name+": Pod default/a"].Problem, "is also in /etc/manifests/m.yaml")
		require.NotContains(t, w.start().changes(), "other", "nor after a restart")
		w.rm("m.yaml").pass(5 * second)
		require.NotContains(t, w.changes(), "-a/", "it has moved")
	}
}

func TestSecretsAreReadAtUse(t *testing.T) {
	w := newWorld(t).put("a.yaml", secretOf("s", "one")).start().expect("applied Secret default/s", "synced")
	read := func() string {
		s, err := w.cloud.Secret(hal.Call{}, "default", "s")
		require.NoError(t, err)
		return s.Reveal()["password"]
	}
	require.Equal(t, "one", read())
	w.data[dir+"/a.yaml"] = secretOf("s", "half of tw")
	require.Equal(t, "one", read(), "the copy, as what may be half written does not count")
	w.put("a.yaml", secretOf("s", "two")).pass(second).expect("applied Secret default/s")
	require.Equal(t, "two", read())
	w.data[dir+"/a.yaml"] = "torn: ["
	require.Equal(t, "two", read(), "the copy")
	delete(w.names, cache+"/a.yaml")
	w.data[dir+"/a.yaml"] = secretOf("s", "three")
	require.Equal(t, "three", read(), "there is nothing else")
	w.put("a.yaml", secretOf("s", "three")).pass(second)
	require.EqualValues(t, 0o600, w.names[cache+"/a.yaml"].Mode)
	require.EqualValues(t, 0o700, w.names[cache].Mode)
	_, err := w.cloud.Secret(hal.Call{}, "default", "none")
	require.ErrorIs(t, err, syscall.ENOENT)
	w.data[dir+"/a.yaml"] = "torn: ["
	w.fail["read "+cache+"/a.yaml"] = errno("read", cache, syscall.EIO)
	_, err = w.cloud.Secret(hal.Call{}, "default", "s")
	require.ErrorIs(t, err, syscall.EIO)
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n"

func TestConfigMapsAreReadAtUse(t *testing.T) {
	w := newWorld(t).put("a.yaml", configMap+"data: {a: one}\nbinaryData: {b: AAE=}\n").start()
	w.expect("applied ConfigMap default/m", "synced")
	data, err := w.cloud.ConfigMap(hal.Call{}, "default", "m")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "one", "b": "\x00\x01"}, data)
	_, err = w.cloud.ConfigMap(hal.Call{}, "default", "s")
	require.ErrorIs(t, err, syscall.ENOENT)
	_, err = w.cloud.Secret(hal.Call{}, "default", "m")
	require.ErrorIs(t, err, syscall.ENOENT, "another kind")
	w.put("a.yaml", configMap).pass(second)
	data, err = w.cloud.ConfigMap(hal.Call{}, "default", "m")
	require.NoError(t, err)
	require.Empty(t, data)
	for text, why := range map[string]string{
		configMap + "data: {a: [b]}\n":                      "data",
		configMap + "data: {a: b}\nbinaryData: {a: AAE=}\n": "binaryData[a] is in data, too",
		configMap + "---\n" + configMap:                     "ConfigMap default/m is in this file twice",
		"apiVersion: v1\nkind: ConfigMap\ndata: {a: b}\n":   "metadata.name",
	} {
		w.put("a.yaml", text).pass(5 * second)
		require.Contains(t, w.troubles()[dir+"/a.yaml"].Problem, why)
	}
}

// A change counts, and no copy of it could be written: what the copy of before has is not served for it.
func TestAFormerCopyIsNotReadForAChange(t *testing.T) {
	w := newWorld(t).put("a.yaml", configMap+"data: {a: one}\n").start()
	first := w.versions()
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.EIO)
	w.put("a.yaml", configMap+"data: {a: two}\n").pass(second)
	require.NotEqual(t, first, w.versions())
	w.fail["stat "+dir+"/a.yaml"] = errno("stat", dir, syscall.EIO)
	w.fail["read "+dir+"/a.yaml"] = errno("read", dir, syscall.EIO)
	_, err := w.cloud.ConfigMap(hal.Call{}, "default", "m")
	require.ErrorIs(t, err, syscall.EIO)
	delete(w.fail, "stat "+dir+"/a.yaml")
	delete(w.fail, "read "+dir+"/a.yaml")
	data, err := w.cloud.ConfigMap(hal.Call{}, "default", "m")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": "two"}, data)
}

// versions are those that were handed out last, by kind and name.
func (w *world) versions() map[string]string {
	all := map[string]string{}
	for _, e := range w.raw {
		if c, ok := e.(hal.Changed); ok {
			for _, o := range c.Applied {
				if is, ok := o.(*hal.Content); ok {
					all[is.Kind+" "+is.Name] = is.Version
				}
			}
		}
	}
	return all
}

// A version changes with what an object holds and with nothing else, also over a restart. Who does not have the key
// can't tell of what it is: the key lies in the ledger.
func TestVersionsFollowContents(t *testing.T) {
	w := newWorld(t).put("a.yaml", secretOf("s", "one")).put("b.yaml", configMap).start()
	first := w.versions()
	require.Len(t, first, 2)
	require.Equal(t, first, w.start().versions(), "after a restart")
	w.put("a.yaml", "# it looks different\n"+secretOf("s", "one")).rm("b.yaml").pass(second)
	w.put("c.yaml", configMap).pass(second)
	require.Equal(t, first, w.versions(), "the same in another place")
	w.put("a.yaml", secretOf("s", "two")).pass(second)
	second := w.versions()
	require.NotEqual(t, first["Secret s"], second["Secret s"])
	require.Equal(t, first["ConfigMap m"], second["ConfigMap m"])
	require.Equal(t, second, w.start().versions(), "after a restart")
	delete(w.names, cache+"/"+ledger)
	delete(w.data, cache+"/"+ledger)
	third := w.start().versions()
	require.NotEqual(t, second["Secret s"], third["Secret s"], "with another key")
	require.Equal(t, third, w.start().versions(), "which is kept")

	other := newWorld(t).put("a.yaml", secretOf("s", "two")).start()
	require.NotEqual(t, third["Secret s"], other.versions()["Secret s"], "another node has another key")
}

// What no manifest holds any more, but a bad one may, is kept like other objects, over a restart, too; and no Secret is
// written down for that.
func TestContentsAreKept(t *testing.T) {
	w := newWorld(t).put("a.yaml", secretOf("s", "hunter2hunter2")).put("b.yaml", configMap).start()
	first := w.versions()
	w.put("bad.yaml", "{ s m").rm("a.yaml").rm("b.yaml").pass(5 * second)
	require.NotContains(t, strings.Join(w.events, "\n"), "removed")
	require.NotContains(t, w.data[cache+"/"+kept], "hunter2hunter2")
	require.Equal(t, first, w.start().pass(5*second).versions())
	_, err := w.cloud.Secret(hal.Call{}, "default", "s")
	require.ErrorIs(t, err, syscall.EAGAIN, "it is there, and nobody knows what it holds")
	_, err = w.cloud.ConfigMap(hal.Call{}, "default", "m")
	require.ErrorIs(t, err, syscall.EAGAIN)
	_, err = w.cloud.ConfigMap(hal.Call{}, "default", "other")
	require.ErrorIs(t, err, syscall.ENOENT)
	w.rm("bad.yaml").pass(5 * second)
	require.Equal(t, []string{"removed ConfigMap default/m", "removed Secret default/s"},
		slices.DeleteFunc(w.events, func(e string) bool { return !strings.HasPrefix(e, "removed") }))
}

// No spelling of a Secret, right or wrong, may show what it holds.
func TestSecretsAreNotShown(t *testing.T) {
	const planted = "hunter2hunter2"
	for i, text := range []string{
		secretOf("s", planted),
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {p: " + planted + "!}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: " + planted + "\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: {" + planted + ": x}}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n" + planted + ": x\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: " + planted + "\n  p: " + planted + "\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: *" + planted + "\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: \"" + planted + "\\q\"\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData:\n  p: !" + planted + " x\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: " + planted + "_}\nstringData: {p: x}\n",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"p":"` + planted + `"}`,
		`{"apiVersion":"v1","kind":"List","items":[{"kind":"Secret","apiVersion":"v1","data":{"p":"` +
			planted + `!"}}]}`,
		`{"apiVersion":"v1","kind":"List","stray":"` + planted + `","items":[]}`,
		"apiVersion: v1\nkind: [Secret]\nstringData: {p: " + planted + "}\n",
	} {
		w := newWorld(t).put("a.yaml", text).start()
		shown := strings.Join(w.events, "\n") + fmt.Sprintf("%v %+v %#v", w.raw, w.raw, w.raw)
		require.NotContains(t, shown, planted, "case %d", i)
	}
}

func TestWhenNoCopyCanBeKeptTheFileStillCounts(t *testing.T) {
	w := newWorld(t).put("a.yaml", pod("a"))
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.start()
	all := strings.Join(w.events, "\n")
	for _, part := range []string{"applied Pod default/a", "synced", "cannot write the ledger of manifests"} {
		require.Contains(t, all, part)
	}
	clear(w.fail)
	w.pass(2 * again)
	require.Equal(t, "trouble /var/cache: over", w.events[len(w.events)-1])
}
