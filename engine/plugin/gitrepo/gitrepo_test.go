package gitrepo

import (
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/volnode/volnode/engine/core"
	"github.com/volnode/volnode/engine/plugin"
	"github.com/volnode/volnode/engine/plugin/plugintest"
	"github.com/volnode/volnode/hal"
)

const (
	at  = "/r/pods/u1/volumes/kubernetes.io~git-repo/data"
	url = "https://git.example/team/app.git"
)

func volumeOfPod(edit func(*corev1.GitRepoVolumeSource)) plugin.Volume {
	src := &corev1.GitRepoVolumeSource{Repository: url}
	if edit != nil {
		edit(src)
	}
	return plugin.Volume{
		Root: "/r", RepositorySchemes: []string{"https"},
		Pod:  &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "u1"}},
		Spec: &corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{GitRepo: src}},
	}
}

func opOf(t *testing.T, verb core.Verb, v plugin.Volume) core.Op {
	t.Helper()
	rungs, p := Ladder(nil, v)
	require.Nil(t, p)
	require.Len(t, rungs, 1)
	return core.Op{ID: 1, Verb: verb, Kind: Kind, Key: rungs[0].Key, Params: rungs[0].Want, Quiet: true}
}

func TestProblems(t *testing.T) {
	type source = corev1.GitRepoVolumeSource
	for want, edit := range map[string]func(*source){
		"repository: is empty; write it like https":             func(s *source) { s.Repository = "" },
		"repository: begins with neither https:// nor http://":  func(s *source) { s.Repository = "/srv/app" },
		"repository: has a user or a password":                  func(s *source) { s.Repository = "https://u:secret@h/app" },
		"repository: volnode clones by https only; add http to": func(s *source) { s.Repository = "http://h/app" },
		`revision: "-f" begins with a -`:                        func(s *source) { s.Revision = "-f" },
		"directory: is empty, and the URL has no name for a":    func(s *source) { s.Repository = "https://h/.git" },
		`directory: "/a" is an absolute path`:                   func(s *source) { s.Directory = "/a" },
		`directory: "a/../b" is not in its shortest form`:       func(s *source) { s.Directory = "a/../b" },
		`directory: ".git/hooks" leads into a directory .git`:   func(s *source) { s.Directory = ".git/hooks" },
	} {
		_, p := Ladder(nil, volumeOfPod(edit))
		require.NotNil(t, p, want)
		require.Contains(t, p.Error(), "spec.volumes[data].gitRepo."+want)
		require.NotContains(t, p.Error(), "secret")
	}
	off := volumeOfPod(nil)
	off.RepositorySchemes = nil
	_, p := Ladder(nil, off)
	require.Contains(t, p.Error(), "gitRepoVolumes: [https]", "it is off unless a person allows it")
	raw := volumeOfPod(nil)
	raw.Block = true
	_, p = Ladder(nil, raw)
	require.Contains(t, p.Error(), "raw block device")
	grouped, number := volumeOfPod(nil), int64(-1)
	grouped.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &number}
	_, p = Ladder(nil, grouped)
	require.Contains(t, p.Error(), "fsGroup")
	_, p = Ladder(nil, plugin.Volume{Root: "/r", Pod: off.Pod, Spec: &corev1.Volume{Name: "data"}})
	require.Contains(t, p.Error(), "is not a gitRepo")
	bad := volumeOfPod(nil)
	bad.Spec.Name = "a/b"
	_, p = Ladder(nil, bad)
	require.NotNil(t, p)
}

func TestAVolumeComesAndGoes(t *testing.T) {
	for directory, in := range map[string]string{"": "/app", ".": "", "src/x": "/src/x"} {
		n := plugintest.New("/r/pods")
		n.World.PutRepository(url, "v1", map[string]string{"a/file": "one"})
		n.World.PutRepository(url, "", map[string]string{"a/file": "two"})
		v := volumeOfPod(func(s *corev1.GitRepoVolumeSource) { s.Directory, s.Revision = directory, "v1" })
		group := int64(7)
		v.Pod.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &group}
		up := opOf(t, core.SetUp, v)
		r := setUp(n.HAL(), up)
		require.Equal(t, hal.Done, r.Outcome, r.Reason)
		require.Equal(t, at, core.FactOf(r.Facts, plugin.FactPath))
		require.Equal(t, "one", string(n.World.ReadFile(at+in+"/a/file")))
		is, _ := n.World.Found(at)
		require.Equal(t, []uint32{0o2777, 0, 7}, []uint32{is.Mode, is.UID, is.GID})
		// Again: it is not cloned again, and what the pod has made of it stays.
		n.World.WriteFile(at+in+"/a/file", []byte("changed"))
		n.Calls = nil
		up.Facts, up.Fingerprint = r.Facts, r.Fingerprint
		require.Equal(t, r, setUp(n.HAL(), up))
		require.NotContains(t, strings.Join(n.Calls, "\n"), "clone")
		require.Equal(t, "changed", string(n.World.ReadFile(at+in+"/a/file")))
		down := opOf(t, core.TearDown, v)
		require.Equal(t, hal.Done, tearDown(n.HAL(), down).Outcome)
		_, there := n.World.Exists("/r/pods/u1")
		require.False(t, there)
		require.Equal(t, hal.Done, tearDown(n.HAL(), down).Outcome)
	}
}

func TestACloneThatFails(t *testing.T) {
	n := plugintest.New("/r/pods")
	up := opOf(t, core.SetUp, volumeOfPod(nil))
	r := setUp(n.HAL(), up)
	require.Equal(t, []any{hal.Unknown, false}, []any{r.Outcome, r.Blocked}, "it may come later")
	n.World.PutRepository(url, "", map[string]string{"file": ""})
	n.World.DamageRepository(url)
	r = setUp(n.HAL(), up)
	require.Equal(t, []any{hal.Unknown, true}, []any{r.Outcome, r.Blocked})
	n.Fail["clone "+url+" "+at] = &hal.Error{Outcome: hal.NotDone, Errno: syscall.EACCES, Detail: "who are you"}
	r = setUp(n.HAL(), up)
	require.Equal(t, "repository "+url+": who are you", r.Reason)
	require.True(t, r.Blocked)
	require.Equal(t, hal.Done, tearDown(n.HAL(), opOf(t, core.TearDown, volumeOfPod(nil))).Outcome)
	_, there := n.World.Exists("/r/pods/u1")
	require.False(t, there)
	require.Equal(t, hal.NotDone, setUp(n.HAL(), core.Op{Key: "k"}).Outcome)
	require.Equal(t, hal.NotDone, tearDown(n.HAL(), core.Op{Key: "k"}).Outcome)
	require.Contains(t, setUp(n.HAL(), core.Op{Key: "k"}).Reason, "no path or no repository")
}

func TestWhatIsInItsPlaceIsLeftAlone(t *testing.T) {
	n := plugintest.New("/r/pods/u1/volumes/kubernetes.io~git-repo")
	n.World.WriteFile(at, []byte("x"))
	r := setUp(n.HAL(), opOf(t, core.SetUp, volumeOfPod(nil)))
	require.Equal(t, []any{hal.Unknown, true}, []any{r.Outcome, r.Blocked})
	n = plugintest.New(at)
	require.Zero(t, n.World.MountForeign(at))
	r = setUp(n.HAL(), opOf(t, core.SetUp, volumeOfPod(nil)))
	require.Equal(t, []any{hal.Unknown, true}, []any{r.Outcome, r.Blocked})
}

func TestADirectoryThatWasRemovedIsLost(t *testing.T) {
	n := plugintest.New("/r/pods")
	n.World.PutRepository(url, "", map[string]string{"file": ""})
	up := opOf(t, core.SetUp, volumeOfPod(nil))
	r := setUp(n.HAL(), up)
	up.Facts = r.Facts
	require.Empty(t, core.FactOf(setUp(n.HAL(), up).Facts, plugin.FactLost))
	require.Zero(t, n.World.RemoveDir(at))
	require.Contains(t, core.FactOf(setUp(n.HAL(), up).Facts, plugin.FactLost), "was removed or replaced")
}

// What no record tells of is kept as long as nobody has said that its pod is gone, but for what a clone has left.
func TestWhatNoRecordTellsOf(t *testing.T) {
	n := plugintest.New(at+"/app", "/r/pods/u1/volumes/kubernetes.io~git-repo/.other.cloning/x")
	found := Found("/r", "u1", "data")
	r := tearDown(n.HAL(), core.Op{Key: found.Key, Params: found.Want})
	require.Equal(t, hal.NotDone, r.Outcome)
	require.Contains(t, r.Reason, "no record names its pod")
	doomed, is := deletes(found.Want, false)
	require.Equal(t, plugin.Doomed{Volume: "data", Path: at, IfEmpty: true}, doomed)
	require.True(t, is)
	require.Equal(t, hal.Done, tearDown(n.HAL(), core.Op{Key: found.Key, Params: found.Want, IsNamed: true}).Outcome)
	require.Equal(t, "other", volumeOf(".other.cloning"))
	require.Equal(t, "other", volumeOf("..other.cloning.deleting"))
	other := Found("/r", "u1", "other")
	require.Equal(t, hal.Done, tearDown(n.HAL(), core.Op{Key: other.Key, Params: other.Want}).Outcome)
	_, there := n.World.Exists("/r/pods/u1")
	require.False(t, there)
	n.Fail["list "+at] = &hal.Error{Errno: syscall.EIO}
	require.Equal(t, hal.NotDone, tearDown(n.HAL(), core.Op{Key: found.Key, Params: found.Want}).Outcome)
}
