package rooms

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/kinds"
	"github.com/volnode/volnode/hal"
	"github.com/volnode/volnode/hal/haltest"
	"github.com/volnode/volnode/hal/haltest/backends"
)

// changing is a ConfigMap that is another one each time.
type changing struct {
	objects
	reads *int
}

func (c changing) ConfigMap(hal.Call, string, string) (map[string]string, error) {
	*c.reads++
	text := strconv.Itoa(*c.reads)
	return map[string]string{"conf": text, "of-" + strconv.Itoa(*c.reads%3): text}, nil
}

// A container may write to its volume, as root. While volnode writes new files there, it puts links to files of the
// host in the place of each name that volnode uses, and directories, and moves names away. Nothing of the host is read,
// written or removed; and once it has stopped, the next writing mends all.
func TestNoLinkLeadsTheWriterAway(t *testing.T) {
	haltest.NeedPrivateMounts(t)
	rounds := 100_000
	if testing.Short() {
		rounds = 3_000
	}
	w, outside := backends.Linux(), t.TempDir()
	defer w.Close()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "conf"), []byte("precious"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(outside, "kept"), 0o700))
	h, reads := w.Host(), 0
	h.Cluster = changing{reads: &reads}
	source := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "m"},
	}}
	rungs, problem := kinds.All().Ladder(nil, plugin.Volume{
		Root: w.Dir(), NodeName: "node", Spec: &corev1.Volume{Name: "v", VolumeSource: source}, Contents: objects{},
		Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", UID: "u1"}},
	})
	require.Nil(t, problem)
	r := rungs[0]
	verbs, _ := kinds.All().VerbsOf(r.Kind)
	op := core.Op{ID: 1, Verb: core.SetUp, Key: r.Key, Kind: r.Kind, Params: r.Want}
	require.Equal(t, hal.Done, verbs.SetUp(&h, op).Outcome)
	op.Verb = core.Refresh
	dir := core.Value(r.Want, plugin.ParamPath)

	var isOver atomic.Bool
	raced := make(chan int)
	go func() { raced <- races(dir, outside, &isOver) }()
	done := 0
	for range rounds {
		if verbs.SetUp(&h, op).Outcome == hal.Done {
			done++
		}
	}
	isOver.Store(true)
	t.Logf("%d of %d writings done, beside %d tricks", done, rounds, <-raced)
	text, err := os.ReadFile(filepath.Join(outside, "conf"))
	require.NoError(t, err)
	require.Equal(t, "precious", string(text))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "conf"))) // a directory in the place of a name waits for a person
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "..data")))
	is := verbs.SetUp(&h, op)
	require.Equal(t, hal.Done, is.Outcome, is.Reason)
	text, err = os.ReadFile(filepath.Join(dir, "conf"))
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(reads), string(text))
}

// races plays tricks in a volume until it is over, and counts them. Most fail, as what they are about has just gone.
func races(dir, outside string, isOver *atomic.Bool) (tricks int) {
	for ; !isOver.Load(); tricks++ {
		entries, _ := os.ReadDir(dir)
		names := []string{"..data", "..data_tmp", "..link_tmp", "conf", "..1", "..2"}
		for _, e := range entries {
			if !slices.Contains(names, e.Name()) {
				names = append(names, e.Name())
			}
		}
		at := filepath.Join(dir, names[tricks%len(names)])
		switch tricks / len(names) % 4 {
		case 0:
			_ = os.Remove(at)
			_ = os.Symlink(outside, at)
		case 1:
			_ = os.Rename(at, at+".away")
			_ = os.Symlink("../../../../../../.."+outside, at)
		case 2:
			_ = os.Remove(at)
			_ = os.Symlink(outside+"/conf", at)
		case 3:
			if is, err := os.Lstat(at); err != nil || !is.IsDir() {
				continue // the trick would be on the one who plays it
			}
			_ = os.Remove(filepath.Join(at, "conf"))
			_ = os.Symlink(outside+"/conf", filepath.Join(at, "conf"))
		}
	}
	return tricks
}
