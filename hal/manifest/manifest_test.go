package manifest

import (
	"fmt"
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
	w.start().expect("applied CSIDriver d.example", "applied PersistentVolume pv",
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
	w := newWorld(t).put("a.yaml", secretOf("s", "one")).start().expect("synced")
	read := func() string {
		s, err := w.cloud.Secret(hal.Call{}, "default", "s")
		require.NoError(t, err)
		return s.Reveal()["password"]
	}
	require.Equal(t, "one", read())
	w.data[dir+"/a.yaml"] = secretOf("s", "two")
	require.Equal(t, "two", read())
	w.data[dir+"/a.yaml"] = "torn: ["
	require.Equal(t, "one", read(), "the copy")
	require.EqualValues(t, 0o600, w.names[cache+"/a.yaml"].Mode)
	require.EqualValues(t, 0o700, w.names[cache].Mode)
	_, err := w.cloud.Secret(hal.Call{}, "default", "none")
	require.ErrorIs(t, err, syscall.ENOENT)
	w.fail["read "+cache+"/a.yaml"] = errno("read", cache, syscall.EIO)
	_, err = w.cloud.Secret(hal.Call{}, "default", "s")
	require.ErrorIs(t, err, syscall.EIO)
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
