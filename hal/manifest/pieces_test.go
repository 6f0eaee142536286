package manifest

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volnode/volnode/hal"
)

// This file is manifests that are written in pieces, and readings that fall between two of them.

const (
	oneReading = 210 * time.Millisecond
	spoiled    = "---\nspeck: {}\n"
)

// A bad file holds a pod whose manifest is gone. Whatever one reading finds in its place for a moment, the pod is not
// gone.
func TestOneReadingForgetsNothingOfABadFile(t *testing.T) {
	x, ant := owned("x", "u9"), owned("ant", "u1")
	moments := map[string]func(w *world){
		"it is unlinked as it is read": func(w *world) {
			w.fail["read "+dir+"/x.yaml"] = errno("read", "x.yaml", syscall.ENOENT)
		},
		"it is unlinked":        func(w *world) { w.rm("x.yaml") },
		"a part of it is there": func(w *world) { w.put("x.yaml", x+"---\n"+owned("y", "u8")) },
		"what counted is there": func(w *world) { w.put("x.yaml", x) },
		"a directory is there": func(w *world) {
			w.names[dir+"/x.yaml"] = hal.Info{
				Type: hal.TypeDirectory,
				Mode: 0o755,
			}
		},
	}
	for name, moment := range moments {
		for _, known := range []bool{false, true} {
			w := newWorld(t).put("a.yaml", ant)
			if known {
				w.put("x.yaml", x)
			}
			w.start()
			w.put("x.yaml", x+"---\n"+ant+spoiled).pass(3 * second)
			w.rm("a.yaml").pass(3 * second)
			moment(w)
			w.changed().pass(oneReading)
			clear(w.fail)
			w.put("x.yaml", x+"---\n"+ant+spoiled).pass(3 * second)
			require.NotContains(t, w.changes(), "-ant", "%s, known %v", name, known)
		}
	}
}

// A pod moves to another good file, which is written in pieces. As the end of its own file counts, one reading finds
// another piece than the one before.
func TestAPodMovesToAFileThatIsWrittenInPieces(t *testing.T) {
	x, ant := owned("x", "u9"), owned("ant", "u1")
	w := newWorld(t).put("a.yaml", ant).put("x.yaml", x).start()
	w.put("x.yaml", x+"---\n"+ant).rm("a.yaml").pass(oneReading)
	w.put("x.yaml", x+"---\n"+owned("y", "u8")).pass(oneReading)
	w.put("x.yaml", x+"---\n"+ant).pass(5 * second)
	require.NotContains(t, w.changes(), "-ant")
}

// Who writes an object line by line has not come to its name yet: it may be any.
func TestABadFileMayEndBeforeAName(t *testing.T) {
	for _, begun := range []string{
		"metadata:\n", "metadata:\n  namespace: default\n", "spec:\n  containers: []\n", "items:\n", "{}\n",
		"? metadata\n", "# a pod\n", "---\n",
		"apiVersion: v1\nkind: PodList\nitems:\n- metadata:\n", "items:\n- apiVersion: v1\n",
		"kind: List\napiVersion: v1\nitems:\n- metadata:\n",
		"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: x}\n",
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name:\n",
		"apiVersion: v1\nkind: List\nitems:\n- metadata: {name: q}\n  kind: Pod\n-\n",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: other}\nspec:\n  containers: [\n",
		"kind: Pod\nmetadata: {name: x, labels: {a/name:\n",
		"kind: Pod\nmetadata:\n  name: x\n  annotations: {a: \"the name\n",
		"# comment\n{ \"kind\": \"List\", \"items\": [ {\"metadata\": {\"name\": \"s\"}},\n",
	} {
		w := newWorld(t).put("a.yaml", owned("ant", "u1")).start()
		w.put("x.yaml", "speck: {}\n---\n"+begun).pass(3 * second)
		w.rm("a.yaml").pass(3 * second)
		require.NotContains(t, w.changes(), "-ant", begun)
	}
}

// JSON that is cut behind an object within is not whole, though it ends with a brace.
func TestJSONIsCutBehindABrace(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).start()
	w.put("x.json", "{\"kind\": \"List\", \"items\": [{\"kind\": \"Pod\", \"metadata\": {\"name\": \"x\", "+
		"\"labels\": {\"a\": \"b\"\n}\n").pass(3 * second)
	w.rm("a.yaml").pass(3 * second)
	require.NotContains(t, w.changes(), "-ant")
}

// Somebody writes a file again with what it held, and stops within a document: that is no edit. One that ends with a
// document is.
func TestTheBeginningOfWhatAFileHeldIsNoEdit(t *testing.T) {
	const spec = "spec:\n  containers: [{name: c, image: i}]\n"
	x, ant := "apiVersion: v1\nkind: Pod\nmetadata: {name: x, uid: u9}\n"+spec, owned("ant", "u1")
	w := newWorld(t).put("x.yaml", x+"  hostname: h\n---\n"+ant).start()
	w.changes()
	for _, begun := range []string{x, x[:len(x)-len(spec)+len("spec:\n")], x + "  hostname: h\n---\n"} {
		w.put("x.yaml", begun).pass(10 * second)
		require.Empty(t, w.changes())
		require.Regexp(t, "half written|Required value", w.troubles()[dir+"/x.yaml"].Problem)
	}
	w.start().pass(3 * second)
	require.Contains(t, w.changes(), "+ant/u1")
	w.put("x.yaml", x+"# meant\n").pass(3 * second)
	require.Contains(t, w.changes(), "-ant/u1")
	w.put("x.yaml", x+"---\n"+ant).pass(3 * second).changes()
	w.put("x.yaml", x).pass(3 * second)
	require.Contains(t, w.changes(), "-ant/u1")
}

// recalls starts the agent with pods that the journal has a record of.
func (w *world) recalls(pods ...string) *world {
	w.timers, w.queue, w.events, w.raw = nil, nil, nil, nil
	h := hal.Host{Runtime: runtime{w}, Machine: &machine{}, Tree: tree{w: w}, Files: files{w}, Watches: watches{w}}
	w.cloud = New(h, Options{
		Dir: dir, CacheDir: cache, NodeName: "node1",
		LeftPods: func() []string { return pods },
	})
	w.cloud.Watch(w.take)
	return w
}

// accepts is a person who has the removal of all accepted that is missing.
func (w *world) accepts() []Accepted {
	all, why := w.cloud.(*Cluster).Accept()
	require.Equal(w.t, len(all) > 0, why == "")
	return all
}

// A person is told what stops the teardown, if it is nothing that can be accepted.
func TestWhoAcceptsNothingIsToldWhy(t *testing.T) {
	w := newWorld(t).put("x.yaml", "kind: [").put("a.yaml", owned("ant", "u1")).recalls("u1").pass(5 * second)
	none, why := w.cloud.(*Cluster).Accept()
	require.Empty(t, none)
	require.Contains(t, why, "no manifest is missing in another directory, and a manifest names each pod that "+
		"has volumes here; teardown waits for manifests in trouble")
	_, why = w.put("x.yaml", pod("x")).pass(5 * second).cloud.(*Cluster).Accept()
	require.Equal(t, "no manifest is missing in another directory", why)
}

// What an earlier run knew is lost. Nobody is asked about a pod whose manifest is just not read yet; who is asked is
// told what else is wrong, too.
func TestPodsOfTheJournalAreAskedForOnceAllIsRead(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).recalls("u1").pass(oneReading)
	require.Empty(t, w.troubles())
	none, why := w.cloud.(*Cluster).Accept()
	require.Empty(t, none)
	require.Equal(t, "manifests have just changed, and volnode reads them again; try again in a second", why)
	require.Equal(t, "+ant/u1; synced", w.pass(2*second).changes())

	w = newWorld(t).put("b.yaml", owned("bee", "u2"))
	w.fail["write "+cache+"/"+next] = errno("write", cache, syscall.ENOSPC)
	w.recalls("u1").pass(3 * second)
	require.Contains(t, w.troubles()[cache].Problem, "ledger")
	require.Equal(t, []Accepted{{Pods: []string{"u1"}}}, w.accepts())
}

// While the directory can't be read, nothing of what it lacks can be accepted.
func TestNothingIsAcceptedInADirectoryThatCannotBeRead(t *testing.T) {
	w := newWorld(t).put("a.yaml", owned("ant", "u1")).start()
	w.born = 8
	w.rm("a.yaml").pass(3 * second)
	there := w.names[dir]
	w.names[dir] = hal.Info{Type: hal.TypeDirectory, Mode: 0o777}
	w.changed().pass(3 * second)
	none, why := w.cloud.(*Cluster).Accept()
	require.Empty(t, none)
	require.Equal(t, "volnode cannot read the manifest directory, so it does not know what is missing", why)
	w.names[dir] = there
	w.changed().pass(3 * second)
	require.Equal(t, []Accepted{{File: "a.yaml", Pods: []string{"default/ant"}}}, w.accepts())
}

// A good file that is cut within its last word may still be good, and mean another volume. What it was begins the same
// way: it looks half written, and counts only with a line at its end.
func TestAFileThatIsCutWithinAWordIsBad(t *testing.T) {
	const long = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec:\n  accessModes: " +
		"[ReadWriteOnce]\n  capacity: {storage: 1Gi}\n" +
		"  csi:\n    driver: d\n    volumeHandle: demo2\n"
	short := strings.TrimSuffix(long, "2\n")
	w := newWorld(t).put("pv.yaml", long).start()
	w.changes()
	w.put("pv.yaml", short).pass(3 * second)
	require.Empty(t, w.changes())
	require.Contains(t, w.troubles()[dir+"/pv.yaml"].Problem, "looks half written")
	w.put("pv.yaml", short+"\n").pass(3 * second)
	require.NotEmpty(t, w.changes())
	require.Empty(t, w.troubles())
	w.put("pv.yaml", strings.TrimSuffix(short, "\n")).pass(3 * second)
	require.Empty(t, w.troubles(), "all that it had is there")
}
